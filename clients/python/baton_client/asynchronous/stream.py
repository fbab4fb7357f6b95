"""A run that is followed to its end: its events, its text and its interrupts."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from types import TracebackType
from typing import Any

import httpx

from baton_client.addresses import path
from baton_client.asynchronous.events import AsyncEvents
from baton_client.asynchronous.transport import AsyncTransport, Request
from baton_client.calls import await_result
from baton_client.errors import BatonError, ConfigurationError, StreamInterruptedError
from baton_client.events import (
    AnyEvent,
    RunErrorEvent,
    RunFinishedEvent,
    RunStartedEvent,
    TextMessageContentEvent,
    metadata_of,
)
from baton_client.interrupt_answers import Answer
from baton_client.run_input import RunInput
from baton_client.run_result import Interrupt, RunResult
from baton_client.run_state import CLIENT_TOOL, RunState
from baton_client.status_errors import error_of_run
from baton_client.tools import Approve, ClientTool, as_payload

logger = logging.getLogger("baton_client")

CANCEL_SECONDS = 5.0
"""Seconds for which leaving a stream waits for the server to take the cancellation."""
LONGEST_REASON = 2000
"""The most characters of the message that the model gets about a function that failed."""


class AsyncRunStream:
    """A run: ``async with`` it, and ``async for`` its events, or its ``texts()``. Lost connections are resumed.

    Iterating raises ``APIStatusError`` if the run is refused or fails, and ``StreamInterruptedError`` if it can no
    longer be followed.
    """

    def __init__(
        self,
        transport: AsyncTransport,
        run_input: RunInput | None,
        *,
        thread_id: str,
        run_id: str | None = None,
        after: int | None = None,
        tools: Sequence[ClientTool] = (),
        approve: Approve | None = None,
        keep_running: bool = False,
    ) -> None:
        """Use ``client.runs.stream`` and ``client.runs.follow``. Without an input, an existing run is followed."""
        self._transport = transport
        self._input = run_input
        self._wanted_run_id = run_id
        self._after = after
        self._tools = {tool.name: tool for tool in tools}
        self._approve = approve
        self._keep_running = keep_running
        self._is_over = False
        self._events: AsyncGenerator[AnyEvent, None] | None = None
        self.state = RunState(thread_id)
        """The state of the run after the events so far."""

    @property
    def thread_id(self) -> str:
        """The conversation's UUID; before the first event, the id that the caller gave."""
        return self.state.thread_id

    @property
    def run_id(self) -> str | None:
        """The run's id, once it has begun."""
        return self.state.run_id

    @property
    def text(self) -> str:
        """The text so far."""
        return "\n\n".join(message.text for message in self.state.messages if message.text)

    @property
    def interrupts(self) -> list[Interrupt]:
        """The interrupts that the run waits for, once it has ended."""
        return self.state.interrupts

    async def __aenter__(self) -> AsyncRunStream:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __aiter__(self) -> AsyncIterator[AnyEvent]:
        """Yield the events that have not been read yet."""
        return self._follow_all()

    async def texts(self, *, on_restart: Callable[[], object] | None = None) -> AsyncIterator[str]:
        """Yield the pieces of text as they arrive. A second message begins with an empty line.

        If a worker dies, another one answers from the beginning. ``on_restart`` is called then, so that programs can
        remove the pieces that they have shown. ``text`` has the new answer only.
        """
        message_id: str | None = None
        async for event in self:
            if (
                isinstance(event, RunStartedEvent)
                and message_id is not None
                and (metadata_of(event).get("attempt") or 1) > 1
            ):
                message_id = None
                if on_restart is not None:
                    on_restart()
            if isinstance(event, TextMessageContentEvent):
                yield f"\n\n{event.delta}" if message_id not in {None, event.message_id} else event.delta
                message_id = event.message_id

    async def result(self) -> RunResult:
        """Read the remaining events, and return the result of the run. Raises like iterating."""
        async for _ in self:
            pass
        return self.state.make_result()

    async def aclose(self) -> None:
        """End the connection, and stop the run if it is still in progress, unless ``keep_running``."""
        if self._events is None:
            return
        await self._events.aclose()
        if self._is_over or self._keep_running:
            return
        self._is_over = True
        run_id = self.run_id or (self._input.run_id if self._input else None)
        address = path("/v1/threads/{thread_id}/cancel", thread_id=self.thread_id)
        request = Request(method="POST", path=address, json={"runId": run_id}, is_repeatable=False)
        try:
            async with self._transport.open(request, read_seconds=CANCEL_SECONDS):
                pass
        except (BatonError, httpx.HTTPError) as problem:
            logger.warning("The run %s could not be stopped, and may go on: %s", run_id, problem)

    async def _follow_all(self) -> AsyncIterator[AnyEvent]:
        """Yield the events of the run, and of the runs that continue it."""
        while not self._is_over:
            if self._events is None:
                self._events = self._follow_one()
            async for event in self._events:
                yield event
            self._events = None
            if self.state.outcome is None:
                self._is_over = True
                return
            answers = [answer for interrupt in self.interrupts if (answer := await self._answer(interrupt)) is not None]
            if not answers or self._input is None:
                self._is_over = True
                return
            self._input = self._input.continue_with(answers)
            self.state.begin_next()

    async def _follow_one(self) -> AsyncGenerator[AnyEvent, None]:
        first = None
        if self._input is not None:
            headers = {"Accept": "text/event-stream"}
            first = Request(method="POST", path="/v1/runs", json=self._input.to_json(), headers=headers)
        source = AsyncEvents(
            self._transport,
            self.thread_id,
            after=self._after,
            first=first,
            ends_when_idle=self._input is None and self._wanted_run_id is None,
            is_continued=self._input is not None and self.state.last_seq > 0,
        )
        try:
            async with aclosing(aiter(source)) as events:
                async for event in events:
                    if not self._is_ours(event):
                        continue
                    self.state.take(event)
                    if isinstance(event, RunErrorEvent):
                        raise error_of_run(event.message, event.code, metadata_of(event))
                    yield event
                    if isinstance(event, RunFinishedEvent):
                        return
        except BatonError as problem:
            self._is_over = True  # a failed connection does not ask to stop the run
            if isinstance(problem, StreamInterruptedError):
                problem.thread_id, problem.run_id = self.thread_id, self.run_id or self._wanted_run_id
                if self._input is not None and self.run_id is None:
                    problem.answers = self._input.answers
            raise

    def _is_ours(self, event: AnyEvent) -> bool:
        """Return whether an event belongs to the run, and not to another run of the conversation."""
        run_id = metadata_of(event).get("runId")
        own_id = self.run_id or self._wanted_run_id
        return run_id is None or own_id is None or bool(run_id == own_id)

    async def _answer(self, interrupt: Interrupt) -> Answer | None:
        """Return the answer that this program gives to an interrupt; ``None`` if it has none."""
        if interrupt.reason == CLIENT_TOOL:
            tool = self._tools.get(interrupt.tool_name or "")
            return await self._call(tool, interrupt) if tool is not None else None
        if self._approve is None:
            return None
        decision: Any = await await_result(self._approve(interrupt))
        if isinstance(decision, str):
            return Answer.approval(interrupt.id, approved=False, comment=decision)
        return Answer.approval(interrupt.id, approved=bool(decision))

    async def _call(self, tool: ClientTool, interrupt: Interrupt) -> Answer:
        """Call a function, and return its result. An exception becomes a message for the model, which may try again."""
        try:
            arguments = tool.parse_arguments(interrupt.arguments)
            result = await await_result(tool.function(**arguments))
            return Answer(interrupt.id, "resolved", as_payload(result))
        except ConfigurationError:
            raise
        except Exception as problem:  # whatever a function raises
            logger.warning("The tool %s failed", tool.name, exc_info=True)
            reason = f"{type(problem).__name__}: {problem}"[:LONGEST_REASON]
            return Answer(interrupt.id, "cancelled", {"reason": reason})
