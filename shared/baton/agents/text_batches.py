"""Join the small deltas of a model's answer, so that a client gets a few events a second."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator

from baton.agents.answer_limit import AnswerLimit
from baton.concurrency.tasks import stop_all
from baton.domain.errors import TurnTimeout
from baton.domain.text import replace_surrogates, split_slices
from baton.domain.threads.events import MAX_DELTA_CHARS
from baton.ports.agents.chat_model import AnsweredBy, ModelChunk, ReasoningDelta, TextDelta, TextTakenBack

ROUNDS = 30
"""Rounds of the event loop in which the first words are sent to the client, before more chunks are read.

A fast model's chunks are in the socket's buffer by then, and would otherwise be read before anything is sent.
"""
STRIDE_SECONDS = 0.25
"""Interval between batches. Each batch is a post to every connection, billed and counted in an account-wide rate."""
LONG_STRIDE_SECONDS = 0.5
"""Interval between batches of a long answer, of which the user already has enough to read."""
LONG_AFTER_SECONDS = 2.0
"""Seconds after which a streaming answer counts as long."""


Take = Callable[[ModelChunk], None]
"""A function that takes a chunk of an answer, in order. It neither waits nor fails."""


async def read_batches(
    chunks: AsyncGenerator[ModelChunk, None],
    take: Take,
    *,
    limit: AnswerLimit,
    deadline: float,
    stop: asyncio.Event,
    opened: asyncio.Event | None = None,
) -> None:
    """Pass the chunks to ``take`` with adjacent text joined: the first text at once, then the text of each interval.

    Visible thinking is joined and passed on too. Text that is taken back before its interval ends is left out. The
    chunks end at ``limit``. Before ``opened`` is set, only the first chunk is read; if ``stop`` is set by then, nothing
    is passed on.

    If the model fails, its earlier text is passed on before its error is raised. Raises ``TurnTimeout`` when the event
    loop's clock passes ``deadline``. Ends as soon as ``stop`` is set, after the text so far.
    """
    loop = asyncio.get_running_loop()
    batches = _Batches(take)

    async def end_when_stopped() -> None:
        await stop.wait()
        batches.flush(is_last=True)
        if not until.expired():
            until.reschedule(loop.time())

    try:
        async with asyncio.timeout_at(deadline) as until:
            stopper = asyncio.ensure_future(end_when_stopped())
            try:
                # One loop does all steps: generators would cost more for each token than the steps themselves.
                async with contextlib.aclosing(chunks):
                    async for chunk in chunks:
                        if opened is not None:
                            await opened.wait()
                            await asyncio.sleep(0)  # the run's first events are sent before its first words
                            opened = None
                            if stop.is_set():
                                break  # nothing of the answer may be shown
                        part = limit.cut(chunk)
                        if part is not None and batches.add(part):
                            await batches.send_now()
                        if limit.is_spent:
                            break
                if opened is not None:
                    await opened.wait()
            finally:
                stopper.cancel()
    except asyncio.CancelledError:
        batches.drop()
        raise
    except TimeoutError:
        if not until.expired():
            raise
        if not stop.is_set():
            raise TurnTimeout from None
    finally:
        batches.flush(is_last=True)
    batches.end()


async def yield_batches(read: Callable[[Take], Awaitable[None]]) -> AsyncGenerator[ModelChunk, None]:
    """Yield the chunks that ``read`` passes on, for a consumer that waits between them."""
    queue: asyncio.Queue[ModelChunk | None] = asyncio.Queue()
    reader = asyncio.ensure_future(read(queue.put_nowait))
    reader.add_done_callback(lambda _: queue.put_nowait(None))
    try:
        while (chunk := await queue.get()) is not None:
            yield chunk
        await reader
    finally:
        await stop_all(reader)


_Kind = type[AnsweredBy] | type[TextDelta] | type[ReasoningDelta] | type[TextTakenBack]


class _Batches:
    """The model's chunks that have not been passed on yet. A timer passes on the text of an interval."""

    def __init__(self, take: Take) -> None:
        self._loop = asyncio.get_running_loop()
        self._take = take
        self._pieces: list[tuple[_Kind, list[str]]] = []
        """Texts and thinking in order; neighbours of one kind are joined."""
        self._after_text: list[ModelChunk] = []
        """Tool calls and the end, which are passed on after all text."""
        self._size = 0
        """Characters of the texts in an interval."""
        self._has_sent_text = False
        self._began_at = self._loop.time()
        self._due_at = self._began_at
        """Event loop time from which text may be passed on."""
        self._timer: asyncio.TimerHandle | None = None
        self._failure: Exception | None = None

    def add(self, part: ModelChunk) -> bool:
        """Add a chunk. Return True if its text must not wait for the end of an interval."""
        if isinstance(part, TextTakenBack):
            self._pieces = [piece for piece in self._pieces if piece[0] is not TextDelta]
            if self._has_sent_text:
                self._pieces.append((TextTakenBack, []))
        elif isinstance(part, AnsweredBy):
            self._join(AnsweredBy, part.model)
        elif isinstance(part, TextDelta | ReasoningDelta):
            self._join(type(part), part.text)
            self._size += len(part.text)
            if self._loop.time() >= self._due_at or self._size > MAX_DELTA_CHARS:
                return True
            if self._timer is None:
                self._timer = self._loop.call_at(self._due_at, self._flush_when_due)
        else:
            self._after_text.append(part)
        return False

    async def send_now(self) -> None:
        """Pass on all text at once, and let it be sent to the client before more is read."""
        for piece in self._cut_pieces():
            self._take(piece)
            await asyncio.sleep(0)  # each slice is numbered, encoded and posted: give other tasks a turn
        for _ in range(ROUNDS):
            await asyncio.sleep(0)

    def flush(self, *, is_last: bool = False) -> None:
        """Pass on all text."""
        for piece in self._cut_pieces(is_last=is_last):
            self._take(piece)

    def drop(self) -> None:
        """Drop the text that was not passed on."""
        self._pieces = []
        self.flush()

    def end(self) -> None:
        """Pass on the chunks after the text. Raises the failure of the timer."""
        if self._failure is not None:
            raise self._failure
        for chunk in self._after_text:
            self._take(chunk)

    def _flush_when_due(self) -> None:
        try:
            self.flush()
        except Exception as failure:  # noqa: BLE001 - raised again in the reader's own task
            self._failure = failure

    def _cut_pieces(self, *, is_last: bool = False) -> Iterator[ModelChunk]:
        """Begin a new interval, and yield the text so far in slices that fit an event.

        Unless ``is_last``, the first half of a surrogate pair at its end waits for the other half.
        """
        ready, self._pieces, self._size = [(kind, "".join(texts)) for kind, texts in self._pieces], [], 0
        if ready and not is_last and "\ud800" <= ready[-1][1][-1:] <= "\udbff":
            kind, text = ready.pop()
            self._pieces = [(kind, [text[-1]])]
            ready += [(kind, text[:-1])] if text[:-1] else []
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now = self._loop.time()
        self._due_at = now + (LONG_STRIDE_SECONDS if now - self._began_at >= LONG_AFTER_SECONDS else STRIDE_SECONDS)
        self._has_sent_text |= any(kind is TextDelta for kind, _ in ready)
        for kind, text in ready:
            if kind is TextTakenBack:
                yield TextTakenBack()
            elif kind is AnsweredBy:
                yield AnsweredBy(text)
            else:
                for start, end in split_slices(text, MAX_DELTA_CHARS):
                    # A model may split a character beyond the BMP between two deltas. A half is not valid text.
                    piece = replace_surrogates(text[start:end])
                    yield ReasoningDelta(piece) if kind is ReasoningDelta else TextDelta(piece)

    def _join(self, kind: _Kind, text: str) -> None:
        if self._pieces and self._pieces[-1][0] is kind:
            self._pieces[-1][1].append(text)
        else:
            self._pieces.append((kind, [text]))
