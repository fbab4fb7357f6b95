"""A specialist that runs elsewhere: the user's messages go to it, and its stream comes straight through (H, A4)."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Sequence

from ag_ui.core import BaseEvent

from baton.conversation.call_outcome import Return, Transfer
from baton.conversation.run_context import RunContext
from baton.conversation.text_batches import batched
from baton.conversation.transcript import Transcript
from baton.domain.agent import AgentDefinition
from baton.domain.errors import AgentUnavailable, BatonError
from baton.domain.events import text_content, text_end, text_start
from baton.domain.handoff import HandoffRequest
from baton.domain.message import StoredMessage
from baton.domain.tool_call import ToolCall
from baton.domain.usage import Usage
from baton.ports.agent_client import AgentDone, AgentFailed, AgentTask, HandedOver
from baton.ports.chat_model import Finished, FinishReason, ModelChunk, TextDelta


class Relay:
    """One message of the user's on its way to the agent, and its answer on the way back."""

    def __init__(
        self,
        context: RunContext,
        agent: AgentDefinition,
        transcript: Transcript,
        handoff: HandoffRequest,
        *,
        text: str,
        earlier: Sequence[StoredMessage],
        is_first: bool,
    ) -> None:
        """``earlier`` are the messages that the handoff grants; they are sent along with the ``first`` message."""
        self.agent = agent
        self.usage = Usage()
        self.model: str | None = None
        self.transfer: Transfer | None = None
        self.returns: Return | None = None
        self.waiting: list[ToolCall] = []
        self.ends_conversation = False
        self.has_answered = False
        self.remote_task_id: str | None = None
        """The agent's task, if it waits for the user's next message."""
        self._context = context
        self._transcript = transcript
        self._handoff = handoff
        self._text = text
        self._earlier = earlier if is_first else ()
        self._is_first = is_first

    async def events(self) -> AsyncGenerator[BaseEvent, None]:
        """Pass on what the agent says. Raises ``AgentUnavailable`` and ``TurnTimeout``."""
        context, message_id = self._context, self._transcript.new_id()
        text, is_open = "", False
        failure: BatonError | None = None
        chunks = batched(self._chunks(), deadline=context.deadline, stop=context.stop)
        try:
            async with contextlib.aclosing(chunks):
                async for chunk in chunks:
                    if not isinstance(chunk, TextDelta):
                        continue
                    if not is_open:
                        is_open = True
                        yield text_start(message_id, self.agent)
                    text += chunk.text
                    yield text_content(message_id, chunk.text)
        except BatonError as error:
            failure = error
        if is_open:
            yield text_end(message_id)
            is_whole = failure is None and not context.stop.is_set()
            self._transcript.add_answer(message_id, self.agent, text, is_whole=is_whole)
        self.has_answered = bool(text)
        if failure is not None:
            raise failure

    async def _chunks(self) -> AsyncGenerator[ModelChunk, None]:
        context, handoff = self._context, self._handoff
        about = [(message.role.value, message.text) for message in self._earlier]
        task = AgentTask(
            scope=context.scope,
            thread_id=context.thread_id,
            task_id=self._transcript.new_activity_id(),
            parent_task_id=context.run.run_id,
            message=self._text,
            remote_task_id=handoff.remote_task_id,
            handoff=HandedOver(handoff, tuple(about)) if self._is_first else None,
        )
        try:
            async with contextlib.aclosing(context.services.agent_client.stream(self.agent, task)) as chunks:
                async for chunk in chunks:
                    if isinstance(chunk, TextDelta):
                        yield chunk
                    elif isinstance(chunk, AgentDone):
                        self.remote_task_id = chunk.remote_task_id
                        self.usage = chunk.usage or Usage()
                        if chunk.report is not None:
                            self.returns = Return(chunk.report.summary, chunk.report.outcome)
        except AgentFailed as failed:
            raise AgentUnavailable(f"{self.agent.name} did not answer: {failed.reason}") from None
        yield Finished(FinishReason.STOP, self.agent.id, None)
