"""Event loops on which waiting takes no time, because their clock jumps to the next due call (``looptime``).

The unit tests run on ``VirtualTimeLoop``. The fault suites run on ``DeterministicLoop``, on which blocking calls
(``run_in_executor``) run in the loop itself: a call runs some virtual seconds after it was requested, and its result
arrives some seconds later. Only ``latency`` decides the order of calls, so that the same seed gives the same
interleaving.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable
from typing import Any

from baton_testing.virtual_time import VirtualTimeLoop

MAX_ROUNDS = 100_000
"""The most steps of a deterministic loop at the same virtual time. A program that needs more does not end."""


class DeterministicLoop(VirtualTimeLoop):
    """A loop whose order of calls is reproducible."""

    idle_seconds = 0.0

    def __init__(self, latency: Callable[[], tuple[float, float]] = lambda: (0.0, 0.0)) -> None:
        """``latency`` returns, for each blocking call, the seconds before its effect and until its result arrives."""
        self.latency = latency
        super().__init__(_CountingSelector(self))

    def advance(self, seconds: float) -> None:
        """Advance the time while nothing runs, as when a process is suspended."""
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
            # The call runs even if the caller was cancelled, as a request that was sent arrives.
            try:
                result, error = func(*args), None
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as raised:  # noqa: BLE001 - the caller who waits for the result receives it
                result, error = None, raised
            self.call_later(after, settle, result, error)

        self.call_later(before, act)
        return future


class _CountingSelector(selectors.DefaultSelector):
    """A selector that stops a loop whose time does not advance because a call is always ready."""

    def __init__(self, loop: DeterministicLoop) -> None:
        super().__init__()
        self._loop, self._moment, self._rounds = loop, 0.0, 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        now = self._loop.time()
        self._moment, self._rounds = now, self._rounds + 1 if now == self._moment else 0
        assert self._rounds < MAX_ROUNDS, f"it never ends: it is {now} for ever"
        return super().select(timeout)
