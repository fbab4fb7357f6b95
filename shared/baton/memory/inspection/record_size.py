"""The size of an inspector record: cut to fit an HTTP answer, with a note of the cut parts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic_core import to_json

MAX_RECORD_BYTES = 2 * 1024 * 1024
"""Bytes of a record as JSON. Lambda returns at most 6 MB."""
TEXT_LIMITS = (65_536, 16_384, 4_096, 1_024, 256, 64)
"""Characters of a text, from the first limit that is enough."""


def limit_size(record: dict[str, Any]) -> bytes:
    """Return the record as JSON of at most ``MAX_RECORD_BYTES``.

    Long texts are cut first, evenly, then calls in the middle are left out, then items that were not used, then all of
    them. ``cut`` in the record says which of these was done.
    """
    lengths = _text_lengths(record)
    if sum(lengths) <= MAX_RECORD_BYTES:
        body = _json(record)
        if len(body) <= MAX_RECORD_BYTES:
            return body
    shorter: dict[str, Any] = record
    for limit in TEXT_LIMITS:
        # Writing all of a long record only to measure it could take seconds.
        if limit != TEXT_LIMITS[-1] and sum(min(length, limit) for length in lengths) > MAX_RECORD_BYTES:
            continue
        shorter = {**_shorten(record, limit), "cut": [f"texts after {limit} characters"]}
        body = _json(shorter)
        if len(body) <= MAX_RECORD_BYTES:
            return body
    for what, step in (("calls in the middle", _drop_middle), ("items that were left out", _drop_left_out)):
        shorter = {**step(shorter), "cut": [*shorter["cut"], what]}
        body = _json(shorter)
        if len(body) <= MAX_RECORD_BYTES:
            return body
    return _json({**shorter, "blocks": [], "calls": [], "cut": ["everything: the record is too large"]})


def text_size(record: Mapping[str, Any]) -> int:
    """Return the characters of all texts of a record."""
    return sum(_text_lengths(record))


def _drop_middle(record: Mapping[str, Any]) -> dict[str, Any]:
    calls = record["calls"]
    if len(calls) <= 2:
        return dict(record)
    left_out = record.get("callsLeftOut", 0) + len(calls) - 2
    return {**record, "calls": [calls[0], calls[-1]], "callsLeftOut": left_out}


def _drop_left_out(record: Mapping[str, Any]) -> dict[str, Any]:
    blocks = [
        {**block, "items": [item for item in block["items"] if item["included"]][-100:]} for block in record["blocks"]
    ]
    calls = [{**call, "messages": [*call["messages"][:20], *call["messages"][20:][-80:]]} for call in record["calls"]]
    return {**record, "blocks": blocks, "calls": calls}


def _shorten(value: Any, limit: int) -> Any:
    """Return JSON values with every long text cut."""
    if isinstance(value, str):
        return value if len(value) <= limit else f"{value[:limit]}... [cut: {len(value)} characters]"
    if isinstance(value, dict):
        return {name: _shorten(member, limit) for name, member in value.items()}
    if isinstance(value, list):
        return [_shorten(member, limit) for member in value]
    return value


def _text_lengths(record: Mapping[str, Any]) -> list[int]:
    """Return the lengths of all texts, in no order. This is done for every run, so it neither recurses nor yields."""
    lengths: list[int] = []
    waiting: list[Any] = [record]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            lengths.append(len(value))
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return lengths


def _json(record: Mapping[str, Any]) -> bytes:
    try:
        return to_json(record)  # a fifth of the time
    except ValueError:  # a lone surrogate, which UTF-8 cannot encode
        return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
