"""The state of a run, collected from its events: text so far, consulted agents, end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast, get_args

from pydantic import BaseModel

from baton_client.events import (
    DELIVERED,
    AnyEvent,
    MessagesSnapshotEvent,
    RunFinishedEvent,
    RunStartedEvent,
    SubagentErrorEvent,
    SubagentFinishedEvent,
    SubagentStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallStartEvent,
    metadata_of,
    seq_of,
)
from baton_client.interrupt_texts import read_fields
from baton_client.run_parts import ModelUsage, Person, parse_sources
from baton_client.run_result import Interrupt, Outcome, RunResult, SaidMessage, SubTask, TaskStatus

CLIENT_TOOL = "client_tool"
MAX_ARGUMENTS = 1024 * 1024
"""Characters of one call's arguments that are kept."""


class RunState:
    """The state of a run, and of those that continue it, collected from their events."""

    def __init__(self, thread_id: str) -> None:
        self.thread_id = thread_id
        self.run_id: str | None = None
        """The server's id of the run; not the requested one if the message had been sent before."""
        self.messages: list[SaidMessage] = []
        self.tasks: list[SubTask] = []
        self.interrupts: list[Interrupt] = []
        self.usage: list[ModelUsage] = []
        self.outcome: Outcome | None = None
        """``None`` while the run continues."""
        self.answer: Any = None
        """The value of a structured answer, once the run has ended."""
        self.last_seq = 0
        self._arguments: dict[str, str] = {}
        self._attempt = 0
        self._begin = (0, 0)
        """The numbers of messages and tasks before the current run."""

    def begin_next(self) -> None:
        """Begin the state of another run, which continues this one."""
        self.run_id, self.outcome, self.interrupts, self._attempt = None, None, [], 0
        self._begin = (len(self.messages), len(self.tasks))

    def take(self, event: AnyEvent) -> None:
        """Apply one event. Events of other types change nothing."""
        self.last_seq = seq_of(event) or self.last_seq
        self.run_id = self.run_id or metadata_of(event).get("runId")
        match event:
            case RunStartedEvent():
                self._apply_start(event)
            case TextMessageStartEvent():
                agent_id = metadata_of(event).get("agentId")
                author = Person.of(metadata_of(event).get("author"))
                self.messages.append(
                    SaidMessage(event.message_id, agent_id=agent_id, agent_name=event.name, author=author)
                )
            case TextMessageContentEvent():
                if message := self._find_message(event.message_id):
                    message.text += event.delta
            case TextMessageEndEvent():
                message = self._find_message(event.message_id)
                if message and metadata_of(event).get("takenBack"):
                    self.messages.remove(message)  # it was the model's thinking, or a guardrail has refused it
                elif message:
                    message.sources = parse_sources(metadata_of(event).get("sources"))
                    message.consulted = parse_sources(metadata_of(event).get("consulted"))
                    message.attachments = list(metadata_of(event).get("attachments") or ())
                    message.is_complete = True
            case ToolCallStartEvent():
                self._arguments[event.tool_call_id] = ""
            case ToolCallArgsEvent():
                arguments = self._arguments.get(event.tool_call_id, "")
                self._arguments[event.tool_call_id] = (arguments + event.delta)[:MAX_ARGUMENTS]
            case SubagentStartedEvent():
                agent_id = metadata_of(event).get("agentId")
                self.tasks.append(SubTask(event.subagent_run_id, agent_id=agent_id, agent_name=event.name))
            case SubagentFinishedEvent():
                self._end_task(event.subagent_run_id, "completed")
            case SubagentErrorEvent():
                code = event.code if event.code in get_args(TaskStatus) else "failed"
                self._end_task(event.subagent_run_id, cast("TaskStatus", code), event.message)
            case MessagesSnapshotEvent() if metadata_of(event).get("replayed"):
                self._apply_replay(event)
            case RunFinishedEvent():
                self._apply_end(event)

    def make_result(self) -> RunResult:
        """Return the run so far."""
        return RunResult(
            thread_id=self.thread_id,
            run_id=self.run_id or "",
            outcome=self.outcome or "none",
            messages=self.messages,
            tasks=self.tasks,
            interrupts=self.interrupts,
            usage=self.usage,
            last_seq=self.last_seq,
            result=self.answer,
        )

    def _apply_start(self, event: RunStartedEvent) -> None:
        metadata = metadata_of(event)
        self.run_id = metadata.get("runId") or event.run_id
        self.thread_id = metadata.get("threadId") or event.thread_id
        attempt = metadata.get("attempt") or 1
        if attempt > self._attempt:
            # If there was an attempt before, its worker has died: this one answers from the beginning.
            messages, tasks = self._begin
            del self.messages[messages:], self.tasks[tasks:]
        self._attempt = attempt

    def _find_message(self, message_id: str) -> SaidMessage | None:
        return next((message for message in reversed(self.messages) if message.id == message_id), None)

    def _end_task(self, task_id: str, status: TaskStatus, error: str | None = None) -> None:
        for task in self.tasks:
            if task.task_id == task_id:
                task.status, task.error = status, error

    def _apply_replay(self, event: MessagesSnapshotEvent) -> None:
        del self.messages[self._begin[0] :]
        for message in event.messages:
            if message.role == "assistant" and isinstance(message.content, str):
                said_message = SaidMessage(message.id, agent_name=message.name, text=message.content, is_complete=True)
                self.messages.append(said_message)

    def _apply_end(self, event: RunFinishedEvent) -> None:
        outcome = _to_plain(event.outcome) or {}
        raw = [*(outcome.get("interrupts") or ()), *(metadata_of(event).get("clientTools") or ())]
        self.interrupts = [self._make_interrupt(interrupt) for interrupt in raw if isinstance(interrupt, Mapping)]
        self.answer = event.result
        # AG-UI's model of the event allows no other types.
        self.outcome = "interrupt" if self.interrupts else cast("Outcome", outcome.get("type") or "success")
        if metadata_of(event).get("outcome") == DELIVERED:
            self.outcome = "delivered"
        self.usage += [ModelUsage.model_validate(_to_plain(usage) or {}) for usage in event.usage or ()]

    def _make_interrupt(self, raw: Mapping[str, Any]) -> Interrupt:
        call_id = raw.get("toolCallId")
        metadata = raw.get("metadata")
        about: Mapping[str, Any] = metadata if isinstance(metadata, Mapping) else {}
        seen = self._arguments.get(call_id) if isinstance(call_id, str) else None
        return Interrupt(
            id=str(raw.get("id")),
            reason=str(raw.get("reason")),
            message=raw.get("message"),
            tool_name=about.get("toolName"),
            tool_call_id=call_id,
            arguments=seen or str(about.get("arguments") or ""),
            raw=raw,
            label=about.get("label"),
            fields=read_fields(raw),
        )


def _to_plain(value: Any) -> dict[str, Any] | None:
    """Return a part of an event as it was sent."""
    if isinstance(value, BaseModel):
        return value.model_dump(by_alias=True, exclude_none=True, mode="json")
    return dict(value) if isinstance(value, Mapping) else None
