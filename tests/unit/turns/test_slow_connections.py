"""A connection that takes nothing: what depends on the commit does not wait for it, and the run does not wait long."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from baton.domain.runs.tool_call import ToolCall
from baton.domain.threads.queued import QueuedTitle
from baton.domain.threads.thread_title import TitleSource
from baton.ports.threads.connections import ConnectionBusy, FrameRefused
from baton.threads.outbox.connection_sender import WORKER_SECONDS
from baton.threads.outbox.delivery import DRAIN_SECONDS
from tests.fakes.chat_model import Answer
from tests.harness.harness import Harness
from tests.harness.sessions import close
from tests.harness.sockets import TAB, Socketed

GOODBYE = ToolCall("call-1", "end_conversation", '{"reason": "The user said goodbye."}')


@pytest.fixture
def harness() -> Harness:
    harness = Harness(title_source=TitleSource.MODEL)
    harness.model.script(Answer.calling(GOODBYE), "Goodbye!")
    return harness


def title(harness: Harness) -> bool:
    return any(isinstance(queued, QueuedTitle) for _, queued in harness.queue.sent)


def episode(harness: Harness) -> bool:
    return bool(harness.closings.started)


def context_record(harness: Harness) -> bool:
    return bool(harness.context_records.records)


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
    assert [exchange.last["outcome"] for exchange in (first, second)] == [{"type": "success"}] * 2


async def refuse_reused_id(socketed: Socketed) -> None:
    """A message of an id that was used for another one."""
    await socketed.send("message", messageId="m1", content="Something else")


async def repeat_message(socketed: Socketed) -> None:
    await socketed.send("message", messageId="m1", content="Hello")


async def close_again(socketed: Socketed) -> None:
    await close(socketed.harness)
    await socketed.send("close")


@pytest.mark.parametrize("frame", [refuse_reused_id, repeat_message, close_again])
async def test_no_record_of_the_queue_waits_long_for_a_connection(
    harness: Harness, frame: Callable[[Socketed], Awaitable[None]]
) -> None:
    socketed = Socketed(harness)
    await harness.say("m1", "Hello")
    await frame(socketed)
    harness.connections.script(TAB, *[ConnectionBusy()] * 1000)
    loop = asyncio.get_running_loop()
    began = loop.time()
    await socketed.run_queue()
    assert loop.time() - began < WORKER_SECONDS + 1  # virtual time: a limit
