"""The events of a conversation, in their order and once each, across connections."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from baton_client.addresses import path
from baton_client.asynchronous.transport import AsyncTransport, Request
from baton_client.errors import (
    APIConnectionError,
    APIStatusError,
    NotFoundError,
    PermissionDeniedError,
    StreamInterruptedError,
    UnexpectedAnswerError,
)
from baton_client.events import AnyEvent, Received, RunErrorEvent, parse_event, seq_of
from baton_client.retries import STATUSES, choose_wait_seconds
from baton_client.sequence import Place, Sequence
from baton_client.sse import EventDecoder
from baton_client.status_errors import error_of_run

logger = logging.getLogger("baton_client")

IDLE_SECONDS = 1.0
"""Seconds to wait before the next request after an idle stream has ended."""
MOST_ATTEMPTS = 6
"""The number of failures in a row after which the wait between two attempts no longer grows."""


class AsyncEvents:
    """A conversation's events: ``async for`` yields them. Leave it by ``aclosing``, which ends its connection."""

    def __init__(
        self,
        transport: AsyncTransport,
        thread_id: str,
        *,
        after: int | None = None,
        first: Request | None = None,
        ends_when_idle: bool = False,
        gives_up: bool = True,
        is_continued: bool = False,
        on_wait: Callable[[Exception], object] | None = None,
    ) -> None:
        """Read the events after number ``after``. With ``first``, send that request until its first event has come.

        ``first`` must be safe to repeat. With ``ends_when_idle``, iteration ends when no run is in progress. With
        ``gives_up``, a server without new events counts as unreachable after ``resume_seconds``. ``is_continued`` is
        True if the server has answered earlier requests for this run, so that failures are retried from the beginning.
        ``on_wait`` is called with the first of several failures in a row, before the next attempt.
        """
        self._transport = transport
        self._thread_id = thread_id
        self._first = first
        self._ends_when_idle = ends_when_idle
        self._gives_up = gives_up
        self._sequence = Sequence(after)
        self._was_open = is_continued
        self._on_wait = on_wait
        self._progress_at = time.monotonic()
        self._failures = 0

    @property
    def last(self) -> int:
        """The number of the last event."""
        return self._sequence.last

    async def __aiter__(self) -> AsyncGenerator[AnyEvent, None]:
        """Yield events.

        Raises ``StreamInterruptedError`` after ``resume_seconds`` without one, or without any byte of an open stream;
        ``APIConnectionError`` if no request has been answered yet; ``APIStatusError``; and ``UnexpectedAnswerError``.
        """
        async with aclosing(self.receive()) as events:
            async for received in events:
                yield received.event

    async def receive(self) -> AsyncGenerator[Received, None]:
        """Yield events with their text as it was sent. Raises the errors of ``__aiter__``."""
        behind_gap: Received | None = None
        while True:
            begun_at = time.monotonic()
            last_before = self.last
            is_expired = False
            missed = behind_gap
            behind_gap = None
            try:
                async with aclosing(self._read_connection()) as events:
                    async for received in events:
                        if _is_expiry(received.event):
                            is_expired = True
                            break
                        position = self._sequence.take(received.event)
                        if position is Place.BEHIND_GAP:
                            behind_gap = received
                            break
                        if position is Place.NEXT:
                            if self.last > last_before:
                                self._progress_at = time.monotonic()
                                self._failures = 0
                            yield received
            except (NotFoundError, PermissionDeniedError):
                # Those who may answer a run but not read its conversation are shown its first and last event only.
                if missed is None:
                    raise
                self._sequence.take(missed.event)
                yield missed
                return
            except APIConnectionError as problem:
                await self._wait_after(problem)
                continue
            except APIStatusError as problem:
                if problem.status not in STATUSES or not self._was_open:
                    raise
                await self._wait_after(problem, problem.retry_after)
                continue
            is_brief = self.last == last_before and time.monotonic() - begun_at < IDLE_SECONDS
            if is_expired:
                await self._renew()
                if is_brief:
                    await self._wait_idle()
            elif behind_gap is None and is_brief:
                if self._ends_when_idle:
                    return
                await self._wait_idle()

    async def _read_connection(self) -> AsyncGenerator[Received, None]:
        """Yield the events of one answer."""
        request = self._first
        if request is None or self._sequence.has_begun:
            address = path("/v1/threads/{thread_id}/events", thread_id=self._thread_id)
            request = Request(method="GET", path=address, params={"after": self.last, "protocolVersion": "1.0"})
        decoder = EventDecoder()
        seconds = self._transport.options.silence_seconds
        begun_at = time.monotonic()
        async with self._transport.open(request, read_seconds=seconds) as response:
            if not response.headers.get("content-type", "").startswith("text/event-stream"):
                raise UnexpectedAnswerError(f"{response.url} answers without events. Is base_url the address of Baton?")
            self._was_open = True
            async for chunk in response.aiter_bytes():
                if time.monotonic() - begun_at > IDLE_SECONDS:
                    self._progress_at = time.monotonic()  # signs of life while a tool works, for example
                for data in decoder.feed(chunk):
                    yield Received(parse_event(data), data)

    async def _wait_after(self, problem: Exception, advised: float | None = None) -> None:
        """Wait before the next attempt. Raises ``problem`` if there was no answer yet, or it is time to give up."""
        if not self._was_open:
            raise problem
        self._give_up_in_time(problem)
        if not self._failures and self._on_wait is not None:
            self._on_wait(problem)
        self._failures += 1
        seconds = choose_wait_seconds(min(self._failures, MOST_ATTEMPTS), advised)
        logger.info("The events of %s are asked for again in %.1f s: %s", self._thread_id, seconds, problem)
        await asyncio.sleep(seconds)

    async def _wait_idle(self) -> None:
        if self._gives_up:
            self._give_up_in_time(None)
        await asyncio.sleep(IDLE_SECONDS)

    def _give_up_in_time(self, problem: Exception | None) -> None:
        seconds = self._transport.options.resume_seconds
        if time.monotonic() - self._progress_at <= seconds:
            return
        message = f"Nothing came for {seconds:g} s. The run may go on; client.runs.follow takes it up again."
        raise StreamInterruptedError(message, thread_id=self._thread_id, run_id=None, last_seq=self.last) from problem

    async def _renew(self) -> None:
        if not self._transport.tokens.can_renew:
            message = "The token has expired; the run goes on. Give the client a function that returns a new one."
            raise error_of_run(message, "token_expired", {})
        await self._transport.tokens.renew()


def _is_expiry(event: AnyEvent) -> bool:
    """Return whether the stream ends because its request's token has expired. The run continues."""
    return isinstance(event, RunErrorEvent) and event.code == "token_expired" and seq_of(event) is None
