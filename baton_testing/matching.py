"""Partial matches of JSON values."""

from __future__ import annotations

from typing import Any


def holds(found: Any, wanted: Any) -> bool:
    """Return whether ``found`` has all that ``wanted`` has: of objects the named members, of lists all in order."""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(name in found and holds(found[name], wanted[name]) for name in wanted)
    if isinstance(wanted, list):
        if not isinstance(found, list) or len(found) != len(wanted):
            return False
        return all(holds(each, part) for each, part in zip(found, wanted, strict=True))
    if isinstance(found, bool) is not isinstance(wanted, bool):
        return False
    return bool(found == wanted)
