"""Cursors come back as they were handed out, or are refused."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.domain.cursors import decode_ordinal, decode_text, encode, encode_ordinal, encode_text
from baton.domain.errors import InvalidRequest


@given(st.integers(0, 10**12 - 1))
def test_an_ordinal_comes_back(ordinal: int) -> None:
    assert decode_ordinal(encode_ordinal(ordinal)) == ordinal


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=100))
def test_a_sort_key_comes_back(text: str) -> None:
    assert decode_text(encode_text(text)) == text


@pytest.mark.parametrize(
    "cursor", [encode_text("5"), *(encode({"before": value}) for value in (-1, True, "5", 10**12))]
)
def test_another_lists_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidRequest):
        decode_ordinal(cursor)


@given(st.text())
def test_garbage_is_refused(cursor: str) -> None:
    for decode in (decode_ordinal, decode_text):
        with suppress(InvalidRequest):
            decode(cursor)
