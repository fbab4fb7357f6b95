"""Conversion of tasks and their parts to A2A's protobuf types."""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from a2a.types import Artifact, Message, Part, Role, Task, TaskState, TaskStatus
from a2a.utils.errors import InvalidParamsError
from ag_ui.core import TextPart
from google.protobuf.json_format import ParseDict  # type: ignore[import-untyped]
from google.protobuf.struct_pb2 import Struct, Value  # type: ignore[import-untyped]
from google.protobuf.timestamp_pb2 import Timestamp  # type: ignore[import-untyped]

from baton.api.a2a.incoming import DATA
from baton.api.a2a.tasks import A2ATask, is_interrupted
from baton.concurrency.tasks import off_loop
from baton.domain.runs.interrupt import to_client_interrupts
from baton.domain.tenants.identity import Scope
from baton.domain.threads.a2a_task import CREDENTIAL_ERRORS, EXTENSION_URI, MarkStatus, TaskId
from baton.domain.threads.a2a_task import TaskState as State
from baton.domain.threads.content import find_part_name
from baton.domain.threads.message import MessageAuthor, StoredMessage
from baton.domain.threads.message import Role as StoredRole
from baton.domain.threads.run_end import OutcomeType
from baton.domain.threads.thread_state import Describe, describe_thread_state
from baton.tenants.registry.agent_registry import AgentRegistry

DELIVERED = "The message was delivered. People answer here."
"""The status text of a task whose message was delivered to a desk."""
STATES = {state: TaskState.Value(f"TASK_STATE_{state.name}") for state in State}
"""The protobuf number of each state."""


def convert_task(task: A2ATask, describe: Describe, *, history: int | None = None) -> Task:
    """Return the task with its newest ``history`` messages; for None, with all messages that were read.

    Its artifacts are all answers of agents that were read, whatever ``history`` is.
    """
    messages = [message for message in task.messages if message.is_said]
    stored_messages = messages if history is None else messages[-history:] if history > 0 else []
    return Task(
        id=str(task.id),
        context_id=task.id.thread_id,
        status=make_status(task),
        history=[to_message(message, task.id) for message in stored_messages],
        artifacts=[to_artifact(message) for message in messages if message.role is StoredRole.ASSISTANT],
        metadata=to_struct({EXTENSION_URI: describe_conversation(task, describe)}),
    )


async def to_task(task: A2ATask, agents: AgentRegistry, scope: Scope, *, history: int | None = None) -> Task:
    """Return the result of ``convert_task`` with the agents of the task's conversation.

    A long task is converted in a thread, so that other streams do not wait.
    """
    size = sum(len(message.text) for message in task.messages)
    registered = await (agents.in_force(scope) if task.thread is None else agents.in_session(scope, task.thread))
    return await off_loop(size, convert_task, task, registered.describe, history=history)


def read_history_length(params: object) -> int | None:
    """Return the requested number of messages; None for all. Raises ``InvalidParamsError`` for a negative number."""
    if not params.HasField("history_length"):  # type: ignore[attr-defined]
        return None
    length: int = params.history_length  # type: ignore[attr-defined]
    if length < 0:
        raise InvalidParamsError("historyLength must not be negative.")
    return length


def make_status(task: A2ATask) -> TaskStatus:
    """Return the task's state, its time, and the message that explains it."""
    timestamp = Timestamp()
    timestamp.FromDatetime(task.at)
    return TaskStatus(state=STATES[task.state], timestamp=timestamp, message=_make_status_message(task))


def describe_conversation(task: A2ATask, describe: Describe) -> dict[str, Any]:
    """Return the metadata of Baton's extension: the thread, its active agent, its workflow's state, the parent task."""
    metadata: dict[str, Any] = {"thread_id": task.id.thread_id}
    if task.thread is not None:
        state = describe_thread_state(describe, task.thread)
        metadata["agent_id"], metadata["agent_name"] = state.active_agent.id, state.active_agent.name
        metadata["workflow"] = state.workflow.wire() if state.workflow is not None else None
    if task.first_offer is not None and task.first_offer.parent_task_id is not None:
        metadata["parent_task_id"] = task.first_offer.parent_task_id
    return metadata


def to_message(message: StoredMessage, task_id: TaskId) -> Message:
    """Return a stored message as a message of A2A."""
    is_user = message.is_own
    metadata: dict[str, Any] = {}
    if not is_user:
        agent = {"agent_id": message.agent_id, "agent_name": message.agent_name}
        metadata = {EXTENSION_URI: agent | _describe_author(message)}
    return Message(
        message_id=message.id,
        context_id=task_id.thread_id,
        task_id=str(task_id),
        role=Role.ROLE_USER if is_user else Role.ROLE_AGENT,
        parts=to_parts(message),
        metadata=to_struct(metadata) if metadata else None,
    )


def to_artifact(message: StoredMessage) -> Artifact:
    """Return an agent's message as a result of the task."""
    return Artifact(
        artifact_id=message.id,
        name=message.author.name if message.author is not None else message.agent_name or "",
        parts=to_parts(message),
        metadata=describe_answer(message.agent_id, message.sources, message.consulted, _describe_author(message)),
    )


def describe_answer(
    agent_id: str | None,
    sources: Sequence[Mapping[str, Any]],
    consulted: Sequence[Mapping[str, Any]],
    author: Mapping[str, Any] = MappingProxyType({}),
) -> Struct:
    """Return the metadata of an answer.

    The metadata has the agent, the ``sources`` that the answer cites, the ``consulted`` documents that it does not
    cite, and the ``author`` of a person's message. Empty fields are left out.
    """
    metadata: dict[str, Any] = {"agent_id": agent_id, **author}
    if sources:
        metadata["sources"] = [dict(source) for source in sources]
    if consulted:
        metadata["consulted"] = [dict(source) for source in consulted]
    return to_struct({EXTENSION_URI: metadata})


def _describe_author(message: StoredMessage) -> dict[str, Any]:
    """Return metadata with the person of a desk who wrote the message; empty for other messages."""
    return {"author": MessageAuthor.of(message.author).wire()} if message.author is not None else {}


def to_parts(message: StoredMessage) -> list[Part]:
    """Return the parts of a message; a structured answer is one part with data."""
    if message.result is not None:
        return [make_data_part(message.result)]
    if isinstance(message.content, str):
        return [Part(text=message.content)]
    return [_to_part(part) for part in message.content]


def make_data_part(value: Any) -> Part:
    """Return a part with ``value``, which is JSON."""
    return Part(data=ParseDict(value, Value()))


def parse_data_part(text: str) -> Part:
    """Return a part with the JSON in ``text`` as data; with ``text`` itself if redaction has made it invalid JSON."""
    try:
        return make_data_part(json.loads(text))
    except ValueError:
        return Part(text=text)


def to_struct(value: dict[str, Any]) -> Struct:
    """Return ``value``, which is JSON, as protobuf."""
    return ParseDict(value, Struct())


def make_agent_message(task_id: TaskId, kind: str, parts: Iterable[Part]) -> Message:
    """Return a message in the role of the agent. Its id is derived from the task and ``kind``."""
    return Message(
        message_id=str(uuid.uuid5(uuid.UUID(task_id.thread_id), f"a2a\0{task_id.root}\0{kind}")),
        context_id=task_id.thread_id,
        task_id=str(task_id),
        role=Role.ROLE_AGENT,
        parts=list(parts),
    )


def _make_status_message(task: A2ATask) -> Message | None:
    """Return the message that explains the state: the reason of a refusal, an error, questions, or the last answer.

    For a task at a desk without an answer yet, the message says that people answer. Return None for other states.
    """
    end = task.last_end
    if task.state is State.REJECTED and task.mark is not None:
        return make_agent_message(task.id, "rejected", [Part(text=task.mark.reason or "The message was refused.")])
    if task.state in (State.FAILED, State.AUTH_REQUIRED):
        return _make_failure(task)
    if task.state is State.WORKING and task.is_at_desk and end is not None and end.outcome is OutcomeType.DELIVERED:
        return make_agent_message(task.id, f"delivered {task.messages[-1].run_id}", [Part(text=DELIVERED)])
    if task.state in (State.INPUT_REQUIRED, State.COMPLETED) or (task.state is State.WORKING and task.is_at_desk):
        if is_interrupted(task):
            return _make_questions(task)
        if task.mark is not None and task.mark.status is MarkStatus.REFUSED and task.mark.reason:
            kind = f"refused {task.mark.message_id}"
            return make_agent_message(task.id, kind, [Part(text=task.mark.reason)])
        last = next(
            (
                message
                for message in reversed(task.messages)
                if message.is_said and message.role is StoredRole.ASSISTANT
            ),
            None,
        )
        return to_message(last, task.id) if last is not None and end is not None else None
    return None


def _make_failure(task: A2ATask) -> Message | None:
    """Return the newest error that led to the state; None if the task has none among its messages."""
    needs_credentials = task.state is State.AUTH_REQUIRED
    for message in reversed(task.messages):
        end = message.end
        if end is None or end.outcome is not OutcomeType.ERROR:
            continue
        if (end.error_code in CREDENTIAL_ERRORS) is needs_credentials:
            data = {"code": end.error.code, "retryable": end.error.retryable}
            parts = [Part(text=end.error.detail), make_data_part(data)]
            return make_agent_message(task.id, f"failed {message.run_id}", parts)
    return None


def _make_questions(task: A2ATask) -> Message:
    """Return the open questions: their sentences, and the interrupts as data with the schema of an answer."""
    assert task.thread is not None  # noqa: S101 - an interrupted task has a thread
    assert task.thread.pending is not None  # noqa: S101 - see is_interrupted
    pending = task.thread.pending
    interrupts = to_client_interrupts(pending.open)
    texts = [Part(text=interrupt.plain_text) for interrupt in pending.open]
    return make_agent_message(
        task.id, f"questions {pending.run_id}", [*texts, make_data_part({"interrupts": interrupts})]
    )


def _to_part(part: Any) -> Part:
    if isinstance(part, TextPart):
        metadata = part.metadata if isinstance(part.metadata, dict) else {}
        return parse_data_part(part.text) if metadata.get(DATA) else Part(text=part.text)
    source, name = part.source, find_part_name(part) or ""
    media_type = source.mime_type or ""
    if source.type == "data":
        return Part(raw=base64.b64decode(source.value), filename=name, media_type=media_type)
    if source.type == "url":
        return Part(url=source.value, filename=name, media_type=media_type)
    # The address of an upload is valid only for a short time, so clients request it from the HTTP API.
    return Part(url=f"baton:{source.value}", filename=name, media_type=media_type)
