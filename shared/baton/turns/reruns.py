"""Dry runs, which answer a turn again with current memory, and store, send and execute nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from baton.agents.run_facts import RunFacts, TurnCall
from baton.concurrency.tasks import gather_all
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.model_providers import OfferedModels
from baton.domain.errors import ModelNotOffered, RerunUnavailable, UnknownAgent, UnknownAgentVersion
from baton.domain.runs.tool_call import ToolCallRecord, is_shown
from baton.domain.runs.usage import ModelUsage, Usage
from baton.domain.tenants.activity import CounterKind
from baton.domain.tenants.identity import Scope, ThreadRef
from baton.domain.threads.message import Role
from baton.domain.threads.run_end import OutcomeType
from baton.domain.threads.running_conversation import RunningConversation
from baton.domain.threads.thread import Run
from baton.domain.threads.turn_requests import MessageRequest
from baton.domain.times import Today
from baton.memory.inspection.inspection import Inspection
from baton.ports.threads.leases import Lease
from baton.tenants.registry.agent_editing import AgentEditing
from baton.tenants.registry.own_agents import OwnAgents
from baton.tenants.registry.registered_agents import RegisteredAgents
from baton.threads.outbox.outbox import discard
from baton.turns.attempts import CLOCK_SKEW, ThreadSnapshot, begin_attempt, read_history_before, search_memory
from baton.turns.dialogue.dialogue import Dialogue
from baton.turns.dialogue.dialogue_result import DialogueResult
from baton.turns.dry_run_ports import PastMemory, RecordedCalls, RecordedConsultations, UnstoredRecords, make_read_only
from baton.turns.past_turns import PastTurn, PastTurns, remove_turns
from baton.turns.turn_services import TurnServices

MAX_SECONDS = 240.0
"""The longest dry run. Its answer is one body, and a gateway ends a connection that is silent for five minutes."""


@dataclass(frozen=True, slots=True)
class RerunOptions:
    """Changes to apply to the rerun."""

    model: str | None = None
    """The model of the agents that answer; None: their own."""
    agent_version: int | None = None
    """The version of ``agent_id``; None: the current one."""
    without: Collection[str] = field(default_factory=frozenset)
    """Ids of items that are left out of the prompt."""
    agent_id: str | None = None
    """The agent whose version takes part; None: the agent that was active."""


@dataclass(frozen=True, slots=True)
class DryCall:
    """A call that a model of a dry run has made."""

    agent_id: str
    tool_name: str
    input: object
    outcome: str
    """``recorded``: the turn's own result answered it; ``not_executed``; ``wanted``: a handoff or another move of the
    conversation, which was not stored; ``waiting``: a person or the user's application would have to act."""
    output: str | None
    """The result that the model got."""

    @property
    def is_recorded(self) -> bool:
        """True if the turn's own result answered it."""
        return self.outcome == "recorded"


@dataclass(frozen=True, slots=True)
class DryRun:
    """The result of a dry run."""

    answer: str
    inspection: Inspection
    calls: Sequence[DryCall]
    usage: Usage
    model: str | None
    """The model of the agent that spoke last; None if no model spoke."""
    agent_id: str | None
    """The agent that spoke last; None if the last message is Baton's own, or no agent spoke."""
    agent_version: int | None
    """The version of the agent that was active; None: it ships with the deployment."""
    agent_versions: Mapping[str, int]
    """The versions of the tenant's agents that took part, by the agent's id."""
    outcome: OutcomeType
    duration: timedelta


class Reruns:
    """Reruns of turns. They use the same dialogue as turns, with ports that store nothing."""

    def __init__(
        self,
        services: TurnServices,
        editing: AgentEditing,
        own_agents: OwnAgents,
        offered_models: Callable[[], OfferedModels],
    ) -> None:
        self._services = services
        self._editing = editing
        self._own_agents = own_agents
        self._offered_models = offered_models
        self.turns = PastTurns(services.store, services.conversations)

    async def run(self, caller: Scope, turn: PastTurn, options: RerunOptions) -> DryRun:
        """Answer the turn's message again, as its user would be answered now.

        The dry run counts in the caller's rates as a message does. Raises ``ModelNotOffered``, ``UnknownAgentVersion``,
        ``RerunUnavailable``, ``RateLimited``, and the error that the answer ends with: ``ModelError``, ``TurnTimeout``
        or another one.
        """
        services, thread = self._services, turn.thread
        permissions = frozenset(turn.record.permissions) if turn.record is not None else frozenset()
        scope = Scope(caller.tenant_id, thread.user_id, permissions)
        if options.model is not None and options.model not in (offered_models := self._offered_models()):
            raise ModelNotOffered(f"This deployment offers: {offered_models}.")
        agents = await self._choose_agents(caller, turn, options)
        conversation = await self.turns.read_conversation(scope, turn, agents.get_main(thread), agents.describe)
        recorded_calls = RecordedCalls(
            await services.agents.records.calls_of_run(
                scope, thread.id, turn.question.run_id, first_ordinal=turn.question.ordinal
            )
        )
        name = f"rerun#{services.agents.clock.new_id()}"
        async with services.place_limits.hold(caller, CounterKind.WAITS, name, seconds=MAX_SECONDS):
            await services.run_limits.admit(caller)
            attempt = _DryAttempt(services, scope, turn, agents, conversation, recorded_calls, options.without)
            try:
                return await attempt.answer()
            finally:
                await services.run_limits.spend(caller, attempt.tokens)

    async def _choose_agents(self, caller: Scope, turn: PastTurn, options: RerunOptions) -> RegisteredAgents:
        """Return the current agents, with the requested model and version.

        Raises ``UnknownAgentVersion``, and ``RerunUnavailable`` if the agent no longer exists.
        """
        agents = await self._services.agents.registry.read_current(caller)
        changed_id = options.agent_id if options.agent_id is not None else turn.thread.active_agent_id
        chosen_version = (
            await self._find_version(caller, changed_id, options.agent_version)
            if options.agent_version is not None
            else None
        )

        def change(agent: AgentDefinition) -> AgentDefinition:
            if chosen_version is not None and agent.id == changed_id:
                agent = chosen_version
            if options.model is None or agent.remote is not None:
                return agent
            model = agent.model.model_copy(update={"name": options.model, "fallback": ()})
            return agent.model_copy(update={"model": model})

        if chosen_version is not None and agents.describe(changed_id) is None:
            raise RerunUnavailable(f"The agent {changed_id} no longer exists.")
        return agents.with_change(change)

    async def _find_version(self, caller: Scope, agent_id: str, number: int) -> AgentDefinition:
        """Return a version of an agent of the tenant. Raises ``UnknownAgentVersion``."""
        try:
            _, version = await self._editing.read_version(caller, agent_id, number)
        except UnknownAgent:
            raise UnknownAgentVersion("There is no such agent of the tenant, or you may not use it.") from None
        definition = self._own_agents.parse_usable(caller.tenant_id, version) if version.values is not None else None
        if definition is None:
            raise UnknownAgentVersion("This version deletes the agent, or the present rules do not allow it.")
        return definition


class _DryAttempt:
    """One dry run."""

    def __init__(
        self,
        services: TurnServices,
        scope: Scope,
        turn: PastTurn,
        agents: RegisteredAgents,
        conversation: RunningConversation,
        recorded: RecordedCalls,
        without: Collection[str],
    ) -> None:
        thread, question, agent_services = turn.thread, turn.question, services.agents
        self._records = UnstoredRecords()
        self._recorded = recorded
        self._without = frozenset(without)
        memory = PastMemory(
            agent_services.memory.recall, agent_services.memory.counter, self._without, thread.id, question.timestamp
        )
        self._services = replace(services, agents=make_read_only(agent_services, memory, recorded, self._records))
        client = turn.record.client if turn.record is not None else None
        ref = ThreadRef(thread.id, may_create=False)
        request = MessageRequest(
            ref, question.id, question.run_id, question.content, client=client, begun_by=question.begun_by
        )
        # Procedures that were changed a moment ago count.
        taught_at = agent_services.clock.now() - CLOCK_SKEW
        thread = replace(thread, conversation=replace(thread.conversation, taught_at=taught_at))
        self._conversation = replace(conversation, thread=thread)
        self._began_at = asyncio.get_running_loop().time()
        self._facts = RunFacts(
            call=TurnCall(scope, request, discard, self._began_at + MAX_SECONDS),
            thread=thread,
            run=Run(question.run_id, question.id, attempt=1),
            agents=agents,
            agent=conversation.agent,
            question=question,
            client=client,
        )
        self._spent: list[ModelUsage] = []

    @property
    def tokens(self) -> int:
        """The tokens that models have used so far."""
        return sum(spent.usage.total_tokens for spent in self._spent)

    async def answer(self) -> DryRun:
        """Let the agents answer. Raises the error that the answer ends with."""
        services, facts = self._services, self._facts
        history, search = await gather_all(read_history_before(services, facts), search_memory(services, facts))
        history = replace(history, messages=remove_turns(history.messages, self._without))
        attempt = begin_attempt(
            facts,
            services.agents,
            ThreadSnapshot(history, self._conversation, search),
            lease=self._make_lease,
            ensure_lease=_ensure_no_lease,
            emit=lambda event: None,
            # Memory is current, so the date is too.
            today=Today.at(services.agents.clock.now(), facts.question.time_zone or facts.thread.time_zone),
        )
        attempt.opened.set()
        attempt.writes.begin()
        self._spent = attempt.spent
        dialogue = Dialogue(attempt, services.dialogue, consult=RecordedConsultations(self._recorded).ask)
        try:
            await dialogue.run()
            await attempt.writes.finish()
        finally:
            await attempt.writes.stop()
        versions = dict(attempt.versions)  # the result adds agents that only might have spoken
        result = dialogue.finish()
        if result.error is not None:
            raise result.error
        duration = timedelta(seconds=asyncio.get_running_loop().time() - self._began_at)
        return self._to_dry_run(result, attempt.inspection, duration, versions)

    def _to_dry_run(
        self, result: DialogueResult, inspection: Inspection, duration: timedelta, versions: Mapping[str, int]
    ) -> DryRun:
        texts = [message.text for message in result.messages if message.role is Role.ASSISTANT and message.text]
        speaker = result.agent or self._conversation.agent
        waiting_calls = [
            DryCall(speaker.id, call.name, call.parse_arguments() or call.arguments, "waiting", None)
            for call in result.waiting
        ]
        return DryRun(
            answer="\n\n".join(texts),
            inspection=inspection,
            calls=[*map(self._to_dry_call, self._records.calls), *waiting_calls],
            usage=result.usage,
            model=result.model,
            agent_id=result.agent.id if result.agent is not None else None,
            agent_version=self._conversation.agent.version,
            agent_versions=versions,
            outcome=result.outcome,
            duration=duration,
        )

    def _to_dry_call(self, record: ToolCallRecord) -> DryCall:
        outcome = "recorded" if self._recorded.has_answered(record.id) else "not_executed"
        if not is_shown(record.tool_name):
            outcome = "wanted"
        output = record.output if record.succeeded else record.error_message
        return DryCall(record.agent_id, record.tool_name, record.input, outcome, output)

    def _make_lease(self) -> Lease:
        """Return a lease that permits no write: no store issues the fence 0."""
        return Lease(
            self._facts.scope,
            self._facts.thread,
            owner="",
            fence=0,
            until=self._services.agents.clock.now(),
            first_seq=0,
            end_seq=0,
        )


async def _ensure_no_lease() -> None:
    """Do nothing: a dry run acts on nothing that a lease protects."""
