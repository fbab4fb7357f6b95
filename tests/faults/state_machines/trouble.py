"""Faults for a worker of memories: stores that fail at a call, search that fails or is slow."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from baton.domain.errors import EmbedderUnavailable, SearchUnavailable, StoreUnavailable
from baton.domain.runs.usage import Usage
from baton.ports.agents.chat_model import Finished, FinishReason, ModelChunk, ModelSettings, Prompt, TextDelta
from tests.contracts.conversing import NextFault
from tests.faults.state_machines.worlds import MemoryWorld


@dataclass
class Trouble:
    """The fault of the next worker."""

    crash: NextFault = field(default_factory=NextFault)
    search: str = "none"
    has_struck: bool = False
    """Whether a crash has happened since ``begin``. Work beside the crashed work may lose its lease by it, later."""

    def begin(self, crash: tuple[str, int] | None, search: str) -> None:
        """Let it happen from now on."""
        self.end()
        self.search, self.has_struck = search, False
        if crash is not None:
            self.crash.kind, self.crash.calls = crash

    def end(self) -> None:
        """Let everything be well again."""
        self.has_struck |= self.crash.happened
        self.crash.clear()
        self.search = "none"

    async def met(self, name: str, really: Callable[[], Awaitable[Any]]) -> Any:
        """A call of a store."""
        return await self.crash.call(name, really)

    async def searching(self, name: str, really: Callable[[], Awaitable[Any]]) -> Any:
        """A call of the search index."""
        if self.search == "failing":
            raise SearchUnavailable
        if self.search == "slow":
            await asyncio.sleep(2 * MemoryWorld.recall_seconds)
        try:
            return await self.met(name, really)
        except StoreUnavailable as dead:
            raise SearchUnavailable from dead

    async def embedding(self, name: str, really: Callable[[], Awaitable[Any]]) -> Any:
        """A call of the embedder."""
        if self.search == "no embedder":
            raise EmbedderUnavailable
        if self.search == "slow embedder":
            await asyncio.sleep(2 * MemoryWorld.recall_seconds)
        return await really()


class Troubled:
    """A port whose calls meet trouble."""

    def __init__(self, port: Any, meet: Callable[[str, Callable[[], Awaitable[Any]]], Awaitable[Any]]) -> None:
        self._port, self._meet = port, meet

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._port, name)
        if inspect.isasyncgenfunction(method):
            return lambda *args, **kwargs: self._pages(name, method(*args, **kwargs))
        if not inspect.iscoroutinefunction(method):
            return method

        async def call(*args: Any, **kwargs: Any) -> Any:
            return await self._meet(name, lambda: method(*args, **kwargs))

        return call

    async def _pages(self, name: str, pages: AsyncIterator[Any]) -> AsyncGenerator[Any]:
        """Each page is a call."""
        while True:
            try:
                page = await self._meet(name, lambda: anext(pages))
            except StopAsyncIteration:
                return
            yield page


class RepeatingModel:
    """A model that answers with the user's words, and sums conversations up by what was said in them."""

    async def stream(
        self, settings: ModelSettings, prompts: Sequence[Prompt], **_: Any
    ) -> AsyncGenerator[ModelChunk, None]:
        await asyncio.sleep(0)
        text = str(prompts[-1].content)
        if settings.model == "light-model":
            words = " ".join(dict.fromkeys(words_of(text)))
            fact = {"text": f"Somebody said {words}.", "date": "2026-03-14", "sources": [1]}
            is_json = settings.answer_schema is not None
            text = json.dumps({"facts": [fact], "pairs": []}) if is_json else f"They spoke of {words}."
        yield TextDelta(text)
        yield Finished(FinishReason.STOP, settings.model, Usage(10, 2))


def words_of(text: str) -> list[str]:
    """The words that belong to one message alone."""
    return re.findall(r"secret\w+?n\d+x", text)
