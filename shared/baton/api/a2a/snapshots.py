"""Tasks as they were after a change. A notification is made when it is sent, and its task may have moved on."""

from __future__ import annotations

from dataclasses import replace

from baton.api.a2a.tasks import A2ATask
from baton.domain.a2a_task import MarkStatus, TaskState, state_of
from baton.domain.message import Role, StoredMessage
from baton.domain.push_config import ChangeKind, PushNotice, TaskChange


def as_of(task: A2ATask, change: TaskChange | PushNotice) -> A2ATask | None:
    """Return the task in the state that ``change`` has left it in; None if the change does not concern it."""
    match change.kind:
        case ChangeKind.BEGAN:
            return _begun(task, change.run_id)
        case ChangeKind.ENDED:
            ended = _ended(task, change.run_id, ends_session=change.first_ordinal is not None)
            if ended is None and change.first_ordinal is not None:
                return _completed(task, change.first_ordinal)
            return ended
        case ChangeKind.CLOSED:
            return _completed(task, change.first_ordinal or 0)
        case ChangeKind.MARKED:
            is_settled = task.state.is_terminal or task.state is TaskState.INPUT_REQUIRED
            return task if is_settled else None


def _begun(task: A2ATask, run_id: str | None) -> A2ATask | None:
    """Return the task as its run began: what was said before, and the user's message."""
    first = next((index for index, message in enumerate(task.messages) if message.run_id == run_id), None)
    if first is None and task.run_id != run_id:
        return None
    said, at = task.messages, task.at
    if first is not None:
        opening = task.messages[first]
        said, at = task.messages[:first], opening.timestamp
        if opening.role is Role.USER:
            said = (*said, opening)
    return replace(task, messages=said, state=TaskState.WORKING, at=at, run_id=run_id)


def _ended(task: A2ATask, run_id: str | None, *, ends_session: bool) -> A2ATask | None:
    """Return the task as its run left it."""
    mine = [index for index, message in enumerate(task.messages) if message.run_id == run_id]
    if not mine or task.messages[mine[-1]].end is None:
        return None
    said = task.messages[: mine[-1] + 1]
    return _with_state(task, said, session_ended=ends_session)


def _completed(task: A2ATask, first_ordinal: int) -> A2ATask | None:
    """Return the task as the end of its session, which began at ``first_ordinal``, has left it."""
    if not task.messages or task.thread is None:
        return None
    begun, below = task.messages[0].ordinal, task.thread.episode_first_ordinal
    if not first_ordinal <= begun < below:
        return None
    said = tuple(message for message in task.messages if message.ordinal < below and message.run_id != task.run_id)
    if _with_state(task, said, session_ended=False).state.is_terminal:
        return None  # it was final before
    return _with_state(task, said, session_ended=True)


def _with_state(task: A2ATask, said: tuple[StoredMessage, ...], *, session_ended: bool) -> A2ATask:
    is_canceled = task.mark is not None and task.mark.status is MarkStatus.CANCELED
    state = state_of(
        [message.end for message in said if message.end is not None],
        mark=MarkStatus.CANCELED if is_canceled else None,
        session_ended=session_ended,
    )
    at = said[-1].timestamp if said else task.at
    return replace(task, messages=said, state=state, at=at, run_id=None)
