"""Reports that tools and remote agents send on their tasks."""

from __future__ import annotations

from dataclasses import dataclass, replace

from baton.domain.errors import TaskExpired, Unauthorized
from baton.domain.schedules.background_task import BackgroundKind, BackgroundStatus, BackgroundTask, shorten_progress
from baton.domain.tenants.identity import TENANT_ID, Scope, is_thread_id
from baton.ports.agents.tools import TaskCallback
from baton.ports.threads.background import BackgroundTasks
from baton.threads.background.task_results import TaskResults


@dataclass(frozen=True, slots=True)
class TaskReport:
    """A tool's report on its task: the result, the reason of its failure, or how far it is."""

    status: BackgroundStatus
    text: str


@dataclass(frozen=True, slots=True)
class TaskCallbacks:
    """Addresses to which tools and remote agents report, and their reports."""

    tasks: BackgroundTasks
    results: TaskResults
    public_url: str | None
    """The API's address; None if it is not known."""

    def make_address(self, scope: Scope, thread_id: str, task: BackgroundTask) -> TaskCallback | None:
        """Return the address and the token with which a tool reports on its task.

        A remote agent's address takes notifications, which only cause a check of its task. Return None without a public
        address, and for tasks of the deployment's agents.
        """
        if self.public_url is None or task.token is None:
            return None
        address = f"{self.public_url.rstrip('/')}/v1/callbacks/{task.id}"
        if task.kind is BackgroundKind.REMOTE_AGENT:
            address = f"{address}/notifications"
        return TaskCallback(address, f"{scope.tenant_id}.{thread_id}.{task.token}")

    async def take_report(self, token: str, task_id: str, report: TaskReport) -> None:
        """Take a tool's report. A repeated report, or a report on a task that has ended, changes nothing.

        Raises ``Unauthorized`` for a wrong token, and ``TaskExpired``.
        """
        owner, thread_id, task = await self._find(token, task_id)
        if task.kind is not BackgroundKind.TOOL:
            raise Unauthorized
        if task.status is BackgroundStatus.EXPIRED or task.is_over(self.results.clock.now()):
            raise TaskExpired
        if not task.is_open:
            return
        if report.status is BackgroundStatus.WORKING:
            await self.results.replace(owner, thread_id, task, replace(task, progress=shorten_progress(report.text)))
        else:
            await self.results.report(task.make_scope(owner), thread_id, task, report.status, report.text)

    async def take_notification(self, token: str, task_id: str, digest: str | None) -> None:
        """Have the task of a remote agent read, because the agent has notified Baton of a change.

        Notifications may repeat, and come in any order. ``digest`` identifies the content of the notification; None if
        it changes nothing. Raises ``Unauthorized`` for a wrong token.
        """
        owner, thread_id, task = await self._find(token, task_id)
        if task.is_open and task.kind is BackgroundKind.REMOTE_AGENT and digest is not None:
            await self.results.have_read(task.make_scope(owner), thread_id, task, name=digest)

    async def _find(self, token: str, task_id: str) -> tuple[Scope, str, BackgroundTask]:
        """Return the task of a token, with its owner and its thread. Raises ``Unauthorized``."""
        tenant_id, _, rest = token.partition(".")
        thread_id, _, secret = rest.partition(".")
        is_readable = TENANT_ID.fullmatch(tenant_id) and is_thread_id(thread_id) and is_thread_id(task_id)
        owned_task = await self.tasks.find(tenant_id, thread_id, task_id) if is_readable else None
        if owned_task is None or not owned_task[1].has_token(secret):
            raise Unauthorized
        return owned_task[0], thread_id, owned_task[1]
