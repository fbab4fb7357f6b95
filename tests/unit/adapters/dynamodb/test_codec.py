"""Packing: what goes into the table comes out of it, and takes little room."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from baton.adapters.dynamodb.bodies import pack, unpack
from baton.domain.errors import StoreUnavailable
from tests.unit.adapters.dynamodb.strategies import json_values

STORED = "03abc61591905e9c7bd1e13d87e783ca5960c8451bea809387919e696c2d00"


@given(json_values)
def test_any_json_comes_back(value: Any) -> None:
    assert unpack(pack(value)) == value


@given(json_values)
def test_the_same_value_is_always_packed_the_same(value: Any) -> None:
    assert pack(value) == pack(unpack(pack(value)))


@pytest.mark.parametrize("packed", [b"", b"\x00abc", b"\x01abc", b"\x02abc", b"\x05abc", b"{}"])
def test_another_format_is_named_instead_of_misread(packed: bytes) -> None:
    with pytest.raises(ValueError, match="format"):
        unpack(packed)


@pytest.mark.parametrize("packed", [b"\x03", b"\x04", b"\x04abc", bytes.fromhex(STORED)[:-6]])
def test_damaged_bytes_are_a_failure_of_the_store(packed: bytes) -> None:
    with pytest.raises(StoreUnavailable, match="damaged"):
        unpack(packed)


def test_this_format_is_still_read_in_later_versions() -> None:
    """Written by the first release; if this fails, the dictionary or the format changed under stored data."""
    assert unpack(bytes.fromhex(STORED)) == {"type": "RUN_FINISHED", "text": "Grüße", "n": [1, None, 2.5]}


def test_the_events_of_a_short_answer_take_little_room() -> None:
    events = [
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant", "name": "Assistant"},
        *({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": f"piece {n} "} for n in range(10)),
        {"type": "TEXT_MESSAGE_END", "messageId": "m", "metadata": {"sources": []}},
    ]
    assert len(pack(events)) < 250
