"""Work of tools in the background: each check reads the state of the work, does the work itself, or stops it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from baton.domain.agents.agent import AgentDefinition
from baton.domain.schedules.background_task import BackgroundStatus, BackgroundTask, shorten_progress
from baton.domain.tenants.identity import Scope, derive_run_id
from baton.ports.agents.tools import CallContext, NewFile, ToolFailed, Tools
from baton.ports.threads.background import BackgroundTasks
from baton.threads.background.progress_notes import ProgressNotes, discard_progress
from baton.threads.background.task_results import TaskResults

MAX_ATTEMPTS = 5
"""Attempts at a call that a worker carries out, before its task has failed."""
NEVER_ENDED = f"It was begun {MAX_ATTEMPTS} times, and no attempt has come to an end."
NO_FILES = "Work in the background attaches no files: return what the user needs, or an address."


@dataclass(frozen=True, slots=True)
class ToolWork:
    """Tasks of tools. A call that a worker carries out has the task's id as its idempotency key in every attempt."""

    tasks: BackgroundTasks
    results: TaskResults
    tools: Callable[[], Tools]

    async def read(self, scope: Scope, thread_id: str, task: BackgroundTask, agent: AgentDefinition) -> None:
        """Report the result of an open task if there is one, or delete a task that was cancelled or has expired."""
        if task.location is None:
            return
        is_over = task.is_over(self.results.clock.now())
        has_ended = is_over or task.status in (BackgroundStatus.CANCELLED, BackgroundStatus.EXPIRED)
        if has_ended or not task.is_open:
            if has_ended and task.is_deletable and not task.is_put_off:
                await self._delete(scope, thread_id, task, agent, task.location)
            return
        if task.is_put_off:
            if task.failures >= MAX_ATTEMPTS:
                await self.results.report(scope, thread_id, task, BackgroundStatus.FAILED, NEVER_ENDED)
                return
            if await self.results.change(scope, thread_id, task.id, failures=task.failures + 1) is None:
                return
        await self._read_state(scope, thread_id, task, agent, task.location)

    async def _read_state(
        self, scope: Scope, thread_id: str, task: BackgroundTask, agent: AgentDefinition, location: str
    ) -> None:
        """Read the state of the work, and report its result or store its progress. An outage changes nothing."""
        progress_notes = ProgressNotes(partial(self._store_progress, scope, thread_id, task))
        context = self._make_context(scope, thread_id, task, agent, report=progress_notes.report)
        status = BackgroundStatus.COMPLETED
        try:
            result = await self.tools().read_task(agent, task.name, location, context)
            text = result.text
        except ToolFailed as failure:
            if failure.is_outage:
                return
            status, text = BackgroundStatus.FAILED, failure.message
        else:
            if result.is_pending:
                progress = shorten_progress(result.progress) if result.progress else task.progress
                if (progress, result.poll_seconds) != (task.progress, task.poll_seconds):
                    await self.results.change(
                        scope, thread_id, task.id, progress=progress, poll_seconds=result.poll_seconds
                    )
                return
        finally:
            await progress_notes.end()
        current = await self.tasks.get(scope, thread_id, task.id)
        if current is not None and current.is_open:  # it may have been cancelled while the work was done
            await self.results.report(scope, thread_id, current, status, text)

    async def _delete(
        self, scope: Scope, thread_id: str, task: BackgroundTask, agent: AgentDefinition, location: str
    ) -> None:
        with suppress(ToolFailed):  # nobody waits for it
            context = self._make_context(scope, thread_id, task, agent)
            await self.tools().read_task(agent, task.name, location, context, deletes=True)

    async def _store_progress(self, scope: Scope, thread_id: str, task: BackgroundTask, line: str) -> None:
        await self.results.change(scope, thread_id, task.id, progress=line)

    def _make_context(
        self,
        scope: Scope,
        thread_id: str,
        task: BackgroundTask,
        agent: AgentDefinition,
        *,
        report: Callable[[str], None] = discard_progress,
    ) -> CallContext:
        return CallContext(
            scope,
            thread_id,
            derive_run_id(thread_id, task.id),
            agent.id,
            call_id=task.id,
            idempotency_key=task.id,
            report=report,
            keep=_refuse_file,
        )


async def _refuse_file(_file: NewFile) -> str:
    raise ToolFailed(NO_FILES)
