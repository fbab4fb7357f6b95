"""Assemble a remote agent's answer from A2A's messages, status updates, artifacts and tasks.

The same text may arrive several times: in pieces, with a status, and in the complete task. It is yielded once.
"""

from __future__ import annotations

from collections.abc import Iterator

from a2a.types import (
    Artifact,
    Message,
    Part,
    Role,
    StreamResponse,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
)
from google.protobuf.struct_pb2 import Struct  # type: ignore[import-untyped]

from baton.adapters.a2a.extension import report_in
from baton.adapters.a2a.failures import AgentRefused, shortened
from baton.ports.agent_client import AgentDone, AgentFailed, AgentProgress, AgentReport
from baton.ports.chat_model import MAX_ANSWER_BYTES, TextDelta

MAX_LABEL = 200
"""Characters of an agent's progress label."""
MAX_FILE_WORDS = 1_000
"""Characters of what is told of a file: its name, type and address."""

_AT_WORK = (TaskState.TASK_STATE_UNSPECIFIED, TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING)
_ENDED = (
    TaskState.TASK_STATE_COMPLETED,
    TaskState.TASK_STATE_FAILED,
    TaskState.TASK_STATE_REJECTED,
    TaskState.TASK_STATE_CANCELED,
)
_FAILURES = {
    TaskState.TASK_STATE_FAILED: "The agent failed",
    TaskState.TASK_STATE_REJECTED: "The agent does not take this task",
    TaskState.TASK_STATE_CANCELED: "The agent stopped the task",
    TaskState.TASK_STATE_AUTH_REQUIRED: "The agent wants other credentials",
}


class Answer:
    """One answer in progress; ``task_id`` is the remote task's, once it is known."""

    def __init__(self, task_id: str | None) -> None:
        self.task_id = task_id
        self._state: TaskState | None = None
        self._begun = False
        self._said: dict[str, str] = {}
        """The text of each message and artifact so far, by kind and id."""
        self._earlier: set[str] = set()
        """Messages and artifacts of an earlier answer."""
        self._earlier_status: TaskStatus | None = None
        self._asides: dict[str, str] = {}
        """Texts of progress updates, by message."""
        self._bytes = 0
        self._report: AgentReport | None = None

    @property
    def has_begun(self) -> bool:
        """Whether the agent has started to work on the message."""
        return self._begun

    @property
    def is_over(self) -> bool:
        """Whether the answer is complete: the task has ended or waits for input."""
        return self._state is not None and self._state not in _AT_WORK

    def done(self) -> AgentDone:
        """Return the end of a complete answer."""
        waits = self._state == TaskState.TASK_STATE_INPUT_REQUIRED
        return AgentDone(self.task_id if waits else None, report=self._report)

    def skip(self, task: Task) -> None:
        """Ignore everything in ``task``, because it belongs to an earlier answer."""
        for artifact in task.artifacts:
            self._said[_key(artifact)] = _text(artifact)
        for message in (*task.history, task.status.message):
            self._said[_key(message)] = _text(message)
        self._earlier = set(self._said)
        if task.status.HasField("timestamp") or task.status.message.message_id:
            self._earlier_status = task.status

    def take(self, response: StreamResponse) -> Iterator[TextDelta | AgentProgress]:
        """Yield the new parts of one event. Raises ``AgentFailed``."""
        if response.HasField("message"):
            yield from self._say(response.message)
            self._note_report(response.message.metadata)
            self._state = TaskState.TASK_STATE_COMPLETED
        elif response.HasField("task"):
            yield from self.take_task(response.task)
        elif response.HasField("status_update"):
            self._belongs_to(response.status_update.task_id)
            self._note_report(response.status_update.metadata)
            yield from self._status(response.status_update.status)
        elif response.HasField("artifact_update"):
            self._belongs_to(response.artifact_update.task_id)
            yield from self._artifact(response.artifact_update)
        else:
            raise AgentFailed("The agent's answer is neither a message nor a task.")

    def take_task(self, task: Task) -> Iterator[TextDelta | AgentProgress]:
        """Yield the new parts of the complete task. Raises ``AgentFailed``."""
        self._belongs_to(task.id)
        self._note_report(task.metadata)
        for artifact in task.artifacts:
            yield from self._say(artifact)
        for message in task.history:
            if message.role == Role.ROLE_AGENT and _key(message) not in self._said:
                self._asides[_key(message)] = _text(message)
        yield from self._status(task.status)

    def _belongs_to(self, task_id: str) -> None:
        if task_id:
            self.task_id = task_id

    def _status(self, status: TaskStatus) -> Iterator[TextDelta | AgentProgress]:
        if status == self._earlier_status:
            # The state of the task before the agent started on the message.
            yield AgentProgress()
            return
        self._begun, self._state = True, status.state
        if status.state in _AT_WORK:
            words = _text(status.message)
            if words and _key(status.message) not in self._said:
                self._asides[_key(status.message)] = words
            yield AgentProgress(shortened(words, MAX_LABEL))
            return
        if status.state in _FAILURES:
            words = shortened(_text(status.message))
            raise AgentRefused(f"{_FAILURES[status.state]}: {words}" if words else f"{_FAILURES[status.state]}.")
        yield from self._say(status.message)
        self._note_report(status.message.metadata)
        if not self._bytes:
            # Some agents send all text as progress and end without more.
            yield from self._give("".join(self._asides.values()))

    def _note_report(self, metadata: Struct) -> None:
        """Record that the agent ends its handoff after the answer."""
        self._report = report_in(metadata) or self._report

    def _artifact(self, event: TaskArtifactUpdateEvent) -> Iterator[TextDelta]:
        self._begun = True
        key, text = _key(event.artifact), _text(event.artifact)
        if event.append and self._said.get(key):
            self._said[key] += text
            yield from self._give(text)
        else:
            yield from self._tell(key, text)

    def _say(self, whole: Message | Artifact) -> Iterator[TextDelta]:
        key, text = _key(whole), _text(whole)
        if key not in self._said and self._is_a_repetition(text):
            self._said[key] = text
            return
        yield from self._tell(key, text)

    def _tell(self, key: str, text: str) -> Iterator[TextDelta]:
        """Yield the new text of ``key``."""
        before = self._said.get(key, "")
        if before.startswith(text):
            return  # It was yielded before, or it is an older state of the task.
        self._said[key] = text
        if not text.startswith(before) or not before:
            # The text of another message, or a replaced one.
            yield from self._give(text, apart=True)
        else:
            yield from self._give(text[len(before) :])

    def _give(self, text: str, *, apart: bool = False) -> Iterator[TextDelta]:
        if not text:
            return
        if apart and self._bytes:
            text = f"\n\n{text}"
        self._bytes += len(text.encode())
        yield TextDelta(text)
        if self._bytes > MAX_ANSWER_BYTES:  # the caller has stopped at the limit before this
            raise AgentFailed(f"The agent's answer is longer than {MAX_ANSWER_BYTES // 1024} KiB.")

    def _is_a_repetition(self, text: str) -> bool:
        told = text.strip()
        return any(told == said.strip() for key, said in self._said.items() if key not in self._earlier)


def has_ended(task: Task) -> bool:
    """Return whether the task accepts no more messages (A2A, section 6.3: terminal states)."""
    return task.status.state in _ENDED


def _key(whole: Message | Artifact) -> str:
    return f"artifact {whole.artifact_id}" if isinstance(whole, Artifact) else f"message {whole.message_id}"


def _text(whole: Message | Artifact) -> str:
    # The parts of a message are paragraphs. Those of an artifact are chunks of one text.
    texts = [part.text for part in whole.parts if part.HasField("text")]
    files = [_named(part) for part in whole.parts if part.HasField("raw") or part.HasField("url")]
    text = "".join(texts) if isinstance(whole, Artifact) else "\n".join(texts)
    return "\n".join([*([text] if text else []), *files])


def _named(part: Part) -> str:
    """Return in words which file a part is. Its bytes are not kept: a reader must know that there is one."""
    name, address = part.filename or "without a name", part.url if part.HasField("url") else ""
    about = ", ".join(each for each in (name, part.media_type, address) if each)
    return f"[File: {shortened(about, MAX_FILE_WORDS)}]"
