"""Worker processes on an event loop in virtual time: each freezes, goes on and dies as a whole."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVarTuple, Unpack

from tests.virtual_time import DeterministicLoop

Ts = TypeVarTuple("Ts")


@dataclass(eq=False)
class Process:
    """Everything that runs in one worker: it goes on, stops for a while, or stops for good, as a whole."""

    name: str
    is_dead: bool = False
    frozen_until: float = 0.0
    operations: int = 0
    """The number of its requests so far."""
    parked: list[Callable[[], object]] = field(default_factory=list)
    """The callbacks that would have run since it stopped."""


PROCESS: contextvars.ContextVar[Process | None] = contextvars.ContextVar("process", default=None)


class ProcessLoop(DeterministicLoop):
    """Deterministic: the same tasks take the same steps in the same order at the same times."""

    def start(self, process: Process, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Let the coroutine, and all that it starts, run in the process."""
        context = contextvars.copy_context()
        context.run(PROCESS.set, process)
        return self.create_task(coroutine, context=context)

    def freeze(self, process: Process, seconds: float) -> None:
        process.frozen_until = self.time() + seconds
        super().call_at(process.frozen_until + 0.001, self.thaw, process)

    def thaw(self, process: Process) -> None:
        """Continue the process with the work of the time in which it was frozen."""
        parked, process.parked = process.parked, []
        for callback in parked:
            callback()

    def call_soon(
        self, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: contextvars.Context | None = None
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
        if process is not None and (process.is_dead or process.frozen_until > self.time()):
            again = super().call_soon
            process.parked.append(lambda: again(self._step, box, process, callback, args, context, context=context))
        elif not box[0].cancelled():
            callback(*args)
