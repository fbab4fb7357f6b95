"""An event loop whose time passes only when nothing else can happen, and whose processes freeze and die."""

from __future__ import annotations

import asyncio
import contextvars
import selectors
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVarTuple, Unpack

Ts = TypeVarTuple("Ts")

MAX_ROUNDS = 200_000
"""Of the loop: what takes longer goes round in circles."""


@dataclass(eq=False)
class Process:
    """Everything that runs in one worker: it goes on, stops for a while, or stops for good, as a whole."""

    name: str
    is_dead: bool = False
    frozen_until: float = 0.0
    operations: int = 0
    """How often it has turned to the outside so far."""
    parked: list[Callable[[], object]] = field(default_factory=list)
    """What would have run since it stopped."""


PROCESS: contextvars.ContextVar[Process | None] = contextvars.ContextVar("process", default=None)


class EverybodyWaits(Exception):
    """Nothing will ever happen again."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """Deterministic: the same tasks take the same steps in the same order at the same times."""

    def __init__(self) -> None:
        self._now = 1.0
        self._rounds = 0
        super().__init__(_NoWaiting(self))

    def time(self) -> float:
        return self._now

    def pass_time(self, seconds: float | None) -> None:
        if seconds is None:
            raise EverybodyWaits
        self._now += seconds
        self._rounds += 1
        assert self._rounds < MAX_ROUNDS, f"it never ends: {self._now:.0f} seconds have passed"

    def start(self, process: Process, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Let the coroutine, and all that it starts, run in the process."""
        context = contextvars.copy_context()
        context.run(PROCESS.set, process)
        return self.create_task(coroutine, context=context)

    def freeze(self, process: Process, seconds: float) -> None:
        process.frozen_until = self._now + seconds
        super().call_at(process.frozen_until + 0.001, self.thaw, process)

    def thaw(self, process: Process) -> None:
        """Go on with whatever the process would have done meanwhile."""
        parked, process.parked = process.parked, []
        for callback in parked:
            callback()

    def call_soon(
        self,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.Handle:
        box: list[asyncio.Handle] = []
        process = context.get(PROCESS) if context is not None else PROCESS.get()
        handle = super().call_soon(self._step, box, process, callback, args, context, context=context)
        box.append(handle)
        return handle

    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        box: list[asyncio.Handle] = []
        process = context.get(PROCESS) if context is not None else PROCESS.get()
        handle = super().call_at(when, self._step, box, process, callback, args, context, context=context)
        box.append(handle)
        return handle

    def _step(
        self,
        box: list[asyncio.Handle],
        process: Process | None,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        context: contextvars.Context | None,
    ) -> None:
        if process is not None and (process.is_dead or process.frozen_until > self._now):
            again = super().call_soon
            process.parked.append(lambda: again(self._step, box, process, callback, args, context, context=context))
        elif not box[0].cancelled():
            callback(*args)


class _NoWaiting(selectors.DefaultSelector):
    """Instead of waiting for sockets, moves the time on."""

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._loop.pass_time(timeout)
        return []
