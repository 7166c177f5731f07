"""What all settings and stored facts have in common, whoever declares them."""

import json
from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, JsonValue
from pydantic_core import to_json

_FINITE = json.JSONEncoder(allow_nan=False)


def _finite(values: dict[str, JsonValue]) -> dict[str, JsonValue]:
    try:
        _FINITE.encode(values)
    except ValueError as error:
        raise ValueError("a number is not finite") from error
    return values


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
