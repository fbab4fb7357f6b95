"""A capture that is killed at every call, run twice and out of order proposes one procedure, and announces it."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest

from baton.composition.app import build
from baton.domain.errors import ThreadUnavailable
from baton.domain.memory.capture import CaptureStep
from tests.faults.capture.dying import Dying, build_dying, calls_of_a_capture, carry_out, check, harness_with_task
from tests.unit.memory.procedures.tasks import IS_TASK, list_pending, make_draft_answer


async def test_a_capture_makes_these_calls() -> None:
    noted = await calls_of_a_capture()
    assert {"take_allowance", "save", "put", "of_agents", "procedure_pending", "get_thread"} <= set(noted)


@pytest.mark.parametrize("after", [False, True], ids=["in front", "after"])
async def test_a_capture_killed_at_any_call_proposes_one_procedure(after: bool) -> None:
    for at in range(1, len(await calls_of_a_capture()) + 1):
        harness = await harness_with_task()
        await carry_out(build_dying(harness, Dying(at, after)), harness)
        await check(harness, announced=None)
        assert len(harness.announcements.pending) <= 2, "only the announcement itself may be repeated"


async def test_steps_in_any_order_propose_one_procedure() -> None:
    for order in itertools.permutations(CaptureStep):
        harness = await harness_with_task()
        await carry_out(harness.app, harness, order)
        await check(harness)


async def test_every_step_twice_proposes_one_procedure() -> None:
    harness = await harness_with_task()
    await carry_out(harness.app, harness, [step for step in CaptureStep for _ in range(2)])
    await carry_out(harness.app, harness)
    await check(harness)


async def test_steps_at_the_same_time_propose_one_procedure() -> None:
    harness = await harness_with_task()
    scope, ref, _ = harness.captures.started[-1]
    harness.model.script(*([IS_TASK] * 3), *([make_draft_answer()] * 3))
    for step in CaptureStep:
        await asyncio.gather(*(harness.app.procedures.capture.run(step, scope, ref) for _ in range(3)))
    await check(harness, announced=None)


class Deleted:
    """A store whose thread is gone from a certain read on."""

    def __init__(self, store: Any, at: int) -> None:
        self._store, self._reads_left = store, at

    async def get_thread(self, scope: Any, thread_id: str) -> Any:
        self._reads_left -= 1
        if self._reads_left <= 0:
            raise ThreadUnavailable
        return await self._store.get_thread(scope, thread_id)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


READS_UNTIL_STORED = 5
"""Reads of the thread up to the one after the procedure was stored. Later ones are the forgetting's to clean up."""


@pytest.mark.parametrize("at", range(1, READS_UNTIL_STORED + 1))
async def test_a_conversation_that_is_deleted_meanwhile_leaves_no_procedure(at: int) -> None:
    harness = await harness_with_task()
    app = build(harness.with_ports(store=Deleted(harness.store, at)))
    await carry_out(app, harness)
    assert await list_pending(harness) == []
    assert harness.announcements.pending == []
