"""Times as clients and the store write them."""

from __future__ import annotations

from datetime import UTC, datetime


def iso(moment: datetime) -> str:
    """UTC ISO-8601 with milliseconds and ``Z``."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def to_millis(moment: datetime) -> int:
    """Milliseconds since the Unix epoch."""
    return round(moment.timestamp() * 1000)


def from_millis(millis: int) -> datetime:
    """The aware UTC time of ``millis`` since the Unix epoch."""
    return datetime.fromtimestamp(millis / 1000, UTC)
