"""Times as clients and the store write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def iso(moment: datetime) -> str:
    """UTC ISO-8601 with milliseconds and ``Z``."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def to_millis(moment: datetime) -> int:
    """Whole milliseconds since the Unix epoch, as ``iso`` shows them."""
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def from_millis(millis: int) -> datetime:
    """The aware UTC time of ``millis`` since the Unix epoch."""
    return _EPOCH + timedelta(milliseconds=millis)
