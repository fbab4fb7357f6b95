"""Removing personal data from an inspector record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from baton.privacy.redaction import Redactor

TEXTS = {"text", "title", "content", "arguments", "value", "name"}
"""Members of a record with words of users, models, tools and documents."""


async def redacted(record: dict[str, Any], redactor: Redactor) -> dict[str, Any]:
    """Return the record with every text redacted. Raises as the detector does."""
    parts = {"blocks": record["blocks"], "calls": record["calls"]}
    clean = await redactor.redact_each(_texts(parts))
    return {**record, **_replaced(parts, clean), "redacted": True}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, each in value.items():
            if name in TEXTS and isinstance(each, str):
                yield each
            else:
                yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def _replaced(value: Any, clean: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {
            name: clean.get(each, each) if name in TEXTS and isinstance(each, str) else _replaced(each, clean)
            for name, each in value.items()
        }
    if isinstance(value, list):
        return [_replaced(each, clean) for each in value]
    return value
