"""The events that clients get: AG-UI 1.0, numbered per thread, as JSON and as WebSocket frames."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import ag_ui.core as ag_ui
from pydantic import BaseModel

from baton.domain.agents.agent import AgentDefinition
from baton.domain.desks.desk_session import Person
from baton.domain.documents.numbered_passages import split_consulted
from baton.domain.errors import BatonError
from baton.domain.runs.interrupt import Interrupt, InterruptDecision
from baton.domain.runs.usage import Usage
from baton.domain.schedules.background_task import BackgroundTask
from baton.domain.tenants.spending import SpendingWarning
from baton.domain.text import replace_surrogates, split_slices
from baton.domain.threads.message import LENGTH, MessageAuthor, Role, StoredMessage
from baton.domain.threads.run_end import OutcomeType
from baton.domain.threads.thread import EndReason, Thread
from baton.domain.times import to_iso

PROTOCOL_VERSION = "1.0"
MAX_FRAME_BYTES = 28 * 1024
"""API Gateway closes a WebSocket on frames over 32 KB. The difference is for the JSON around a part."""
MAX_DELTA_CHARS = 4096
"""Characters of one piece of text or thinking. At four bytes a character, doubled by escapes, it still fits a frame."""
_STAMP = ("threadId", "runId", "seq", "attempt")


@dataclass(frozen=True)
class Event:
    """An event on the wire. ``seq`` is its number in the thread; None for the few events outside the sequence."""

    body: dict[str, Any]
    seq: int | None = None

    @property
    def type(self) -> str:
        """The type of the event, such as ``RUN_STARTED``."""
        return str(self.body["type"])

    @property
    def run_id(self) -> str | None:
        """The run of the event; None for an event outside a run."""
        run_id: str | None = self.body.get("metadata", {}).get("runId")
        return run_id

    def json(self) -> str:
        """Return the event as JSON, which is made once: connections send it, and the log measures it."""
        return self._json

    @cached_property
    def _json(self) -> str:
        return json.dumps(self.body, ensure_ascii=False, separators=(",", ":"))

    def split_into_frames(self) -> list[str]:
        """Return the WebSocket frames of this event: one, or PART frames for clients to join if it exceeds 28 KB."""
        whole = self.json()
        if len(whole.encode()) <= MAX_FRAME_BYTES:
            return [whole]
        # A run and a resume may send the same event at once, with its fields in another order, so in other parts.
        digest = hashlib.sha256(whole.encode()).hexdigest()[:16]
        size = MAX_FRAME_BYTES // 2
        while True:
            parts = [
                self._make_part(whole[start : start + size], number, -(-len(whole) // size), digest)
                for number, start in enumerate(range(0, len(whole), size), start=1)
            ]
            if all(len(part.encode()) <= MAX_FRAME_BYTES for part in parts):
                return parts
            size //= 2

    def _make_part(self, data: str, part: int, of: int, digest: str) -> str:
        stamp = {"seq": self.seq} if self.seq is not None else {}
        metadata = {**stamp, "part": part, "of": of, "digest": digest}
        return json.dumps({"type": "PART", "data": data, "metadata": metadata}, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class RunStamp:
    """The metadata that all events of one attempt at a run share."""

    thread_id: str
    run_id: str | None
    """None for events outside a run, such as the closing of a thread."""
    attempt: int

    def number(self, body: dict[str, Any], seq: int) -> Event:
        """Return the event with ``body`` as number ``seq`` of its thread."""
        stamp = {"threadId": self.thread_id, "runId": self.run_id, "seq": seq, "attempt": self.attempt}
        return Event({**body, "metadata": {**body.get("metadata", {}), **stamp}}, seq)


def to_body(event: ag_ui.BaseEvent) -> dict[str, Any]:
    """Return the wire form of an AG-UI event, before it is numbered."""
    return event.model_dump(by_alias=True, mode="json")


def make_unsequenced(event: ag_ui.BaseEvent, **metadata: Any) -> Event:
    """Return an event outside the sequence; ``metadata`` names its thread and run, if any."""
    body = to_body(event)
    return Event({**body, "metadata": {**body.get("metadata", {}), **metadata}})


def make_run_started(
    thread_id: str,
    run_id: str,
    message: StoredMessage,
    *,
    previous_seq: int | None = None,
    parent_run_id: str | None = None,
    answers: Sequence[InterruptDecision] = (),
) -> ag_ui.RunStartedEvent:
    """Return RUN_STARTED. Its input contains the user's message, or the ``answers`` to interrupts of ``parent_run_id``.

    Other clients of the conversation display the message from this event.
    """
    metadata: dict[str, Any] = {"messageId": message.id}
    if message.author is not None:
        metadata["openedBy"] = "person"
    if message.begun_by is not None:
        metadata["openedBy"] = message.begun_by.kind.value
    if message.branch is not None:
        metadata["branch"] = message.branch.to_response(message.ordinal)
    if previous_seq is not None:
        metadata["previousSeq"] = previous_seq
    return ag_ui.RunStartedEvent(
        thread_id=thread_id,
        run_id=run_id,
        protocol_version=PROTOCOL_VERSION,
        parent_run_id=parent_run_id,
        input=make_run_input(thread_id, run_id, message, parent_run_id=parent_run_id, answers=answers),
        metadata=metadata,
    )


def make_run_input(
    thread_id: str,
    run_id: str,
    message: StoredMessage,
    *,
    parent_run_id: str | None = None,
    answers: Sequence[InterruptDecision] = (),
) -> ag_ui.RunAgentInput:
    """Return an AG-UI run input with the one new message, or with the answers to interrupts.

    Empty fields are included, because clients of AG-UI before 1.0 require them.
    """
    return ag_ui.RunAgentInput(
        thread_id=thread_id,
        run_id=run_id,
        parent_run_id=parent_run_id,
        state={},
        messages=[message.as_ag_ui()] if message.role is Role.USER else [],
        tools=[],
        context=[],
        forwarded_props={},
        resume=[answer.as_ag_ui() for answer in answers] or None,
    )


def make_state_snapshot(state: dict[str, Any]) -> ag_ui.StateSnapshotEvent:
    """Return STATE_SNAPSHOT with the whole state of a thread."""
    return ag_ui.StateSnapshotEvent(snapshot=state)


def make_text_start(
    message_id: str,
    agent: AgentDefinition,
    *,
    is_structured: bool = False,
    refused_by: str | None = None,
    author: Person | None = None,
    source: str | None = None,
) -> ag_ui.TextMessageStartEvent:
    """Return the start of a message. ``is_structured``: its text is JSON that fits the agent's answer schema.

    ``refused_by`` is the guardrail whose sentence the message is, ``author`` the person of a desk who wrote it, and
    ``source`` the source of the stored message.
    """
    metadata: dict[str, Any] = {"agentId": agent.id}
    if author is not None:
        metadata["author"] = MessageAuthor.of(author).wire()
    if is_structured:
        metadata["isStructured"] = True
    if refused_by is not None:
        metadata["refusedBy"] = refused_by
    if source is not None:
        metadata["source"] = source
    name = author.name if author is not None else agent.name
    return ag_ui.TextMessageStartEvent(message_id=message_id, role="assistant", name=name, metadata=metadata)


def make_text_content(message_id: str, delta: str) -> ag_ui.TextMessageContentEvent:
    """Return a piece of the text of a message."""
    return ag_ui.TextMessageContentEvent(message_id=message_id, delta=delta)


def make_text_end(
    message_id: str,
    sources: Sequence[Mapping[str, Any]] = (),
    *,
    is_cut: bool = False,
    is_taken_back: bool = False,
    attachments: Sequence[Mapping[str, Any]] = (),
) -> ag_ui.TextMessageEndEvent:
    """Return the end of a message.

    ``is_cut``: the message was cut at the length limit. ``is_taken_back``: its text was the model's thinking, or a
    guardrail has refused it. Such a message is not stored, and clients remove it. ``attachments`` are its images and
    files.
    """
    cited, consulted = split_consulted(sources)
    metadata: dict[str, Any] = {"sources": list(cited)}
    if attachments:
        metadata["attachments"] = list(attachments)
    if consulted:
        metadata["consulted"] = list(consulted)
    if is_cut:
        metadata["finishReason"] = LENGTH
    if is_taken_back:
        metadata["takenBack"] = True
    return ag_ui.TextMessageEndEvent(message_id=message_id, metadata=metadata)


def make_reasoning_start(message_id: str, agent: AgentDefinition) -> tuple[ag_ui.BaseEvent, ...]:
    """Return the events that begin a block of the model's visible thinking.

    ``message_id`` identifies the block and differs from the ids of the texts: see ``Transcript.new_reasoning_id``.
    Each block must be ended before the text or the tool calls that it leads to, and is never part of a message.
    """
    metadata = {"agentId": agent.id, "agentName": agent.name}
    return (
        ag_ui.ReasoningStartEvent(message_id=message_id),
        ag_ui.ReasoningMessageStartEvent(message_id=message_id, metadata=metadata),
    )


def make_reasoning_content(message_id: str, delta: str) -> tuple[ag_ui.BaseEvent, ...]:
    """Return the events of a piece of thinking of any length: each holds at most ``MAX_DELTA_CHARS`` characters."""
    return tuple(
        ag_ui.ReasoningMessageContentEvent(message_id=message_id, delta=replace_surrogates(delta[start:end]))
        for start, end in split_slices(delta, MAX_DELTA_CHARS)
    )


def make_reasoning_end(message_id: str) -> tuple[ag_ui.BaseEvent, ...]:
    """Return the events that end a block of thinking."""
    return (ag_ui.ReasoningMessageEndEvent(message_id=message_id), ag_ui.ReasoningEndEvent(message_id=message_id))


class DeliveredOutcome(BaseModel):
    """The end of a run whose message was delivered to people. AG-UI has no outcome for it."""

    type: Literal["delivered"] = "delivered"


class RunFinishedEvent(ag_ui.RunFinishedEvent):
    """RUN_FINISHED with a further outcome, for delivered messages."""

    outcome: ag_ui.RunFinishedOutcome | DeliveredOutcome | None = None  # type: ignore[assignment]


def make_run_finished(
    thread_id: str,
    run_id: str,
    *,
    usage: Usage | None,
    model: str | None,
    outcome_type: OutcomeType = OutcomeType.SUCCESS,
    interrupts: Sequence[Interrupt] = (),
    is_cut: bool = False,
    result: Any = None,
) -> ag_ui.RunFinishedEvent:
    """Return RUN_FINISHED of a run that has not failed. Only a run that waits has ``interrupts``.

    ``is_cut``: the answer was cut at the length limit. ``result``: the value of a structured answer.
    """
    outcome: ag_ui.RunFinishedOutcome | DeliveredOutcome
    if outcome_type is OutcomeType.DELIVERED:
        outcome = DeliveredOutcome()
    elif interrupts:
        outcome = ag_ui.RunFinishedInterruptOutcome(
            type="interrupt", interrupts=[interrupt.as_ag_ui() for interrupt in interrupts]
        )
    elif outcome_type is OutcomeType.CANCELLED:
        outcome = ag_ui.RunFinishedCancelledOutcome(type="cancelled")
    else:
        outcome = ag_ui.RunFinishedSuccessOutcome(type="success")
    return RunFinishedEvent(
        thread_id=thread_id,
        run_id=run_id,
        result=result,
        outcome=outcome,
        usage=[_make_token_usage(usage, model)] if usage is not None else None,
        metadata={"finishReason": LENGTH} if is_cut else None,
    )


def make_branch_selected(branch_id: str, after_id: str | None) -> ag_ui.CustomEvent:
    """Return the event of a selected branch: clients drop the messages after ``after_id`` and read what follows."""
    return make_custom("branch_selected", {"branchId": branch_id, "after": after_id})


def make_run_error(
    error: BatonError, usage: Usage | None = None, model: str | None = None, **metadata: Any
) -> ag_ui.RunErrorEvent:
    """Return RUN_ERROR for a failed run or, outside the sequence, for a refused request."""
    retry: dict[str, Any] = {} if error.retry_after is None else {"retryAfter": error.retry_after}
    if error.resets_at is not None:
        retry["resetsAt"] = to_iso(error.resets_at)
    if error.can_continue:
        retry["canContinue"] = True
    return ag_ui.RunErrorEvent(
        message=error.detail,
        code=error.code,
        usage=[_make_token_usage(usage, model)] if usage is not None else None,
        metadata={"retryable": error.retryable, **retry, **metadata},
    )


def make_messages_snapshot(messages: Sequence[StoredMessage]) -> ag_ui.MessagesSnapshotEvent:
    """Return MESSAGES_SNAPSHOT with those of the messages that clients see."""
    return ag_ui.MessagesSnapshotEvent(messages=[message.as_ag_ui() for message in messages if message.is_shown])


def make_custom(name: str, value: dict[str, Any]) -> ag_ui.CustomEvent:
    """Return an event of Baton's, which AG-UI does not define."""
    return ag_ui.CustomEvent(name=name, value=value)


def make_message_steered(message: StoredMessage) -> ag_ui.CustomEvent:
    """Return the event of a message that has entered a run, from which other clients show the message."""
    body = message.as_ag_ui().model_dump(by_alias=True, mode="json")
    return make_custom("message_steered", {"messageId": message.id, "runId": message.run_id, "message": body})


def make_thread_title(title: str) -> ag_ui.CustomEvent:
    """Return the event of a new title."""
    return make_custom("thread_title", {"title": title})


def make_spending_warning(warning: SpendingWarning) -> ag_ui.CustomEvent:
    """Return the event that an account has spent most of what models may cost."""
    value = {
        "account": warning.account.value.lower(),
        "period": warning.period.value,
        "percent": warning.percent,
        "resetsAt": to_iso(warning.resets_at),
    }
    return make_custom("spending_warning", value)


def make_background_changed(task: BackgroundTask) -> ag_ui.CustomEvent:
    """Return the event of a task whose status or progress has changed. Clients read the task for more."""
    return make_custom("background", {"taskId": task.id, "status": task.status.value})


def make_thread_updated(thread: Thread) -> ag_ui.CustomEvent:
    """Return the event of new or read answers in a conversation that its receiver does not watch."""
    value = {
        "threadId": thread.id,
        "title": thread.title,
        "unread": thread.unread,
        "lastActivityAt": to_iso(thread.last_activity_at),
    }
    return make_custom("thread_updated", value)


def make_thread_closed(reason: EndReason, episode_id: str | None, closed_by: Person | None = None) -> ag_ui.CustomEvent:
    """Return the event for an ended session; ``episode_id`` is None if the session had no messages.

    ``closed_by``: the person of a desk who has ended it.
    """
    person = {"person": MessageAuthor.of(closed_by).wire()} if closed_by is not None else {}
    return make_custom("thread_closed", {"reason": reason.value, "episodeId": episode_id, **person})


def strip_stamp(event: Event) -> dict[str, Any]:
    """Return the body of a numbered event for the log, without the metadata that a reader of the log restores."""
    body = {name: part for name, part in event.body.items() if name != "metadata"}
    metadata = {name: value for name, value in event.body.get("metadata", {}).items() if name not in _STAMP}
    return {**body, "metadata": metadata} if metadata else body


def _make_token_usage(usage: Usage, model: str | None) -> ag_ui.TokenUsage:
    return ag_ui.TokenUsage(
        model=model,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        total_tokens=usage.total_tokens,
        cached_input_tokens=usage.cached_input_tokens or None,
    )
