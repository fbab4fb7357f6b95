"""The services that a turn uses to open, commit and deliver a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from baton.agents.attempt_context import AgentServices
from baton.domain.threads.thread import LeaseTimes
from baton.memory.inspection.inspector import Inspector
from baton.memory.procedures.approved_procedures import ApprovedProcedures
from baton.memory.procedures.learning import Learning
from baton.ports.clock import TimeZones
from baton.ports.threads.connections import Connections, LiveRegistry
from baton.ports.threads.stream_log import StreamLog
from baton.ports.threads.threads import ThreadStore
from baton.ports.threads.turn_queue import TurnQueue
from baton.ports.tracing import Tracer
from baton.tenants.rates import PlaceLimits, RunLimits
from baton.tenants.spending_limits import SpendingLimits
from baton.tenants.tenant_copies import CurrentLimits
from baton.threads.handoffs.conversation_states import ConversationStates
from baton.threads.handoffs.forks import Forks
from baton.threads.outbox.change_notifications import ChangeNotifications
from baton.threads.requests.waiting_messages import WaitingMessages
from baton.threads.schedules.later_runs import LaterRuns
from baton.threads.schedules.owner_permissions import OwnerPermissions
from baton.threads.schedules.self_starts import SelfStarts
from baton.threads.sessions.sessions import Sessions
from baton.threads.sessions.unread_answers import UnreadAnswers
from baton.turns.dialogue.agent_histories import DialogueServices


@dataclass(frozen=True, slots=True)
class TurnServices:
    """The services that a turn uses."""

    agents: AgentServices
    store: ThreadStore
    log: StreamLog
    live: LiveRegistry
    connections: Connections
    sessions: Sessions
    unread_answers: UnreadAnswers
    conversations: ConversationStates
    forks: Forks
    approved_procedures: ApprovedProcedures
    inspector: Inspector
    change_notifications: ChangeNotifications
    learning: Learning
    lease_times: LeaseTimes
    queue: Callable[[], TurnQueue]
    """A function that returns the queue, for runs that need a summary or a title. Dead turns have no queue."""
    makes_titles: bool
    """True if threads get titles."""
    limits: CurrentLimits
    run_limits: RunLimits
    spending_limits: SpendingLimits
    self_starts: SelfStarts
    later_runs: LaterRuns
    owner_permissions: OwnerPermissions
    place_limits: PlaceLimits
    waiting: WaitingMessages
    time_zones: TimeZones
    tracer: Tracer

    @property
    def dialogue(self) -> DialogueServices:
        """The services that a dialogue uses."""
        return DialogueServices(self.store, self.conversations, self.forks)
