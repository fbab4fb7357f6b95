"""Text by its size."""

from __future__ import annotations

import sys
import unicodedata
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.domain.text import (
    MAX_GROWTH,
    MAX_MARKS,
    MENDED_AT_ONCE,
    NEVER_CUT,
    count_bytes,
    cut_to_bytes,
    normalise_text,
    replace_surrogates,
)

TEXT = st.text(st.sampled_from("aé€😀\ud83d"), max_size=20)


@given(TEXT, st.integers(-1, 60))
def test_the_beginning_is_as_long_as_it_may_be(text: str, size: int) -> None:
    beginning = cut_to_bytes(text, size)
    assert text.startswith(beginning)
    assert count_bytes(beginning) <= max(0, size)
    following = text[len(beginning) : len(beginning) + 1]
    assert not following or count_bytes(beginning + following) > size


def test_half_a_pair_at_the_end_of_a_slice_does_not_divide_the_next_pair() -> None:
    before = "a" * (MENDED_AT_ONCE - 1)
    assert replace_surrogates(f"{before}\ud83d\ud83d\ude00") == f"{before}\ufffd\U0001f600"


@pytest.mark.parametrize("form", ["NFC", "NFKC", "NFKD"])
def test_more_marks_than_unicode_lets_a_letter_have_are_left_out(form: Literal["NFC", "NFKC", "NFKD"]) -> None:
    marks = "\u0301\u0323" * 500_000  # to put all of them in order takes minutes
    text = f"{'e' * 1_000}{marks}x"
    assert normalise_text(form, text) == unicodedata.normalize(form, f"{'e' * 1_000}{marks[:MAX_MARKS]}x")


@pytest.mark.parametrize(
    "text", ["e\u0301\u0323" * 500, "\u0915\u094d" * 900, "\u1100\u1161\u11a8" * 900, "\u0e01\u0e48" * 900]
)
def test_a_long_text_has_the_normal_form_of_unicode(text: str) -> None:
    assert normalise_text("NFKC", text) == unicodedata.normalize("NFKC", text)


@pytest.mark.parametrize("form", ["NFKC", "NFKD"])
def test_characters_that_become_many_do_not_make_a_text_many_times_as_long(form: Literal["NFKC", "NFKD"]) -> None:
    assert len(normalise_text(form, "\ufdfa" * 20_000)) <= MAX_GROWTH * 20_000
    shown_whole = "\ufdfa" * (NEVER_CUT // 18)
    assert normalise_text(form, shown_whole) == unicodedata.normalize(form, shown_whole)


def test_whatever_becomes_marks_is_counted() -> None:
    marks = [
        chr(code)
        for code in range(sys.maxunicode + 1)
        if unicodedata.combining(unicodedata.normalize("NFKD", chr(code))[0])
    ]
    for mark in marks:
        normal = normalise_text("NFKD", "a" * 1_000 + mark * 100)
        assert len(normal) <= 1_000 + MAX_MARKS * 3, f"U+{ord(mark):04X}"
