"""The connections that watch a thread: read when they have changed, and by no turn otherwise."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from baton.domain.threads.run_end import OutcomeType
from tests.fakes.chat_model import Answer
from tests.harness.harness import Harness


class Reads:
    """The count of how often the live items of a thread are read."""

    def __init__(self, harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        really = harness.live.live

        async def live(*arguments: Any) -> Any:
            self.count += 1
            return await really(*arguments)

        monkeypatch.setattr(harness.live, "live", live)


async def watch_thread(monkeypatch: pytest.MonkeyPatch) -> tuple[Harness, Reads]:
    """A thread that one connection watches, after two turns."""
    harness = Harness()
    reads = Reads(harness, monkeypatch)
    for number in (1, 2):
        await harness.say(f"m{number}", subscriber=harness.subscriber("tab"))
    reads.count = 0
    return harness, reads


def types(harness: Harness, connection_id: str) -> list[str]:
    return [event["type"] for event in harness.connections.events(connection_id)]


@pytest.mark.parametrize("connection_id", ["tab", None])
async def test_a_thread_with_the_same_watchers_is_not_asked_for_them(
    monkeypatch: pytest.MonkeyPatch, connection_id: str | None
) -> None:
    harness, reads = await watch_thread(monkeypatch)
    before = types(harness, "tab")
    exchange = await harness.say("m3", subscriber=harness.subscriber(connection_id) if connection_id else None)
    assert reads.count == 0
    assert types(harness, "tab") == [*before, *exchange.types]


async def test_a_connection_that_was_attached_in_between_gets_the_next_run(monkeypatch: pytest.MonkeyPatch) -> None:
    harness, _ = await watch_thread(monkeypatch)
    await harness.live.attach(harness.ada, harness.thread_id, "phone", harness.subscriber("phone").token_expires_at)
    exchange = await harness.say("m3")
    assert types(harness, "phone") == exchange.types


async def test_a_connection_that_is_attached_during_a_run_gets_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    harness, reads = await watch_thread(monkeypatch)
    gate = asyncio.Event()
    harness.model.script(Answer(("Hello ", "there."), gate=gate, gate_at=1))
    saying = asyncio.ensure_future(harness.say("m3"))
    await harness.wait_for_requests(3)
    await harness.live.attach(harness.ada, harness.thread_id, "phone", harness.subscriber("phone").token_expires_at)
    gate.set()
    exchange = await saying
    assert types(harness, "phone") == exchange.types
    assert reads.count >= 1


async def test_a_connection_that_has_gone_is_not_known_after_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    harness, _ = await watch_thread(monkeypatch)
    harness.connections.gone.add("tab")
    await harness.say("m3")
    await harness.say("m4")
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    assert thread.known_watchers == {}


async def test_a_run_that_was_cancelled_while_it_waited_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    harness, reads = await watch_thread(monkeypatch)
    count_before = len(harness.model.requests)
    request = harness.request("m3")
    await harness.live.request_cancel(harness.ada, harness.thread_id, request.run_id)
    exchange = await harness.say("m3")
    assert exchange.finished is not None
    end = exchange.finished.messages[-1].end
    assert end is not None
    assert end.outcome is OutcomeType.CANCELLED
    assert (len(harness.model.requests), reads.count) == (count_before, 1)
    assert not (await harness.live.live(harness.ada, harness.thread_id)).cancelled_runs


async def test_a_run_that_was_cancelled_before_the_one_before_it_ended_says_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    harness, _ = await watch_thread(monkeypatch)
    later = harness.request("m4")
    await harness.live.request_cancel(harness.ada, harness.thread_id, later.run_id)
    await harness.say("m3")
    count_before = len(harness.model.requests)
    exchange = await harness.say("m4")
    assert exchange.finished is not None
    end = exchange.finished.messages[-1].end
    assert end is not None
    assert end.outcome is OutcomeType.CANCELLED
    assert len(harness.model.requests) == count_before
