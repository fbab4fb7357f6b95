"""Tool calls from the fragments that all sorts of endpoints stream."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.adapters.models.openai.tool_calls import ToolCallFragments
from baton.domain.errors import ModelUnavailable
from baton.domain.runs.tool_call import ToolCall


def fragment(index: int | None = None, id: str | None = None, name: str | None = None, arguments: Any = None) -> Any:  # noqa: A002
    return {"index": index, "id": id, "function": {"name": name, "arguments": arguments}}


def calls_of(*fragments: Any, cut: bool = False) -> list[ToolCall]:
    drafts = ToolCallFragments()
    for item in fragments:
        drafts.add([item])
    return drafts.take(cut=cut)


def list_calls(calls: list[ToolCall]) -> list[tuple[str, str]]:
    return [(call.name, call.arguments) for call in calls]


def test_pieces_of_arguments_are_joined_by_index_even_when_they_interleave() -> None:
    assert calls_of(
        fragment(0, "a", "add", ""),
        fragment(1, "b", "end", ""),
        fragment(0, arguments='{"x"'),
        fragment(1, arguments='{"y": 2}'),
        fragment(0, arguments=": 1}"),
    ) == [ToolCall("a", "add", '{"x": 1}'), ToolCall("b", "end", '{"y": 2}')]


@pytest.mark.parametrize("index", [None, 0])
@pytest.mark.parametrize("ids", [("a", "b"), (None, None)])
@pytest.mark.parametrize("names", [("add", "add"), ("add", "end")])
def test_whole_calls_stay_apart_without_useful_indexes_or_ids(
    index: int | None, ids: tuple[str | None, str | None], names: tuple[str, str]
) -> None:
    calls = calls_of(*(fragment(index, id, name, '{"x": 1}') for id, name in zip(ids, names, strict=True)))  # noqa: A001
    assert list_calls(calls) == [(name, '{"x": 1}') for name in names]


def test_calls_without_arguments_stay_apart_by_their_names_or_ids() -> None:
    assert list_calls(calls_of(fragment(name="one"), fragment(name="two"))) == [("one", "{}"), ("two", "{}")]
    assert len(calls_of(fragment(0, "a", "one"), fragment(0, "b", "one"))) == 2


def test_a_name_or_id_repeated_in_each_fragment_is_one_call() -> None:
    pieces = ("", '{"x"', ": 1", "}", "")
    assert calls_of(*(fragment(0, "a", "add", piece) for piece in pieces)) == [ToolCall("a", "add", '{"x": 1}')]
    assert list_calls(calls_of(*(fragment(None, None, "add", piece) for piece in pieces))) == [("add", '{"x": 1}')]


def test_an_id_that_changes_with_each_piece_does_not_part_a_call() -> None:
    assert calls_of(fragment(0, "a", "add", '{"x"'), fragment(0, "b", arguments=": 1}")) == [
        ToolCall("a", "add", '{"x": 1}')
    ]


def test_missing_and_repeated_ids_become_unique_ones() -> None:
    calls = calls_of(fragment(0, None, "one"), fragment(1, "same", "two"), fragment(2, "same", "three"))
    assert len({call.id for call in calls}) == 3
    assert all(0 < len(call.id) <= 40 for call in calls)


@pytest.mark.parametrize("arguments", [None, "", " ", "null", "{}", {}])
def test_no_arguments_are_an_empty_object(arguments: Any) -> None:
    assert list_calls(calls_of(fragment(0, "a", "one", arguments))) == [("one", "{}")]


def test_arguments_that_come_as_an_object_become_json() -> None:
    [call] = calls_of(fragment(0, "a", "one", {"city": "Köln"}))
    assert json.loads(call.arguments) == {"city": "Köln"}


def test_malformed_arguments_are_passed_on_as_they_are() -> None:
    assert list_calls(calls_of(fragment(0, "a", "one", '{"x": '))) == [("one", '{"x":')]


def test_a_call_that_was_cut_off_is_left_out() -> None:
    fragments = (fragment(0, "a", "one", '{"x": 1}'), fragment(1, "b", "two", '{"x": 1'), fragment(2, "c", "three"))
    assert list_calls(calls_of(*fragments, cut=True)) == [("one", '{"x": 1}')]


@pytest.mark.parametrize("nameless", [{}, None, "text", fragment(0, "a", None, "{}")])
def test_a_call_that_names_no_tool_is_the_endpoints_failure(nameless: object) -> None:
    with pytest.raises(ModelUnavailable):
        calls_of(nameless)


@given(
    st.lists(
        st.tuples(
            st.text("abc_", min_size=1, max_size=5),
            st.dictionaries(st.text(max_size=5), st.integers() | st.text(), max_size=3),
        ),
        max_size=4,
    ),
    st.integers(1, 9),
    st.booleans(),
)
def test_however_calls_are_cut_into_pieces_they_come_out_whole(
    calls: list[tuple[str, dict[str, Any]]], size: int, numbered: bool
) -> None:
    fragments = []
    for index, (name, arguments) in enumerate(calls):
        written = json.dumps(arguments)
        fragments.append(fragment(index if numbered else None, f"id-{index}", name, ""))
        pieces = [written[start : start + size] for start in range(0, len(written), size)]
        fragments.extend(fragment(index if numbered else None, arguments=piece) for piece in pieces)
    assert [(call.name, json.loads(call.arguments)) for call in calls_of(*fragments)] == calls
