"""Joining a model's tiny deltas, so that a client gets a few events a second instead of a hundred."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator

from baton.domain.errors import TurnTimeout
from baton.domain.events import MAX_DELTA_CHARS
from baton.domain.text import encodable, slices
from baton.ports.chat_model import ModelChunk, TextDelta

STRIDE_SECONDS = 0.25
"""Between batches: each is a post to every connection, which is billed and counts against an account-wide rate."""
LONG_STRIDE_SECONDS = 0.5
"""Between batches of a long answer, of which there is enough to read already."""
LONG_AFTER_SECONDS = 2.0
"""An answer that has been streaming for so long is a long one."""


async def batched(
    chunks: AsyncGenerator[ModelChunk, None], *, deadline: float, stop: asyncio.Event
) -> AsyncGenerator[ModelChunk, None]:
    """The same chunks with neighbouring text joined: the first at once, then what came in each interval.

    What the model said before it failed is given out before its error is raised. Raises ``TurnTimeout`` when the
    event loop's clock passes ``deadline``. Ends, with what had been said, as soon as ``stop`` is set.
    """
    loop = asyncio.get_running_loop()
    buffer = _Buffer()
    reader = asyncio.ensure_future(buffer.fill(chunks))
    stopper = asyncio.ensure_future(buffer.end_when(stop))
    began = loop.time()
    try:
        while True:
            if loop.time() >= deadline:
                raise TurnTimeout
            with contextlib.suppress(TimeoutError):
                # Not wait_for: before Python 3.12 it could swallow a cancellation.
                async with asyncio.timeout_at(deadline):
                    await buffer.arrived.wait()
            text = buffer.take_text()
            for start, end in slices(text, MAX_DELTA_CHARS):
                # A model may split a character beyond the BMP between two deltas; a half that stays alone is not text.
                yield TextDelta(encodable(text[start:end]))
                if len(text) > MAX_DELTA_CHARS:
                    await asyncio.sleep(0)  # each is numbered, encoded and posted: others go first
            if buffer.ended.is_set() and not buffer.text:
                if buffer.error is not None:
                    raise buffer.error
                for chunk in buffer.after_text:
                    yield chunk
                return
            interval = LONG_STRIDE_SECONDS if loop.time() - began >= LONG_AFTER_SECONDS else STRIDE_SECONDS
            # The last words need not wait for the interval to pass.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(interval):
                    await buffer.ended.wait()
    finally:
        stopper.cancel()
        if not reader.done():  # else there is no pause: the message's end travels with its last words
            reader.cancel()
            await asyncio.wait([reader, stopper])


class _Buffer:
    """What the model has said and nobody has taken yet."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.after_text: list[ModelChunk] = []
        """Tool calls and the end, which come after all text."""
        self.error: Exception | None = None
        self.arrived = asyncio.Event()
        self.ended = asyncio.Event()

    async def fill(self, chunks: AsyncGenerator[ModelChunk, None]) -> None:
        try:
            async with contextlib.aclosing(chunks):
                async for chunk in chunks:
                    if isinstance(chunk, TextDelta):
                        self.text.append(chunk.text)
                        if not self.arrived.is_set():
                            self.arrived.set()
                            # Chunks that are in the socket's buffer already would keep the first one waiting.
                            await asyncio.sleep(0)
                    else:
                        self.after_text.append(chunk)
        except Exception as error:  # noqa: BLE001 - raised again by the consumer, after the text before it
            self.error = error
        self.arrived.set()
        self.ended.set()

    async def end_when(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self.arrived.set()
        self.ended.set()

    def take_text(self) -> str:
        text, self.text = "".join(self.text), []
        if not self.ended.is_set():
            self.arrived.clear()
        return text
