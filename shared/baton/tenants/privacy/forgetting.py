"""Forget a user, a thread, or data older than a tenant's retention, in every store.

A request runs in rounds. The first one puts a tombstone in the place of each thread, which takes the lease from its
holder, and removes everything. A worker that lost its lease may still write for a while; the second round, when no
such worker can be alive, removes that. Then every store is listed. If nothing is left, the tombstones are removed too.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from baton.domain.documents.search import IndexName, SearchFilter
from baton.domain.errors import NotFound
from baton.domain.memory.forgetting import (
    MAX_ROUNDS,
    ForgetRequest,
    ForgetStatus,
    ForgetSubject,
    NextStep,
    Retention,
    StepResult,
    Tally,
    ThreadTrace,
    compute_cutoff,
)
from baton.domain.tenants.identity import Scope, derive_record_id
from baton.domain.threads.thread import ZOMBIE_SECONDS
from baton.ports.clock import Clock
from baton.ports.documents.search import SearchIndex
from baton.ports.tenants.audit import AuditLog, Once
from baton.ports.tenants.privacy import Erasure, ForgetRequests, ObjectErasure
from baton.ports.tenants.tenants import Retentions
from baton.ports.threads.connections import LiveRegistry
from baton.tenants.rates import ForgottenRuns

PATIENCE_SECONDS = 10.0
"""Seconds in which a running turn can notice its cancellation, before its lease is taken away."""
POLL_SECONDS = 0.5
SUBJECT_ACTIONS = {
    ForgetSubject.USER: "user.forget",
    ForgetSubject.THREAD: "thread.forget",
    ForgetSubject.RETENTION: "retention.enforce",
}
"""The actions in the audit."""


@dataclass(frozen=True, slots=True)
class Waits:
    """The waiting times of forgetting, in seconds."""

    zombies: float = ZOMBIE_SECONDS
    """The time before the second sweep."""
    cancel: float = PATIENCE_SECONDS
    """The time that a running turn has to stop by itself."""


@dataclass(slots=True)
class _Round:
    """One invocation's part of a sweep or verification."""

    request: ForgetRequest
    deadline: float
    cutoff: datetime
    tally: Tally = field(default_factory=Tally)
    residue: Tally = field(default_factory=Tally)
    living: set[str] = field(default_factory=set)
    """Ids of threads that began after the cut-off. They stay."""
    threads_before: datetime | None = None
    """Threads whose last activity is before this time are too old by the tenant's retention."""
    is_complete: bool = True
    """True if the time was enough for everything."""
    young: int = 0
    """Tombstones that must stay until the next round."""

    @property
    def mark(self) -> str:
        return f"{self.request.id}#{self.request.round}"

    @property
    def is_over(self) -> bool:
        return asyncio.get_running_loop().time() >= self.deadline


_Step = Callable[[_Round, Scope, ThreadTrace], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Forgetting:
    """Requests to forget, carried out step by step. Every step may be repeated, and two may run at once."""

    requests: ForgetRequests
    erasure: Erasure
    objects: ObjectErasure
    search: SearchIndex
    live: LiveRegistry
    audit: AuditLog
    retentions: Retentions
    forgotten_runs: ForgottenRuns
    drop_tasks: Callable[[Scope, str], Awaitable[None]]
    """Audits and stops the work in the background of a thread."""
    clock: Clock
    waits: Waits

    @property
    def wait_seconds(self) -> float:
        """The time before the second sweep."""
        return self.waits.zombies

    async def sweep(self, scope: Scope, request_id: str, *, seconds: float) -> StepResult:
        """Remove the data of the request, for about ``seconds``. Raises ``NotFound`` for an unknown request."""
        request = await self._get(scope, request_id)
        if request.status is not ForgetStatus.RUNNING:
            return self._to_result(request)
        if request.round > 1 and request.cutoff_at is None:
            request = replace(request, cutoff_at=self.clock.now())
            await self.requests.save(scope, request)  # before the cut-off decides which data stay
        work = self._make_round(request, seconds)
        await self._apply_to_threads(work, self._sweep_thread)
        if work.is_complete and request.subject is ForgetSubject.USER:
            await self._sweep_user(work)
        if work.is_complete and request.subject is ForgetSubject.THREAD and request.thread_id is not None:
            work.tally.add("workflowNames", await self.erasure.unlink(request.scope, request.thread_id))
        if work.is_complete and request.subject is ForgetSubject.RETENTION and request.round == 1:
            await self._sweep_tenant(work)
        request = replace(request, counts=work.tally.merge(request.counts))
        step = NextStep.SWEEP
        if work.is_complete:
            step = NextStep.WAIT if request.round == 1 else NextStep.VERIFY
            request = replace(request, round=max(request.round, 2))
        await self.requests.save(scope, request)
        return StepResult(step, request.counts)

    async def verify(self, scope: Scope, request_id: str, *, seconds: float) -> StepResult:
        """List the remaining data. If there is none, remove the tombstones and complete the request.

        It takes about ``seconds`` at most. Raises ``NotFound`` for an unknown request.
        """
        request = await self._get(scope, request_id)
        if request.status is not ForgetStatus.RUNNING:
            return self._to_result(request)
        work = self._make_round(request, seconds)
        await self._apply_to_threads(work, self._verify_thread)
        if work.is_complete and request.subject is ForgetSubject.USER:
            await self._verify_user(work)
        residue = work.residue.merge({})
        if not work.is_complete:
            return StepResult(NextStep.VERIFY, request.counts, residue)
        if (residue or work.young) and request.round < MAX_ROUNDS:
            await self.requests.save(scope, replace(request, round=request.round + 1, residue=residue, ended_at=None))
            return StepResult(NextStep.WAIT, request.counts, residue)
        status = ForgetStatus.FAILED if residue or work.young else ForgetStatus.COMPLETED
        request = replace(request, status=status, residue=residue)
        await self._end(scope, request)
        return self._to_result(request)

    async def give_up(self, scope: Scope, request_id: str) -> StepResult:
        """Mark the request as failed, because the pipeline has failed permanently. Raises ``NotFound``."""
        request = await self._get(scope, request_id)
        if request.status is ForgetStatus.RUNNING:
            request = replace(request, status=ForgetStatus.FAILED)
            await self._end(scope, request)
        return self._to_result(request)

    # Threads

    async def _apply_to_threads(self, work: _Round, step: _Step) -> None:
        """Apply ``step`` to the threads of the request and their forks, until the time is over."""
        request = work.request
        async for page in self._list_threads(work):
            for thread in page:
                if work.is_over:
                    work.is_complete = False
                    return
                if request.subject is not ForgetSubject.RETENTION and thread.user_id not in (None, request.user_id):
                    continue  # an earlier request has made the id unused, and another user has begun with it
                scope = replace(request.scope, user_id=thread.user_id or request.user_id)
                if request.subject is not ForgetSubject.RETENTION or thread.is_buried:
                    await self._apply_with_forks(work, scope, thread, step)
                elif request.round == 1 and step == self._sweep_thread and await self._retire(work, scope, thread):
                    await self._apply_with_forks(work, scope, replace(thread, is_buried=True), step)

    async def _list_threads(self, work: _Round) -> AsyncIterator[Sequence[ThreadTrace]]:
        request = work.request
        if request.subject is ForgetSubject.THREAD and request.thread_id is not None:
            yield [await self.erasure.trace(request.scope, request.thread_id) or ThreadTrace(request.thread_id)]
        elif request.subject is ForgetSubject.USER:
            async for page in self.erasure.threads(request.scope):
                yield page
        else:
            before = compute_cutoff(request.requested_at, (await self.retentions.get(request.scope)).threads)
            if before is not None:
                work.threads_before = before
                async for page in self.erasure.list_inactive_threads(request.scope, before):
                    yield page

    async def _apply_with_forks(self, work: _Round, scope: Scope, thread: ThreadTrace, step: _Step) -> None:
        if not thread.is_buried and thread.created_at is not None and thread.created_at > work.cutoff:
            work.living.add(thread.id)
            return
        if thread.swept == work.mark and step == self._sweep_thread:
            return
        for fork in await self.erasure.list_forks(scope, thread.id):
            # A sandbox belongs to another user, and holds messages of this one.
            await self._apply_with_forks(work, replace(scope, user_id=fork.user_id or scope.user_id), fork, step)
        await step(work, scope, thread)

    async def _retire(self, work: _Round, scope: Scope, thread: ThreadTrace) -> bool:
        """Bury a thread that the retention says is too old, unless it or a fork of it is in use."""
        before = work.threads_before
        if before is None or _is_newer(thread, before):
            return False
        if any(_is_newer(fork, before) for fork in await self.erasure.list_forks(scope, thread.id)):
            return False
        is_buried = await self.erasure.bury(scope, thread, unless_active_since=before)
        work.tally.add("threads", int(is_buried))
        return is_buried

    async def _sweep_thread(self, work: _Round, scope: Scope, thread: ThreadTrace) -> None:
        if not thread.is_buried:
            await self._cancel(scope, thread)
            if not await self.erasure.bury(scope, thread):
                return
            work.tally.add("threads", 1)
        await self.drop_tasks(scope, thread.id)
        counts, is_empty = await self.erasure.sweep(scope, thread.id, deadline=work.deadline)
        work.tally.add_all(counts)
        if is_empty:
            removed, is_empty = await self.objects.sweep(scope, thread.id, deadline=work.deadline)
            work.tally.add("objectVersions", removed)
        if not is_empty:
            work.is_complete = False
            return
        count = await self.search.delete(scope, IndexName.EPISODES, SearchFilter(thread_id=thread.id))
        work.tally.add("searchDocuments", count)
        await self.erasure.mark_swept(scope, thread.id, work.mark)

    async def _cancel(self, scope: Scope, thread: ThreadTrace) -> None:
        """Ask the running turn to stop, and wait a little, so that its client gets its end."""
        if thread.run_id is None:
            return
        await self.live.request_cancel(scope, thread.id, thread.run_id)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.waits.cancel
        while loop.time() < deadline:
            await asyncio.sleep(POLL_SECONDS)
            current = await self.erasure.trace(scope, thread.id)
            if current is None or current.run_id != thread.run_id:
                return

    async def _verify_thread(self, work: _Round, scope: Scope, thread: ThreadTrace) -> None:
        if not thread.is_buried and thread.user_id is not None:
            work.residue.add("threads", 1)
            return
        remains = dict(await self.erasure.count_left(scope, thread.id))
        remains["objectVersions"] = await self.objects.count_left(scope, thread.id)
        remains["searchDocuments"] = await self.search.count(
            scope, IndexName.EPISODES, SearchFilter(thread_id=thread.id)
        )
        work.residue.add_all(remains)
        if any(remains.values()):
            return
        # A tombstone that another request has put there in the meantime stays until it is old enough.
        if thread.buried_at is not None and self.clock.now() < thread.buried_at + timedelta(seconds=self.waits.zombies):
            work.young += 1
            return
        await self.forgotten_runs.count(scope, thread.id)
        await self.erasure.unbury(scope, thread.id)

    # Users and tenants

    async def _sweep_user(self, work: _Round) -> None:
        scope = work.request.scope
        work.tally.add_all(await self.erasure.sweep_user(scope, before=work.cutoff))
        filters = [SearchFilter()]
        if work.living:
            filters = [SearchFilter(thread_id=thread_id) for thread_id in await self._list_indexed(work)]
        for search_filter in filters:
            work.tally.add("searchDocuments", await self.search.delete(scope, IndexName.EPISODES, search_filter))

    async def _verify_user(self, work: _Round) -> None:
        scope = work.request.scope
        work.residue.add_all(await self.erasure.count_left_of_user(scope, before=work.cutoff))
        if work.living:
            work.residue.add("searchDocuments", len(await self._list_indexed(work)))
        else:
            work.residue.add("searchDocuments", await self.search.count(scope, IndexName.EPISODES, SearchFilter()))

    async def _list_indexed(self, work: _Round) -> set[str]:
        """Return the threads of which the user has documents, except those that stay."""
        names: set[str] = set()
        async for document in self.search.list(work.request.scope, IndexName.EPISODES, SearchFilter()):
            if document.thread_id is not None and document.thread_id not in work.living:
                names.add(document.thread_id)
        return names

    async def _sweep_tenant(self, work: _Round) -> None:
        """Remove audit records, uploads and episodes that are older than the retention."""
        scope, retention = work.request.scope, await self.retentions.get(work.request.scope)
        before = compute_cutoff(work.request.requested_at, retention.audit)
        if before is not None:
            counts, work.is_complete = await self.erasure.sweep_audit(scope, before=before, deadline=work.deadline)
            work.tally.add_all(counts)
        before = compute_cutoff(work.request.requested_at, retention.uploads)
        if before is not None and work.is_complete:
            removed, work.is_complete = await self.objects.sweep_uploads(scope, before=before, deadline=work.deadline)
            work.tally.add("uploadVersions", removed)
        if work.is_complete:
            await self._sweep_episodes(work, retention)

    async def _sweep_episodes(self, work: _Round, retention: Retention) -> None:
        before = compute_cutoff(work.request.requested_at, retention.episodes)
        if before is None:
            return
        async for page in self.erasure.list_ended_episodes(work.request.scope, before):
            for episode in page:
                if work.is_over:
                    work.is_complete = False
                    return
                scope = replace(work.request.scope, user_id=episode.user_id)
                # Its list entry is removed last, so that a repetition finds the rest. Without its record it is not
                # indexed again.
                await self.erasure.sweep_episode(scope, episode, before=before)
                count = await self.search.delete(scope, IndexName.EPISODES, SearchFilter(source_id=episode.id))
                await self.erasure.unlist_episode(scope, episode, before=before)
                work.tally.add("searchDocuments", count)
                work.tally.add("episodes", 1)

    # Requests

    async def _get(self, scope: Scope, request_id: str) -> ForgetRequest:
        request = await self.requests.get(scope, request_id)
        if request is None:
            raise NotFound
        return request

    def _make_round(self, request: ForgetRequest, seconds: float) -> _Round:
        deadline = asyncio.get_running_loop().time() + seconds
        return _Round(request, deadline, request.cutoff_at or self.clock.now())

    async def _end(self, scope: Scope, request: ForgetRequest) -> None:
        """Store and audit the end. The record is in no thread's partition, from which it would be removed again."""
        ended_at = request.ended_at or self.clock.now()
        if request.ended_at is None:
            # Before the audit: a repetition must write the same record, which has this time.
            request = replace(request, ended_at=ended_at)
            await self.requests.save(scope, replace(request, status=ForgetStatus.RUNNING))
        detail: dict[str, object] = {"requestId": request.id, "counts": dict(request.counts)}
        if request.subject is not ForgetSubject.RETENTION:
            detail["userId"] = request.user_id
        if request.thread_id is not None:
            detail["threadId"] = request.thread_id
        if request.residue:
            detail["residue"] = dict(request.residue)
        action = SUBJECT_ACTIONS[request.subject]
        once = Once(derive_record_id(request.id, action, request.status.value), ended_at)
        requester = Scope(request.tenant_id, request.requested_by)
        await self.audit.record(
            requester, action, thread_id=None, outcome=request.status.value, detail=detail, once=once
        )
        await self.requests.save(scope, request)

    def _to_result(self, request: ForgetRequest) -> StepResult:
        is_done = request.status is ForgetStatus.COMPLETED
        return StepResult(NextStep.DONE if is_done else NextStep.INCOMPLETE, request.counts, request.residue)


def _is_newer(thread: ThreadTrace, before: datetime) -> bool:
    return not thread.is_buried and thread.last_activity_at is not None and thread.last_activity_at >= before


def to_state_output(result: StepResult, wait_seconds: float) -> Mapping[str, object]:
    """Return the result of a step for the state machine."""
    return {
        "next": result.next.value,
        "waitSeconds": round(wait_seconds),
        "counts": dict(result.counts),
        "residue": dict(result.residue),
    }
