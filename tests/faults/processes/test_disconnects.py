"""Every event is a point at which the connection may be lost."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from tests.e2e.sockets import new_id
from tests.e2e.users import User, run_input
from tests.faults.processes.gated_model import GatedModel
from tests.faults.processes.viewer import Viewer, check_thread
from tests.faults.screen import Screen

pytestmark = [pytest.mark.nightly, pytest.mark.usefixtures("killed_workers")]
"""The workers have been killed before; meanwhile the dead ones' leases run out."""

EVENTS = range(1, 11)
"""RUN_STARTED, STATE_SNAPSHOT, the start of the text, its pieces, its end, RUN_FINISHED."""


@pytest.fixture(autouse=True)
def slow_answers(gated_model: GatedModel) -> Iterator[None]:
    """Words that are far enough apart to be separate events."""
    gated_model.pause = 0.3
    yield
    gated_model.pause = 0.0


async def test_a_socket_lost_after_any_event_misses_nothing(ada: User) -> None:
    async def lose(after: int) -> int:
        async with Viewer(ada, new_id(), drop_after=after) as viewer, Viewer(ada, viewer.thread_id) as steady:
            await viewer.send("m-1", "Hello")
            await viewer.wait_until_answered("m-1")
            await steady.resume()
            await steady.wait_until_answered("m-1")
            await check_thread(ada, viewer.thread_id, {"m-1": "Hello"}, viewer.screen, steady.screen)
            return viewer.drops

    drops = await asyncio.gather(*map(lose, EVENTS))
    assert sum(drops) >= 6


@pytest.mark.parametrize("by", ["Last-Event-ID", "after"])
async def test_a_stream_lost_after_any_event_is_taken_up_by_its_events(by: str, ada: User) -> None:
    async def lose(after: int) -> None:
        thread_id, screen = new_id(), Screen()
        body = run_input("Hello", thread_id=thread_id, message_id="m-1")
        async with ada.stream("POST", "/runs", json=body) as events:
            async for event in events:
                screen.take(event)
                if screen.last == after:
                    break
        while "m-1" not in screen.answered:
            seen = str(screen.resume_after())
            headers = {"Last-Event-ID": seen} if by == "Last-Event-ID" else {}
            query = {} if headers else {"after": seen}
            for event in await ada.follow(thread_id, headers, **query):
                screen.take(event)
        await check_thread(ada, thread_id, {"m-1": "Hello"}, screen)

    await asyncio.gather(*map(lose, EVENTS))
