"""An event loop on which waiting costs nothing: its clock jumps to whatever is due next.

Blocking calls (``run_in_executor``) run on the loop itself, each at a moment of its own: so many virtual seconds after
it was asked for, and its result arrives so many later. Which calls overtake which is therefore decided by ``latency``
alone: the same seed gives the same interleaving.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable
from typing import Any

STUCK_SECONDS = 10.0


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Time begins at 0 and passes only while everybody waits."""

    def __init__(self, latency: Callable[[], tuple[float, float]] = lambda: (0.0, 0.0)) -> None:
        """``latency`` tells, for each blocking call, the seconds before it takes effect and after that."""
        self._now = 0.0
        self.latency = latency
        super().__init__(_JumpingSelector(self))

    def time(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        """Let the time pass."""
        self._now += seconds

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
            # Also when the caller was cancelled meanwhile: a request that is on its way arrives.
            try:
                result, error = func(*args), None
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as raised:  # noqa: BLE001 - it belongs to whoever waits for the call
                result, error = None, raised
            self.call_later(after, settle, result, error)

        self.call_later(before, act)
        return future


class _JumpingSelector(selectors.DefaultSelector):
    """Instead of waiting for ``timeout`` seconds it moves the loop's clock by them."""

    def __init__(self, loop: VirtualTimeLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            ready = super().select(STUCK_SECONDS)
            if not ready:
                raise RuntimeError("Everybody waits, and nothing is due.")
            return ready
        if timeout > 0:
            self._loop.advance(timeout)
        return super().select(0)
