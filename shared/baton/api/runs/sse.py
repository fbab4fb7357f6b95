"""AG-UI events as server-sent events (``text/event-stream``)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias, cast

from fastapi import Depends, Request
from starlette.responses import Response

from baton.api.runs.background_turn import BackgroundTurn
from baton.api.runs.front_ends import Convert
from baton.domain.errors import BatonError, TokenExpired
from baton.domain.metrics import Metric, count
from baton.domain.threads.events import Event, make_run_error, make_unsequenced
from baton.failures.reports import report_failure
from baton.threads.outbox.reader_events import ReaderEvents

MEDIA_TYPE = "text/event-stream"
HEADERS = {"Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no"}


@dataclass(frozen=True, slots=True)
class Timing:
    """The time limits of streams, in seconds."""

    comment_seconds: float = 10.0
    """The interval of comments, which are sent even if there are events."""
    first_event_seconds: float = 5.0
    """The time for which the response waits for a first event, so that a refusal becomes an HTTP status."""
    leaving_seconds: float = 3.0
    """The time for which a run continues after its client has left before it is stopped."""
    follow_seconds: float = 60.0
    """The time for which a stream follows events before the client must reconnect."""


async def get_timing(request: Request) -> Timing:
    """Return the application's time limits."""
    return cast("Timing", request.app.state.timing)


Timings = Annotated[Timing, Depends(get_timing)]


RUN_ENDS = ("RUN_FINISHED", "RUN_ERROR")

RETRY_MS = 500
"""The pause before a client reconnects, in milliseconds, while a run is in progress: its worker may have died."""
IDLE_RETRY_MS = 3_000
"""The pause before a client reconnects after the end of a run, in milliseconds: browsers' own default."""

Frame: TypeAlias = dict[str, str] | bytes
"""One server-sent event: its fields by name, or the bytes to send."""


RUNNING: Frame = f": running\nretry: {RETRY_MS}\n\n".encode()
"""The frame that sets the short pause where a stream begins in the middle of a run. Its comment is ignored by clients.
"""


def make_frame(event: Event) -> Frame:
    """Return an AG-UI event as a frame. ``id`` is its sequence number, which browsers send as ``Last-Event-ID``.

    The beginning of a run sets the short pause before a client reconnects, and its end the usual one.
    """
    lines = []
    if event.type == "RUN_STARTED":
        lines.append(f"retry: {RETRY_MS}")
    elif event.type in RUN_ENDS:
        lines.append(f"retry: {IDLE_RETRY_MS}")
    if event.seq is not None:
        lines.append(f"id: {event.seq}")
    # Simple clients treat all text after ``data: `` as the event, so its line must be the last.
    return "\n".join([*lines, f"data: {event.json()}", "", ""]).encode()


def make_token_expired_frame(request_id: str) -> Frame:
    """Return the last event of a stream whose token has expired. The run continues."""
    return make_frame(make_unsequenced(make_run_error(TokenExpired(), requestId=request_id)))


def respond(
    frames: AsyncIterator[Frame], timing: Timing, when_left: Callable[[Any], Awaitable[None]] | None = None
) -> Response:
    """Return a response that sends ``frames``, and regular comments so that no proxy ends a silent connection.

    ``when_left`` is called if the client ends the request before the stream has ended.
    """
    # Imported here, because it imports uvicorn, and only functions that serve streams need it.
    from sse_starlette import EventSourceResponse, ServerSentEvent

    response = EventSourceResponse(
        frames,
        headers=HEADERS,
        sep="\n",
        ping=timing.comment_seconds,
        ping_message_factory=lambda: ServerSentEvent(comment="waiting", sep="\n"),
        client_close_handler_callable=when_left,
    )
    del response.headers["Connection"]  # the server sets this header, which does not exist in HTTP/2
    return response


@dataclass(frozen=True, slots=True)
class RunStream:
    """The events of a turn, for one client."""

    turn: BackgroundTurn[Any]
    request_id: str
    timing: Timing
    convert: Convert
    reader: ReaderEvents | None
    """Removes personal data from the events; None for readers who may see it."""

    async def begin(self, token_seconds: float) -> AsyncGenerator[Frame, None]:
        """Wait for the first event and return the stream. Raises the ``BatonError`` that refused the request.

        The stream ends with the error ``token_expired`` when the token expires, in ``token_seconds``. The turn
        continues.
        """
        began = asyncio.get_running_loop().time()
        first, is_over = None, False
        with contextlib.suppress(TimeoutError):
            first = await self.turn.read_next(began + self.timing.first_event_seconds)
            is_over = first is None
        return self._make_frames(first, began + token_seconds, is_over=is_over)

    async def _make_frames(self, first: Event | None, ends_at: float, *, is_over: bool) -> AsyncGenerator[Frame, None]:
        if first is None and not is_over:
            yield RUNNING
        elif first is not None:
            for event in await self._redact_for_reader(first):
                yield make_frame(self.convert(event))
        loop = asyncio.get_running_loop()
        while not is_over:
            try:
                item = await self.turn.read_next(ends_at)
                if item is None:
                    return
                if loop.time() >= ends_at:  # even after this time, ``read_next`` returns an event that is ready
                    raise TimeoutError
            except TimeoutError:
                yield make_token_expired_frame(self.request_id)
                return
            except BatonError as error:
                if error.status >= 500:
                    count(Metric.REQUESTS_FAILED)
                    report_failure(error, "request failed", request_id=self.request_id)
                yield make_frame(make_unsequenced(make_run_error(error, requestId=self.request_id)))
                return
            for event in await self._redact_for_reader(item):
                yield make_frame(self.convert(event))

    async def _redact_for_reader(self, event: Event) -> Sequence[Event]:
        return [event] if self.reader is None else await self.reader.take([event])
