"""Assemble a remote agent's answer from A2A's messages, status updates, artifacts and tasks.

The same text may arrive several times: in pieces, with a status, and in the complete task. It is yielded once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from a2a.types import Artifact, Message, Role, StreamResponse, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus

from baton.adapters.a2a.extension import read_documents, read_report
from baton.adapters.a2a.failures import AgentRefused, shorten
from baton.adapters.a2a.parts import read_extras, read_text
from baton.domain.documents.numbered_passages import derive_source_key
from baton.ports.agents.agent_client import AgentData, AgentDone, AgentFailed, AgentFile, AgentProgress, AgentReport
from baton.ports.agents.chat_model import MAX_ANSWER_BYTES, TextDelta

MAX_LABEL = 200
"""The length to which an agent's progress label is cut, in characters."""
MAX_ID = 1_000
"""The maximum length of the ids of tasks, contexts, messages and artifacts, in characters."""
MAX_ITEMS = 1_000
"""The maximum number of messages and artifacts of one task, because each new item is compared with all others."""
MAX_DOCUMENTS = 50
"""The maximum number of documents of one answer. Further documents are left out."""
MAX_EARLIER_ITEMS = 100
"""The maximum number of items in ``Answer.known``, which has the newest."""

AnswerChunk = TextDelta | AgentData | AgentFile | AgentProgress

_WORKING = (TaskState.TASK_STATE_UNSPECIFIED, TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING)
_WAITING = (TaskState.TASK_STATE_INPUT_REQUIRED, TaskState.TASK_STATE_AUTH_REQUIRED)
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
    """One answer in progress. The items of a task are its messages and artifacts."""

    def __init__(self, task_id: str | None) -> None:
        self.task_id = task_id
        """The id of the remote task; None until the agent has named it."""
        self._context_id: str | None = None
        self._state: TaskState | None = None
        self.has_begun = False
        """Whether the agent has started to work on the message."""
        self._texts: dict[str, _Text] = {}
        """The text of each item so far, by the item's key."""
        self._earlier: set[str] = set()
        """The keys of the items of an earlier answer."""
        self._earlier_status: TaskStatus | None = None
        self._earlier_message: str | None = None
        """The key of the message with which the task waited for this message."""
        self._extras: set[str] = set()
        """Keys of the data and files so far: item key with content, and for yielded ones the content alone."""
        self._progress_texts: dict[str, str] = {}
        """Texts of progress updates, by the message's key."""
        self._progress_bytes = 0
        self._bytes = 0
        """The size of the yielded text, in bytes of UTF-8."""
        self._has_extras = False
        self._report: AgentReport | None = None
        """The report with which the agent ends its handoff after the answer."""
        self._documents: dict[str, Mapping[str, Any]] = {}
        """The documents that the answer names, by their keys (``derive_source_key``)."""

    @property
    def is_over(self) -> bool:
        """Whether the answer is complete: the task has ended or waits for input."""
        return self._state is not None and self._state not in _WORKING

    @property
    def known(self) -> Mapping[str, int]:
        """The items that the task had before the message, for ``resume``: text lengths in characters, by item key.

        There are at most ``MAX_EARLIER_ITEMS``. Items whose keys have more than ``MAX_ID`` bytes are left out.
        """
        keys = [key for key in self._texts if key in self._earlier and len(key.encode()) <= MAX_ID][-MAX_EARLIER_ITEMS:]
        return {key: self._texts[key].length for key in keys}

    def make_done(self) -> AgentDone:
        """Return the end of a complete answer."""
        return AgentDone(
            self.task_id if self._state in _WAITING else None,
            report=self._report,
            documents=tuple(self._documents.values()),
            needs_sign_in=self._state == TaskState.TASK_STATE_AUTH_REQUIRED,
        )

    def skip(self, task: Task) -> None:
        """Ignore everything in ``task``, because it belongs to an earlier answer. Raises ``AgentFailed``."""
        self._check_ids(task.id, task.context_id)
        for item in (*task.artifacts, *task.history, task.status.message):
            self._skip_item(item)
        if task.status.HasField("timestamp") or task.status.message.message_id:
            self._earlier_status = task.status
        if task.status.message.message_id:
            self._earlier_message = _make_key(task.status.message)

    def resume(self, task: Task, message_id: str, known: Mapping[str, int]) -> bool:
        """Prepare to take ``task``, to which an earlier attempt has sent the message with ``message_id``.

        Content from before the message is ignored: the ``known`` items, and the history before the message. Return
        False if the message has not reached the task, which still waits for it. Raises ``AgentFailed``.
        """
        history = [message.message_id for message in task.history]
        if message_id not in history and task.status.state in _WAITING and known:
            return False
        index = history.index(message_id) if message_id in history else 0
        earlier = {_make_key(message) for message in task.history[:index]}
        for item in (*task.artifacts, *task.history[: index + 1], task.status.message):
            key = _make_key(item)
            if key in known:
                self._texts[key] = _Text(read_text(item)[: known[key]])
                self._extras.update(f"{key} {content}" for content, _ in read_extras(item))
                self._earlier.add(key)
            elif key in earlier or (isinstance(item, Message) and item.message_id == message_id):
                self._skip_item(item)
        if task.status.message.message_id and _make_key(task.status.message) in known:
            self._earlier_message = _make_key(task.status.message)
        return True

    def take(self, response: StreamResponse) -> Iterator[AnswerChunk]:
        """Yield the new content of one event. Raises ``AgentFailed``."""
        if response.HasField("message"):
            self._check_ids(response.message.task_id, response.message.context_id)
            yield from self._take_item(response.message)
            self._report = read_report(response.message.metadata) or self._report
            self._state = TaskState.TASK_STATE_COMPLETED
        elif response.HasField("task"):
            yield from self.take_task(response.task)
        elif response.HasField("status_update"):
            self._check_ids(response.status_update.task_id, response.status_update.context_id)
            self._report = read_report(response.status_update.metadata) or self._report
            yield from self._take_status(response.status_update.status)
        elif response.HasField("artifact_update"):
            self._check_ids(response.artifact_update.task_id, response.artifact_update.context_id)
            yield from self._take_artifact(response.artifact_update)
        else:
            raise AgentFailed("The agent's answer is neither a message nor a task.")

    def take_task(self, task: Task) -> Iterator[AnswerChunk]:
        """Yield the new content of the complete task. Raises ``AgentFailed``."""
        self._check_ids(task.id, task.context_id)
        self._report = read_report(task.metadata) or self._report
        for artifact in task.artifacts:
            yield from self._take_item(artifact)
        for message in task.history:
            if message.role == Role.ROLE_AGENT and _make_key(message) not in self._texts:
                self._record_progress(message)
        yield from self._take_status(task.status)

    def _check_ids(self, task_id: str, context_id: str) -> None:
        """Record the answer's ids. Raises ``AgentFailed`` if an id is too long, or differs from the recorded one."""
        if max(len(task_id), len(context_id)) > MAX_ID:
            raise AgentFailed(f"The agent gives an id of more than {MAX_ID} characters.")
        if task_id and self.task_id is not None and task_id != self.task_id:
            raise AgentFailed("The agent answers for another task.")
        if context_id and self._context_id is not None and context_id != self._context_id:
            raise AgentFailed("The agent answers for another conversation.")
        self.task_id, self._context_id = task_id or self.task_id, context_id or self._context_id

    def _take_status(self, status: TaskStatus) -> Iterator[AnswerChunk]:
        """Yield the new content of a status. Raises ``AgentRefused`` if the status is a failure."""
        if status == self._earlier_status or (
            status.state in _WAITING and self._earlier_message == _make_key(status.message)
        ):
            # The agent has not started on the message yet, and the task still has its earlier status.
            yield AgentProgress()
            return
        self.has_begun, self._state = True, status.state
        if status.state in _WORKING:
            text = self._record_progress(status.message) if _make_key(status.message) not in self._texts else ""
            yield AgentProgress(shorten(text, MAX_LABEL))
            return
        if status.state in _FAILURES:
            text = shorten(read_text(status.message))
            raise AgentRefused(f"{_FAILURES[status.state]}: {text}" if text else f"{_FAILURES[status.state]}.")
        yield from self._take_item(status.message)
        self._report = read_report(status.message.metadata) or self._report
        if not self._bytes and not self._has_extras:
            # Some agents send all text as progress and end without more.
            yield from self._yield_text("".join(self._progress_texts.values()))

    def _record_progress(self, message: Message) -> str:
        """Record and return the text of a progress update. It becomes the answer if the agent sends nothing else."""
        text, key = read_text(message), _make_key(message)
        if text and (self._progress_bytes < MAX_ANSWER_BYTES or key in self._progress_texts):
            self._progress_bytes += len(text.encode()) if key not in self._progress_texts else 0
            self._progress_texts[key] = text
        return text

    def _take_artifact(self, event: TaskArtifactUpdateEvent) -> Iterator[AnswerChunk]:
        """Yield the new content of an artifact's update."""
        self.has_begun = True
        key, text = _make_key(event.artifact), read_text(event.artifact)
        text_so_far = self._texts.get(key)
        # The first text of an artifact begins a paragraph, even if it is appended.
        if event.append and text_so_far is not None and text_so_far.length:
            text_so_far.add(text)
            yield from self._yield_text(text)
        else:
            yield from self._take_text(key, text)
        self._record_documents(event.artifact)
        yield from self._take_extras(event.artifact)

    def _take_item(self, item: Message | Artifact) -> Iterator[AnswerChunk]:
        """Yield the new content of a complete item. A text that another item already had is not repeated."""
        key, text = _make_key(item), read_text(item)
        content = text.strip()
        is_repetition = key not in self._texts and any(
            earlier.length >= len(content) and content == earlier.text.strip()
            for earlier_key, earlier in self._texts.items()
            if earlier_key not in self._earlier
        )
        if is_repetition:
            self._store_text(key, text)
        else:
            yield from self._take_text(key, text)
        self._record_documents(item)
        yield from self._take_extras(item)

    def _record_documents(self, item: Message | Artifact) -> None:
        """Record the documents that an item of this answer names."""
        if _make_key(item) not in self._earlier:
            for document in read_documents(item.metadata):
                if len(self._documents) < MAX_DOCUMENTS:
                    self._documents.setdefault(derive_source_key(document), document)

    def _take_extras(self, item: Message | Artifact) -> Iterator[AgentData | AgentFile]:
        """Yield the new data and files of an item."""
        for content, extra in read_extras(item):
            keys = {content, f"{_make_key(item)} {content}"}
            if keys.isdisjoint(self._extras):
                self._has_extras = True
                yield extra
            self._extras |= keys

    def _take_text(self, key: str, text: str) -> Iterator[TextDelta]:
        """Yield the new part of ``text``, which belongs to the item with this ``key``."""
        text_so_far = self._texts[key].text if key in self._texts else ""
        if text_so_far.startswith(text):
            return  # The text was yielded before, or belongs to an older state of the task.
        self._store_text(key, text)
        if not text.startswith(text_so_far) or not text_so_far:
            # The item is new, or its text is replaced.
            yield from self._yield_text(text, begins_paragraph=True)
        else:
            yield from self._yield_text(text[len(text_so_far) :])

    def _yield_text(self, text: str, *, begins_paragraph: bool = False) -> Iterator[TextDelta]:
        """Yield ``text`` and count its bytes. Raises ``AgentFailed`` for an answer that is too long."""
        if not text:
            return
        if begins_paragraph and self._bytes:
            text = f"\n\n{text}"
        self._bytes += len(text.encode())
        yield TextDelta(text)
        if self._bytes > MAX_ANSWER_BYTES:  # A caller that cuts answers at the limit has stopped before.
            raise AgentFailed(f"The agent's answer is longer than {MAX_ANSWER_BYTES // 1024} KiB.")

    def _skip_item(self, item: Message | Artifact) -> None:
        """Record an item of an earlier answer, so that it is not yielded."""
        key = _make_key(item)
        self._store_text(key, read_text(item))
        self._extras.update(f"{key} {content}" for content, _ in read_extras(item))
        self._earlier.add(key)

    def _store_text(self, key: str, text: str) -> None:
        if key not in self._texts and len(self._texts) >= MAX_ITEMS:
            raise AgentFailed(f"The agent answers in more than {MAX_ITEMS} pieces.")
        self._texts[key] = _Text(text)


class _Text:
    """A text that arrives in pieces. They are joined only when it is read, because joining copies the whole text."""

    def __init__(self, text: str) -> None:
        self._pieces = [text]
        self.length = len(text)
        """The length of the text, in characters."""

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


def _make_key(item: Message | Artifact) -> str:
    """Return a text that identifies an item within its task."""
    return f"artifact {item.artifact_id}" if isinstance(item, Artifact) else f"message {item.message_id}"
