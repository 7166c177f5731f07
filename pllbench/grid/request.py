"""A selection from Python values: what `pllbench.run` takes, and `Results.select`."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypedDict

from pydantic import ValidationError

from pllbench.data.arrays import Arrays
from pllbench.grid.benchmark import load_benchmark
from pllbench.grid.plan import Selection
from pllbench.grid.protocol import Setting, When
from pllbench.registry import (
    NO_METHOD,
    MethodClass,
    MethodClasses,
    is_method,
    method_entries,
    registered_name,
)
from pllbench.spec import LARGEST, CandidateSpec, PruningSpec, TrainSpec, ViewSpec, takes_rate
from pllbench.validation import (
    FieldError,
    StrictModel,
    did_you_mean,
    folded_name,
    is_number,
    one_line,
)

MethodLike: TypeAlias = "str | MethodClass"
DatasetLike: TypeAlias = str | Path | Arrays
Values: TypeAlias = Mapping[str, Any]
"""Settings by name."""

MOST_SEEDS = 10_000
"""The largest number of seeds; a larger seed is given in a list."""


class FurtherParts(TypedDict, total=False):
    """Parts of a selection but for methods, data sets, seeds and hold-out."""

    benchmark: "str | Path | None"
    """Name of a benchmark of the suite, or a TOML file."""
    q: float | Sequence[float]
    """Noise rates."""
    imbalance: float | Sequence[float]
    """Ratios of the largest to the smallest class of long-tailed training rows."""
    candidates: str | Values | None
    """Candidate process: its name, or `process` and its options."""
    annotations: str | None
    """Rule that makes sets of annotators' labels: `union`, `votes=2`, `top=3`, `draws=3`."""
    pruning: Values | None
    """`tau`, `k` and `features` of the pruning of candidate sets."""
    epochs: int | None
    """Length of a run; short for the train setting."""
    network: str | None
    """Network of all methods; short for the train setting."""
    folds: int | None
    """Cross-validate: seed s tests on fold s of so many."""
    hparams: Mapping[str, Values] | None
    """Hyperparameters, by method or variant, then by name."""
    train: Values | None
    """Train settings by name."""
    views: Values | None
    """View settings by name."""


class Parts(FurtherParts, total=False):
    """Parts of a selection; each may be left out, and a single value stands for a list of one."""

    methods: "MethodLike | Sequence[MethodLike]"
    """Methods and variants by name; classes without an entry point as they are."""
    datasets: "DatasetLike | Sequence[DatasetLike]"
    """Data sets by name, own data by path, or `Arrays`."""
    seeds: int | Sequence[int]
    """A number of seeds (3 is 0, 1, 2), or a list of seeds."""
    holdout: float | None
    """Share of training rows kept aside, with their candidate sets only."""


def make_selection(parts: Parts) -> Selection:
    """What the parts ask for.

    Raises:
        FieldError: a part is wrong; it is named.
    """
    if unknown := sorted(parts.keys() - Parts.__annotations__.keys()):
        raise FieldError(unknown[0], f"no such part, {did_you_mean(unknown[0], _FIELDS)}")
    benchmark = parts.get("benchmark")
    names, classes = _methods(listed(parts.get("methods", ())))
    return Selection(
        benchmark=None if benchmark is None else load_benchmark(str(benchmark)),
        methods=names,
        classes=classes,
        datasets=tuple(map(_dataset, listed(parts.get("datasets", ())))),
        q=_numbers("q", parts.get("q", ()), 0, 1),
        imbalance=_numbers("imbalance", parts.get("imbalance", ()), 1, LARGEST),
        seeds=_seeds(parts.get("seeds", ())),
        flags=tuple(_settings(parts)),
    )


_FIELDS = tuple(Parts.__annotations__)


def listed(value: Any) -> tuple[Any, ...]:
    """The entries of a part: those of a list, or the value itself."""
    if isinstance(value, str | Path | Arrays | type) or not hasattr(value, "__iter__"):
        return () if value is None else (value,)
    entries = tuple(value)
    return tuple(dict.fromkeys(entries)) if all(map(_hashable, entries)) else entries


def _hashable(value: object) -> bool:
    return value.__hash__ is not None


def _methods(given: Sequence[Any]) -> tuple[tuple[str, ...], MethodClasses]:
    """Names of methods and variants; and the classes that no entry point names, by their name."""
    names: list[str] = []
    classes: dict[str, Any] = {}
    for one in given:
        name = one if isinstance(one, str) else method_name(one)
        names.append(name)
        if isinstance(one, str) or name in method_entries():
            continue
        if classes.setdefault(name, one) is not one:
            raise FieldError("methods", "two classes have this name: rename one", name)
    return tuple(names), classes


def method_name(given: MethodLike) -> str:
    """The name of a method: as it is registered, or that of its class.

    Raises:
        FieldError: no class of a method, one that lacks a required member, or one that has the name
            of another method.
    """
    if isinstance(given, str):
        return given
    if not is_method(given):
        raise FieldError("methods", NO_METHOD, getattr(given, "__name__", repr(given)))
    name = given.__name__
    if inspect.isabstract(given):
        missing = ", ".join(sorted(given.__abstractmethods__))
        raise FieldError("methods", f"lacks {missing}", name)
    registered = registered_name(given)
    if registered is not None:
        return registered
    taken = {folded_name(entry): entry for entry in method_entries()}
    if other := taken.get(folded_name(name)):
        raise FieldError("methods", f"rename the class: a method is registered as {other!r}", name)
    return name


def _dataset(given: Any) -> str:
    if isinstance(given, Arrays):
        return given.name
    if not isinstance(given, str | Path):
        reason = "must be a name, a path or Arrays"
        raise FieldError("datasets", reason, type(given).__name__)
    is_file = isinstance(given, Path) and "/" not in str(given)
    return f"./{given}" if is_file else str(given)


def _numbers(field: str, given: Any, low: float, high: float) -> tuple[float, ...]:
    numbers = tuple(map(_plain, listed(given)))
    for value in numbers:
        if not (is_number(value, int, float) and low <= value <= high):
            raise FieldError(field, f"must be a number from {low} to {high}", str(value))
    return tuple(map(float, numbers))


def _seeds(given: Any) -> tuple[int, ...]:
    seeds = tuple(map(_plain, listed(given)))
    for seed in seeds:
        if not is_number(seed, int) or seed < 0:
            reason = "must be a number of seeds (3), or a list of seeds"
            raise FieldError("seeds", reason, str(seed))
    if hasattr(given, "__iter__") or given is None:
        return seeds
    if not 1 <= given <= MOST_SEEDS:
        raise FieldError("seeds", f"a number of seeds is from 1 to {MOST_SEEDS}", given)
    return tuple(range(given))


def _settings(parts: Parts) -> Iterator[Setting]:
    """A setting for each of the other parts, and for each train setting and hyperparameter."""
    short = {key: value for key in ("epochs", "network") if (value := parts.get(key)) is not None}
    for key, value in [*short.items(), *_items("train", parts)]:
        reason = f"{key} {value}" if key in short else f"train {key}={value}"
        yield Setting(reason=reason, train=_checked(reason, {key: value}, TrainSpec))
    for key, value in _items("views", parts):
        reason = f"views {key}={value}"
        yield Setting(reason=reason, views=_checked(reason, {key: value}, ViewSpec))
    for method, values in _items("hparams", parts):
        name = method_name(method)
        for key, value in _items("hparams", {"hparams": values}):
            reason, when = f"hparams {name}.{key}={value}", When(method=(name,))
            yield Setting(reason=reason, when=when, hparams={key: _plain(value)})
    candidates = parts.get("candidates")
    if candidates is not None:
        asked = {"process": candidates} if isinstance(candidates, str) else candidates
        if not isinstance(asked, Mapping):
            reason = "must be the name of a process, or a dictionary with it and its options"
            raise FieldError("candidates", reason, asked)
        asked = dict(asked)
        if "q" in asked:
            raise FieldError("candidates", "q is a part of its own")
        rate = {"q": 0.5} if takes_rate(asked) else {}
        reason = f"candidates {asked.get('process')}"
        _checked(reason, asked | rate, CandidateSpec)
        yield Setting(reason=reason, candidates=_plain(asked))
    if (pruning := parts.get("pruning")) is not None:
        found = _checked("pruning", pruning, PruningSpec)
        yield Setting(reason="pruning", pruning=found)
    for key in ("annotations", "folds", "holdout"):
        if (value := parts.get(key)) is not None:
            reason = f"{key} {value}"
            yield Setting(reason=reason, **_checked(reason, {key: value}, Setting))


def _items(field: str, parts: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    """The items of a part that is a mapping."""
    values = parts.get(field)
    if values is not None and not isinstance(values, Mapping):
        raise FieldError(field, "must be a dictionary, such as {'name': value}", values)
    return list((values or {}).items())


def _checked(reason: str, values: Values, model: type[StrictModel]) -> dict[str, Any]:
    """The values as JSON has them, if `model` has such fields and they fit them."""
    found: dict[str, Any] = _plain(values)
    try:
        model.parse(found)
    except ValidationError as error:
        field, _, value = reason.partition(" ")
        raise FieldError(field, one_line(error, "", model), value or None) from error
    return found


def _plain(value: Any) -> Any:
    """A value as JSON has it: no number of NumPy, no tuple, no path."""
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    if isinstance(value, Path):
        return str(value)
    return value.item() if hasattr(value, "item") else value
