"""The SQL conditions of filters."""

from __future__ import annotations

import json
from typing import Any

from baton.domain.documents.search import SearchFilter
from baton.domain.times import to_millis


def make_filter_condition(chosen: SearchFilter, permissions: frozenset[str] | None = None) -> tuple[str, list[Any]]:
    """Return the SQL condition of a filter, and its values.

    Documents that require a permission other than ``permissions``, the reader's, are left out. None checks no
    permissions.
    """
    conditions, values = ["1"], list[Any]()
    for column, value in (
        ("agent_id", chosen.agent_id),
        ("thread_id", chosen.thread_id),
        ("source_id", chosen.source_id),
    ):
        if value is not None:
            conditions.append(f"{column} = ?")
            values.append(value)
    if chosen.kinds:
        conditions.append(f"kind IN ({', '.join('?' * len(chosen.kinds))})")
        values += chosen.kinds
    if chosen.since is not None:
        conditions.append("at >= ?")
        values.append(to_millis(chosen.since))
    if chosen.until is not None:
        conditions.append("at < ?")
        values.append(to_millis(chosen.until))
    if permissions is not None:
        conditions.append("(required_permission IS NULL OR required_permission IN (SELECT value FROM json_each(?)))")
        values.append(json.dumps(sorted(permissions)))
    return " AND ".join(conditions), values
