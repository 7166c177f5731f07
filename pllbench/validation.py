"""Strict models of settings and stored facts, and validation errors as one line."""

import difflib
import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Annotated, Any, Self, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    JsonValue,
    ValidationError,
)
from pydantic_core import to_json

_LONGEST_NAME = 200
"""Bytes of a folder's name; file systems take 255, and temporary names are longer than the name."""


class FieldError(ValueError):
    """A value that a caller has given is wrong.

    Attributes:
        field: name of the option, which is a parameter or method in Python (`gpus_per_run`,
            `tests`) and a flag of a command (`--gpus-per-run`, `--tests`).
        reason: what is wrong, and how to put it right.
        value: as given; None where the message needs none.
    """

    def __init__(self, field: str, reason: str, value: object = None) -> None:
        self.field, self.reason, self.value = field, reason, value
        super().__init__(f"{field}{'' if value is None else f' {value}'}: {reason}")


def _finite(values: dict[str, JsonValue]) -> dict[str, JsonValue]:
    if not _is_finite(values):
        raise ValueError("a number is not finite")
    return values


def _is_finite(value: JsonValue) -> bool:
    if isinstance(value, dict):
        return all(map(_is_finite, value.values()))
    if isinstance(value, list):
        return all(map(_is_finite, value))
    return not isinstance(value, float) or math.isfinite(value)


JsonOptions = Annotated[dict[str, JsonValue], AfterValidator(_finite)]
"""Values by key, before or beside the model that knows their types; its numbers are finite."""


class StrictModel(BaseModel):
    """A frozen model of finite numbers.

    An unknown key is refused, and so is what is of another type than its field: pydantic would else
    read true as the number 1.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=True)

    @classmethod
    def parse(cls, fields: Mapping[str, object]) -> Self:
        """The model of `fields` as TOML and JSON hold them: their arrays become tuples.

        Raises:
            pydantic.ValidationError: they are no fields of it, or do not fit them.
        """
        return cls.model_validate_json(to_json(fields))


def plain_values(value: object) -> Any:
    """A value as JSON has it: NumPy's scalars as Python's, tuples as lists."""
    if isinstance(value, Mapping):
        return {str(key): plain_values(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain_values(one) for one in value]
    item = getattr(value, "item", None)
    return value if item is None else item()


def unknown_key(keys: Iterable[str], model: type[BaseModel]) -> str | None:
    """What is wrong with the first of `keys` that is no field of `model`, and its nearest match."""
    for key in sorted(set(keys) - _known_keys(model)):
        return f"unknown key {key!r}, {did_you_mean(key, _known_keys(model))}"
    return None


@cache
def _known_keys(model: type[BaseModel]) -> frozenset[str]:
    """Keys of a model in its files; kept, since every setting of every cell is checked."""
    return frozenset(field.alias or name for name, field in model.model_fields.items())


def require_keys(keys: Iterable[str], model: type[BaseModel], where: str) -> None:
    """Raise ValueError, naming `where` and the nearest match, if a key is no field of `model`."""
    if problem := unknown_key(keys, model):
        raise ValueError(f"{where}: {problem}")


def one_line(error: ValidationError, where: str, model: type[BaseModel] = BaseModel) -> str:
    """A validation error as one line: place, message and offending value.

    The line is about an unknown key of `model`, with its nearest match, or else about the first
    problem.
    """
    errors = error.errors(include_url=False)
    unknown = (found for found in errors if found["type"] == "extra_forbidden")
    first = next(unknown, errors[0])
    *parents, key = first["loc"] or ("",)
    if first["type"] == "extra_forbidden":
        return _joined(where, parents, str(unknown_key([str(key)], _model_at(parents, model))))
    message = first["msg"].removeprefix("Value error, ")
    speaks_for_itself = first["type"] in ("missing", "value_error")
    value = "" if speaks_for_itself else f", got {first['input']!r}"
    return _joined(where, first["loc"], f"{message}{value}")


def _joined(where: str, place: Iterable[int | str], message: str) -> str:
    return ": ".join(filter(None, (where, ".".join(map(str, place)), message)))[:400]


def _model_at(place: Iterable[int | str], model: type[BaseModel]) -> type[BaseModel]:
    """The model within `model` that a place in it leads to, through dictionaries and tuples."""
    for part in place:
        field = next((f for n, f in model.model_fields.items() if (f.alias or n) == part), None)
        model = next(_models(field.annotation), model) if field else model
    return model


def _models(annotation: object) -> Iterator[type[BaseModel]]:
    """The models that an annotation is made of."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)


def visible_line(text: str) -> str:
    """`text` in one line, without the control characters that terminals obey."""
    visible = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(visible.split())


def is_number(value: object, *kinds: type[int | float]) -> bool:
    """Whether a value is a number of these kinds; true and false are none."""
    return isinstance(value, kinds) and not isinstance(value, bool)


def folder_name_problem(name: object) -> str | None:
    """Why no folder can have this name on every file system, or None: records lie below it."""
    if not (isinstance(name, str) and re.fullmatch(r"[\w.-]+", name)) or name.endswith("."):
        return "its name must be letters, digits, '_', '-' and '.', the last not at its end"
    if re.fullmatch(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", name, re.IGNORECASE):
        return "its name is that of a device on some systems"
    if len(name.encode()) > _LONGEST_NAME:
        return f"its name is longer than {_LONGEST_NAME} bytes"
    return None


def folded_name(name: str) -> str:
    """Equal for names that some file systems take for one: they differ in case or composition."""
    return unicodedata.normalize("NFC", name).casefold()


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """A clause for error messages: the nearest match of `name`, else all known names."""
    names = sorted(known)
    near = difflib.get_close_matches(str(name).lower(), names, n=1)
    return f"did you mean {near[0]}?" if near else f"known: {', '.join(names) or 'none'}"
