"""Handlers of all threads share one event loop."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import pytest

from baton.composition.startup import event_loop


def test_first_calls_at_the_same_time_share_one_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[asyncio.AbstractEventLoop, threading.Thread]] = []
    barrier = threading.Barrier(2)

    @cache
    def start_slowly() -> asyncio.AbstractEventLoop:
        time.sleep(0.05)
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, daemon=True)
        started.append((loop, thread))
        thread.start()
        return loop

    async def get_loop() -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()

    def call(_: int) -> asyncio.AbstractEventLoop:
        barrier.wait()
        return event_loop.run(get_loop())

    monkeypatch.setattr(event_loop, "_start_loop", start_slowly)
    try:
        with ThreadPoolExecutor(2) as threads:
            first, second = threads.map(call, range(2))
        assert first is second
    finally:
        for loop, thread in started:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()
