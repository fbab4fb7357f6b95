"""Event loops on which waiting costs nothing: their clock jumps to whatever is due next (``looptime``).

The unit tests run on ``VirtualTimeLoop``. The fault suites run on ``DeterministicLoop``, where blocking calls
(``run_in_executor``) run on the loop itself, each at a separate moment: so many virtual seconds after it was asked
for, and its result arrives so many later. Which calls overtake which is therefore decided by ``latency`` alone: the
same seed gives the same interleaving.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable
from typing import Any

from baton_testing.virtual_time import VirtualTimeLoop

MAX_ROUNDS = 100_000
"""Of a deterministic loop from one moment to the next: what takes more goes round in circles."""


class DeterministicLoop(VirtualTimeLoop):
    """Nothing but the loop itself decides what happens when."""

    idle_seconds = 0.0

    def __init__(self, latency: Callable[[], tuple[float, float]] = lambda: (0.0, 0.0)) -> None:
        """``latency`` has, for each blocking call, the seconds before it takes effect and after that."""
        self.latency = latency
        super().__init__(_CountingSelector(self))

    def advance(self, seconds: float) -> None:
        """Let the time pass while nothing runs, as when a process is suspended."""
        self.setup_looptime(start=self.time() + seconds, idle_timeout=self.idle_seconds, noop_cycles=0)

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        future: asyncio.Future[Any] = self.create_future()
        before, after = self.latency()

        def settle(result: Any, error: BaseException | None) -> None:
            if future.cancelled():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(result)

        def act() -> None:
            # Even when the caller was cancelled meanwhile: a request that is on its way arrives.
            try:
                result, error = func(*args), None
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as raised:  # noqa: BLE001 - it belongs to anybody who waits for the call
                result, error = None, raised
            self.call_later(after, settle, result, error)

        self.call_later(before, act)
        return future


class _CountingSelector(selectors.DefaultSelector):
    """A selector that ends a loop on which something is always ready, so that no time passes."""

    def __init__(self, loop: DeterministicLoop) -> None:
        super().__init__()
        self._loop, self._moment, self._rounds = loop, 0.0, 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        now = self._loop.time()
        self._moment, self._rounds = now, self._rounds + 1 if now == self._moment else 0
        assert self._rounds < MAX_ROUNDS, f"it never ends: it is {now} for ever"
        return super().select(timeout)
