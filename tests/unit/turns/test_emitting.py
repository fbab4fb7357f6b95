"""Events that agents emit are sent in order under the lease; what can no longer be sent ends the work behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from baton.domain.agents.agent import AgentDefinition
from baton.domain.errors import LeaseLost
from baton.domain.runs.tool_call import ToolCall
from baton.domain.threads.events import Event
from baton.domain.threads.message import StoredMessage
from baton.ports.threads.leases import Lease
from baton.threads.requests.parsing import make_decision_request
from tests.fakes.chat_model import Answer
from tests.harness.harness import ASSISTANT, Harness
from tests.harness.wiki import run_until_interrupt, wiki, yes

LATE = 3600.0
"""Seconds after which every lease has ended."""


def on_text(act: Callable[[], None]) -> tuple[list[Event], Callable[[Event], None]]:
    """Return the events that a caller gets, and the caller, which acts when the first text arrives."""
    events: list[Event] = []

    def take(event: Event) -> None:
        events.append(event)
        if event.type == "TEXT_MESSAGE_CONTENT" and sum(row.type == event.type for row in events) == 1:
            act()

    return events, take


def lose(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the worker find its lease lost when it next makes sure of it."""

    async def renew(*_: Any, **__: Any) -> None:
        raise LeaseLost

    monkeypatch.setattr(harness.store, "renew", renew)
    harness.clock.advance(LATE)


async def run(harness: Harness, take: Callable[[Event], None]) -> Any:
    caller = harness.subscriber("c1")
    return await harness.turns.run(harness.ada, harness.request(), take, seconds=20, subscriber=caller)


async def test_a_lease_that_is_lost_ends_the_models_stream_and_nothing_more_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    harness = Harness()
    harness.model.script(Answer(("One ", "two ", "three."), gate=asyncio.Event(), gate_at=2))
    events, take = on_text(lambda: lose(harness, monkeypatch))

    with pytest.raises(LeaseLost):
        await run(harness, take)

    assert events[-1].type == "TEXT_MESSAGE_CONTENT"
    assert harness.model.abandoned == 1


async def test_no_tool_is_called_by_a_worker_whose_lease_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    tools = {"tools": [{"type": "python", "name": "a", "description": "A.", "entry_point": "a.b:c"}]}
    harness = Harness(assistant=AgentDefinition.model_validate(ASSISTANT.model_dump() | tools))

    async def weather() -> str:
        return "Sunny."

    harness.tools.add("weather", weather)
    harness.model.script(Answer.calling(ToolCall("c", "weather", "{}"), text="Let me see."))
    _, take = on_text(lambda: lose(harness, monkeypatch))

    with pytest.raises(LeaseLost):
        await run(harness, take)

    assert harness.tools.calls == []


async def test_no_approved_call_is_made_by_a_worker_whose_lease_is_lost_while_it_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    harness = wiki()
    (interrupt,) = await run_until_interrupt(harness)
    stored, events = harness.store.put_message, list[Event]()

    async def put(lease: Lease, message: StoredMessage) -> None:
        await stored(lease, message)
        lose(harness, monkeypatch)

    monkeypatch.setattr(harness.store, "put_message", put)
    request = make_decision_request(harness.thread_id, [yes(interrupt)])
    with pytest.raises(LeaseLost):
        await harness.turns.run(harness.ada, request, events.append, seconds=20, subscriber=harness.subscriber("c1"))

    assert harness.tools.calls == []
    assert events == []


async def test_a_failure_of_sending_ends_the_run_and_the_models_stream() -> None:
    harness = Harness()
    harness.model.script(Answer(("One ", "two."), gate=asyncio.Event(), gate_at=1))

    def fail() -> None:
        raise RuntimeError("a bug")

    events, take = on_text(fail)
    finished = await run(harness, take)

    assert finished.messages[-1].end.error_code == "internal_error"
    assert events[-1].type == "RUN_ERROR"
    assert harness.model.abandoned == 1
