"""Counting the values of a JSON text without parsing it."""

from __future__ import annotations

import itertools
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from baton.domain.json_values import MemberCount, ValueCount, count_values

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.sampled_from('",[]{}\\:\né'), max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=30,
)


def marks(value: Any) -> int:
    """The count for a value: its opening brackets and commas."""
    if isinstance(value, list | dict):
        inner = value.values() if isinstance(value, dict) else value
        return 1 + max(0, len(value) - 1) + sum(marks(item) for item in inner)
    return 0


@given(VALUES, st.booleans())
def test_what_stands_in_strings_is_not_counted(value: Any, is_ascii: bool) -> None:
    assert count_values(json.dumps(value, ensure_ascii=is_ascii)) == marks(value)


@given(VALUES, st.lists(st.integers(0, 200), max_size=6))
def test_where_the_pieces_are_cut_makes_no_difference(value: Any, cuts: list[int]) -> None:
    text = json.dumps(value).encode()
    count = ValueCount()
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    for start, end in itertools.pairwise(places):
        count.add(text[start:end])
    assert count.count == marks(value)


def largest(value: Any) -> int:
    """The members of the largest object in a value."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return max([len(value) if isinstance(value, dict) else 0, *map(largest, inner)])


@given(VALUES, st.lists(st.integers(0, 200), max_size=6))
def test_the_members_of_the_largest_object_are_counted(value: Any, cuts: list[int]) -> None:
    text = json.dumps(value).encode()
    count = MemberCount()
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    for start, end in itertools.pairwise(places):
        count.add(text[start:end])
    assert count.count == marks(value)
    assert max(count.members, 1) == max(largest(value), 1), "an empty object counts as one with a member"
