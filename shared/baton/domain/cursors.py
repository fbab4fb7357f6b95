"""Cursors of lists. They are opaque to clients and validated when clients send them."""

from __future__ import annotations

import base64
import binascii
import json

from baton.domain.errors import InvalidRequest


def encode(cursor: dict[str, object]) -> str:
    """Return a cursor as clients see it."""
    return base64.urlsafe_b64encode(json.dumps(cursor).encode()).decode().rstrip("=")


def decode(cursor: str) -> dict[str, object]:
    """Return the value that ``encode`` was given. Raises ``InvalidRequest``."""
    try:
        decoded = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        decoded = None
    if not isinstance(decoded, dict):
        raise InvalidRequest("cursor was not handed out by this list.")
    return decoded


def encode_text(after: str) -> str:
    """Return the cursor of the page after a sort key."""
    return encode({"after": after})


def decode_text(cursor: str) -> str:
    """Return the sort key that ``encode_text`` was given. Raises ``InvalidRequest``."""
    match decode(cursor):
        case {"after": str(after)} if 0 < len(after) <= 100 and after.isascii():
            return after
    raise InvalidRequest("cursor was not handed out by this list.")


def encode_ordinal(ordinal: int) -> str:
    """Return the cursor of the page before the message at ``ordinal``."""
    return encode({"before": ordinal})


def decode_ordinal(cursor: str) -> int:
    """Return the ordinal that ``encode_ordinal`` was given. Raises ``InvalidRequest``."""
    match decode(cursor):
        case {"before": int(ordinal)} if 0 <= ordinal < 10**12 and not isinstance(ordinal, bool):
            return ordinal
    raise InvalidRequest("cursor was not handed out by this list.")
