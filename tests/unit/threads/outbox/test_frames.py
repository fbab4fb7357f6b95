"""Packing of events into WebSocket frames."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from baton.domain.threads.events import MAX_FRAME_BYTES, Event
from baton.threads.outbox.frames import yield_frames
from baton_testing.fakes.threads.connections import events_in

texts = st.tuples(st.sampled_from(["x", "ß", "🥊", '"']), st.integers(0, 8_000)).map(lambda pair: pair[0] * pair[1])
event_lists = st.lists(texts, max_size=12).map(
    lambda items: [Event({"type": "X", "text": text}, seq) for seq, text in enumerate(items)]
)


@given(event_lists)
def test_frames_hold_every_event_in_order_and_are_small_enough(events: list[Event]) -> None:
    sent = list(yield_frames(events))
    assert all(len(frame.encode()) <= MAX_FRAME_BYTES for frame in sent)
    assert join_frames(sent) == [event.body for event in events]


@given(st.lists(st.integers(0, 12_000), min_size=2, max_size=12))
def test_a_frame_ends_only_where_the_next_event_does_not_fit(lengths: list[int]) -> None:
    sent = list(yield_frames(Event({"type": "X", "text": "x" * length}) for length in lengths))
    for frame, following in pairwise(sent):
        together = [*events_in(frame), events_in(following)[0]]
        assert len(json.dumps(together, separators=(",", ":"))) > MAX_FRAME_BYTES


def test_one_event_is_an_object_and_several_are_an_array() -> None:
    events = [Event({"type": "X", "n": number}, number) for number in range(3)]
    assert list(yield_frames(events[:1])) == ['{"type":"X","n":0}']
    assert list(yield_frames(events)) == ['[{"type":"X","n":0},{"type":"X","n":1},{"type":"X","n":2}]']


def test_slices_of_an_event_share_their_frames_with_nothing() -> None:
    small, large = Event({"type": "X"}, 1), Event({"type": "X", "text": "x" * 40_000}, 2)
    first, *slices, last = yield_frames([small, small, large, small, small])
    assert (len(events_in(first)), len(events_in(last))) == (2, 2)
    assert [is_slice(frame) for frame in slices] == [True] * len(slices)
    assert len(slices) > 1


def is_slice(frame: str) -> bool:
    return frame.startswith('{"type": "PART"')


def join_frames(sent: list[str]) -> list[dict[str, Any]]:
    """The events of the frames, as a client puts them together."""
    items: list[dict[str, Any]] = []
    slices = ""
    for event in (event for frame in sent for event in events_in(frame)):
        if event["type"] != "PART":
            items.append(event)
            continue
        slices += event["data"]
        if event["metadata"]["part"] == event["metadata"]["of"]:
            items.append(json.loads(slices))
            slices = ""
    return items
