"""Work of remote agents in the background: each check sends the message, reads the agent's task, or stops it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from baton.domain.agents.agent import AgentDefinition
from baton.domain.errors import Unauthorized
from baton.domain.runs.task import DATA, RemoteTask, note_open_task
from baton.domain.schedules.background_task import (
    MAX_RESULT,
    BackgroundStatus,
    BackgroundTask,
    shorten_progress,
    shorten_result,
)
from baton.domain.tenants.identity import Scope, derive_run_id
from baton.ports.agents import agent_client
from baton.ports.agents.chat_model import AnswerText, TextDelta, TextTakenBack
from baton.ports.agents.tools import TaskCallback
from baton.ports.threads.background import BackgroundTasks
from baton.threads.background.task_results import TaskResults

MAX_FAILURES = 8
"""Consecutive checks without an answer of the agent after which its task has failed: 1.5 to 3.5 hours."""
FILE = "[File: {}]"
NO_ANSWER = "The agent gave an empty answer."
NO_TOKEN = "The agent acts for the user, who is not here: it cannot work in the background."  # noqa: S105


@dataclass(slots=True)
class _RemoteState:
    """The state of a remote agent's task, as far as it was read."""

    answer: AnswerText = field(default_factory=AnswerText)
    extras: list[str] = field(default_factory=list)
    has_data: bool = False
    progress: str | None = None
    end: agent_client.AgentDone | None = None

    def take(self, chunk: agent_client.AgentChunk) -> None:
        """Take a part of the answer."""
        match chunk:
            case TextDelta() | TextTakenBack():
                self.answer.take(chunk)
            case agent_client.AgentProgress(label):
                self.progress = shorten_progress(label) or self.progress
            case agent_client.AgentData(value):
                self.has_data = True
                self.extras.append(DATA.format(json.dumps(value, ensure_ascii=False)))
            case agent_client.AgentFile(file):
                description = " ".join(part for part in (file.name, file.media_type, file.url) if part)
                self.extras.append(FILE.format(description or "without a name"))
            case agent_client.AgentDone():
                self.end = chunk

    @property
    def result(self) -> str:
        """The answer for the agent that has asked, with a note on how to go on if the remote agent needs something.

        A long answer is cut, so that the note fits.
        """
        text = "\n".join(part for part in (self.answer.text, *self.extras) if part)
        if self.end is None or self.end.remote_task_id is None:
            return text
        note = note_open_task(needs_sign_in=self.end.needs_sign_in, has_data=self.has_data)
        return f"{shorten_result(text, MAX_RESULT - len(note) - 1)}\n{note}".strip()


@dataclass(frozen=True, slots=True)
class RemoteWork:
    """Tasks of remote agents. Each message has the task's id, by which an agent can recognise a repetition."""

    tasks: BackgroundTasks
    results: TaskResults
    client: Callable[[], agent_client.AgentClient]

    async def read(
        self, scope: Scope, thread_id: str, task: BackgroundTask, agent: AgentDefinition, callback: TaskCallback | None
    ) -> None:
        """Send an open task's message unless the agent has it, and report the result if there is one.

        A task that was cancelled, or whose time is over, is stopped at the agent.
        """
        is_over = task.is_over(self.results.clock.now())
        if is_over or task.status in (BackgroundStatus.CANCELLED, BackgroundStatus.EXPIRED):
            if task.location is not None:
                await self.client().cancel(agent, scope, task.location)
            return
        if not task.is_open:
            return
        try:
            state = await self._read_state(scope, thread_id, task, agent, callback)
        except Unauthorized:
            await self.results.report(scope, thread_id, task, BackgroundStatus.FAILED, NO_TOKEN)
            return
        except (agent_client.AgentFailed, TimeoutError) as failure:
            await self._note_failure(scope, thread_id, task, failure)
            return
        if state is None:
            return
        if state.end is None:
            progress = state.progress or task.progress
            if progress != task.progress or task.failures:
                await self.results.change(scope, thread_id, task.id, progress=progress, failures=0)
            return
        is_asking = state.end.remote_task_id is not None
        current = await self.results.change(scope, thread_id, task.id, is_asking=is_asking)
        if current is not None:
            status = BackgroundStatus.COMPLETED if state.result else BackgroundStatus.FAILED
            await self.results.report(scope, thread_id, current, status, state.result or NO_ANSWER)

    async def _read_state(
        self, scope: Scope, thread_id: str, task: BackgroundTask, agent: AgentDefinition, callback: TaskCallback | None
    ) -> _RemoteState | None:
        """Return the state of the agent's task; None if the task was cancelled meanwhile."""
        continues = await self._find_continued(scope, thread_id, task) if task.location is None else None
        follows = (
            RemoteTask(task.id, agent.id, task.location, task.earlier_contents) if task.location is not None else None
        )
        try:
            return await self._ask(scope, thread_id, task, agent, callback, task.location or continues, follows)
        except agent_client.TaskLost:
            if continues is None:
                raise
        # The agent has ended the task that it had kept open, without this message, so the message begins a new task.
        return await self._ask(scope, thread_id, task, agent, callback, None, None)

    async def _ask(
        self,
        scope: Scope,
        thread_id: str,
        task: BackgroundTask,
        agent: AgentDefinition,
        callback: TaskCallback | None,
        remote_task_id: str | None,
        follows: RemoteTask | None,
    ) -> _RemoteState | None:
        """Send the task's message, or follow the task ``follows``. Return the state that was read.

        ``remote_task_id`` is the agent's own task that takes the message, None for a new one. Return None if the task
        was cancelled meanwhile; the agent's own task is then cancelled too.
        """
        request = agent_client.AgentTask(
            scope,
            thread_id,
            task.id,
            derive_run_id(thread_id, task.id),
            task.message,
            remote_task_id=remote_task_id,
            data=task.data,
            follows=follows,
            is_background=True,
            callback=callback,
        )
        state = _RemoteState()
        stream = self.client().stream(agent, request)
        async with asyncio.timeout(agent.timeouts.consult_seconds), aclosing(stream) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, agent_client.AgentStarted) and follows is None:
                    current = await self.results.change(
                        scope, thread_id, task.id, location=chunk.remote_task_id, earlier_contents=dict(chunk.known)
                    )
                    if current is None:  # the task was cancelled before its location was known
                        await self.client().cancel(agent, scope, chunk.remote_task_id)
                        return None
                state.take(chunk)
        return state

    async def _find_continued(self, scope: Scope, thread_id: str, task: BackgroundTask) -> str | None:
        """Return the id of the agent's own task that this task continues; None if an earlier task has continued it."""
        if task.continues is None:
            return None
        tasks = await self.tasks.of_thread(scope, thread_id)
        continuing_tasks = [other for other in tasks if other.continues == task.continues]
        first_task = min(continuing_tasks, key=lambda other: (other.started_at, other.id), default=task)
        return task.continues if first_task.id == task.id else None

    async def _note_failure(self, scope: Scope, thread_id: str, task: BackgroundTask, failure: Exception) -> None:
        """Count a failure to reach the agent. End the task if the failure is final, or the last one that is allowed."""
        reason, is_final = "The agent did not answer in time.", False
        if isinstance(failure, agent_client.AgentFailed):
            reason = failure.reason
            is_final = failure.is_final or isinstance(failure, agent_client.TaskLost)
        current = await self.results.change(scope, thread_id, task.id, failures=task.failures + 1)
        if current is not None and (is_final or current.failures >= MAX_FAILURES):
            await self.results.report(scope, thread_id, current, BackgroundStatus.FAILED, reason)


def find_open_question(tasks: Sequence[BackgroundTask], agent_id: str) -> str | None:
    """Return the remote agent's own id of the task that it keeps open for an answer; None if there is none.

    ``tasks`` are those of the conversation, the newest first.
    """
    continued = {task.continues for task in tasks}
    questions = (
        task.location
        for task in tasks
        if task.name == agent_id and task.is_asking and not task.is_open and task.location not in continued
    )
    return next(questions, None)
