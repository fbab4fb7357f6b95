"""A message enters ``turns.py`` a few times at most: other modules return values to it instead of calling it back."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import baton
from baton.domain.errors import BatonError, MessageIdConflict, NotInHandoff
from baton.threads.requests.parsing import make_exit_request
from baton.turns import turns
from baton.turns.run import RunExecution
from tests.fakes.chat_model import Answer
from tests.harness.harness import Harness
from tests.harness.sockets import Socketed
from tests.harness.wiki import answer, run_until_interrupt, wiki, yes

MOST = 3
LIBRARY = str(Path(baton.__file__).parent)


@contextmanager
def entries() -> Iterator[list[str]]:
    """Collect the functions of ``turns.py`` that code of other modules calls. A coroutine counts once."""
    items: list[str] = []
    seen: list[FrameType] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or frame.f_code.co_filename != turns.__file__ or any(frame is entry for entry in seen):
            return
        seen.append(frame)
        caller = frame.f_back
        if caller is None or caller.f_code.co_filename != turns.__file__:
            items.append(frame.f_code.co_qualname)

    sys.setprofile(note)
    try:
        yield items
    finally:
        sys.setprofile(None)


async def a_message() -> list[str]:
    harness = Harness()
    with entries() as entered:
        await harness.say()
    return entered


async def a_message_that_calls_tools() -> list[str]:
    harness = wiki()
    harness.model.script(Answer.calling(), "Three pages.")
    with entries() as entered:
        await harness.say()
    return entered


async def a_repeated_message() -> list[str]:
    harness = Harness()
    await harness.say()
    with entries() as entered:
        await harness.say()
    return entered


async def send_during_answer(message_id: str, *further: str) -> list[str]:
    """Send a message while the model answers "m1"; ``further`` are the model's next answers."""
    harness = Harness()
    harness.model.script(Answer(("One",), gate=(gate := asyncio.Event()), gate_at=0), *further)
    first = asyncio.ensure_future(harness.say("m1"))
    await harness.wait_for_requests()
    with entries() as entered:
        second = asyncio.ensure_future(harness.say(message_id))
        await asyncio.sleep(2)
        gate.set()
        await second
    await first
    return entered


async def a_message_to_a_busy_thread() -> list[str]:
    return await send_during_answer("m2", "Two")


async def a_message_that_another_worker_answers() -> list[str]:
    return await send_during_answer("m1")


async def a_message_after_a_worker_has_died() -> list[str]:
    harness = Harness()
    harness.model.script(Answer(("One",), gate=asyncio.Event(), gate_at=1), "One", "Two")
    first = asyncio.ensure_future(harness.say("m1"))
    await harness.wait_for_requests()
    first.cancel()
    await asyncio.wait([first])
    with entries() as entered:
        turn = await harness.say("m2")
    assert turn.text == "Two"
    assert len(harness.model.requests) == 3
    return entered


async def a_refused_message() -> list[str]:
    harness = Harness()
    await harness.say("m1", "Hello")
    with entries() as entered, pytest.raises(MessageIdConflict):
        await harness.say("m1", "Something else")
    return entered


async def a_refused_action() -> list[str]:
    harness = Harness()
    await harness.say()
    with entries() as entered, pytest.raises(NotInHandoff):
        await harness.turns.run(
            harness.ada, make_exit_request(harness.thread_id, key="1"), lambda event: None, seconds=20
        )
    return entered


async def one_answer_of_two() -> list[str]:
    harness = wiki()
    first, _ = await run_until_interrupt(harness, "home", "help")
    with entries() as entered:
        turn = await answer(harness, yes(first))
    assert turn.finished is None
    return entered


async def an_answer() -> list[str]:
    harness = wiki()
    [interrupt] = await run_until_interrupt(harness)
    harness.model.script("Done.")
    with entries() as entered:
        turn = await answer(harness, yes(interrupt))
    assert turn.text == "Done."
    return entered


async def a_takeover() -> list[str]:
    harness = Harness()
    harness.model.script(Answer(("One",), gate=asyncio.Event(), gate_at=1), "One")
    first = asyncio.ensure_future(harness.say("m1"))
    await harness.wait_for_requests()
    first.cancel()
    await asyncio.wait([first])
    with entries() as entered:
        await harness.turns.finish_interrupted(harness.ada, harness.thread_id)
    assert len(harness.model.requests) == 2
    return entered


async def a_foreign_thread() -> list[str]:
    harness = Harness()
    await harness.say()
    bob = type(harness.ada)(harness.ada.tenant_id, "bob")
    with entries() as entered, pytest.raises(BatonError):
        await harness.say("m2", scope=bob)
    return entered


@pytest.mark.parametrize(
    "send",
    [
        a_message,
        a_message_that_calls_tools,
        a_repeated_message,
        a_message_to_a_busy_thread,
        a_message_that_another_worker_answers,
        a_message_after_a_worker_has_died,
        a_refused_message,
        a_refused_action,
        one_answer_of_two,
        an_answer,
        a_takeover,
        a_foreign_thread,
    ],
    ids=lambda entry: entry.__name__,
)
async def test_a_message_enters_the_module_of_turns_three_times_at_most(
    send: Callable[[], Awaitable[list[str]]],
) -> None:
    items = await send()
    assert 1 <= len(items) <= MOST, items


async def test_a_queued_message_reaches_its_run_by_three_functions() -> None:
    socket, ways = Socketed(Harness()), list[list[str]]()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code is RunExecution.execute.__code__ and not ways:
            ways.append(
                [caller.f_code.co_qualname for caller in callers(frame) if LIBRARY in caller.f_code.co_filename]
            )

    await socket.send("message", messageId="m1", content="Hello")
    sys.setprofile(note)
    try:
        await socket.run_queue()
    finally:
        sys.setprofile(None)
    assert ways == [["RunExecution.execute", "Turns.run", "QueuedTurns.run"]]


def callers(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back
