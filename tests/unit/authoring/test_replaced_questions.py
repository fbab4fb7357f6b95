"""Questions that guardrails replace, when the worker dies: the sweeper has them answered as they were replaced."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from baton import Agent, Replace, RunContext
from baton.domain.errors import StoreUnavailable
from baton.domain.threads.queued import RecordDelivery
from tests.harness.coded import make_coded_harness
from tests.harness.harness import Harness

WRITES = ("put_message", "put_messages", "commit")
ORIGINAL, REPLACED = "My card is 4111.", "My card is hidden."


def guard(*, by_code: bool) -> Harness:
    agent = Agent("assistant", "Sell.", main=True)

    @agent.input_guardrail
    def hide(text: str) -> Replace:
        return Replace(text.replace("4111", "hidden"))

    if by_code:

        @agent.run
        async def run(context: RunContext, message: str) -> str:
            await context.say("Well.")
            return message

    return make_coded_harness(agent, answers=("Yes.",) * 9)


class Mortal:
    """A worker that dies at one of its writes of messages: before or after it."""

    def __init__(self, harness: Harness, dies_at: int | None, *, after: bool) -> None:
        self.writes: list[str] = []
        self.is_dead = False
        for name in WRITES:
            self._wrap(harness.store, name, dies_at, after=after)

    def _wrap(self, store: Any, name: str, dies_at: int | None, *, after: bool) -> None:
        original = getattr(store, name)

        async def write(*arguments: Any, **named: Any) -> Any:
            dies = len(self.writes) == dies_at
            self.writes.append(name)
            if self.is_dead or (dies and not after):
                self.is_dead = True
                raise StoreUnavailable
            done = await original(*arguments, **named)
            if dies:
                self.is_dead = True
                raise StoreUnavailable
            return done

        setattr(store, name, write)


async def finish_and_read(harness: Harness) -> list[str]:
    """Run the sweeper and the workers, and return the texts of the conversation."""
    harness.clock.advance(31 * 60)
    await harness.sweeper.sweep(seconds=60)
    while harness.queue.sent:
        _, message = harness.queue.sent.pop(0)
        body = message.model_dump_json(by_alias=True)
        await harness.app.queued_turns.run(body, "receipt", RecordDelivery(str(uuid.uuid4()), 1), seconds=60)
    return [item.text for item in harness.store.committed(harness.ada.tenant_id, harness.thread_id)]


@pytest.mark.parametrize("by_code", [False, True])
@pytest.mark.parametrize("after", [False, True])
async def test_a_replaced_question_is_answered_wherever_its_worker_has_died(by_code: bool, after: bool) -> None:
    alive = guard(by_code=by_code)
    writes = Mortal(alive, None, after=after).writes
    await alive.say(content=ORIGINAL)
    expected = await finish_and_read(alive)
    assert expected[0] == REPLACED
    for number in range(1, len(writes)):  # before the first, nothing is stored, and the client repeats the request
        harness = guard(by_code=by_code)
        worker = Mortal(harness, number, after=after)
        with pytest.raises(StoreUnavailable):
            await harness.say(content=ORIGINAL)
        worker.is_dead = False
        assert await finish_and_read(harness) == expected, writes[number]
