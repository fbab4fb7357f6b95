"""A2A tasks, which are computed from threads: their turns, state and run in progress, now or after a given change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from baton.domain.threads.a2a_task import MarkStatus, TaskId, TaskMark, TaskState, determine_state
from baton.domain.threads.message import Role, StoredMessage
from baton.domain.threads.push_config import PushNotice
from baton.domain.threads.run_end import OutcomeType, RunEnd
from baton.domain.threads.thread import Thread
from baton.domain.threads.thread_change import ChangeKind, ThreadChange
from baton.domain.threads.turn_requests import ClientOffer


@dataclass(frozen=True, slots=True)
class A2ATask:
    """A task, computed from its thread."""

    id: TaskId
    user_id: str
    thread: Thread | None
    """None while the first message of a new thread waits in the queue."""
    mark: TaskMark | None
    messages: tuple[StoredMessage, ...]
    """The messages of its turns, in order, with the question of a run in progress. A long task has only the newest."""
    state: TaskState
    at: datetime
    """The time of the change to this state, if it is known; otherwise of the last message or mark."""
    run_id: str | None = None
    """The id of the task's run in progress; None without one."""
    runs: frozenset[str] = field(default=frozenset())
    """The ids of its runs that have ended."""
    first_offer: ClientOffer | None = None
    """The offer of its first message; None without one, or if it was not read."""
    is_at_desk: bool = False
    """True if people of a desk answer the task now."""

    @property
    def last_end(self) -> RunEnd | None:
        """The end of its last run; None without one, or while a run is in progress."""
        if self.run_id is not None:
            return None
        return next((message.end for message in reversed(self.messages) if message.end is not None), None)

    @property
    def awaits_answers(self) -> bool:
        """True if the thread waits for answers to interrupts of this task's last run."""
        pending = self.thread.pending if self.thread is not None else None
        return pending is not None and bool(pending.open) and pending.run_id in self.runs

    def has_message(self, message_id: str) -> bool:
        """Return whether a message with this id was sent to the task."""
        return any(message.id == message_id and message.is_own for message in self.messages)


def make_queued_task(task_id: TaskId, mark: TaskMark) -> A2ATask:
    """Return a task whose thread does not exist, because its first message waits in the queue or was refused."""
    state = determine_state((), mark=mark.status, is_waiting=mark.status is MarkStatus.QUEUED)
    return A2ATask(task_id, mark.user_id, None, mark, (), state, mark.at)


def assemble_task(
    task_id: TaskId,
    thread: Thread,
    mark: TaskMark | None,
    messages: Sequence[StoredMessage],
    question: StoredMessage | None,
) -> A2ATask:
    """Return the task with its runs, but not yet with its state: see ``with_state``.

    Its runs are those of its messages, runs that continue them after answers to interrupts, and runs at a desk.
    Messages of people at a desk, and the return from it, belong to the task whose message came to the desk last.
    """
    task_messages: list[StoredMessage] = []
    runs: set[str] = set()
    is_at_desk = is_last_speaker = False
    for run in _split_runs(messages):
        end = run[-1].end
        is_answer = end is not None and end.parent_run_id in runs
        is_own = run[0].a2a_task == task_id.root or is_answer
        is_last_speaker = is_own or (is_last_speaker and run[0].role is not Role.USER)
        if is_own or (is_at_desk and is_last_speaker):
            task_messages += run
            runs.add(run[0].run_id)
        if end is not None and end.leaves_at_desk is not None and (is_own or is_at_desk):
            is_at_desk = end.leaves_at_desk
    run_id = None
    if thread.run is not None:
        is_asked = question is not None and question.a2a_task == task_id.root
        pending = thread.pending
        is_answer = pending is not None and pending.run_id in runs and pending.message_id == thread.run.message_id
        if is_asked or is_answer or thread.run.message_id == task_id.root:
            run_id = thread.run.run_id
        if is_asked and question is not None:
            task_messages.append(question)
    state, at = TaskState.SUBMITTED, thread.created_at  # replaced by ``with_state``
    is_at_desk = is_at_desk and thread.conversation.desk is not None
    return A2ATask(
        task_id,
        thread.user_id,
        thread,
        mark,
        tuple(task_messages),
        state,
        at,
        run_id,
        frozenset(runs),
        is_at_desk=is_at_desk,
    )


def _split_runs(messages: Sequence[StoredMessage]) -> list[list[StoredMessage]]:
    runs: list[list[StoredMessage]] = []
    is_over = True
    for message in messages:
        if is_over or message.run_id != runs[-1][-1].run_id:
            runs.append([])
        runs[-1].append(message)
        is_over = message.end is not None
    return runs


def with_state(task: A2ATask, *, is_waiting: bool) -> A2ATask:
    """Return the task with its computed state. ``is_waiting`` says that one of its messages is in the queue."""
    thread, mark = task.thread, task.mark
    ends = [message.end for message in task.messages if message.end is not None]
    first = task.messages[0].ordinal if task.messages else None
    below = task.messages[-1].ordinal + 1 if task.messages else None
    state = determine_state(
        ends,
        mark=mark.status if mark is not None else None,
        is_running=task.run_id is not None,
        is_waiting=is_waiting,
        is_superseded=thread is not None and below is not None and below < thread.next_ordinal,
        session_ended=thread is not None and first is not None and first < thread.episode_first_ordinal,
        is_at_desk=task.is_at_desk,
    )
    times = [message.timestamp for message in task.messages[-1:]]
    if mark is not None and (not times or mark.status is MarkStatus.CANCELED or is_waiting):
        times.append(mark.at)
    return replace(task, state=state, at=max(times, default=task.at))


def is_interrupted(task: A2ATask) -> bool:
    """Return whether the last run of the task waits for a person's decision."""
    end = task.last_end
    return end is not None and end.outcome is OutcomeType.INTERRUPT and task.awaits_answers


def as_of(task: A2ATask, change: ThreadChange | PushNotice) -> A2ATask | None:
    """Return the task in its state after ``change``; None if the change does not concern it."""
    match change.kind:
        case ChangeKind.BEGAN:
            return _as_begun(task, change.run_id)
        case ChangeKind.ENDED:
            ended_task = _as_ended(task, change.run_id, ends_session=change.first_ordinal is not None)
            if ended_task is None and change.first_ordinal is not None:  # another task's run has ended the session
                return _as_completed(task, change.first_ordinal)
            return ended_task
        case ChangeKind.CLOSED:
            return _as_completed(task, change.first_ordinal or 0)
        case ChangeKind.MARKED:
            is_settled = task.state.is_terminal or task.state is TaskState.INPUT_REQUIRED
            return task if is_settled else None


def _as_begun(task: A2ATask, run_id: str | None) -> A2ATask | None:
    """Return the task at the beginning of a run, with the earlier messages and the user's message.

    Return None if the run does not belong to the task.
    """
    first = next((index for index, message in enumerate(task.messages) if message.run_id == run_id), None)
    if first is None and task.run_id != run_id:
        return None
    messages, at = task.messages, task.at
    if first is not None:
        opening = task.messages[first]
        messages, at = task.messages[:first], opening.timestamp
        if opening.role is Role.USER:
            messages = (*messages, opening)
    return replace(task, messages=messages, state=TaskState.WORKING, at=at, run_id=run_id)


def _as_ended(task: A2ATask, run_id: str | None, *, ends_session: bool) -> A2ATask | None:
    """Return the task at the end of a run.

    Return None if the run does not belong to the task, or if a later message has continued a task that was completed.
    """
    indexes = [index for index, message in enumerate(task.messages) if message.run_id == run_id]
    if not indexes or task.messages[indexes[-1]].end is None:
        return None
    messages = task.messages[: indexes[-1] + 1]
    ended_task = _cut_to(task, messages, session_ended=ends_session)
    has_continued = len(messages) < len(task.messages) or task.run_id is not None or task.state is TaskState.WORKING
    # Clients stop listening at a final state, so a task that has continued must not be reported as completed.
    return None if ended_task.state is TaskState.COMPLETED and has_continued and not ends_session else ended_task


def _as_completed(task: A2ATask, first_ordinal: int) -> A2ATask | None:
    """Return the task after the end of its session, which began at ``first_ordinal``.

    Return None if the task does not belong to the session, or was in a final state before its end.
    """
    if not task.messages or task.thread is None:
        return None
    first, below = task.messages[0].ordinal, task.thread.episode_first_ordinal
    if not first_ordinal <= first < below:
        return None
    messages = tuple(message for message in task.messages if message.ordinal < below and message.run_id != task.run_id)
    if _cut_to(task, messages, session_ended=False).state.is_terminal:
        return None
    return _cut_to(task, messages, session_ended=True)


def _cut_to(task: A2ATask, messages: tuple[StoredMessage, ...], *, session_ended: bool) -> A2ATask:
    """Return the task with only ``messages``, without a run in progress, in its state after the last of them."""
    is_canceled = task.mark is not None and task.mark.status is MarkStatus.CANCELED
    ends = [message.end for message in messages if message.end is not None]
    is_at_desk = next((end.leaves_at_desk for end in reversed(ends) if end.leaves_at_desk is not None), False)
    state = determine_state(
        ends, mark=MarkStatus.CANCELED if is_canceled else None, session_ended=session_ended, is_at_desk=is_at_desk
    )
    at = messages[-1].timestamp if messages else task.at
    return replace(task, messages=messages, state=state, at=at, run_id=None, is_at_desk=is_at_desk)
