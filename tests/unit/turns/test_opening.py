"""The model is asked while the question is being stored; before that no event is sent and nothing is done."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest

from baton.domain.errors import MessageIdConflict, StoreUnavailable
from baton.domain.threads.events import Event
from baton.ports.agents.agent_client import AgentDone
from baton_testing.fakes.agents.agent_client import Reply
from tests.fakes.chat_model import Answer
from tests.harness.armed import arm_assistant, call
from tests.harness.harness import Harness
from tests.harness.little_memory import with_little_memory
from tests.harness.relays import RelayHarness


class SlowWrites:
    """A store whose calls of one of its writes wait until ``gate`` is set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, store: Any, operation: str) -> None:
        self.gate = asyncio.Event()
        really = getattr(store, operation)

        async def wait_then_call(*args: Any, **kwargs: Any) -> Any:
            await self.gate.wait()
            return await really(*args, **kwargs)

        monkeypatch.setattr(store, operation, wait_then_call)


def a_second_a_trip(monkeypatch: pytest.MonkeyPatch, *ports: Any) -> None:
    """Let each call of the ports take a second of the loop's time, so that calls side by side take one together."""
    for port in ports:
        for name, method in inspect.getmembers(port, inspect.iscoroutinefunction):

            async def wait_then_call(*args: Any, really: Any = method, **kwargs: Any) -> Any:
                await asyncio.sleep(1)
                return await really(*args, **kwargs)

            if not name.startswith("_"):
                monkeypatch.setattr(port, name, wait_then_call)


async def begin_answer(harness: Harness, events: list[Event], message_id: str = "m1") -> asyncio.Task[Any]:
    """Send a message, and wait until the model is asked about it."""
    requests_before = len(harness.model.requests)
    turn = harness.turns.run(harness.ada, harness.request(message_id), events.append, seconds=20)
    task = asyncio.ensure_future(turn)
    await harness.wait_for_requests(requests_before + 1)
    return task


@pytest.mark.parametrize("operation", ["put_message", "open_turn"])
async def test_nobody_learns_anything_before_the_question_is_stored(
    monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    harness, events = Harness(), list[Event]()
    writes = SlowWrites(monkeypatch, harness.store, operation)
    turn = await begin_answer(harness, events)
    await asyncio.sleep(0.05)
    assert not events
    writes.gate.set()
    await turn
    assert [event.type for event in events][:2] == ["RUN_STARTED", "STATE_SNAPSHOT"]
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert events[-1].type == "RUN_FINISHED"


@pytest.mark.parametrize("message_id", ["m1", "m2"])
async def test_the_model_waits_for_two_trips_to_the_table(monkeypatch: pytest.MonkeyPatch, message_id: str) -> None:
    """The lease, then the reads; in a new thread as well as later."""
    harness, loop = Harness(), asyncio.get_running_loop()
    if message_id != "m1":
        await harness.say("m1", "Hello")
    a_second_a_trip(
        monkeypatch,
        *(harness.store, harness.log, harness.live, harness.records, harness.handoffs, harness.workflows),
        *(harness.procedures, harness.episodes, harness.documents, harness.agent_definitions, harness.audit),
    )
    at = loop.time()
    turn = await begin_answer(harness, [], message_id)
    assert round(loop.time() - at) == 2
    await turn


async def test_no_tool_is_called_before_the_question_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    harness, events = Harness(assistant=arm_assistant()), list[Event]()

    async def weather() -> str:
        return "Sunny."

    harness.tools.add("weather", weather)
    harness.model.script(Answer.calling(call()), "It is sunny.")
    writes = SlowWrites(monkeypatch, harness.store, "open_turn")
    turn = await begin_answer(harness, events)
    await asyncio.sleep(0.05)
    assert not harness.tools.calls
    writes.gate.set()
    await turn
    assert len(harness.tools.calls) == 1


async def test_a_question_that_cannot_be_stored_is_answered_to_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    harness, events = Harness(), list[Event]()

    async def fail(*_: Any) -> None:
        raise StoreUnavailable

    with monkeypatch.context() as broken:
        broken.setattr(harness.store, "open_turn", fail)
        with pytest.raises(StoreUnavailable):
            await harness.turns.run(harness.ada, harness.request(), events.append, seconds=20)
    assert not events
    turn = await harness.say()
    assert turn.text == "Hello there."


async def test_a_message_that_was_answered_long_ago_is_replayed_and_its_new_answer_sent_to_nobody() -> None:
    harness = with_little_memory()
    first = await harness.say("m1", "one two three")
    for number in range(2, 8):
        await harness.say(f"m{number}", "words " * 10)
    again = await harness.say("m1", "one two three")
    assert again.text == first.text
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    assert (thread.next_ordinal, thread.run) == (14, None)


async def test_another_text_under_a_used_id_is_refused_and_changes_nothing() -> None:
    harness = Harness()
    await harness.say("m1", "Hello")
    before = await harness.store.get_thread(harness.ada, harness.thread_id)
    with pytest.raises(MessageIdConflict):
        await harness.say("m1", "Something else")
    assert await harness.store.get_thread(harness.ada, harness.thread_id) == before


async def test_no_heartbeat_comes_before_the_run_has_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    harness, events = Harness(), list[Event]()
    writes = SlowWrites(monkeypatch, harness.store, "put_message")
    turn = await begin_answer(harness, events)
    await asyncio.sleep(25)
    writes.gate.set()
    await turn
    assert events[0].type == "RUN_STARTED"


async def test_a_remote_agent_is_not_asked_what_could_not_be_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = RelayHarness()
    wait_then_call = AgentDone("remote-1")
    harness.agent_client.script(
        "booker", Reply(("For when?",), end=wait_then_call), Reply(("Where?",), end=wait_then_call)
    )
    await harness.say("m1", "A table for two")
    before = len(harness.sent)

    async def fail(*_: Any) -> None:
        await asyncio.sleep(0.5)
        raise StoreUnavailable

    monkeypatch.setattr(harness.store, "open_turn", fail)
    with pytest.raises(StoreUnavailable):
        await harness.say("m2", "Tonight")
    assert len(harness.sent) == before


async def test_a_connection_is_attached_once_however_many_messages_come_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    harness, attached = Harness(), list[str]()
    really = harness.live.attach

    async def attach(scope: Any, thread_id: str, connection_id: str, *rest: Any) -> None:
        attached.append(connection_id)
        await really(scope, thread_id, connection_id, *rest)

    monkeypatch.setattr(harness.live, "attach", attach)
    for number in range(3):
        await harness.say(f"m{number}", subscriber=harness.subscriber("tab"))
    assert attached == ["tab"]
