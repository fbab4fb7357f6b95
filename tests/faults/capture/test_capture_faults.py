"""A capture that is killed at every call, run twice and out of order proposes one procedure, and announces it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from baton.composition.app import App, build
from baton.domain.capture import CaptureStatus, CaptureStep
from baton.domain.errors import ThreadUnavailable
from tests.fakes.episodes import WorkerDied
from tests.harness.harness import Harness
from tests.unit.procedures.tasks import IS_TASK, OPERATOR, complete_task, drafted, equip, pending


@dataclass
class Dying:
    """Counts calls of ports, and dies in front of one of them or after it."""

    at: int | None = None
    after: bool = False
    calls: int = 0
    noted: list[str] = field(default_factory=list)

    def around(self, port: Any) -> Any:
        return _Mortal(port, self)

    async def pass_on(self, name: str, call: Callable[[], Awaitable[Any]]) -> Any:
        self.calls += 1
        self.noted.append(name)
        dies = self.calls == self.at
        if dies and not self.after:
            raise WorkerDied
        result = await call()
        if dies:
            raise WorkerDied
        return result


class _Mortal:
    def __init__(self, port: Any, dying: Dying) -> None:
        self._port, self._dying = port, dying

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        if not asyncio.iscoroutinefunction(found):
            return found

        async def passed(*arguments: Any, **options: Any) -> Any:
            return await self._dying.pass_on(name, lambda: found(*arguments, **options))

        return passed


async def harness_with_task() -> Harness:
    harness = equip(Harness(assistant=OPERATOR))
    await complete_task(harness)
    return harness


def over(harness: Harness, dying: Dying) -> App:
    """The use cases over ports that die."""
    ports = harness.ports
    return build(
        cast(
            "Any",
            replace(
                ports,
                store=dying.around(ports.store),
                capture_records=dying.around(ports.capture_records),
                procedures=dying.around(ports.procedures),
                embedder=dying.around(ports.embedder),
                announcements=dying.around(ports.announcements),
            ),
        )
    )


async def carried_out(app: App, harness: Harness, steps: Any = CaptureStep) -> None:
    """Run the steps as the state machine does: a step that dies is tried again."""
    scope, ref, _ = harness.captures.started[-1]
    for step in steps:
        for _ in range(3):
            harness.model.forget()
            harness.model.script(*_answers(await harness.capture_records.get(scope, ref)))
            try:
                await app.procedure_capture.run(step, scope, ref)
            except WorkerDied:
                continue
            break


def _answers(known: Any) -> tuple[str, ...]:
    """What the light model says from here on."""
    if known is None or known.done is None:
        return (IS_TASK, drafted())
    return (drafted(),) if known.done is CaptureStep.DETECT else ()


async def calls_of_a_capture() -> list[str]:
    harness, dying = await harness_with_task(), Dying()
    await carried_out(over(harness, dying), harness)
    return dying.noted


async def check(harness: Harness, *, announced: int | None = 1) -> None:
    """One procedure waits, and its capture is settled."""
    assert await pending(harness) == ["report-an-outage@1"]
    scope, ref, _ = harness.captures.started[-1]
    record = await harness.capture_records.get(scope, ref)
    assert record is not None
    assert record.status is CaptureStatus.ANNOUNCED
    told = {(tenant, each.procedure_id, each.version) for tenant, each in harness.announcements.pending}
    assert told == {("acme", "report-an-outage", 1)}
    if announced is not None:
        assert len(harness.announcements.pending) == announced


async def test_a_capture_makes_these_calls() -> None:
    noted = await calls_of_a_capture()
    assert {"take_allowance", "save", "put", "of_agent", "procedure_pending", "get_thread"} <= set(noted)


@pytest.mark.parametrize("after", [False, True], ids=["in front", "after"])
async def test_a_capture_killed_at_any_call_proposes_one_procedure(after: bool) -> None:
    for at in range(1, len(await calls_of_a_capture()) + 1):
        harness = await harness_with_task()
        await carried_out(over(harness, Dying(at, after)), harness)
        await check(harness, announced=None)
        assert len(harness.announcements.pending) <= 2, "only the announcement itself may be repeated"


async def test_steps_in_any_order_propose_one_procedure() -> None:
    for order in itertools.permutations(CaptureStep):
        harness = await harness_with_task()
        await carried_out(harness.app, harness, order)
        await check(harness)


async def test_every_step_twice_proposes_one_procedure() -> None:
    harness = await harness_with_task()
    await carried_out(harness.app, harness, [step for step in CaptureStep for _ in range(2)])
    await carried_out(harness.app, harness)
    await check(harness)


async def test_steps_at_the_same_time_propose_one_procedure() -> None:
    harness = await harness_with_task()
    scope, ref, _ = harness.captures.started[-1]
    harness.model.script(*([IS_TASK] * 3), *([drafted()] * 3))
    for step in CaptureStep:
        await asyncio.gather(*(harness.app.procedure_capture.run(step, scope, ref) for _ in range(3)))
    await check(harness, announced=None)


class Deleted:
    """A store whose thread is gone from a certain read on."""

    def __init__(self, store: Any, at: int) -> None:
        self._store, self._left = store, at

    async def get_thread(self, scope: Any, thread_id: str) -> Any:
        self._left -= 1
        if self._left <= 0:
            raise ThreadUnavailable
        return await self._store.get_thread(scope, thread_id)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


READS_UNTIL_STORED = 5
"""Reads of the thread up to the one after the procedure was stored. Later ones are the forgetting's to clean up."""


@pytest.mark.parametrize("at", range(1, READS_UNTIL_STORED + 1))
async def test_a_conversation_that_is_deleted_meanwhile_leaves_no_procedure(at: int) -> None:
    harness = await harness_with_task()
    app = build(cast("Any", replace(harness.ports, store=Deleted(harness.ports.store, at))))
    await carried_out(app, harness)
    assert await pending(harness) == []
    assert harness.announcements.pending == []
