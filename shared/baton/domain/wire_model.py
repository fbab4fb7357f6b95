"""The base of the shapes that clients get: one declaration for the JSON and for its schema."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import cache
from typing import Annotated, Any, Self, Unpack

from pydantic import AliasGenerator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer
from pydantic.alias_generators import to_camel

from baton.domain.times import to_iso

THREAD_ID = "550e8400-e29b-41d4-a716-446655440000"
RUN_ID = "2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7d"
_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d")
WORKFLOW_ID = "c1f0a6de-9d0b-5a5e-8a53-0e1b6d9c7f42"
TIMESTAMP = "2026-03-14T09:26:53.589Z"

Timestamp = Annotated[datetime, PlainSerializer(to_iso, return_type=str)]
"""A time, as text in UTC with milliseconds."""


def _check_time(value: Any) -> Any:
    """Return the value. Raise ``ValueError`` for days without a time, and for numbers, even as text.

    Pydantic reads numbers as seconds since 1970.
    """
    if isinstance(value, datetime) or (isinstance(value, str) and _TIME.match(value)):
        return value
    raise ValueError(f"must be an ISO 8601 time with a time zone, such as {TIMESTAMP}")


RequestTime = Annotated[AwareDatetime, Field(strict=False), BeforeValidator(_check_time)]
"""A time in a request: ISO 8601 with a time zone."""
Milliseconds = Annotated[
    timedelta, PlainSerializer(lambda duration: duration // timedelta(milliseconds=1), return_type=int)
]
"""A duration, as whole milliseconds."""

WIRE_NAMES = AliasGenerator(serialization_alias=to_camel)
"""The camelCase names of fields, which are used on the wire only."""


class WireModel(BaseModel):
    """A shape of the wire, read from the attributes of a stored object.

    A field reads the attribute of the same name, or the one in ``validation_alias``.
    """

    model_config = ConfigDict(alias_generator=WIRE_NAMES, from_attributes=True)

    def __init_subclass__(cls, **config: Unpack[ConfigDict]) -> None:
        """Drop the prefix ``Served`` of the class's name, which distinguishes it from the stored class in code only."""
        super().__init_subclass__(**config)
        cls.__name__ = cls.__qualname__ = cls.__name__.removeprefix("Served")

    @classmethod
    def of(cls, record: Any, **more: Any) -> Self:
        """Return the served form of ``record``. ``more`` adds or replaces attributes, by their names."""
        if not more:
            return cls.model_validate(record)
        names = _list_attributes(cls)
        return cls.model_validate({name: more[name] if name in more else getattr(record, name) for name in names})

    def wire(self) -> dict[str, Any]:
        """Return the JSON object for clients."""
        return self.model_dump(by_alias=True, mode="json")


@cache
def _list_attributes(shape: type[WireModel]) -> tuple[str, ...]:
    """Return the names of the attributes from which the fields of ``shape`` are read."""
    return tuple(str(field.validation_alias or name) for name, field in shape.model_fields.items())
