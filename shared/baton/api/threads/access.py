"""Access to the thread or agent in a path, with the audit of refusals."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Annotated
from uuid import NAMESPACE_OID, uuid5

from fastapi import Path

from baton.api.threads.thread_schemas import ServedThread
from baton.composition.app import App
from baton.concurrency.tasks import gather_each
from baton.domain.agents.agent import AgentDefinition
from baton.domain.errors import ThreadUnavailable, UnknownAgent
from baton.domain.handoffs.workflow import Workflow
from baton.domain.tenants.identity import Permission, Scope, resolve_thread_ref
from baton.domain.threads.thread import LeaseMark, Thread
from baton.ports.tenants.audit import Once
from baton.tenants.registry.registered_agents import RegisteredAgents
from baton.threads.outbox.follow import WhenDead
from baton.threads.requests.thread_access import read_and_audit_thread

AT_ONCE = 10
"""The number of conversations that are read at the same time."""
REPEATED_WITHIN = timedelta(minutes=15)
"""The time in which repeated reads of the same data, for example by clients that follow it, are audited once."""


async def get_readable_thread(app: App, scope: Scope, name: str, *, is_repeated: bool = False) -> Thread:
    """Return the thread ``name``, which is a UUID or an id of the host application.

    Refusals are audited each time. Reads of other users' threads are audited too; with ``is_repeated``, for reads that
    clients repeat, once in fifteen minutes. Raises ``InvalidRequest`` for an unusable name, and ``ThreadUnavailable``.
    """
    thread_id = resolve_thread_ref(scope, name).id
    once = _make_once(app, scope, thread_id) if is_repeated else None
    return await read_and_audit_thread(app.ports.store, app.ports.audit, scope, thread_id, "thread.read", once=once)


async def get_thread_for_people(app: App, scope: Scope, name: str, *, is_repeated: bool = False) -> Thread:
    """Return the thread ``name`` like ``get_readable_thread``, but also for people of the desk that has the thread.

    People of the desk see only the session at the desk, and no earlier session. Their reads are audited once in fifteen
    minutes. Raises ``ThreadUnavailable``.
    """
    thread_id = resolve_thread_ref(scope, name).id
    if scope.has(Permission.DESK_ANSWER) and not scope.has(Permission.THREAD_READ_ALL):
        thread = await app.desk_access.read(scope, thread_id, once=_make_once(app, scope, thread_id))
        if thread is not None and thread.user_id != scope.user_id:
            return thread
    return await get_readable_thread(app, scope, name, is_repeated=is_repeated)


def _make_once(app: App, scope: Scope, thread_id: str) -> Once:
    return make_once_for_reads(scope, thread_id, app.ports.clock.now())


async def serve_thread(app: App, scope: Scope, thread: Thread, last_seq: int | None = None) -> ServedThread:
    """Return the served form of ``thread``. Raises ``StoreUnavailable``.

    ``last_seq`` is the sequence number of the last event of a run in progress; None for the thread's.
    """
    agents = await app.agents.in_session(scope, thread)
    return ServedThread.from_record(agents.describe, app.ports.prices, thread, last_seq)


async def find_agents_of_workflows(app: App, scope: Scope, workflows: Sequence[Workflow]) -> list[RegisteredAgents]:
    """Return, for each workflow, the agents in the versions of its conversation. Raises ``StoreUnavailable``."""
    agents = await app.agents.in_force(scope)

    def has_versions(workflow: Workflow) -> bool:
        agent = agents.describe(workflow.agent_id)
        return agent is not None and agent.version is not None  # shipped agents have no versions

    async def read(thread_id: str) -> Thread | None:
        try:
            return await app.ports.store.get_thread(scope, thread_id)
        except ThreadUnavailable:
            return None

    thread_ids = dict.fromkeys(workflow.thread_id for workflow in filter(has_versions, workflows))
    if not thread_ids:
        return [agents] * len(workflows)
    threads = [thread for thread in await gather_each(thread_ids, read, at_once=AT_ONCE) if thread is not None]
    sessions = zip(threads, await app.agents.in_sessions(scope, threads), strict=True)
    by_thread = {thread.id: in_session for thread, in_session in sessions}
    return [by_thread.get(workflow.thread_id, agents) for workflow in workflows]


def make_once_for_reads(scope: Scope, what: str, now: datetime) -> Once:
    """Return the key of an audit record that is written once for all reads of ``what`` within ``REPEATED_WITHIN``."""
    start = now - (now - datetime.min.replace(tzinfo=now.tzinfo)) % REPEATED_WITHIN
    return Once(str(uuid5(NAMESPACE_OID, f"{scope.tenant_id} {scope.user_id} {what}")), start)


async def revive(app: App, scope: Scope, thread: Thread, request_id: str) -> WhenDead:
    """Queue a takeover of the thread's run if its worker may be dead.

    Return a function that does the same for a worker that dies later.
    """
    await app.controls.revive(scope, thread, request_id=request_id)

    async def revive_again(dead: Thread, lease: LeaseMark) -> bool:
        if lease != thread.lease or not thread.is_interrupted:  # otherwise the call above has done it
            # The id is the same for each lease, so that the queue drops a second takeover.
            await app.controls.revive(scope, dead, request_id=f"{request_id}.{lease.fence}", presumed_dead=lease)
        return True

    return revive_again


KnowledgeAgentId = Annotated[str, Path(description="The agent's id.", max_length=64, examples=["knowledge"])]


async def check_managed_agent(app: App, scope: Scope, agent_id: str, action: str) -> str:
    """Check that the caller may use an agent and change its documents, and return the agent's id.

    Refusals are audited as ``action``. Raises ``Forbidden`` and ``UnknownAgent``.
    """
    scope.require(Permission.DOCUMENT_WRITE, action)
    return (await get_agent(scope, app, agent_id, action=action)).id


async def get_agent(scope: Scope, app: App, agent_id: str, *, action: str) -> AgentDefinition:
    """Return an agent that the caller may use. Refusals are audited as ``action``. Raises ``UnknownAgent``."""
    async with audited_denials(app, scope, agent_id, action):
        return await app.agents.get(scope, agent_id)


@asynccontextmanager
async def audited_denials(app: App, scope: Scope, agent_id: str, action: str) -> AsyncIterator[None]:
    """Audit an ``UnknownAgent`` that the block raises, because a permission is missing or no such agent exists."""
    try:
        yield
    except UnknownAgent as error:
        detail = {"agentId": agent_id} | ({"permission": error.permission} if error.permission is not None else {})
        await app.ports.audit.record(scope, action, thread_id=None, outcome=error.audited_as, detail=detail)
        raise
