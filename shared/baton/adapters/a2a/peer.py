"""The connection to one remote agent, by the SDK's client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
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
    Task,
)
from a2a.utils.constants import TransportProtocol
from a2a.utils.errors import TaskNotFoundError
from aws_lambda_powertools import Logger

from baton.adapters.a2a.answer import Answer, has_ended
from baton.adapters.a2a.outgoing import outgoing
from baton.domain.a2a_task import EXTENSION_URI
from baton.ports.agent_client import AgentFailed, AgentProgress, AgentTask, TaskLost
from baton.ports.chat_model import TextDelta

CANCEL_SECONDS = 2.0
"""The time limit of a request to stop a task."""
SLOWEST_POLL_SECONDS = 5.0
HISTORY_LENGTH = 50
"""Messages of a task that are requested."""


@dataclass(frozen=True, slots=True)
class Peer:
    """The agent behind a card, as long as the HTTP client lives."""

    client: Client
    streams: bool
    context: ClientCallContext

    @classmethod
    def behind(cls, card: AgentCard, http: httpx.AsyncClient) -> Peer:
        """Connect to the agent of ``card``. Raises ``AgentFailed`` if the card has no address for JSON-RPC."""
        streams = card.capabilities.streaming
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
        return cls(client, streams, ClientCallContext(service_parameters=parameters))

    async def answers(
        self, task: AgentTask, answer: Answer, poll_seconds: float
    ) -> AsyncGenerator[TextDelta | AgentProgress, None]:
        """Send the message and give out what comes of it until the answer is over.

        An agent that does not stream, or stops streaming too early, is asked for its task again and again, first
        after ``poll_seconds``. Raises ``TaskLost``, ``AgentFailed`` and whatever the SDK makes of what is no A2A.
        """
        if task.remote_task_id is not None:
            # The task's text so far was yielded when it asked for input.
            answer.skip(await self._unfinished(task.remote_task_id))
        # The SDK declares an iterator but returns a generator.
        sent = cast(
            "AsyncGenerator[StreamResponse, None]", self.client.send_message(outgoing(task), context=self.context)
        )
        async with aclosing(sent) as responses:
            async for response in responses:
                for chunk in answer.take(response):
                    yield chunk
                if answer.is_over:
                    return
        pause = poll_seconds
        while not answer.is_over:
            if not answer.task_id:
                raise AgentFailed("The agent ended without an answer.")
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, SLOWEST_POLL_SECONDS)
            for chunk in answer.take_task(await self.client.get_task(_look(answer.task_id), context=self.context)):
                yield chunk

    async def _unfinished(self, task_id: str) -> Task:
        """Read the task. Raises ``TaskLost`` if it accepts no more messages."""
        try:
            task = await self.client.get_task(_look(task_id), context=self.context)
        except TaskNotFoundError:
            raise TaskLost("The agent does not know the task any more.") from None
        if has_ended(task):
            raise TaskLost("The agent has ended the task.")
        return task

    async def cancel(self, task_id: str) -> None:
        """Ask the agent to stop, for two seconds at most. Its answer is ignored."""
        try:
            async with asyncio.timeout(CANCEL_SECONDS):
                await self.client.cancel_task(CancelTaskRequest(id=task_id), context=self.context)
        except Exception as error:  # noqa: BLE001 - untrusted bytes may raise anything, and the result is not needed
            Logger(child=True).info("A remote agent did not take a cancel", extra={"failure": type(error).__name__})


def _look(task_id: str) -> GetTaskRequest:
    return GetTaskRequest(id=task_id, history_length=HISTORY_LENGTH)
