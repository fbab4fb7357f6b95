"""Sub-tasks that earlier attempts at a run have left unfinished."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace

from baton.agents.attempt_context import AgentServices
from baton.concurrency.tasks import gather_all
from baton.domain.runs.task import RemoteTask, Task, TaskStatus
from baton.domain.runs.tool_call import ToolCallRecord
from baton.domain.tenants.identity import Scope
from baton.domain.threads.thread import Run
from baton.ports.threads.leases import Lease
from baton.tenants.registry.registered_agents import RegisteredAgents

TASKS_AT_ONCE = 100
"""Tasks that are read with one request."""
MAX_TASKS = 1_000
"""Tasks of one run that are read: more than the calls that a run may make (``ToolLimits.tool_calls``)."""


async def settle_tasks(services: AgentServices, lease: Lease, run: Run, journal: Mapping[str, ToolCallRecord]) -> None:
    """End the sub-tasks that were in progress when the worker of an earlier attempt died.

    Tasks whose results are in ``journal`` are stored as completed, the others as failed.
    """
    results = {call.task_id: call.output for call in journal.values() if call.task_id is not None}
    async for task in _find_tasks_at_work(services, lease, run):
        finished_task = replace(task, ended_at=services.clock.now(), status=TaskStatus.FAILED, error="its worker died.")
        if task.id in results:
            finished_task = replace(finished_task, status=TaskStatus.COMPLETED, error=None, result=results[task.id])
        await services.records.put_task(lease, finished_task)


async def stop_remote_tasks(
    services: AgentServices,
    scope: Scope,
    agents: RegisteredAgents,
    tasks: Mapping[str, RemoteTask],
    journal: Mapping[str, ToolCallRecord],
) -> None:
    """Ask remote agents to stop tasks that an earlier attempt has begun and this attempt has not followed.

    Tasks whose answers are recorded are not stopped: they have ended, or wait for the next question.
    """
    answered_ids = {call.task_id for call in journal.values()}
    orphans = [(agents.describe(task.agent_id), task) for task in tasks.values() if task.id not in answered_ids]
    await gather_all(
        *(
            services.agent_client.cancel(agent, scope, task.remote_task_id)
            for agent, task in orphans
            if agent is not None
        )
    )


async def _find_tasks_at_work(services: AgentServices, lease: Lease, run: Run) -> AsyncGenerator[Task, None]:
    """Yield the run's tasks that have not ended. The run is the thread's last one, so its tasks are listed first."""
    cursor, read_count = None, 0
    while read_count < MAX_TASKS:
        tasks, cursor = await services.records.list_tasks(
            lease.scope, lease.thread_id, limit=TASKS_AT_ONCE, cursor=cursor
        )
        for task in tasks:
            if task.run_id == run.run_id and task.status is TaskStatus.WORKING:
                yield task
        read_count += len(tasks)
        if cursor is None or tasks[-1].run_id != run.run_id:
            return
