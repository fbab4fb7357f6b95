"""JSON of A2A's bindings, as text and as values."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from a2a.utils.errors import InvalidRequestError, JSONParseError

from baton.domain.json_values import count_values

MAX_VALUES = 100_000
"""Values of a body. A parser holds the interpreter's lock until it is done, about 10 ms for so many."""


def parse_json(body: bytes) -> Any:
    """Return the value of a body.

    Raises ``JSONParseError`` for what is not JSON by RFC 8259, such as NaN, and ``InvalidRequestError`` for too many
    values.
    """
    if count_values(body) > MAX_VALUES:
        raise InvalidRequestError(f"The body has more than {MAX_VALUES} values.")
    try:
        return json.loads(body.decode(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise JSONParseError("The body is not JSON.") from None


def to_reason(error: Exception) -> str:
    """Return why a body cannot be converted, in words for its sender."""
    if isinstance(error, UnicodeEncodeError):
        return "A text holds half of a surrogate pair, which is not text."
    return str(error)[:300]


def to_line(value: dict[str, Any]) -> str:
    """Return an object as one line of JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def with_whole_numbers(value: Any) -> Any:
    """Return ``value`` with integers in place of floats without a fraction.

    Protobuf has no integers in free-form data.
    """
    if isinstance(value, dict):
        return {key: with_whole_numbers(member) for key, member in value.items()}
    if isinstance(value, list):
        return [with_whole_numbers(member) for member in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
