"""The tasks of conversations in the background, which are begun, checked and ended. Each result begins a run."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from baton.concurrency.tasks import gather_all
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.tool import BackgroundRules
from baton.domain.errors import NotFound, StoreUnavailable, ThreadUnavailable
from baton.domain.runs.tool_call import ToolCall
from baton.domain.schedules.background_task import (
    MAX_LISTED,
    BackgroundKind,
    BackgroundStatus,
    BackgroundTask,
    derive_background_task_id,
)
from baton.domain.tenants.identity import Scope, ThreadRef, derive_record_id, derive_run_id
from baton.domain.text import cut_to_bytes
from baton.domain.threads.message import StoredMessage, join_answer_texts
from baton.domain.threads.queued import ForgottenTask
from baton.domain.threads.run_end import OutcomeType
from baton.domain.threads.thread import Thread
from baton.domain.threads.turn_requests import MessageRequest
from baton.ports.agents.tools import ToolResult
from baton.ports.clock import Clock
from baton.ports.tenants.audit import AuditLog, Once
from baton.ports.threads.background import BackgroundTasks
from baton.ports.threads.connections import LiveRegistry
from baton.ports.threads.threads import ThreadStore
from baton.ports.threads.turn_queue import TurnQueue
from baton.tenants.registry.registered_agents import RegisteredAgents
from baton.threads.background.callbacks import TaskCallbacks
from baton.threads.background.remote_work import RemoteWork, find_open_question
from baton.threads.background.task_results import ATTEMPTS, NO_RESULT, TaskResults
from baton.threads.background.tool_work import ToolWork
from baton.threads.handoffs.forks import Forks
from baton.threads.requests.queue_mapping import make_queued_message
from baton.threads.requests.thread_access import get_own_thread

MAX_OPEN = 10
"""The largest number of open tasks of one conversation."""
MAX_ARGUMENTS = 32 * 1024
"""Bytes of a tool's arguments that its task keeps for those who look at it."""
PAGE = 50
"""The number of newest messages of a task's fork in which its result is searched."""

EXPIRED = "It has not ended within its time, and was given up."


@dataclass(frozen=True, slots=True)
class BackgroundWork:
    """The background tasks of conversations."""

    tasks: BackgroundTasks
    results: TaskResults
    remote: RemoteWork
    tool_work: ToolWork
    callbacks: TaskCallbacks
    store: ThreadStore
    live: LiveRegistry
    forks: Forks
    queue: Callable[[], TurnQueue]
    audit: AuditLog
    clock: Clock

    async def begin_agent(
        self,
        scope: Scope,
        thread_id: str,
        call_id: str,
        message: str,
        *,
        agent: AgentDefinition,
        asked_by: AgentDefinition,
        data: Mapping[str, Any] | None = None,
    ) -> BackgroundTask | None:
        """Have an agent work on a message. Return the task; None if too many tasks are open.

        Repetitions for the same call return the same task. An agent of the deployment works in a separate fork. A
        worker sends the message to a remote agent, with the ``data`` that only remote agents take, and repeats requests
        that fail. Raises ``StoreUnavailable`` and ``ThreadBusy``.
        """
        task = self._make_task(
            scope,
            thread_id,
            call_id,
            BackgroundKind.AGENT if agent.remote is None else BackgroundKind.REMOTE_AGENT,
            agent.id,
            asked_by.id,
            message=message,
            lifetime=timedelta(hours=asked_by.background.expires_hours),
        )
        tasks = await self.tasks.of_thread(scope, thread_id)
        if agent.remote is not None:
            task = replace(task, data=data, continues=find_open_question(tasks, agent.id))
        # Store the task first: its checks repeat an interrupted beginning.
        stored_task, is_new = await self._add(scope, thread_id, task, tasks)
        if stored_task is None:
            return None
        if stored_task.is_open:
            await self._begin(scope, thread_id, stored_task, agent)
        if is_new:
            await self._audit_begin(scope, thread_id, stored_task, agentId=agent.id)
        return stored_task

    async def begin_tool(
        self, scope: Scope, thread_id: str, call: ToolCall, rules: BackgroundRules, *, asked_by: str
    ) -> BackgroundTask | None:
        """Store a task for a call whose work may outlast it, before the call. Attempts at one call share a task.

        Return None if too many tasks are open.
        """
        task = self._make_task(
            scope,
            thread_id,
            call.id,
            BackgroundKind.TOOL,
            call.name,
            asked_by,
            message=cut_to_bytes(call.arguments, MAX_ARGUMENTS),
            lifetime=timedelta(hours=rules.expires_hours),
        )
        tasks = await self.tasks.of_thread(scope, thread_id)
        stored_task, _ = await self._add(scope, thread_id, replace(task, is_deletable=rules.cancel), tasks)
        return stored_task

    async def keep_tool(self, scope: Scope, thread_id: str, task: BackgroundTask, result: ToolResult) -> None:
        """Record that a tool continues in the background, and where and how often its state is read."""
        stored_task = await self.results.change(
            scope,
            thread_id,
            task.id,
            location=result.location,
            poll_seconds=result.poll_seconds,
            is_put_off=result.is_put_off,
        )
        if stored_task is not None:  # otherwise the tool has reported its result already
            if stored_task.is_put_off:
                await self.results.have_read(scope, thread_id, stored_task, name="begin")
            await self._audit_begin(scope, thread_id, stored_task, tool=task.name)

    async def drop_tool(self, scope: Scope, thread_id: str, task: BackgroundTask) -> None:
        """Remove the task of a call that was answered at once."""
        await self.tasks.remove(scope, thread_id, task.id)

    async def read(self, scope: Scope, thread_id: str, task_id: str) -> None:
        """Read the state of a task at its tool or remote agent, or stop one that was cancelled."""
        task = await self.tasks.get(scope, thread_id, task_id)
        if task is not None:
            await self._read(scope, thread_id, task)

    async def stop_forgotten(self, scope: Scope, thread_id: str, task_id: str, forgotten: ForgottenTask) -> None:
        """Stop a task at its tool or remote agent, after its conversation was forgotten."""
        now = self.clock.now()
        fields = forgotten.model_dump() | {"message": "", "started_at": now, "expires_at": now, "is_deletable": True}
        task = BackgroundTask(id=task_id, **fields, status=BackgroundStatus.CANCELLED)
        await self._read(scope, thread_id, task)

    async def _read(self, scope: Scope, thread_id: str, task: BackgroundTask) -> None:
        """Read the state of a task, or stop it, unless the agent that it needs no longer exists."""
        agents = await self._read_agents(scope, thread_id)
        if task.kind is BackgroundKind.REMOTE_AGENT:
            remote_agent = agents.describe(task.name)
            if remote_agent is not None:
                callback = self.callbacks.make_address(scope, thread_id, task)
                await self.remote.read(scope, thread_id, task, remote_agent, callback)
            return
        agent = agents.describe(task.agent_id)
        if agent is not None:
            await self.tool_work.read(scope, thread_id, task, agent)

    async def cancel(self, scope: Scope, thread_id: str, task_id: str) -> BackgroundTask:
        """Cancel a task of the caller's conversation, so that its result does not enter the conversation.

        A task that has ended stays as it is. Raises ``ThreadUnavailable``, ``NotFound``, and ``StoreUnavailable`` if
        others change the task again and again.
        """
        await get_own_thread(self.store, scope, thread_id)
        for _ in range(ATTEMPTS):
            task = await self.tasks.get(scope, thread_id, task_id)
            if task is None:
                raise NotFound(f"This conversation has no task {task_id!r}.")
            if not task.is_open:
                if task.status is BackgroundStatus.CANCELLED:  # by a worker that may have died right afterwards
                    await self._stop_cancelled(scope, thread_id, task)
                return task
            closed_task = await self.results.replace(
                scope, thread_id, task, task.end(BackgroundStatus.CANCELLED, self.clock.now())
            )
            if closed_task is not None:
                await self._stop_cancelled(scope, thread_id, closed_task)
                return closed_task
            await asyncio.sleep(0)
        raise StoreUnavailable

    async def note_fork_ended(self, scope: Scope, fork: Thread) -> None:
        """Report the result of a task whose fork has just committed a run. Other forks are ignored."""
        if fork.parent_thread_id is None:
            return
        task = await self.tasks.get(scope, fork.parent_thread_id, fork.id)
        if task is not None and task.is_open:
            await self._look_into(scope, fork.parent_thread_id, task, fork)

    async def check(self, owner: Scope, thread_id: str, task: BackgroundTask) -> datetime | None:
        """Check a task that is due: report its result, end it, or return the time of its next check.

        Return None if the task needs no further check, or somebody has changed it meanwhile.
        """
        now, scope = self.clock.now(), task.make_scope(owner)
        if not task.is_open:
            return None
        is_over = task.is_over(now)
        try:
            fork = await self.store.get_thread(scope, task.id) if task.kind is BackgroundKind.AGENT else None
        except ThreadUnavailable as unavailable:
            if not unavailable.is_unused:
                await self.results.report(scope, thread_id, task, BackgroundStatus.FAILED, NO_RESULT)
                return None
            fork = None
        if fork is not None and not (is_over and fork.pending) and await self._look_into(scope, thread_id, task, fork):
            return None
        if is_over:
            await self._stop(scope, task)
            if task.kind is BackgroundKind.REMOTE_AGENT or task.is_deletable:
                await self.results.have_read(scope, thread_id, task, name="over")
            await self.results.report(scope, thread_id, task, BackgroundStatus.EXPIRED, EXPIRED)
            return None
        if task.kind is not BackgroundKind.AGENT:
            await self.results.have_read(scope, thread_id, task)
        elif fork is None or (fork.run is None and fork.next_ordinal == 0):
            await self._begin_again(scope, thread_id, task)
        later_task = await self.results.replace(scope, thread_id, task, task.plan_check(now))
        return later_task.check_at if later_task is not None else None

    async def _begin(self, scope: Scope, thread_id: str, task: BackgroundTask, agent: AgentDefinition) -> None:
        """Have the agent begin. Repetitions change nothing."""
        if agent.remote is None:
            await self._ask(scope, thread_id, task, agent)
        else:
            await self.results.have_read(scope, thread_id, task, name="begin")

    async def _ask(self, scope: Scope, thread_id: str, task: BackgroundTask, agent: AgentDefinition) -> None:
        """Give the agent its message, in its fork. Repetitions change nothing."""
        try:
            await self.store.get_thread(scope, task.id)
        except ThreadUnavailable as unavailable:
            if not unavailable.is_unused:
                return
            parent = await self.store.get_thread(scope, thread_id)
            await self.forks.begin(scope, task.id, thread_id, agent, (), pinned=parent.pinned)
        run_id = derive_run_id(task.id, task.id)
        request = MessageRequest(ThreadRef(task.id, may_create=False), task.id, run_id, task.message)
        await self.queue().send(scope, make_queued_message(scope, request, request_id=task.id))

    async def _begin_again(self, scope: Scope, thread_id: str, task: BackgroundTask) -> None:
        agent = (await self._read_agents(scope, thread_id)).describe(task.name)
        if agent is not None:
            await self._ask(scope, thread_id, task, agent)

    async def _read_agents(self, scope: Scope, thread_id: str) -> RegisteredAgents:
        """Return the agents of the conversation that has asked; those in force if it was forgotten."""
        try:
            thread = await self.store.get_thread(scope, thread_id)
        except ThreadUnavailable:
            return await self.forks.agents.in_force(scope)
        return await self.forks.agents.in_session(scope, thread)

    async def _look_into(self, scope: Scope, thread_id: str, task: BackgroundTask, fork: Thread) -> bool:
        """Report the result of a fork that has ended its work, or that it waits for decisions.

        Return False if the fork is still at work, or its result came too late.
        """
        if fork.run is not None or fork.next_ordinal == 0:
            return False
        if fork.pending is not None:  # even if all decisions are made, until the run continues
            waiting_task = replace(task.plan_check(self.clock.now()), status=BackgroundStatus.WAITING)
            await self.results.replace(scope, thread_id, task, waiting_task)
            return True
        page = await self.store.read_messages(scope, fork, limit=PAGE, before=None)
        if page.messages and page.messages[-1].timestamp >= task.expires_at:
            return False  # the result came too late; every check must find the same
        status, text = _read_result(page.messages)
        await self.results.report(scope, thread_id, task, status, text)
        return True

    def _make_task(
        self,
        scope: Scope,
        thread_id: str,
        call_id: str,
        kind: BackgroundKind,
        name: str,
        asked_by: str,
        *,
        message: str,
        lifetime: timedelta,
    ) -> BackgroundTask:
        """Return a new task of the conversation. Only tools and remote agents get a token for reports."""
        now = self.clock.now()
        return BackgroundTask(
            id=derive_background_task_id(thread_id, call_id),
            kind=kind,
            name=name,
            agent_id=asked_by,
            message=message,
            started_at=now,
            expires_at=now + lifetime,
            permissions=tuple(sorted(scope.permissions)),
            user_name=scope.name,
            token=secrets.token_urlsafe(32) if kind is not BackgroundKind.AGENT else None,
        ).plan_check(now)

    async def _add(
        self, scope: Scope, thread_id: str, task: BackgroundTask, tasks: Sequence[BackgroundTask]
    ) -> tuple[BackgroundTask | None, bool]:
        """Store a task beside ``tasks``, those of the conversation.

        Return the stored task and whether it is new; None instead of the task if too many are open.
        """
        is_known = any(other.id == task.id for other in tasks)
        if not is_known and sum(other.is_open for other in tasks) >= MAX_OPEN:
            return None, False
        stored_task = await self.tasks.add(scope, thread_id, task)
        if not is_known:
            await self._remove_oldest_ended(scope, thread_id, tasks)
        return stored_task, not is_known

    async def _remove_oldest_ended(self, scope: Scope, thread_id: str, tasks: Sequence[BackgroundTask]) -> None:
        """Remove the oldest ended tasks beyond ``MAX_LISTED``, so that a conversation has a bounded number of tasks."""
        ended_tasks = sorted((task for task in tasks if task.ended_at is not None), key=_get_end_time, reverse=True)
        await gather_all(*(self.tasks.remove(scope, thread_id, task.id) for task in ended_tasks[MAX_LISTED:]))

    async def _audit_begin(self, scope: Scope, thread_id: str, task: BackgroundTask, **detail: str) -> None:
        details = {"taskId": task.id, **detail}
        await self.audit.record(scope, "background.begin", thread_id=thread_id, outcome="working", detail=details)

    async def _stop_cancelled(self, scope: Scope, thread_id: str, task: BackgroundTask) -> None:
        """Stop the work of a cancelled task, and audit the cancellation. A repetition adds no second record."""
        await self._stop(scope, task)
        await self.results.have_read(scope, thread_id, task)
        await self.audit.record(
            scope,
            "background.cancel",
            thread_id=thread_id,
            outcome="cancelled",
            detail={"taskId": task.id},
            once=Once(derive_record_id(thread_id, "background.cancel", task.id), _get_end_time(task)),
        )

    async def _stop(self, scope: Scope, task: BackgroundTask) -> None:
        """Stop the run of a task's agent; nothing for a tool's task."""
        if task.kind is not BackgroundKind.AGENT:
            return
        try:
            fork = await self.store.get_thread(scope, task.id)
        except ThreadUnavailable:
            return
        run_id = fork.run.run_id if fork.run is not None else derive_run_id(task.id, task.id)
        await self.live.request_cancel(scope, task.id, run_id)


def _get_end_time(task: BackgroundTask) -> datetime:
    return task.ended_at or task.started_at


def _read_result(messages: Sequence[StoredMessage]) -> tuple[BackgroundStatus, str]:
    """Return the status and the text with which the last run among ``messages`` has ended."""
    last = messages[-1] if messages else None
    if last is None or last.end is None:
        return BackgroundStatus.FAILED, NO_RESULT
    text = join_answer_texts(message for message in messages if message.run_id == last.run_id)
    if last.end.outcome is OutcomeType.SUCCESS:
        return BackgroundStatus.COMPLETED, text
    return BackgroundStatus.FAILED, "\n".join(part for part in (last.end.error_detail or NO_RESULT, text) if part)
