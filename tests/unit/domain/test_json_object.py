"""The JSON object in what a model has written."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.domain.json_values import find_json_object

OBJECTS = st.dictionaries(
    st.text(max_size=4), st.integers() | st.text(max_size=6) | st.lists(st.booleans()), max_size=4
)
WORDS = st.text(st.characters(blacklist_characters="{}", blacklist_categories=["Cs"]), max_size=20)


@given(OBJECTS, WORDS, WORDS)
def test_words_around_an_object_are_left_out(value: dict[str, Any], before: str, after: str) -> None:
    written = json.dumps(value)
    for text in (written, f"{before}\n```json\n{written}\n```\n{after}", f"Answer: {written} {after}"):
        assert find_json_object(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "No.",
        "null",
        "[1]",
        '[{"a": 1}]',
        '"{}"',
        '{"a": 1',
        '{"a": 1} or {"a": 2}',
        '{"a": NaN}',
        '{"a": -Infinity}',
        "{" * 200_000,
        '{"a":' * 200_000 + "1" + "}" * 200_000,
    ],
    ids=lambda text: text[:24],
)
def test_what_is_no_single_object_is_none(text: str) -> None:
    assert find_json_object(text) is None


def test_a_list_that_was_cut_is_mended_only_where_that_is_asked_for() -> None:
    cut = '{"facts": [{"a": 1}, {"a": 2'
    assert find_json_object(cut) is None
    assert find_json_object(cut, mends_lists=True) == {"facts": [{"a": 1}]}
