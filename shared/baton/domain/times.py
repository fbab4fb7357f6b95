"""Formats of times for clients and the store."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def iso(moment: datetime) -> str:
    """Return the time as UTC ISO 8601 with milliseconds and ``Z``."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def to_millis(moment: datetime) -> int:
    """Return whole milliseconds since the Unix epoch, as ``iso`` shows them."""
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def from_millis(millis: int) -> datetime:
    """Return the aware UTC time of ``millis`` since the Unix epoch."""
    return _EPOCH + timedelta(milliseconds=millis)
