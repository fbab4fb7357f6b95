"""The time zone of this machine, by its own settings."""

from __future__ import annotations

import os
from pathlib import Path

LOCAL_TIME = Path("/etc/localtime")
"""The link to the zone's file, below a folder ``zoneinfo``, on Linux and macOS."""
_SERVER_ZONES = {"UTC", "UCT", "Universal", "Zulu", "GMT", "Greenwich", "Factory", "localtime"}
"""Zones that servers are set to, wherever their users are."""


def find_machine_time_zone(link: Path = LOCAL_TIME) -> str | None:
    """Return IANA's name of the machine's time zone; None if it is unknown, or a zone of servers such as UTC.

    The environment variable ``TZ`` comes first, if it holds a name. On Windows, whose names differ, the result is None.
    """
    named = os.environ.get("TZ", "").removeprefix(":")
    try:
        path = Path(named) if named else link.resolve(strict=True)
    except (OSError, RuntimeError):
        return None
    parts = path.parts
    if "zoneinfo" in parts:
        parts = parts[len(parts) - parts[::-1].index("zoneinfo") :]
    elif not named or path.is_absolute():
        return None
    parts = parts[1:] if parts[:1] in {("posix",), ("right",)} else parts
    name = "/".join(parts)
    # A name without a region may be a rule such as CET-1CEST, or an abbreviation.
    return name if len(parts) > 1 and parts[-1] not in _SERVER_ZONES else None
