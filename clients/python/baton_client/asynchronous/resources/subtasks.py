"""Sub-tasks: questions of agents to other agents."""

from __future__ import annotations

from baton_client.addresses import path
from baton_client.asynchronous.pages import AsyncPager
from baton_client.asynchronous.resource import AsyncResource
from baton_client.models import Task, TaskWithMessages

Tasks = list[Task]


class AsyncSubTasks(AsyncResource):
    """``client.threads.tasks``."""

    def list(self, thread_id: str, *, limit: int | None = None) -> AsyncPager[Task]:
        """List sub-tasks of a conversation, the newest first, including those of the run in progress."""
        return self._list(path("/v1/threads/{thread_id}/tasks", thread_id=thread_id), Task, limit=limit)

    async def of_run(self, thread_id: str, run_id: str) -> Tasks:
        """Return the sub-tasks of one run, the oldest first."""
        tasks = []
        async for task in self.list(thread_id, limit=100):
            if task.run_id == run_id:
                tasks.append(task)
            elif tasks:
                break
        return tasks[::-1]

    async def get(self, thread_id: str, task_id: str) -> TaskWithMessages:
        """Return one sub-task with its messages."""
        address = path("/v1/threads/{thread_id}/tasks/{task_id}", thread_id=thread_id, task_id=task_id)
        return await self._get(address, TaskWithMessages)
