"""Runs: a message in, a stream of events out."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from baton_client.asynchronous.resource import AsyncResource
from baton_client.asynchronous.stream import AsyncRunStream
from baton_client.interrupt_answers import Answer
from baton_client.run_input import Content, RunInput, WhileBusy
from baton_client.run_result import RunResult
from baton_client.tools import Approve, ClientTool, client_tool


class AsyncRuns(AsyncResource):
    """``client.runs``."""

    def stream(
        self,
        message: Content | None = None,
        *,
        thread_id: str | None = None,
        message_id: str | None = None,
        agent_id: str | None = None,
        answers: Sequence[Answer] = (),
        tools: Sequence[ClientTool | Callable[..., Any]] = (),
        context: Mapping[str, str] | None = None,
        approve: Approve | None = None,
        branch: Mapping[str, Any] | None = None,
        time_zone: str | None = None,
        locale: str | None = None,
        while_busy: WhileBusy | None = None,
        over_spending: bool = False,
        keep_running: bool = False,
    ) -> AsyncRunStream:
        """Send a message and follow its run: use the stream as a context manager, and iterate for the events.

        ``thread_id`` names the conversation; without it a new one begins, with the main agent ``agent_id``.
        ``message_id`` makes it safe for another program to send the message again; repeats within one call are safe in
        any case. ``answers`` answer the interrupts of an earlier run. ``tools`` are functions of this program that the
        agent may call: they are called while iterating, and the run continues with their results. ``context`` has
        texts about the user's situation for the agent, by their descriptions. ``approve`` decides on calls that wait
        for a person; without it the run ends with ``stream.interrupts``. ``branch`` is ``{"from": message_id}``, which
        replaces the user's message of that id by ``message``; or ``{"from": message_id, "regenerate": True}``, which
        answers it again, without a ``message``. ``time_zone`` and ``locale`` override those of the client.
        ``while_busy`` is the treatment of the message while a run is in progress; if the message enters that run, the
        events are those of that run. ``over_spending`` continues beyond a spending limit that asks. Leaving the block
        before the end stops the run, unless ``keep_running``.

        Raises ``ConfigurationError`` without a message, answers or a ``branch``, and for a function that cannot be a
        tool.
        """
        client_tools = [tool if isinstance(tool, ClientTool) else client_tool(tool) for tool in tools]
        run_input = RunInput.of(
            message,
            thread_id=thread_id or str(uuid.uuid4()),
            message_id=message_id or str(uuid.uuid4()),
            agent_id=agent_id,
            answers=answers,
            tools=client_tools,
            context=context or {},
            branch=branch,
            time_zone=self._choose_zone(time_zone),
            locale=self._choose_locale(locale),
            while_busy=while_busy,
            over_spending=over_spending,
        )
        return AsyncRunStream(
            self._transport,
            run_input,
            thread_id=run_input.thread_id,
            tools=client_tools,
            approve=approve,
            keep_running=keep_running,
        )

    async def create(
        self,
        message: Content | None = None,
        *,
        thread_id: str | None = None,
        message_id: str | None = None,
        agent_id: str | None = None,
        answers: Sequence[Answer] = (),
        tools: Sequence[ClientTool | Callable[..., Any]] = (),
        context: Mapping[str, str] | None = None,
        approve: Approve | None = None,
        branch: Mapping[str, Any] | None = None,
        time_zone: str | None = None,
        locale: str | None = None,
        while_busy: WhileBusy | None = None,
        over_spending: bool = False,
        keep_running: bool = False,
    ) -> RunResult:
        """Send a message and return the result of its run, once it has ended. The parameters are those of ``stream``.

        Raises like ``stream`` and iterating over it.
        """
        async with self.stream(
            message,
            thread_id=thread_id,
            message_id=message_id,
            agent_id=agent_id,
            answers=answers,
            tools=tools,
            context=context,
            approve=approve,
            branch=branch,
            time_zone=time_zone,
            locale=locale,
            while_busy=while_busy,
            over_spending=over_spending,
            keep_running=keep_running,
        ) as stream:
            return await stream.result()

    def follow(self, thread_id: str, *, run_id: str | None = None, after: int = 0) -> AsyncRunStream:
        """Follow an existing run, from the event after number ``after`` on.

        Without ``run_id``, the next run that has an event there is followed; if there is none, there are no events, and
        the result's outcome is ``none``. ``StreamInterruptedError`` has all three values. Leaving the stream does not
        stop the run.
        """
        return AsyncRunStream(self._transport, None, thread_id=thread_id, run_id=run_id, after=after, keep_running=True)
