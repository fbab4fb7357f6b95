"""Branches: whatever is said, replaced and selected, the path is the one that was chosen."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.adapters.dynamodb.threads.thread_item import segments_as_attribute, segments_from_attribute
from baton.domain.errors import BranchUnavailable, TooManyBranches
from baton.domain.threads.branches import (
    MAX_SEGMENTS,
    ROOT,
    MessagePath,
    Segment,
    Segments,
    check_room,
    continue_from,
    find_branch,
    find_path,
    find_tip,
    list_alternatives,
)
from baton.domain.threads.history_window import HistoryWindow, select_on_path


@dataclass
class Tree:
    """The same messages, each with the one that it continues from."""

    segments: Segments = ()
    parents: list[int] = field(default_factory=list)
    at: int = ROOT
    """The last message of the selected branch."""

    def say(self, count: int) -> None:
        for _ in range(count):
            self.parents.append(self.at)
            self.at = len(self.parents) - 1

    def continue_from(self, ordinal: int) -> None:
        self.segments = continue_from(self.segments, len(self.parents), ordinal)
        self.at = ordinal

    def way_to(self, ordinal: int) -> list[int]:
        way = []
        while ordinal != ROOT:
            way.append(ordinal)
            ordinal = self.parents[ordinal]
        return way[::-1]


steps = st.lists(st.tuples(st.integers(0, 4), st.floats(0, 1)), max_size=30)


def grow(taken: list[tuple[int, float]]) -> Tree:
    tree = Tree()
    for count, share in taken:
        tree.say(count)
        tree.continue_from(round(share * len(tree.parents)) - 1)
    return tree


def messages_of(path: MessagePath) -> list[int]:
    return [ordinal for start, end in path.ranges for ordinal in range(start, end)]


@given(steps)
def test_the_path_is_that_of_the_message_that_the_next_one_continues_from(taken: list[tuple[int, float]]) -> None:
    tree = grow(taken)
    path = find_path(tree.segments, len(tree.parents))
    assert messages_of(path) == tree.way_to(tree.at)
    assert path.last == tree.at
    assert [ordinal in path for ordinal in range(len(tree.parents))] == [
        ordinal in tree.way_to(tree.at) for ordinal in range(len(tree.parents))
    ]


@given(steps)
def test_every_message_keeps_its_own_path_whatever_is_selected(taken: list[tuple[int, float]]) -> None:
    tree = grow(taken)
    for ordinal in range(len(tree.parents)):
        path = find_path(continue_from(tree.segments, len(tree.parents), ordinal), len(tree.parents))
        assert messages_of(path) == tree.way_to(ordinal)
        assert path.find_previous(ordinal) == tree.parents[ordinal]


@given(steps)
def test_alternatives_are_the_messages_that_continue_from_the_same_one(taken: list[tuple[int, float]]) -> None:
    tree = grow(taken)
    siblings = [ordinal for ordinal, parent in enumerate(tree.parents) if tree.parents.count(parent) > 1]
    points = list_alternatives(tree.segments, len(tree.parents))
    assert [point.ordinal for point in points] == siblings
    assert [point.parent for point in points] == [tree.parents[ordinal] for ordinal in siblings]
    for point in points:
        below = [o for o in range(len(tree.parents)) if point.ordinal in tree.way_to(o)]
        assert find_tip(tree.segments, len(tree.parents), point) == max(below)


@given(steps)
def test_segments_come_back_from_the_table(taken: list[tuple[int, float]]) -> None:
    segments = grow(taken).segments
    assert segments_from_attribute(segments_as_attribute(segments)) == segments


def test_a_thread_without_branches_has_no_segments() -> None:
    assert continue_from((), 7, 6) == ()
    assert find_path((), 7).ranges == ((0, 7),)
    assert find_path((), 0).last == ROOT
    assert list_alternatives((), 7) == []


def test_a_branch_must_exist() -> None:
    with pytest.raises(BranchUnavailable):
        find_branch((Segment(2, ROOT),), 4, "b1")


def test_a_thread_has_room_for_a_hundred_segments_and_their_item_stays_small() -> None:
    segments: Segments = ()
    for number in range(MAX_SEGMENTS):
        check_room(segments, 2 + 2 * number)
        segments = continue_from(segments, 2 + 2 * number, ROOT)
    check_room(segments, 2 * MAX_SEGMENTS)  # the last one is still empty
    with pytest.raises(TooManyBranches):
        check_room(segments, 2 + 2 * MAX_SEGMENTS)
    assert len(segments_as_attribute(segments)) < 800


def test_a_window_holds_on_a_path_that_its_beginning_and_its_summary_are_on() -> None:
    path = MessagePath(((0, 4), (8, 12)))
    held = (HistoryWindow("a"), HistoryWindow("a", first_ordinal=2), HistoryWindow("a", first_ordinal=9, summary_at=8))
    lost = (HistoryWindow("a", first_ordinal=4), HistoryWindow("a", first_ordinal=8, summary_at=6))
    assert select_on_path((*held, *lost), path) == held
