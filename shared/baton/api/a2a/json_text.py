"""JSON of A2A's bindings: parsing, formatting, and checks before the SDK's models read it."""

from __future__ import annotations

import json
import re
from typing import Any

from a2a.utils.errors import InvalidParamsError, InvalidRequestError, JSONParseError

from baton.domain.json_values import count_values, refuse_constant
from baton.domain.threads.content import MAX_PARTS

MAX_VALUES = 100_000
"""Values of a body. A parser holds the interpreter's lock until it is done, which takes about 10 ms for so many."""


def parse_json(body: bytes) -> Any:
    """Parse a body.

    Raises ``JSONParseError`` if it is not JSON by RFC 8259, for example because of NaN, and ``InvalidRequestError`` for
    too many values.
    """
    if count_values(body) > MAX_VALUES:
        raise InvalidRequestError(f"The body has more than {MAX_VALUES} values.")
    try:
        return json.loads(body.decode(), parse_constant=refuse_constant)
    except (ValueError, RecursionError):
        raise JSONParseError("The body is not JSON.") from None


def to_reason(error: Exception) -> str:
    """Return the reason why a body cannot be converted, for its sender."""
    if isinstance(error, UnicodeEncodeError):
        return "A text holds half of a surrogate pair, which is not text."
    return str(error)[:300]


def to_line(value: dict[str, Any]) -> str:
    """Return an object as one line of JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def with_whole_numbers(value: Any) -> Any:
    """Return ``value`` with integers in place of floats without a fraction.

    Protobuf represents all numbers in free-form data as floats.
    """
    if isinstance(value, dict):
        return {key: with_whole_numbers(member) for key, member in value.items()}
    if isinstance(value, list):
        return [with_whole_numbers(member) for member in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


PART_KINDS = ("text", "file", "data")
MAX_DATA_VALUES = 20_000
"""Values in the data parts of a message. Converting so many takes some tens of milliseconds."""
MAX_EXACT = 2**53
"""The largest integer that is not rounded, because protobuf represents numbers in free-form data as floats."""
_STANDARD = re.compile(r"[A-Za-z0-9+/]*={0,2}")
_URL_SAFE = re.compile(r"[A-Za-z0-9_-]*={0,2}")
_SPACE = re.compile(r"\s+")


def check_parts(params: Any, *, is_older: bool) -> None:
    """Check the parts of ``params.message``, if it has parts. ``is_older`` says that the call is one of A2A 0.3.

    Raises ``InvalidParamsError``. The SDK's models would accept any number of parts, which is slow, guess a missing
    ``kind``, skip characters that are not base64, and round numbers.
    """
    message = params.get("message") if isinstance(params, dict) else None
    parts = message.get("parts") if isinstance(message, dict) else None
    if not isinstance(parts, list):
        return
    if len(parts) > MAX_PARTS:
        raise InvalidParamsError(f"params.message.parts must have 1 to {MAX_PARTS} parts.")
    values_left = MAX_DATA_VALUES
    for number, part in enumerate(parts):
        where = f"params.message.parts[{number}]"
        if is_older and (not isinstance(part, dict) or part.get("kind") not in PART_KINDS):
            raise InvalidParamsError(f"{where}.kind must be text, file or data.")
        if not isinstance(part, dict):
            continue  # the SDK's model refuses the part
        if is_older:
            file = part.get("file")
            _check_base64(file.get("bytes") if isinstance(file, dict) else None, f"{where}.file.bytes", is_older=True)
        else:
            _check_base64(part.get("raw"), f"{where}.raw", is_older=False)
        if "data" in part:
            values_left -= _check_values(part["data"], f"{where}.data", values_left)


def _check_base64(value: Any, where: str, *, is_older: bool) -> None:
    """Raise ``InvalidParamsError`` unless a value is base64 (RFC 4648).

    In A2A 1.0, the alphabet for URLs and missing padding are allowed too, as in ProtoJSON.
    """
    if not isinstance(value, str):
        return  # the value is missing, or the SDK's model refuses it
    text = _SPACE.sub("", value)
    if not text.rstrip("="):
        raise InvalidParamsError(f"{where} is empty.")
    is_standard = _STANDARD.fullmatch(text) is not None
    if not is_standard and (is_older or _URL_SAFE.fullmatch(text) is None):
        raise InvalidParamsError(f"{where} is not base64.")
    is_padded = len(text) % 4 == 0
    if not is_padded and (is_older or "=" in text or len(text) % 4 == 1):
        raise InvalidParamsError(f"{where} is not base64: it is cut off, or its padding is wrong.")


def _check_values(data: Any, where: str, limit: int) -> int:
    """Return the number of values in ``data``.

    Raises ``InvalidParamsError`` for more than ``limit`` values, and for integers that would be rounded.
    """
    remaining, number = [data], 0
    while remaining:
        value = remaining.pop()
        number += 1
        if number > limit:
            raise InvalidParamsError(
                f"{where}: the data parts of a message may have {MAX_DATA_VALUES} values. Send a file."
            )
        if isinstance(value, dict):
            remaining.extend(value.values())
        elif isinstance(value, list):
            remaining.extend(value)
        elif isinstance(value, int) and abs(value) > MAX_EXACT:
            text = str(value)[:40] if abs(value) < 10**40 else "a number"
            raise InvalidParamsError(f"{where}: {text} would be rounded. Send whole numbers beyond 2**53 as texts.")
    return number
