"""A connection that takes nothing: what depends on the commit does not wait for it, and the run does not wait long."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from baton.composition.app import build
from baton.domain.queued import QueuedTitle
from baton.domain.title_source import TitleSource
from baton.domain.tool_call import ToolCall
from baton.outbox.delivery import DRAIN_SECONDS
from baton.ports.connections import ConnectionBusy, FrameRefused
from baton_testing.fakes.chat_model import Answer
from tests.harness.harness import Harness

GOODBYE = ToolCall("call-1", "end_conversation", '{"reason": "The user said goodbye."}')


@pytest.fixture
def harness() -> Harness:
    harness = Harness()
    harness.ports.title_source = TitleSource.MODEL
    harness.app = build(harness.ports)
    harness.turns = harness.app.turns
    harness.model.script(Answer.calling(GOODBYE), "Goodbye!")
    return harness


def title(harness: Harness) -> bool:
    return any(isinstance(queued, QueuedTitle) for _, queued in harness.queue.sent)


def episode(harness: Harness) -> bool:
    return bool(harness.closings.started)


def context_record(harness: Harness) -> bool:
    return bool(harness.contexts.records)


def audit_record(harness: Harness) -> bool:
    return any(record.action == "thread.close" for record in harness.audit.records)


@pytest.mark.parametrize("is_there", [title, episode, context_record, audit_record])
async def test_what_depends_on_the_commit_does_not_wait(harness: Harness, is_there: Callable[[Harness], bool]) -> None:
    harness.connections.script("tab", *[ConnectionBusy()] * 1000)
    turn = asyncio.ensure_future(harness.say(subscriber=harness.subscriber("tab")))
    await asyncio.sleep(DRAIN_SECONDS - 1)
    assert not turn.done()
    assert is_there(harness)
    await turn


@pytest.mark.parametrize("failure", [ConnectionBusy(), FrameRefused("ForbiddenException"), RuntimeError("a fault")])
async def test_the_run_ends_and_the_next_one_begins(harness: Harness, failure: Exception) -> None:
    harness.connections.script("tab", *[failure] * 1000)
    loop = asyncio.get_running_loop()
    began = loop.time()
    first = await harness.say(subscriber=harness.subscriber("tab"))
    assert loop.time() - began < DRAIN_SECONDS + 1  # virtual time: a limit
    second = await harness.say("m2", subscriber=harness.subscriber("tab"))
    assert [said.last["outcome"] for said in (first, second)] == [{"type": "success"}] * 2
