"""GET .../events of a conversation in which more has happened than one answer holds."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from baton.api.runs.sse import Timing
from baton.domain.tenants.identity import Scope
from baton.domain.threads.events import make_messages_snapshot, make_unsequenced
from baton.domain.threads.thread import Thread
from baton.threads.outbox import replay as replays
from baton.threads.outbox.replay import MAX_SEQ, Replay, Replays
from tests.fakes.chat_model import Answer
from tests.unit.api.resuming import events_of
from tests.unit.api.served import Served

TURNS = 12


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Served:
    monkeypatch.setattr(replays, "SNAPSHOT_MESSAGES", 4)
    monkeypatch.setattr(replays, "MAX_PAGES", 2)
    return Served(timing=Timing(follow_seconds=2))


@pytest.mark.parametrize("question", [{}, {"after": 0}, {"after": 3}])
async def test_a_stream_begins_with_a_snapshot_and_goes_on_with_the_newest_runs(served: Served, question: Any) -> None:
    for number in range(TURNS):
        turn = await served.harness.say(f"m{number}")
    events = events_of(await served.get(f"/threads/{served.harness.thread_id}/events", **question))
    assert [event["type"] for event in events[:2]] == ["MESSAGES_SNAPSHOT", "RUN_STARTED"]
    seqs = [event["metadata"]["seq"] for event in events[1:]]
    assert seqs == list(range(seqs[0], seqs[0] + len(seqs)))
    assert seqs[-1] == turn.seqs[-1]
    page = (await served.get(f"/threads/{served.harness.thread_id}/messages", limit=4)).json()
    assert [message["id"] for message in events[0]["messages"]] == [item["id"] for item in page["items"]]
    assert page["nextCursor"] is not None, "the rest is read by pages"


async def test_the_header_and_the_parameter_have_the_same_largest_sequence_number(served: Served) -> None:
    await served.harness.say()
    path = f"/threads/{served.harness.thread_id}/events"
    async with served._client("ada") as client:
        by_header = [await client.get(path, headers={"Last-Event-ID": str(seq)}) for seq in (MAX_SEQ, MAX_SEQ + 1)]
    by_parameter = [await served.get(path, after=seq) for seq in (MAX_SEQ, MAX_SEQ + 1)]
    codes = ["invalid_sequence", "invalid_request"]
    assert [answer.json()["code"] for answer in by_header] == codes
    assert [answer.json()["code"] for answer in by_parameter] == codes


async def test_a_stream_that_falls_far_behind_gets_a_snapshot(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = asyncio.Event()
    served.harness.model.script(Answer(("One ", "two."), gate=gate, gate_at=1))
    running = asyncio.ensure_future(served.harness.say())
    await served.harness.wait_for_requests()
    original, calls = Replays.replay_after, 0

    async def replay_after(self: Replays, scope: Scope, thread: Thread, seen: int) -> Replay:
        nonlocal calls
        calls += 1
        replay = await original(self, scope, thread, seen)
        if calls != 2:
            return replay
        gate.set()
        return Replay((), replay.last_seq, make_unsequenced(make_messages_snapshot(()), threadId=thread.id))

    monkeypatch.setattr(Replays, "replay_after", replay_after)
    events = events_of(await served.get(f"/threads/{served.harness.thread_id}/events", after=0))
    await running
    assert "MESSAGES_SNAPSHOT" in [event["type"] for event in events[:-1]]
    assert events[-1]["type"] == "RUN_FINISHED"
