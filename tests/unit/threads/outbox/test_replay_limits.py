"""However much a client asks for, a replay reads and returns no more than fits, and leaves the client no gap."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from baton.domain.threads.events import Event
from baton.ports.threads import stream_log
from baton.threads.outbox import event_log
from baton.threads.outbox import replay as replays
from baton.threads.outbox.replay import Replay
from tests.fakes.chat_model import Answer
from tests.harness.harness import Harness
from tests.harness.sockets import Socketed

TURNS = 30
PAGE, PAGES = 6, 2


@pytest.fixture
def limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that a conversation of thirty turns exceeds."""
    monkeypatch.setattr(replays, "SNAPSHOT_MESSAGES", PAGE)
    monkeypatch.setattr(replays, "MAX_PAGES", PAGES)


async def hold_conversation(*, logged: bool) -> tuple[Harness, list[Event]]:
    """A conversation and its events. ``logged``: the events are in the log, not only with the messages."""
    harness = Harness()
    events: list[Event] = []
    with pytest.MonkeyPatch.context() as small:
        if logged:
            small.setattr(event_log, "MAX_PIECE", 3_000)
        for number in range(TURNS):
            text = f"Answer {number}. " * (300 if logged else 1)
            harness.model.script(Answer((text[: len(text) // 2], text[len(text) // 2 :])))
            events += (await harness.say(f"m{number}", f"Question {number}")).events
    return harness, events


class Reads(Counter[str]):
    """The counts of what a replay reads."""

    def __init__(self, harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self._watch(monkeypatch, harness.store, "read_messages", lambda page: len(page.messages))
        self._watch(monkeypatch, harness.log, "read", lambda read: len(read.pieces))

    def _watch(self, monkeypatch: pytest.MonkeyPatch, store: Any, operation: str, size: Any) -> None:
        really = getattr(store, operation)

        async def call(*args: Any, **kwargs: Any) -> Any:
            result = await really(*args, **kwargs)
            self[operation] += 1
            self[f"{operation} results"] += size(result)
            return result

        monkeypatch.setattr(store, operation, call)


async def read_replay(harness: Harness, after: int) -> Replay:
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    return await harness.replays.replay_after(harness.ada, thread, after)


async def check(harness: Harness, replay: Replay, everything: Sequence[Event], after: int) -> None:
    """Check that a client that has the events up to ``after`` then has the conversation."""
    expected = [event for event in everything if event.seq is not None and event.seq > after]
    got = list(replay.events)
    assert [event.body for event in got] == [event.body for event in expected[len(expected) - len(got) :]]
    if len(got) == len(expected):
        assert replay.snapshot is None
        return
    assert replay.snapshot is not None
    assert got[0].type == "RUN_STARTED"
    assert got[0].body["input"]["messages"][0]["content"].startswith("Question")
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    page = await harness.store.read_messages(harness.ada, thread, limit=replays.SNAPSHOT_MESSAGES, before=None)
    assert [message["id"] for message in replay.snapshot.body["messages"]] == [message.id for message in page.messages]


@pytest.mark.usefixtures("limited")
@pytest.mark.parametrize("logged", [False, True], ids=["tails", "log"])
async def test_a_replay_reads_no_more_messages_than_its_limit_and_leaves_no_gap(
    logged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness, events = await hold_conversation(logged=logged)
    last_seq = events[-1].seq
    assert last_seq is not None
    for after in range(0, last_seq + 1, 7):
        with monkeypatch.context() as watching:
            reads = Reads(harness, watching)
            replay = await read_replay(harness, after)
        assert reads["read_messages"] <= PAGES + 1, "the pages, and the snapshot"
        assert reads["read_messages results"] <= (PAGES + 1) * PAGE
        assert replay.last_seq == last_seq
        await check(harness, replay, events, after)
    assert (await read_replay(harness, 0)).events
    near = await read_replay(harness, last_seq - 3)
    assert (near.snapshot, len(near.events)) == (None, 3)


async def test_a_replay_reads_no_more_of_the_log_than_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_log, "MAX_READ_BYTES", 20_000)
    harness, events = await hold_conversation(logged=True)
    reads = Reads(harness, monkeypatch)
    replay = await read_replay(harness, 0)
    assert replay.snapshot is not None
    assert sum(len(event.json()) for event in replay.events) < 60_000
    assert reads["read results"] < TURNS
    await check(harness, replay, events, 0)


async def test_a_repeated_message_reads_the_log_of_its_run_only(monkeypatch: pytest.MonkeyPatch) -> None:
    harness, events = await hold_conversation(logged=True)
    reads = Reads(harness, monkeypatch)
    again = await harness.say("m3", "Question 3")
    first = next(event for event in events if event.body["metadata"].get("messageId") == "m3")
    assert [event.body for event in again.events] == [event.body for event in events if event.run_id == first.run_id]
    assert reads["read results"] <= 3


@pytest.mark.usefixtures("limited")
async def test_a_resume_of_too_much_is_a_snapshot_and_the_newest_events(monkeypatch: pytest.MonkeyPatch) -> None:
    harness, events = await hold_conversation(logged=False)
    socketed = Socketed(harness)
    await socketed.send("resume", threadId=harness.thread_id, after=0)
    frames = socketed.take_events()
    types = [frame["type"] for frame in frames]
    assert types[:3] == ["STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_STARTED"]
    assert frames[0]["metadata"]["resume"]["lastSeq"] == frames[-1]["metadata"]["seq"] == events[-1].seq


@pytest.mark.usefixtures("limited")
async def test_a_run_in_progress_is_replayed_from_its_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_log, "MAX_READ_BYTES", 1)
    harness, _ = await hold_conversation(logged=False)
    gate = asyncio.Event()
    harness.model.script(Answer(tuple(f"{number} " * 2000 for number in range(6)), gate=gate, gate_at=5))
    await harness.live.note_reader(harness.ada, harness.thread_id)
    running = asyncio.ensure_future(harness.say("last", "Question"))
    await asyncio.sleep(5)
    replay = await read_replay(harness, 0)
    assert replay.snapshot is not None
    seqs = [event.seq for event in replay.events]
    assert seqs == list(range(replay.last_seq - len(seqs) + 1, replay.last_seq + 1))
    started = [event.body["metadata"]["messageId"] for event in replay.events if event.type == "RUN_STARTED"]
    assert started[-1] == "last"
    assert replay.events[0].type == "RUN_STARTED"
    gate.set()
    await running
