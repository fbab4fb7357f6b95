"""Merges of forks' answers into their parents."""

from __future__ import annotations

from dataclasses import dataclass

from baton.domain.tenants.identity import Scope, derive_record_id
from baton.domain.threads.run_end import OutcomeType
from baton.ports.tenants.audit import AuditLog, Once
from baton.threads.handoffs.forks import Forks
from baton.threads.outbox.outbox import discard
from baton.threads.requests.parsing import make_merge_request
from baton.threads.requests.thread_access import refusals_audited
from baton.turns.finished_runs import FinishedRun
from baton.turns.turns import Turns


@dataclass(frozen=True, slots=True)
class Merges:
    """The merging of forks' answers into their parents."""

    turns: Turns
    forks: Forks
    audit: AuditLog

    async def merge(self, scope: Scope, fork_thread_id: str, *, seconds: float) -> FinishedRun:
        """Add the last answer of a fork to its parent, as one message of the fork's agent, by a run of the parent.

        The message's ``source`` is ``specialist``. Merging the same answer again returns the same run. The wait for
        other runs takes at most ``seconds``. Raises ``ThreadUnavailable`` (audited), ``NotAFork``, ``NothingToMerge``,
        ``ThreadLed``, ``HandoffInProgress`` if the parent is at a desk, ``ApprovalsWaiting``, ``ThreadBusy`` and
        ``StoreUnavailable``.
        """
        async with refusals_audited(self.audit, scope, fork_thread_id, "thread.merge"):
            fork, answer = await self.forks.find_newest_answer(scope, fork_thread_id)
        request = make_merge_request(fork.parent_thread_id or "", fork.id, answer.id)
        finished_run = await self.turns.run(scope, request, discard, seconds=seconds)
        assert finished_run is not None  # noqa: S101 - only answers to interrupts wait for others
        parent_id, merged_message, end = finished_run.thread.id, finished_run.messages[0], finished_run.messages[-1].end
        if end is not None and end.outcome is OutcomeType.SUCCESS:
            detail = {"forkThreadId": fork.id, "messageId": merged_message.id}
            once = Once(derive_record_id(parent_id, "thread.merge", merged_message.id), merged_message.timestamp)
            await self.audit.record(
                scope, "thread.merge", thread_id=parent_id, outcome="merged", detail=detail, once=once
            )
        return finished_run
