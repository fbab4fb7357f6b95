"""Partial matches of JSON values."""

from __future__ import annotations

from typing import Any


def matches_partly(actual: Any, expected: Any) -> bool:
    """Return whether ``actual`` equals ``expected``, except that its objects may have further members.

    Lists are compared whole, and True and False equal no number.
    """
    if isinstance(expected, dict):
        return isinstance(actual, dict) and all(
            name in actual and matches_partly(actual[name], expected[name]) for name in expected
        )
    if isinstance(expected, list):
        if not isinstance(actual, list) or len(actual) != len(expected):
            return False
        return all(matches_partly(item, expected_item) for item, expected_item in zip(actual, expected, strict=True))
    if isinstance(actual, bool) is not isinstance(expected, bool):
        return False
    return bool(actual == expected)
