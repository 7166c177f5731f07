"""What the checks require, and how they compare the states of two methods."""

import copy
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from torch import Tensor, nn

from pllbench.method import Method


class Failed(Exception):  # noqa: N818 - a verdict, not an error
    """What `require` raises: the method is wrong, and the message says how."""


def require(condition: bool | Tensor, reason: str) -> None:
    """Raise Failed, with a reason for the reader, unless `condition` holds."""
    if not condition:
        raise Failed(reason)


def same(a: object, b: object) -> bool:
    """Whether two values of a state_dict are equal to the last bit; NaN equals NaN."""
    if not (isinstance(a, Tensor) and isinstance(b, Tensor)):
        return bool(a == b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return bool(((a == b) | (a.isnan() & b.isnan())).all())


def difference(a: Mapping[str, object], b: Mapping[str, object]) -> str | None:
    """The first key whose values differ between two mappings, or None."""
    changed = (key for key in [*a, *b] if key not in a or key not in b or not same(a[key], b[key]))
    return next(changed, None)


def snapshot(method: Method[Any]) -> dict[str, Any]:
    """A copy of its state_dict."""
    return copy.deepcopy(method.state_dict())


def plain_attributes(method: Method[Any]) -> dict[str, object]:
    """Attributes of a method and its submodules that torch does not manage, by dotted name."""
    managed = vars(nn.Module()).keys()
    return {
        f"{path}.{name}".removeprefix("."): value
        for path, module in method.named_modules()
        for name, value in vars(module).items()
        if name not in managed
    }


def leaves(value: object) -> Iterator[object]:
    """The values in nested containers."""
    if isinstance(value, Mapping):
        value = [*value.keys(), *value.values()]
    if isinstance(value, (list, tuple, set, frozenset, deque)):
        for item in value:
            yield from leaves(item)
    else:
        yield value


def plain_data(method: Method[Any]) -> dict[str, object]:
    """Those plain attributes that can be compared by value."""
    plain = (bool, int, float, str, type(None))
    return {
        name: value
        for name, value in plain_attributes(method).items()
        if all(isinstance(leaf, plain) for leaf in leaves(value))
    }
