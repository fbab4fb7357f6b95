"""Assemble a remote agent's answer from A2A's messages, status updates, artifacts and tasks.

The same text may arrive several times: in pieces, with a status, and in the complete task. It is yielded once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from a2a.types import Artifact, Message, Role, StreamResponse, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus

from baton.adapters.a2a.extension import documents_in, report_in
from baton.adapters.a2a.failures import AgentRefused, shortened
from baton.adapters.a2a.parts import extras_of, text_of
from baton.domain.documents.numbered_passages import source_key
from baton.ports.agents.agent_client import AgentData, AgentDone, AgentFailed, AgentFile, AgentProgress, AgentReport
from baton.ports.agents.chat_model import MAX_ANSWER_BYTES, TextDelta

MAX_LABEL = 200
"""Characters of an agent's progress label."""
MAX_ID = 1_000
"""Characters of the ids that an agent gives its tasks, contexts, messages and artifacts."""
MAX_WHOLES = 1_000
"""Messages and artifacts of one task. Each is compared with the others."""
MAX_DOCUMENTS = 50
"""Documents of one answer. Further ones are left out."""
MAX_KNOWN = 100
"""The newest messages and artifacts of an earlier answer that are passed to a worker which takes the run over."""

AnswerChunk = TextDelta | AgentData | AgentFile | AgentProgress

_AT_WORK = (TaskState.TASK_STATE_UNSPECIFIED, TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING)
_WAITS = (TaskState.TASK_STATE_INPUT_REQUIRED, TaskState.TASK_STATE_AUTH_REQUIRED)
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
}


class Answer:
    """One answer in progress; ``task_id`` is the remote task's, once it is known."""

    def __init__(self, task_id: str | None) -> None:
        self.task_id = task_id
        self._context_id: str | None = None
        self._state: TaskState | None = None
        self.has_begun = False
        """Whether the agent has started to work on the message."""
        self._said: dict[str, _Text] = {}
        """The text of each message and artifact so far, by kind and id."""
        self._earlier: set[str] = set()
        """Messages and artifacts of an earlier answer."""
        self._earlier_status: TaskStatus | None = None
        self._earlier_message: str | None = None
        """The key of the message with which the task waited before the agent was sent this one."""
        self._extras: set[str] = set()
        """Data and files that were yielded, by content; those that a message had before, by its key and content."""
        self._asides: dict[str, str] = {}
        """Texts of progress updates, by message."""
        self._aside_bytes = 0
        self._bytes = 0
        self._has_extras = False
        self._report: AgentReport | None = None
        """The report with which the agent ends its handoff after the answer."""
        self._documents: dict[str, Mapping[str, Any]] = {}

    @property
    def is_over(self) -> bool:
        """Whether the answer is complete: the task has ended or waits for input."""
        return self._state is not None and self._state not in _AT_WORK

    @property
    def known(self) -> Mapping[str, int]:
        """The contents of the task before the message, for ``resume``."""
        keys = [key for key in self._said if key in self._earlier and len(key) <= MAX_ID][-MAX_KNOWN:]
        return {key: self._said[key].length for key in keys}

    def done(self) -> AgentDone:
        """Return the end of a complete answer."""
        return AgentDone(
            self.task_id if self._state in _WAITS else None,
            report=self._report,
            documents=tuple(self._documents.values()),
            needs_sign_in=self._state == TaskState.TASK_STATE_AUTH_REQUIRED,
        )

    def skip(self, task: Task) -> None:
        """Ignore everything in ``task``, because it belongs to an earlier answer."""
        self._note_ids(task.id, task.context_id)
        for whole in (*task.artifacts, *task.history, task.status.message):
            self._skip(whole)
        if task.status.HasField("timestamp") or task.status.message.message_id:
            self._earlier_status = task.status
        if task.status.message.message_id:
            self._earlier_message = _key(task.status.message)

    def resume(self, task: Task, message_id: str, known: Mapping[str, int]) -> bool:
        """Prepare to take ``task``, to which an earlier attempt has sent ``message_id``.

        Return False if the message has not reached it.
        What the task had before the message is ignored: what is ``known``, and the history before the message.
        """
        history = [message.message_id for message in task.history]
        if message_id not in history and task.status.state in _WAITS and known:
            return False
        before = history.index(message_id) if message_id in history else 0
        earlier = {_key(message) for message in task.history[:before]}
        for whole in (*task.artifacts, *task.history[: before + 1], task.status.message):
            key = _key(whole)
            if key in known:
                self._said[key] = _Text(text_of(whole)[: known[key]])
                self._extras.update(f"{key} {content}" for content, _ in extras_of(whole))
                self._earlier.add(key)
            elif key in earlier or (isinstance(whole, Message) and whole.message_id == message_id):
                self._skip(whole)
        if task.status.message.message_id and _key(task.status.message) in known:
            self._earlier_message = _key(task.status.message)
        return True

    def take(self, response: StreamResponse) -> Iterator[AnswerChunk]:
        """Yield the new parts of one event. Raises ``AgentFailed``."""
        if response.HasField("message"):
            self._note_ids(response.message.task_id, response.message.context_id)
            yield from self._say(response.message)
            self._report = report_in(response.message.metadata) or self._report
            self._state = TaskState.TASK_STATE_COMPLETED
        elif response.HasField("task"):
            yield from self.take_task(response.task)
        elif response.HasField("status_update"):
            self._note_ids(response.status_update.task_id, response.status_update.context_id)
            self._report = report_in(response.status_update.metadata) or self._report
            yield from self._status(response.status_update.status)
        elif response.HasField("artifact_update"):
            self._note_ids(response.artifact_update.task_id, response.artifact_update.context_id)
            yield from self._artifact(response.artifact_update)
        else:
            raise AgentFailed("The agent's answer is neither a message nor a task.")

    def take_task(self, task: Task) -> Iterator[AnswerChunk]:
        """Yield the new parts of the complete task. Raises ``AgentFailed``."""
        self._note_ids(task.id, task.context_id)
        self._report = report_in(task.metadata) or self._report
        for artifact in task.artifacts:
            yield from self._say(artifact)
        for message in task.history:
            if message.role == Role.ROLE_AGENT and _key(message) not in self._said:
                self._note_aside(message)
        yield from self._status(task.status)

    def _note_ids(self, task_id: str, context_id: str) -> None:
        """Note the answer's ids. Raises ``AgentFailed`` if one is too long or changes: two answers are mixed."""
        if max(len(task_id), len(context_id)) > MAX_ID:
            raise AgentFailed(f"The agent gives an id of more than {MAX_ID} characters.")
        if task_id and self.task_id is not None and task_id != self.task_id:
            raise AgentFailed("The agent answers for another task.")
        if context_id and self._context_id is not None and context_id != self._context_id:
            raise AgentFailed("The agent answers for another conversation.")
        self.task_id, self._context_id = task_id or self.task_id, context_id or self._context_id

    def _status(self, status: TaskStatus) -> Iterator[AnswerChunk]:
        """Yield what a status of the task brings. Raises ``AgentRefused`` for one of failure."""
        if status == self._earlier_status or (status.state in _WAITS and self._earlier_message == _key(status.message)):
            # The state of the task before the agent started on the message.
            yield AgentProgress()
            return
        self.has_begun, self._state = True, status.state
        if status.state in _AT_WORK:
            words = self._note_aside(status.message) if _key(status.message) not in self._said else ""
            yield AgentProgress(shortened(words, MAX_LABEL))
            return
        if status.state in _FAILURES:
            words = shortened(text_of(status.message))
            raise AgentRefused(f"{_FAILURES[status.state]}: {words}" if words else f"{_FAILURES[status.state]}.")
        yield from self._say(status.message)
        self._report = report_in(status.message.metadata) or self._report
        if not self._bytes and not self._has_extras:
            # Some agents send all text as progress and end without more.
            yield from self._give("".join(self._asides.values()))

    def _note_aside(self, message: Message) -> str:
        """Record what the agent says at work, in case it says no more; return it."""
        words, key = text_of(message), _key(message)
        if words and (self._aside_bytes < MAX_ANSWER_BYTES or key in self._asides):
            self._aside_bytes += len(words.encode()) if key not in self._asides else 0
            self._asides[key] = words
        return words

    def _artifact(self, event: TaskArtifactUpdateEvent) -> Iterator[AnswerChunk]:
        """Yield what an update adds to the answer."""
        self.has_begun = True
        key, text = _key(event.artifact), text_of(event.artifact)
        stated = self._said.get(key)
        # The first text of an artifact is set apart from other text, even if an append brings it.
        if event.append and stated is not None and stated.length:
            stated.add(text)
            yield from self._give(text)
        else:
            yield from self._new_text(key, text)
        self._note_documents(event.artifact)
        yield from self._extra(event.artifact)

    def _say(self, whole: Message | Artifact) -> Iterator[AnswerChunk]:
        key, text = _key(whole), text_of(whole)
        content = text.strip()
        is_repetition = key not in self._said and any(
            earlier.length >= len(content) and content == earlier.text.strip()
            for earlier_key, earlier in self._said.items()
            if earlier_key not in self._earlier
        )
        if is_repetition:
            self._keep(key, text)
        else:
            yield from self._new_text(key, text)
        self._note_documents(whole)
        yield from self._extra(whole)

    def _note_documents(self, whole: Message | Artifact) -> None:
        """Record the documents that a message or artifact of this answer names."""
        if _key(whole) not in self._earlier:
            for document in documents_in(whole.metadata):
                if len(self._documents) < MAX_DOCUMENTS:
                    self._documents.setdefault(source_key(document), document)

    def _extra(self, whole: Message | Artifact) -> Iterator[AgentData | AgentFile]:
        """Yield the new data and files of a message or artifact."""
        for content, extra in extras_of(whole):
            keys = {content, f"{_key(whole)} {content}"}
            if keys.isdisjoint(self._extras):
                self._has_extras = True
                yield extra
            self._extras |= keys

    def _new_text(self, key: str, text: str) -> Iterator[TextDelta]:
        """Yield the new text of ``key``."""
        before = self._said[key].text if key in self._said else ""
        if before.startswith(text):
            return  # It was yielded before, or it is an older state of the task.
        self._keep(key, text)
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

    def _skip(self, whole: Message | Artifact) -> None:
        key = _key(whole)
        self._keep(key, text_of(whole))
        self._extras.update(f"{key} {content}" for content, _ in extras_of(whole))
        self._earlier.add(key)

    def _keep(self, key: str, text: str) -> None:
        if key not in self._said and len(self._said) >= MAX_WHOLES:
            raise AgentFailed(f"The agent answers in more than {MAX_WHOLES} pieces.")
        self._said[key] = _Text(text)


class _Text:
    """A text that grows by pieces. Joining them each time is quadratic in its length."""

    def __init__(self, text: str) -> None:
        self._pieces = [text]
        self.length = len(text)
        """In characters."""

    def add(self, piece: str) -> None:
        self._pieces.append(piece)
        self.length += len(piece)

    @property
    def text(self) -> str:
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0]


def has_ended(task: Task) -> bool:
    """Return whether the task accepts no more messages (A2A, section 6.3: terminal states)."""
    return task.status.state in _ENDED


def _key(whole: Message | Artifact) -> str:
    return f"artifact {whole.artifact_id}" if isinstance(whole, Artifact) else f"message {whole.message_id}"
