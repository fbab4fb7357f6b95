"""Cursors of message pages: opaque to clients."""

from __future__ import annotations

import base64
import binascii

from baton.domain.errors import InvalidRequest


def encode_ordinal(ordinal: int) -> str:
    """The cursor of the page before the message at ``ordinal``."""
    return base64.urlsafe_b64encode(f"before:{ordinal}".encode()).decode().rstrip("=")


def decode_ordinal(cursor: str) -> int:
    """The ordinal of a cursor. Raises ``InvalidRequest``."""
    try:
        name, _, ordinal = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii").partition(":")
        if name == "before" and ordinal.isdigit() and len(ordinal) <= 12:
            return int(ordinal)
    except (binascii.Error, ValueError):
        pass
    raise InvalidRequest("cursor was not handed out by this list.")
