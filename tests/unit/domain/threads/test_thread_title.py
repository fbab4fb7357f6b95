"""Titles of threads, and searches for them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.domain.documents.search_words import to_search_form
from baton.domain.errors import InvalidRequest
from baton.domain.threads.thread_search import MAX_QUERY, parse_thread_query
from baton.domain.threads.thread_title import (
    MAX_MADE_BYTES,
    MAX_MADE_TITLE,
    MAX_TITLE,
    cut_beginning,
    parse_title,
    to_title,
)

ANY_TEXT = st.text(st.characters(), max_size=300)


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("\ue000.", ""),  # nothing is seen without the full stop
        ("Weekend in Lisbon", "Weekend in Lisbon"),
        ('"Weekend in Lisbon."', "Weekend in Lisbon"),
        ("## **Title: Weekend in Lisbon**\n\nIt is about ...", "Weekend in Lisbon"),
        ("\n\n- `Weekend` in\tLisbon", "Weekend in Lisbon"),
        ("„Wochenende in Köln“", "Wochenende in Köln"),
        ("标题\uff1a里斯本周末。", "里斯本周末"),
        ("<b>Lisbon</b>", "bLisbon/b"),
        ("[Lisbon](https://evil.example)", "Lisbon(https://evil.example)"),
        ("abc\u202edef", "abcdef"),
        ("What is 2 * 3, 2*3 and 2**3", "What is 2 * 3, 2*3 and 2**3"),
        ("Move *all* *.py and **some** *.md files", "Move all *.py and some *.md files"),
        ("3.5 release of snake_case", "3.5 release of snake_case"),
        ("\u200b \n ", ""),
        ("\n** *\n", ""),
        ("", ""),
    ],
)
def test_a_models_text_becomes_one_line_without_markup(written: str, title: str) -> None:
    assert to_title(written) == title


def test_a_long_text_is_cut_between_words() -> None:
    assert cut_beginning("word " * 40) == "word word word word word word word word word word word…"
    assert cut_beginning("x" * 100) == "x" * (MAX_MADE_TITLE - 1) + "…"


@given(ANY_TEXT)
def test_made_titles_are_short_lines_that_users_could_have_given(text: str) -> None:
    for title in (to_title(text), cut_beginning(text)):
        assert len(title) <= MAX_MADE_TITLE
        assert len(title.encode()) <= MAX_MADE_BYTES
        if title:
            assert parse_title(title) == title.strip()


@given(ANY_TEXT)
def test_a_given_title_is_one_short_line_or_refused(text: str) -> None:
    try:
        title = parse_title(text)
    except InvalidRequest:
        return
    assert 0 < len(title) <= MAX_TITLE
    assert len(title.splitlines()) == 1
    assert parse_title(title) == title


@given(ANY_TEXT)
def test_whatever_can_be_asked_for_finds_itself(text: str) -> None:
    try:
        query = parse_thread_query(text)
    except InvalidRequest:
        assert len(text) > MAX_QUERY or not to_search_form(text).strip()
        return
    assert (
        query.words == parse_thread_query(text.upper()[:MAX_QUERY]).words or text.upper().casefold() != text.casefold()
    )
