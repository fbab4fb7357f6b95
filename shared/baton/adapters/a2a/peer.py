"""The connection to one remote agent, by the SDK's client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import cast

import httpx
from a2a.client import Client, ClientCallContext, ClientConfig, ClientFactory
from a2a.client.service_parameters import ServiceParametersFactory, with_a2a_extensions
from a2a.types import (
    AgentCard,
    CancelTaskRequest,
    GetTaskRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
    TaskState,
)
from a2a.utils.constants import TransportProtocol
from a2a.utils.errors import A2AError, TaskNotFoundError
from aws_lambda_powertools import Logger

from baton.adapters.a2a.answer import Answer, AnswerChunk, has_ended
from baton.adapters.a2a.parts import fit_to_modes, make_request
from baton.domain.runs.task import RemoteTask
from baton.domain.threads.a2a_task import EXTENSION_URI
from baton.ports.agents.agent_client import AgentFailed, AgentStarted, AgentTask, NotSent, TaskLost

CANCEL_SECONDS = 2.0
"""The time limit of a request to stop a task."""
SLOWEST_POLL_SECONDS = 5.0
"""The maximum pause between two requests for a task."""
HISTORY_LENGTH = 50
"""The number of newest messages of a task that are requested."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A client of the agent that a card describes. It can be used as long as the HTTP client is open."""

    client: Client
    streams: bool
    """Whether the agent sends its answer as a stream."""
    context: ClientCallContext
    input_modes: Sequence[str]
    """Media types that the agent takes; empty if its card names none."""
    pushes: bool = False
    """Whether the agent reports changes of its tasks."""

    @classmethod
    def connect(cls, card: AgentCard, http: httpx.AsyncClient, *, waits: bool = True) -> Peer:
        """Return a client of the agent of ``card``. Raises ``AgentFailed`` if the card has no address for JSON-RPC.

        Without ``waits``, the agent is asked to return a task before it has done its work.
        """
        streams = card.capabilities.streaming and waits
        config = ClientConfig(
            streaming=streams,
            polling=not streams,
            httpx_client=http,
            supported_protocol_bindings=[TransportProtocol.JSONRPC],
        )
        try:
            client = ClientFactory(config).create(card)
        except ValueError:
            raise AgentFailed("The agent's card names no address for A2A over JSON-RPC.") from None
        parameters = ServiceParametersFactory.create([with_a2a_extensions([EXTENSION_URI])])
        modes = [*card.default_input_modes, *(mode for skill in card.skills for mode in skill.input_modes)]
        context = ClientCallContext(service_parameters=parameters)
        return cls(client, streams, context, modes, card.capabilities.push_notifications)

    async def stream_answer(
        self, task: AgentTask, answer: Answer, poll_seconds: float
    ) -> AsyncGenerator[AnswerChunk | AgentStarted | NotSent, None]:
        """Send the message of ``task``, and yield the updates until the answer is complete.

        A message that an earlier attempt has sent is not sent again: its task is followed. If the agent does not
        stream, or stops streaming too early, the task is polled, first after ``poll_seconds``. Background tasks are not
        polled. Raises ``TaskLost``, ``AgentFailed``, and the SDK's errors for answers that are not A2A.
        """
        is_announced = False
        followed = await self._read_followed_task(task, task.follows, answer) if task.follows is not None else None
        if followed is not None:
            is_announced = True
            for chunk in answer.take_task(followed):
                yield chunk
            responses = self._resubscribe(followed.id) if self.streams and not answer.is_over else _no_responses()
        else:
            if task.remote_task_id is not None:
                # The task's text so far was yielded when it asked for input.
                answer.skip(await self._read_unfinished(task.remote_task_id))
                yield AgentStarted(task.remote_task_id, answer.known)
                is_announced = True
            fitted_task, refused = fit_to_modes(task, self.input_modes)
            for attachment in refused:
                yield NotSent(attachment)
            # The SDK declares an iterator but returns a generator.
            request = make_request(fitted_task, refused, has_callback=self.pushes)
            updates = self.client.send_message(request, context=self.context)
            responses = cast("AsyncGenerator[StreamResponse, None]", updates)
        async with aclosing(responses):
            async for response in responses:
                for chunk in answer.take(response):
                    if not is_announced and answer.task_id:
                        is_announced = True
                        yield AgentStarted(answer.task_id)
                    yield chunk
                if not is_announced and answer.task_id:
                    is_announced = True
                    yield AgentStarted(answer.task_id)
                if answer.is_over:
                    return
        if task.is_background:
            return
        async with aclosing(self._poll(answer, poll_seconds)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def _poll(self, answer: Answer, poll_seconds: float) -> AsyncGenerator[AnswerChunk, None]:
        """Read the task with growing pauses, and yield its new content until the answer is complete."""
        pause = poll_seconds
        while not answer.is_over:
            if not answer.task_id:
                raise AgentFailed("The agent ended without an answer.")
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, SLOWEST_POLL_SECONDS)
            for chunk in answer.take_task(
                await self.client.get_task(_make_get_request(answer.task_id), context=self.context)
            ):
                yield chunk

    async def _read_followed_task(self, task: AgentTask, follows: RemoteTask, answer: Answer) -> Task | None:
        """Read the task to which an earlier attempt has sent the message; None if the message did not arrive.

        ``answer`` then continues where that attempt had stopped. Raises ``TaskLost`` if the agent does not know the
        task any more, or if the task was stopped, which the earlier attempt's worker may have requested.
        """
        remote_task = await self._read_task(follows.remote_task_id)
        if remote_task.status.state == TaskState.TASK_STATE_CANCELED:
            raise TaskLost("The task was stopped.")
        return remote_task if answer.resume(remote_task, task.task_id, follows.known) else None

    async def _resubscribe(self, task_id: str) -> AsyncGenerator[StreamResponse, None]:
        """Yield the updates of a running task. They end if the agent refuses, because the task may have ended."""
        updates = self.client.subscribe(SubscribeToTaskRequest(id=task_id), context=self.context)
        try:
            async with aclosing(cast("AsyncGenerator[StreamResponse, None]", updates)) as responses:
                async for response in responses:
                    yield response
        except A2AError as refusal:
            Logger(child=True).info("A remote task is polled", extra={"failure": type(refusal).__name__})

    async def _read_unfinished(self, task_id: str) -> Task:
        """Read the task. Raises ``TaskLost`` if it accepts no more messages."""
        task = await self._read_task(task_id)
        if has_ended(task):
            raise TaskLost("The agent has ended the task.")
        return task

    async def _read_task(self, task_id: str) -> Task:
        try:
            return await self.client.get_task(_make_get_request(task_id), context=self.context)
        except TaskNotFoundError:
            raise TaskLost("The agent does not know the task any more.") from None

    async def cancel(self, task_id: str) -> None:
        """Ask the agent to stop the task, and wait at most ``CANCEL_SECONDS``. Failures are logged, not raised."""
        try:
            async with asyncio.timeout(CANCEL_SECONDS):
                await self.client.cancel_task(CancelTaskRequest(id=task_id), context=self.context)
        except Exception as error:  # noqa: BLE001 - untrusted bytes may raise anything, and the result is not needed
            Logger(child=True).info("A remote agent did not take a cancel", extra={"failure": type(error).__name__})


async def _no_responses() -> AsyncGenerator[StreamResponse, None]:
    """Yield nothing."""
    return
    yield


def _make_get_request(task_id: str) -> GetTaskRequest:
    return GetTaskRequest(id=task_id, history_length=HISTORY_LENGTH)
