"""Adapters whose libraries take long to load are created in threads, and once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from baton.composition.startup.deferred import DeferredAgentClient, DeferredEmbedder, DeferredPiiDetector
from baton.domain.tenants.identity import Scope


class Adapter:
    """An adapter of each port."""

    async def cancel(self, *arguments: Any) -> None:
        """Do nothing."""

    async def embed(self, *arguments: Any, **options: Any) -> list[list[float]]:
        return []

    async def detect(self, text: str) -> list[Any]:
        return []


async def cancel(make: Callable[[], Any]) -> None:
    client, agent = DeferredAgentClient(make), object()
    for _ in range(2):
        await client.cancel(agent, Scope("acme", "ada"), "task-1")  # type: ignore[arg-type]


async def embed(make: Callable[[], Any]) -> None:
    embedder = DeferredEmbedder(make, "model", 3)
    for _ in range(2):
        await embedder.embed(["boat"])


async def detect(make: Callable[[], Any]) -> None:
    detector = DeferredPiiDetector(make)
    for _ in range(2):
        await detector.detect("boat")


@pytest.mark.parametrize("use", [cancel, embed, detect])
async def test_a_deferred_adapter_is_made_once_and_off_the_event_loop(use: Callable[[Callable[[], Any]], Any]) -> None:
    threads = []

    def make() -> Adapter:
        threads.append(threading.current_thread())
        return Adapter()

    await use(make)
    assert len(threads) == 1
    assert threads[0] is not threading.current_thread()
