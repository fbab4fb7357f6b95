"""Removing personal data from an inspector record."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

Redact = Callable[[str], Awaitable[str | None]]
"""Returns a text without personal data; None if there is none in it."""

TEXTS = {"text", "title", "content", "arguments", "value", "name"}
"""Members of a record with words of users, models, tools and documents."""
AT_ONCE = 8
"""Texts that are redacted at the same time, because a detector may be a service."""


async def redacted(record: dict[str, Any], redact: Redact) -> dict[str, Any]:
    """Return the record with every text redacted."""
    parts = {"blocks": record["blocks"], "calls": record["calls"]}
    texts = list(dict.fromkeys(_texts(parts)))
    clean: dict[str, str] = {}
    for start in range(0, len(texts), AT_ONCE):
        some = texts[start : start + AT_ONCE]
        clean.update(zip(some, await asyncio.gather(*(_clean(text, redact) for text in some)), strict=True))
    return {**record, **_replaced(parts, clean), "redacted": True}


async def _clean(text: str, redact: Redact) -> str:
    found = await redact(text)
    return text if found is None else found


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


def _replaced(value: Any, clean: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {
            name: clean[each] if name in TEXTS and isinstance(each, str) else _replaced(each, clean)
            for name, each in value.items()
        }
    if isinstance(value, list):
        return [_replaced(each, clean) for each in value]
    return value
