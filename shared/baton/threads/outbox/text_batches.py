"""Joining a model's small deltas, so that a client gets a few events a second, and the limit of an answer's length."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import TypeVar

from baton.concurrency.tasks import stop_all
from baton.domain.errors import TurnTimeout
from baton.domain.runs.tool_call import ToolCall
from baton.domain.text import encodable, first_bytes, slices, utf8_size
from baton.domain.threads.events import MAX_DELTA_CHARS
from baton.ports.agents.chat_model import (
    MAX_ANSWER_BYTES,
    AnsweredBy,
    ModelChunk,
    ReasoningDelta,
    TextDelta,
    TextTakenBack,
)

ROUNDS = 30
"""Rounds of the event loop in which the first words go on their way to the client, before others are read.

A fast model's chunks lie in the socket's buffer by then, and each round would read more of them first."""
STRIDE_SECONDS = 0.25
"""Interval between batches. Each batch is a post to every connection, billed and counted in an account-wide rate."""
LONG_STRIDE_SECONDS = 0.5
"""Interval between batches of a long answer, of which the user already has enough to read."""
LONG_AFTER_SECONDS = 2.0
"""Seconds after which a streaming answer counts as long."""


async def batch(
    chunks: AsyncGenerator[ModelChunk, None],
    *,
    limit: AnswerLimit,
    deadline: float,
    stop: asyncio.Event,
    opened: asyncio.Event | None = None,
) -> AsyncGenerator[ModelChunk, None]:
    """Yield the chunks with adjacent text joined: the first text at once, then the text of each interval.

    Visible thinking is joined and yielded too. Text that is taken back before it was yielded is not yielded. The
    chunks end at ``limit``. Only the first chunk is taken before ``opened`` is set, and none if ``stop`` is set then.

    If the model fails, its earlier text is yielded before its error is raised. Raises ``TurnTimeout`` when the event
    loop's clock passes ``deadline``. Ends as soon as ``stop`` is set, after yielding the text so far.
    """
    loop = asyncio.get_running_loop()
    buffer = _Buffer()
    reader = asyncio.ensure_future(buffer.fill(chunks, limit, opened, stop))
    stopper = asyncio.ensure_future(buffer.end_when(stop))
    began = loop.time()
    try:
        while True:
            if loop.time() >= deadline:
                raise TurnTimeout
            if not buffer.arrived.is_set():
                with contextlib.suppress(TimeoutError):
                    # Not wait_for: before Python 3.12 it could swallow a cancellation.
                    async with asyncio.timeout_at(deadline):
                        await buffer.arrived.wait()
            for kind, text in buffer.take():
                if kind is TextTakenBack:
                    yield TextTakenBack()
                if kind is AnsweredBy:
                    yield AnsweredBy(text)
                    continue
                for start, end in slices(text, MAX_DELTA_CHARS):
                    # A model may split a character beyond the BMP between two deltas. A single half is not valid text.
                    piece = encodable(text[start:end])
                    yield ReasoningDelta(piece) if kind is ReasoningDelta else TextDelta(piece)
                    if len(text) > MAX_DELTA_CHARS:
                        await asyncio.sleep(0)  # each slice is numbered, encoded and posted: give other tasks a turn
            if buffer.end.is_set() and not buffer.pieces:
                if buffer.error is not None:
                    raise buffer.error
                for chunk in buffer.after_text:
                    yield chunk
                return
            interval = LONG_STRIDE_SECONDS if loop.time() - began >= LONG_AFTER_SECONDS else STRIDE_SECONDS
            # The last text need not wait for the end of the interval.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(interval):
                    await buffer.end.wait()
    finally:
        stopper.cancel()
        if not reader.done():  # otherwise do not pause, so that the message's end shares a frame with its last text
            await stop_all(reader, stopper)


async def _let_first_words_out() -> None:
    for _ in range(ROUNDS):
        await asyncio.sleep(0)


_Kind = type[AnsweredBy] | type[TextDelta] | type[ReasoningDelta] | type[TextTakenBack]


class _Buffer:
    """The model's chunks that have not been taken yet."""

    def __init__(self) -> None:
        self.pieces: list[tuple[_Kind, list[str]]] = []
        """Texts and thinking in order; neighbours of one kind are joined."""
        self.after_text: list[ModelChunk] = []
        """Tool calls and the end, which are yielded after all text."""
        self.error: Exception | None = None
        self.arrived = asyncio.Event()
        self.end = asyncio.Event()
        self._has_given_text = False

    async def fill(
        self,
        chunks: AsyncGenerator[ModelChunk, None],
        limit: AnswerLimit,
        opened: asyncio.Event | None,
        stop: asyncio.Event,
    ) -> None:
        # One loop takes and cuts the chunks. A generator for each step would cost more than the step, for each token.
        try:
            async with contextlib.aclosing(chunks):
                async for chunk in chunks:
                    if opened is not None:
                        await opened.wait()
                        opened = None
                        if stop.is_set():
                            break  # nothing of the answer may be shown
                    part = limit.cut(chunk)
                    if isinstance(part, TextDelta | ReasoningDelta):
                        self._add(type(part), part.text)
                        if not self.arrived.is_set():
                            self.arrived.set()
                            await _let_first_words_out()
                    elif isinstance(part, AnsweredBy):
                        self._add(AnsweredBy, part.model)
                    elif isinstance(part, TextTakenBack):
                        self._take_back()
                    elif part is not None:
                        self.after_text.append(part)
                    if limit.is_spent:
                        break
            if opened is not None:
                await opened.wait()
        except Exception as error:  # noqa: BLE001 - raised again by the consumer, after the text before it
            self.error = error
        self.arrived.set()
        self.end.set()

    async def end_when(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self.arrived.set()
        self.end.set()

    def take(self) -> list[tuple[_Kind, str]]:
        """Return the chunks that have arrived. The first half of a character waits for the second one."""
        taken, self.pieces = [(kind, "".join(texts)) for kind, texts in self.pieces], []
        if taken and not self.end.is_set() and "\ud800" <= taken[-1][1][-1:] <= "\udbff":
            kind, text = taken.pop()
            self.pieces = [(kind, [text[-1]])]
            taken += [(kind, text[:-1])] if text[:-1] else []
        self._has_given_text |= any(kind is TextDelta for kind, _ in taken)
        if not self.end.is_set():
            self.arrived.clear()
        return taken

    def _add(self, kind: _Kind, text: str) -> None:
        if self.pieces and self.pieces[-1][0] is kind:
            self.pieces[-1][1].append(text)
        else:
            self.pieces.append((kind, [text]))

    def _take_back(self) -> None:
        self.pieces = [piece for piece in self.pieces if piece[0] is not TextDelta]
        if self._has_given_text:
            self.pieces.append((TextTakenBack, []))


Chunk = TypeVar("Chunk")


class AnswerLimit:
    """The bytes of UTF-8 that an agent's texts, calls and visible thinking may still take in a run."""

    def __init__(self, room: int = MAX_ANSWER_BYTES) -> None:
        self.is_spent = False
        """True if the answer was cut."""
        self._room = room

    def cut(self, chunk: Chunk) -> Chunk | TextDelta | None:
        """Return the chunk or its part within the limit; None if nothing is left. After the cut, ask for no others."""
        if isinstance(chunk, ReasoningDelta):
            self._room -= utf8_size(chunk.text)
            self.is_spent = self._room < 0
            return None if self.is_spent else chunk
        if isinstance(chunk, TextDelta):
            size = utf8_size(chunk.text)
            if size <= self._room:
                self._room -= size
                return chunk if chunk.text else None
            text = first_bytes(chunk.text, self._room)
            self._room -= utf8_size(text)
            self.is_spent = len(text) < len(chunk.text)
            return TextDelta(text) if text else None
        if isinstance(chunk, ToolCall):
            self._room -= utf8_size(chunk.name) + utf8_size(chunk.arguments)
            self.is_spent = self._room < 0
            return None if self.is_spent else chunk
        return chunk

    async def within(self, chunks: AsyncGenerator[Chunk, None]) -> AsyncGenerator[Chunk | TextDelta, None]:
        """Yield the chunks up to the limit, then close the generator."""
        async with contextlib.aclosing(chunks):
            async for chunk in chunks:
                if (part := self.cut(chunk)) is not None:
                    yield part
                if self.is_spent:
                    return
