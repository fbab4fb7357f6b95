"""Models that stop in the middle of their answer until a test lets them go on: no test has to guess at times."""

from __future__ import annotations

import asyncio
import threading

from tests.fault_model import Behaviour, Exchange, chunk

PATIENCE_SECONDS = 60


class Gate:
    """An answer in two halves. ``first`` is streamed at once, ``rest`` when the gate is opened."""

    def __init__(self, first: str = "Well, ", rest: str = "that is all.") -> None:
        self.first = first
        self.rest = rest
        self._opened = threading.Event()

    @property
    def text(self) -> str:
        """The whole answer."""
        return self.first + self.rest

    @property
    def is_open(self) -> bool:
        """Whether the model may finish."""
        return self._opened.is_set()

    def open(self) -> None:
        """Let the model finish."""
        self._opened.set()

    @property
    def behaviour(self) -> Behaviour:
        """For ``FaultModel.script``."""

        async def behave(exchange: Exchange) -> None:
            await exchange.open_stream()
            if self.first:
                await exchange.event(chunk({"content": self.first}))
            assert await asyncio.to_thread(self._opened.wait, PATIENCE_SECONDS)
            await exchange.event(chunk({"content": self.rest}))
            await exchange.event(chunk({}, "stop"))
            await exchange.event("[DONE]")
            await exchange.close_stream()

        return behave
