"""What all settings and stored facts have in common, whoever declares them."""

import math
from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, JsonValue
from pydantic_core import to_json


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


Options = Annotated[dict[str, JsonValue], AfterValidator(_finite)]
"""Values by key, before or beside the model that knows their types; its numbers are finite."""


class Values(BaseModel):
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
