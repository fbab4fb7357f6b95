"""The facts of a run that all its steps share, and the input of its dialogue."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from baton.agents.attempt_context import (
    MAX_RESERVE_SECONDS,
    RESERVED_SHARE,
    AttemptContext,
    EmitEvent,
    RemoteTasks,
    Writes,
)
from baton.agents.calls.tool_calls import Consult
from baton.agents.step_journal import StepJournal
from baton.agents.transcript import Transcript
from baton.domain.agents.agent import AgentDefinition
from baton.domain.runs.conversation_data import ConversationData
from baton.domain.runs.run_step import RunStep
from baton.domain.runs.tool_call import ToolCallRecord
from baton.domain.tenants.identity import Scope
from baton.domain.threads.client_offer import ClientOffer
from baton.domain.threads.interrupt import PendingInterrupts
from baton.domain.threads.message import OutcomeType, Role, StoredMessage
from baton.domain.threads.thread import Run, Thread
from baton.domain.times import Today, to_millis
from baton.memory.inspection.inspection import Inspection
from baton.ports.clock import TimeZones
from baton.ports.threads.leases import Lease
from baton.tenants.registry.registered_agents import RegisteredAgents
from baton.threads.handoffs.conversation_states import ConversationTracker
from baton.threads.requests.turn_requests import TurnRequest
from baton.turns.dialogue.dialogue_input import DialogueInput
from baton.turns.thread_snapshot import ThreadSnapshot
from baton.turns.turn_services import TurnServices


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """The facts of one attempt at a run, or of a dry run. Steps that add facts return a new one."""

    services: TurnServices
    scope: Scope
    """The user's scope, with the permissions that the message came with."""
    thread: Thread
    run: Run
    agents: RegisteredAgents
    """The tenant's agents, as they were when the run began."""
    agent: AgentDefinition
    """The agent that is active when the run begins."""
    request: TurnRequest
    question: StoredMessage
    """The question, the answer to an interrupt, or the placeholder of an action."""
    answered: PendingInterrupts | None = None
    """The answered interrupts that the run continues; None for a new message or action."""
    client: ClientOffer | None = None
    """Tools and context that the user's application offers; None if it offers nothing."""
    unfinished: Sequence[StoredMessage] = ()
    """The interrupted exchange that the run continues; empty if there is none."""
    journal: Mapping[str, ToolCallRecord] = field(default_factory=dict)
    """The calls of earlier attempts by id. They are not repeated."""
    steps: Mapping[str, RunStep] = field(default_factory=dict)
    """The steps of agents with ``run`` that earlier attempts and runs of the exchange have recorded, by id."""
    remote_tasks: RemoteTasks = field(default_factory=lambda: RemoteTasks({}))
    """The tasks that earlier attempts gave to remote agents."""

    @property
    def offered_by(self) -> str | None:
        """The message id of the turn whose client offer counts for a run that continues this one."""
        if self.request.client is not None:
            return self.run.message_id
        return self.answered.offered_by if self.answered is not None else None

    @property
    def first_of_exchange(self) -> int:
        """The ordinal of the user's message that the run answers."""
        return self.answered.first_ordinal if self.answered is not None else self.question.ordinal

    @property
    def began_with(self) -> StoredMessage:
        """The message with which the exchange began."""
        return self.unfinished[0] if self.unfinished else self.question

    def milliseconds_since_question(self) -> int:
        """Return the milliseconds since the question was asked."""
        return max(0, to_millis(self.services.agents.clock.now()) - to_millis(self.question.timestamp))

    def dialogue_input(
        self,
        snapshot: ThreadSnapshot,
        *,
        lease: Callable[[], Lease],
        ensure_lease: Callable[[], Awaitable[None]],
        deadline: float,
        stop: asyncio.Event,
        opened: asyncio.Event,
        emit: EmitEvent,
        writes: Writes,
        inspection: Inspection,
        passed_on: asyncio.Event,
        today: Today,
        client_results: PendingInterrupts | None = None,
        previous_seq: int | None = None,
        ends_at_once_as: OutcomeType | None = None,
        consult: Consult | None = None,
    ) -> DialogueInput:
        """Return the input of the run's dialogue; see the fields of ``AttemptContext`` and ``DialogueInput``.

        ``deadline`` is the event loop time by which the caller wants the answer. The agent may allow less.
        """
        services, now = self.services, asyncio.get_running_loop().time()
        deadline = min(deadline, now + self.agent.timeouts.turn_seconds)
        is_from_user = self.question.role is Role.USER
        context = AttemptContext(
            services=services.agents,
            agents=self.agents,
            scope=self.scope,
            thread_id=self.thread.id,
            run=self.run,
            lease=lease,
            ensure_lease=ensure_lease,
            files=services.agents.files.of_thread(self.scope, self.thread.id),
            deadline=deadline,
            reserve_seconds=min(MAX_RESERVE_SECONDS, RESERVED_SHARE * (deadline - now)),
            stop=stop,
            opened=opened,
            emit=emit,
            today=today,
            writes=writes,
            journal=self.journal,
            remote_tasks=self.remote_tasks,
            steps=StepJournal(self.began_with.id, self.first_of_exchange, self.began_with.timestamp, self.steps),
            passed_on=passed_on,
            inspection=inspection,
            data=inspection.begin_data(ConversationData(snapshot.conversation.data)),
        )
        return DialogueInput(
            context=context,
            services=services.dialogue,
            thread=self.thread,
            agent=self.agent,
            tracker=ConversationTracker(snapshot.conversation),
            request=self.request,
            opening=self.question,
            history=snapshot.history,
            unfinished=self.unfinished,
            transcript=Transcript(
                self.thread.id,
                self.run,
                first_ordinal=self.question.ordinal + (1 if is_from_user else 0),
                clock=services.agents.clock,
                counter=services.agents.counter,
                first_id=None if is_from_user else self.request.message_id,
            ),
            search=snapshot.search,
            answered=self.answered,
            previous_seq=previous_seq,
            client=self.client,
            client_results=client_results,
            consult=consult,
            ends_at_once_as=ends_at_once_as,
        )


@dataclass(slots=True)
class RunTimeZone:
    """The time zone whose days count in a run.

    The user's last zone is read at the beginning of a session only. After that the thread knows it, so that a turn
    costs no further request to the store.
    """

    zones: TimeZones
    scope: Scope
    thread: Thread
    requested: str | None
    """The zone in the request; None if it has none."""
    _last: str | None = None
    """The user's last zone; None if it was not read, or none is known."""

    @property
    def name(self) -> str | None:
        """The zone; None if none is known. If ``must_be_found``, it is valid only after ``find``."""
        if self.requested is not None:
            return self.requested
        return self._last if self.thread.is_new_session else self.thread.time_zone

    @property
    def must_be_found(self) -> bool:
        """True if ``name`` is valid only after ``find``."""
        return self.requested is None and self.thread.is_new_session

    async def find(self) -> None:
        """Read the user's last zone if a session begins. Raises ``StoreUnavailable``."""
        if self.thread.is_new_session:
            last = await self.zones.last(self.scope)
            self._last = last.name if last is not None else None

    async def keep(self) -> None:
        """Store a zone in the request as the user's last one, if it has changed. Raises ``StoreUnavailable``.

        ``find`` must have ended.
        """
        known = self._last if self.thread.is_new_session else self.thread.time_zone
        if self.requested is not None and self.requested != known:
            await self.zones.put(self.scope, self.requested)
