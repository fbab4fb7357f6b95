"""The selection of the branch of a thread that continues."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ag_ui.core import BaseEvent

from baton.domain.errors import ApprovalsWaiting, RunInProgress, ThreadLed, ThreadUnavailable
from baton.domain.tenants.identity import Scope
from baton.domain.threads.branches import check_room, find_branch, find_tip
from baton.domain.threads.events import make_branch_selected
from baton.domain.threads.thread import Thread
from baton.ports.tenants.audit import AuditLog
from baton.ports.threads.leases import Lease, LeaseBusy, LeaseRequest, NoSuchThread
from baton.threads.handoffs.forks import is_led_by_parent
from baton.threads.leases import give_back, holding
from baton.threads.outbox.delivery import announce
from baton.threads.outbox.event_log import log_outside_run
from baton.threads.requests.thread_access import distinguish_unavailable
from baton.turns.admission import BRANCH_REFUSALS
from baton.turns.branch_points import BranchPoints
from baton.turns.turn_services import TurnServices

REFUSALS = (*BRANCH_REFUSALS, ApprovalsWaiting, RunInProgress, ThreadLed)


@dataclass(frozen=True, slots=True)
class SelectedBranch:
    """The result of selecting a branch."""

    thread_id: str
    branch_id: str
    last_seq: int
    """The sequence number of the event ``branch_selected``, or of the thread's last event if nothing changed."""


@dataclass(frozen=True, slots=True)
class BranchSelection:
    """The selection of the branch with which a thread continues."""

    services: TurnServices
    audit: AuditLog

    async def select(self, scope: Scope, thread_id: str, branch_id: str) -> SelectedBranch:
        """Continue the thread from the last message of the branch, and notify every connection.

        Selecting the same branch again changes nothing. Raises ``BranchUnavailable``, ``RunInProgress``,
        ``ApprovalsWaiting``, ``BranchCrossesHandoff``, ``TooManyBranches``, ``ThreadLed`` and ``ThreadUnavailable``
        (audited).
        """
        try:
            lease = await self.services.store.acquire(scope, LeaseRequest(thread_id))
        except LeaseBusy:
            raise RunInProgress from None
        except (ThreadUnavailable, NoSuchThread) as error:
            refusal = await distinguish_unavailable(self.services.store, scope, thread_id, error)
            await self.audit.record(
                scope, "thread.write", thread_id=thread_id, outcome=refusal.audited_as, detail={"branchId": branch_id}
            )
            raise refusal from None
        if lease.thread.run is not None:
            await self.services.store.abandon(lease)  # its worker died: another worker finishes the run
            raise RunInProgress
        async with holding(self.services.store, lease, refusals=REFUSALS):
            return await self._select_under_lease(lease, branch_id)

    async def find_last_shown_id(self, scope: Scope, thread: Thread) -> str | None:
        """Return the id of the last message that clients show of the thread; None if there is none."""
        return await self._points.find_last_shown_id(scope, thread)

    @property
    def _points(self) -> BranchPoints:
        return BranchPoints(self.services.store, self.services.conversations)

    async def _select_under_lease(self, lease: Lease, branch_id: str) -> SelectedBranch:
        """Select the branch, log and announce the selection, and end the lease. Raises ``REFUSALS``."""
        thread, scope = lease.thread, lease.scope
        branch = find_branch(thread.segments, thread.next_ordinal, branch_id)
        if is_led_by_parent(thread):
            raise ThreadLed
        if branch.ordinal in thread.path:
            await give_back(self.services.store, lease)
            return SelectedBranch(thread.id, branch_id, thread.last_seq)
        if thread.open_interrupts:
            raise ApprovalsWaiting("This branch waits for answers to its interrupts. Answer them or send a message.")
        tip = find_tip(thread.segments, thread.next_ordinal, branch)
        if tip != thread.next_ordinal - 1:
            check_room(thread.segments, thread.next_ordinal)
        point = await self._points.find_after(scope, thread, tip)
        common = thread.continue_from(branch.parent)
        after_id = await self._points.find_last_shown_id(scope, common)
        conversation = point.thread.conversation
        changes: list[BaseEvent] = []
        change = point.departed.change if point.departed is not None else None
        if change is not None:
            conversation = await self.services.conversations.keep(lease, change)
            changes = list(await self.services.conversations.list_events_of_change(scope, thread, conversation))
        bodies = [make_branch_selected(branch_id, after_id), *changes]
        events, last_seq = await log_outside_run(self.services.log, lease, bodies)
        await self.services.store.select(
            replace(lease, thread=point.thread),
            last_seq=last_seq,
            conversation=conversation,
            windows=point.thread.windows,
        )
        await announce(
            lease,
            events,
            last_seq,
            live=self.services.live,
            connections=self.services.connections,
            clock=self.services.agents.clock,
        )
        return SelectedBranch(thread.id, branch_id, last_seq)
