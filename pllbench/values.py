"""What all settings and stored facts have in common, whoever declares them."""

from functools import cache
from typing import get_args

from pydantic import BaseModel, ConfigDict, model_validator

_SUSPECT = {bool, dict, list, tuple}
"""Types of values that are true or false, or may hold such."""


class Values(BaseModel):
    """A frozen model of finite numbers.

    An unknown key is refused, and so is true or false where a number is expected: pydantic would
    read it as 1 or 0.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _numbers_are_numbers(cls, fields: object) -> object:
        # Records are many, and most of their parts hold nothing suspect.
        if isinstance(fields, dict) and not _SUSPECT.isdisjoint(map(type, fields.values())):
            for key in sorted(_numbers(cls) & fields.keys()):
                if _holds_boolean(fields[key]):
                    raise ValueError(f"{key}: must be a number, got {fields[key]!r}")
        return fields


@cache
def _numbers(model: type[BaseModel]) -> frozenset[str]:
    """Keys of the fields that hold numbers, alone or in containers, and no booleans."""
    found = {
        field.alias or name: _types(field.annotation) for name, field in model.model_fields.items()
    }
    return frozenset(
        key for key, types in found.items() if types & {int, float} and bool not in types
    )


def _types(annotation: object) -> set[object]:
    """An annotation, and all that it is made of."""
    return {annotation}.union(*map(_types, get_args(annotation)))


def _holds_boolean(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_holds_boolean, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_holds_boolean, value))
    return isinstance(value, bool)
