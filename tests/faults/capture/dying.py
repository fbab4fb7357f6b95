"""Captures over ports that die at a certain call."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from baton.composition.app import App, build
from baton.domain.memory.capture import Capture, CaptureStatus, CaptureStep
from baton_testing.fakes.memory.episodes import WorkerDied
from tests.contracts.stores import Stores
from tests.harness.harness import Harness
from tests.unit.memory.procedures.tasks import IS_TASK, OPERATOR, complete_task, equip, list_pending, make_draft_answer


@dataclass
class Dying:
    """A count of calls of ports. The worker dies in front of one of them or after it."""

    at: int | None = None
    after: bool = False
    calls: int = 0
    noted: list[str] = field(default_factory=list)

    def wrap(self, port: Any) -> Any:
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
        result = getattr(self._port, name)
        if inspect.isasyncgenfunction(result):
            return partial(self._pages, name, result)
        if not asyncio.iscoroutinefunction(result):
            return result

        async def call(*arguments: Any, **options: Any) -> Any:
            return await self._dying.pass_on(name, lambda: result(*arguments, **options))

        return call

    async def _pages(self, name: str, result: Any, *arguments: Any, **options: Any) -> AsyncGenerator[Any, None]:
        pages = [page async for page in result(*arguments, **options)]

        async def read() -> list[Any]:
            return pages

        for page in await self._dying.pass_on(name, read):
            yield page


async def harness_with_task(stores: Stores | None = None) -> Harness:
    """A harness, over fakes or over ``stores``, whose user has completed a task."""
    harness = equip(Harness(assistant=OPERATOR, stores=stores))
    await complete_task(harness)
    return harness


def build_dying(harness: Harness, dying: Dying) -> App:
    """Build the product on ports at whose calls the worker dies."""
    names = ("store", "capture_records", "procedures", "embedder", "announcements")
    return build(harness.with_ports(**{name: dying.wrap(getattr(harness, name)) for name in names}))


async def carry_out(app: App, harness: Harness, steps: Iterable[CaptureStep] = CaptureStep) -> None:
    """Run the steps as the state machine does: a step that dies is tried again."""
    scope, ref, _ = harness.captures.started[-1]
    for step in steps:
        for _ in range(3):
            harness.model.forget()
            harness.model.script(*_answers(await harness.capture_records.get(scope, ref)))
            try:
                await app.procedures.capture.run(step, scope, ref)
            except WorkerDied:
                continue
            break


def _answers(stored: Capture | None) -> tuple[str, ...]:
    """Set the light model's answer from here on."""
    if stored is None or stored.done is None:
        return (IS_TASK, make_draft_answer())
    return (make_draft_answer(),) if stored.done is CaptureStep.DETECT else ()


async def calls_of_a_capture() -> list[str]:
    """The calls of ports that a capture makes, in their order."""
    harness, dying = await harness_with_task(), Dying()
    await carry_out(build_dying(harness, dying), harness)
    return dying.noted


async def check(harness: Harness, *, announced: int | None = 1) -> None:
    """Check that one procedure waits for approval, and that its capture has ended."""
    assert await list_pending(harness) == ["report-an-outage@1"]
    scope, ref, _ = harness.captures.started[-1]
    record = await harness.capture_records.get(scope, ref)
    assert record is not None
    assert record.status is CaptureStatus.ANNOUNCED
    reported = {(tenant, item.procedure_id, item.version) for tenant, item in harness.announcements.pending}
    assert reported == {(harness.ada.tenant_id, "report-an-outage", 1)}
    if announced is not None:
        assert len(harness.announcements.pending) == announced
