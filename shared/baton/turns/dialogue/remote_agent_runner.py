"""Running a remote specialist: send it the user's messages, and pass on the stream of its answer."""

from __future__ import annotations

import asyncio
import contextlib
import json
import uuid
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ag_ui.core import TextPart

from baton.agents.answer_limit import AnswerLimit
from baton.agents.answer_sources import limit_sources, select_answer_sources
from baton.agents.attached_files import ReturnedFiles, count_by_type, read_attachments
from baton.agents.attempt_context import Attempt
from baton.agents.call_outcome import AgentResult
from baton.agents.text_batches import read_batches
from baton.agents.transcript import Transcript
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.sentences import write_sentence
from baton.domain.documents.numbered_passages import name_cited
from baton.domain.errors import AgentUnavailable, BatonError, LeaseLost, StoreUnavailable
from baton.domain.handoffs.handoff import HandoffRequest
from baton.domain.runs.task import RemoteTask
from baton.domain.runs.tool_call import RETURN, ToolCall
from baton.domain.runs.usage import Usage
from baton.domain.threads.content import Content
from baton.domain.threads.events import make_text_content, make_text_end, make_text_start
from baton.domain.threads.message import StoredMessage
from baton.ports.agents import agent_client
from baton.ports.agents.agent_client import AgentChunk
from baton.ports.agents.chat_model import Finished, FinishReason, ModelChunk, TextDelta, TextTakenBack
from baton.turns.dialogue.remote_data import SPOKEN, parse_data, to_words


class RemoteAgentRunner:
    """The runner of a remote agent. It sends one message of the user, and emits the agent's answer."""

    def __init__(
        self,
        context: Attempt,
        agent: AgentDefinition,
        transcript: Transcript,
        handoff: HandoffRequest,
        *,
        text: str,
        earlier: Sequence[StoredMessage],
        session: Sequence[StoredMessage] = (),
        is_first: bool,
        content: Content = "",
    ) -> None:
        """``text`` is sent. ``content`` is the user's message with its images and documents, if there is one.

        ``earlier`` has the messages that the handoff grants; they are sent with the first message (``is_first``).
        ``session`` has the messages since the handoff; they are sent too if the agent has lost its task.
        """
        self._agent = agent
        self._usage = Usage()
        self._returns: agent_client.AgentReport | None = None
        self._has_answered = False
        self._not_passed_on: list[agent_client.Attachment] = []
        """The user's files that the agent does not take."""
        self._files = ReturnedFiles(context, agent.id)
        self._documents: Sequence[Mapping[str, Any]] = ()
        """The documents that the agent names as its sources."""
        self._remote_task_id: str | None = None
        self._context = context
        self._transcript = transcript
        self._handoff = handoff
        self._text = text
        self._content = content
        self._earlier = earlier
        self._session = session
        self._is_first = is_first

    @property
    def result(self) -> AgentResult:
        """The result so far; it is final once ``answer`` has returned."""
        return AgentResult(
            agent=self._agent,
            model=None,
            usage=self._usage,
            has_answered=self._has_answered,
            returns=self._returns,
            remote_task_id=self._remote_task_id,
        )

    async def answer(self) -> None:
        """Let the agent answer, and emit the events of its answer.

        Raises ``AgentUnavailable``, ``TurnTimeout``, ``LeaseLost``, ``StoreUnavailable``, and ``Unauthorized`` for an
        agent that acts for the user if the request has no token of the user.
        """
        context, message_id = self._context, self._transcript.new_id()
        text, is_open = "", False
        failure: BatonError | None = None
        limit = AnswerLimit()

        def take(chunk: ModelChunk) -> None:
            nonlocal is_open, text, message_id
            if isinstance(chunk, TextTakenBack) and is_open:
                context.emit(make_text_end(message_id, is_taken_back=True))
                is_open, text, message_id = False, "", self._transcript.new_id()
            if not isinstance(chunk, TextDelta):
                return
            if not is_open:
                is_open = True
                context.emit(make_text_start(message_id, self._agent))
            text += chunk.text
            context.emit(make_text_content(message_id, chunk.text))

        try:
            await read_batches(self._stream_chunks(), take, limit=limit, deadline=context.deadline, stop=context.stop)
        except (LeaseLost, StoreUnavailable):
            raise
        except BatonError as error:
            failure = error
        is_stopped = context.stop.is_set()
        if is_open:
            is_whole = failure is None and not is_stopped
            is_cut = is_whole and limit.is_spent
            sources = (*self._files.sources, *select_answer_sources(text, self._documents))
            context.emit(make_text_end(message_id, [dict(source) for source in sources], is_cut=is_cut))
            self._transcript.add_answer(
                message_id, self._agent, text, is_whole=is_whole, is_cut=is_cut, sources=sources
            )
        self._has_answered = bool(text)
        if failure is None and not is_stopped and not text and self._returns is None:
            failure = self._make_unavailable("its answer was empty")
        self._audit(failure)
        if failure is not None:
            raise failure
        if self._returns is not None and not is_stopped:
            self._keep_report(self._returns)

    async def _stream_chunks(self) -> AsyncGenerator[ModelChunk, None]:
        """Yield the chunks of the answer. Hand over again if the agent has lost its task. Raises as ``answer`` does."""
        handoff = self._handoff
        try:
            try:
                async with contextlib.aclosing(self._send(handoff.remote_task_id, hands_over=self._is_first)) as chunks:
                    async for chunk in chunks:
                        yield chunk
            except agent_client.TaskLost:
                # The agent has lost its task and has not received the message: hand the conversation over again.
                self._earlier = [*self._earlier, *self._session]
                async with contextlib.aclosing(self._send(None, hands_over=True)) as chunks:
                    async for chunk in chunks:
                        yield chunk
        except agent_client.AgentFailed as failed:
            raise self._make_unavailable(failed.reason.rstrip(".")) from None
        yield Finished(FinishReason.STOP, self._agent.id, None)

    async def _send(
        self, remote_task_id: str | None, *, hands_over: bool
    ) -> AsyncGenerator[TextDelta | TextTakenBack, None]:
        """Send the message and yield the text of the answer; nothing if the run is stopped before.

        Raises ``AgentFailed``, ``TaskLost``, and as ``answer`` does.
        """
        client = self._context.services.agent_client
        if not await self._context.may_act():
            return
        task = await self._make_task(remote_task_id, hands_over=hands_over)
        # Data, and whether the agent's own text repeats it; for a file, the text about it, and None.
        extras: list[tuple[Any, bool | None]] = []
        has_spoken, self._not_passed_on = False, []
        stream = client.stream(self._agent, task, is_passed_on=self._context.passed_on.is_set)
        async with contextlib.aclosing(self._limit_silence(stream)) as chunks:
            async for chunk in chunks:
                match chunk:
                    case TextDelta() | TextTakenBack():
                        has_spoken = isinstance(chunk, TextDelta)
                        yield chunk
                    case agent_client.AgentStarted():
                        # Stored for a worker that takes the run over.
                        started = RemoteTask(task.task_id, self._agent.id, chunk.remote_task_id, chunk.known)
                        await self._context.keep_remote_task(started)
                    case agent_client.NotSent(attachment):
                        self._not_passed_on.append(attachment)
                    case agent_client.AgentData(value):
                        extras.append((value, isinstance(value, dict) and frozenset(value) in SPOKEN))
                    case agent_client.AgentFile(file):
                        extras.append((await self._files.take(file), None))
                    case agent_client.AgentDone():
                        self._take_end(chunk)
                        for words in self._list_endings(extras, chunk, has_spoken=has_spoken):
                            yield TextDelta(f"\n\n{words}" if has_spoken else words)
                            has_spoken = True

    def _list_endings(
        self, extras: Sequence[tuple[Any, bool | None]], end: agent_client.AgentDone, *, has_spoken: bool
    ) -> Iterator[str]:
        """Yield the texts that follow the agent's own: on its data and files, and on a sign-in that it needs."""
        for value, is_spoken in extras:
            if is_spoken is None:
                if value:
                    yield value
            elif not (is_spoken and has_spoken):
                yield to_words(value)
        if self._files.left_out:
            yield self._files.left_out
        if end.needs_sign_in:
            yield write_sentence(self._agent, "sign_in_needed", agent=self._agent.name)

    async def _make_task(self, remote_task_id: str | None, *, hands_over: bool) -> agent_client.AgentTask:
        """Return the message for the remote agent, with files, data and the granted messages of a handoff."""
        context, run = self._context, self._context.run
        attachments, missing_notes = await read_attachments(context, self._content)
        words = self._text
        if not isinstance(self._content, str):
            words = "\n".join(part.text for part in self._content if isinstance(part, TextPart))
        # The id is the same in every attempt at the run, so that the agent can recognise a repeated message.
        message_id = str(uuid.uuid5(uuid.UUID(context.thread_id), f"relay\0{run.message_id}"))
        followed_task = context.remote_tasks.pop(message_id, None)
        # Filled-in values are sent back as data if the agent has asked for them.
        data = parse_data(words) if remote_task_id is not None else None
        granted_messages = tuple((message.role.value, message.text_elsewhere) for message in self._earlier)
        return agent_client.AgentTask(
            scope=context.scope,
            thread_id=context.thread_id,
            task_id=message_id,
            parent_task_id=run.run_id,
            message="\n".join([*([words] if words and data is None else []), *missing_notes]),
            remote_task_id=followed_task.remote_task_id if followed_task is not None else remote_task_id,
            data=data,
            follows=followed_task,
            handoff=agent_client.HandedOver(self._handoff, granted_messages) if hands_over else None,
            attachments=tuple(attachments),
            time_zone=context.today.known_zone,
        )

    async def _limit_silence(self, chunks: AsyncGenerator[AgentChunk, None]) -> AsyncGenerator[AgentChunk, None]:
        """Yield the chunks. Raises ``AgentUnavailable`` when the agent stays silent for too long.

        Before the agent's first text, the wait leaves the turn enough time to continue without the agent.
        """
        context, patience, has_spoken = self._context, self._agent.timeouts.consult_seconds, False
        async with contextlib.aclosing(chunks):
            while True:
                try:
                    async with asyncio.timeout(patience if has_spoken else context.limit_seconds(patience)):
                        chunk = await anext(chunks)
                except StopAsyncIteration:
                    return
                except TimeoutError:
                    raise self._make_unavailable("it stayed silent for too long") from None
                has_spoken |= isinstance(chunk, TextDelta)
                yield chunk

    def _take_end(self, end: agent_client.AgentDone) -> None:
        self._remote_task_id = end.remote_task_id
        self._usage = end.usage or Usage()
        self._documents = limit_sources([{**document, "agentId": self._agent.id} for document in end.documents])
        if end.report is not None and self._handoff.return_expected:
            self._returns = replace(end.report, summary=name_cited(end.report.summary, self._documents))

    def _keep_report(self, report: agent_client.AgentReport) -> None:
        """Store the report as a call of ``return_to_main``, so that it is in the main agent's later prompts."""
        arguments = json.dumps({"summary": report.summary, "outcome": report.outcome}, ensure_ascii=False)
        result_id = self._transcript.new_id()
        call = ToolCall(f"return-{result_id}", RETURN, arguments)
        text = ": ".join(part for part in (report.outcome, report.summary) if part)
        self._transcript.add_result(result_id, self._agent, call, text or "It is done.", is_handoff_summary=True)

    def _make_unavailable(self, reason: str) -> AgentUnavailable:
        return AgentUnavailable(
            f"{self._agent.name} did not answer ({reason}). Please try again, or leave it with exit."
        )

    def _audit(self, failure: BatonError | None) -> None:
        """Record in the audit log that a message was sent to a remote agent, with its outcome."""
        context = self._context
        outcome = "failed" if failure is not None else "cancelled" if context.stop.is_set() else "completed"
        detail: dict[str, Any] = {"agentId": self._agent.id, "handoffId": self._handoff.id, "runId": context.run.run_id}
        if self._not_passed_on:
            detail["notPassedOn"] = count_by_type(self._not_passed_on)
        context.writes.add(
            context.services.audit.record(
                context.scope, "agent.relay", thread_id=context.thread_id, outcome=outcome, detail=detail
            )
        )
