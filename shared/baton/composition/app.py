"""The use cases, built from the ports. Functions, tests and benchmarks all build them here.

The methods contain their imports, because a cold start must not wait for the modules of another function's use cases.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from baton.composition.knowledge import KnowledgeUseCases
from baton.composition.memory import MemoryUseCases
from baton.composition.privacy import PrivacyUseCases
from baton.composition.procedures import ProcedureUseCases
from baton.composition.sessions import SessionUseCases

if TYPE_CHECKING:
    from baton.agents.approvals import Approvals
    from baton.agents.attempt_context import AgentServices
    from baton.agents.checks.model_checks import ModelChecks
    from baton.composition.ports import Ports
    from baton.domain.agents.model_providers import OfferedModels
    from baton.entry.actions import Actions
    from baton.entry.controls import Controls
    from baton.entry.jobs.closing_events import ClosingEvents
    from baton.entry.jobs.sweep import Sweeper
    from baton.entry.queued_turns import QueuedTurns
    from baton.ports.threads.turn_queue import QueueRecords
    from baton.tenants.evaluations import Evaluations
    from baton.tenants.rates import PlaceLimits, RunLimits
    from baton.tenants.registry.agent_editing import AgentEditing
    from baton.tenants.registry.agent_registry import AgentRegistry
    from baton.tenants.registry.own_agents import OwnAgents
    from baton.tenants.tenant_copies import CurrentLimits
    from baton.threads.handoffs.conversation_states import ConversationStates
    from baton.threads.handoffs.forks import Forks
    from baton.threads.handoffs.sandboxes import Sandboxes
    from baton.threads.outbox.follow import Follower
    from baton.threads.outbox.replay import Replays
    from baton.threads.outbox.task_notifications import TaskNotifications
    from baton.turns.branch_selection import BranchSelection
    from baton.turns.closing import Closer
    from baton.turns.merges import Merges
    from baton.turns.reruns import Reruns
    from baton.turns.turn_services import TurnServices
    from baton.turns.turns import Turns

POLL_SECONDS = 0.5
"""Seconds between two looks of a follower into the log."""


def build(ports: Ports, *, poll_seconds: float = POLL_SECONDS) -> App:
    """Return the use cases built from ``ports``. A follower of a run polls the log every ``poll_seconds``."""
    return App(ports, poll_seconds)


class App:
    """The use cases over one set of ports. Each is built once, on first use, with the ports that it needs."""

    def __init__(self, ports: Ports, poll_seconds: float) -> None:
        self.ports = ports
        self._poll_seconds = poll_seconds
        self.knowledge = KnowledgeUseCases(ports, lambda: self.current_limits)
        self.privacy = PrivacyUseCases(ports)
        self.memory = MemoryUseCases(ports, self.knowledge)
        self.sessions = SessionUseCases(
            ports, lambda: self.agents, lambda: self.conversations, lambda: self.task_notifications
        )
        self.procedures = ProcedureUseCases(
            ports, self.memory, self.privacy, lambda: self.agents, lambda: self.current_limits
        )

    # Use cases of the functions

    @cached_property
    def actions(self) -> Actions:
        """Handles WebSocket frames."""
        from baton.entry.actions import Actions

        ports = self.ports
        return Actions(
            store=ports.store,
            queue=ports.queue,
            live=ports.live,
            connections=ports.connections,
            controls=self.controls,
            approvals=self.approvals,
            replays=self.replays,
            agents=self.agents,
            audit=ports.audit,
            readers=self.privacy.readers,
            clock=ports.clock,
            places=self.place_limits,
        )

    @cached_property
    def queued_turns(self) -> QueuedTurns:
        """Runs turns from the queue."""
        return self._queued_turns(self.turns, self.ports.queue_records)

    @cached_property
    def dead_turns(self) -> QueuedTurns:
        """Ends turns of the dead-letter queue. No other worker receives their records."""
        from baton.turns.turns import Turns

        # It has no queue for titles: the next turn asks for them.
        services = replace(self.turn_services, makes_titles=False)
        return self._queued_turns(Turns(services, self.replays, self.follower), None)

    def _queued_turns(self, turns: Turns, records: QueueRecords | None) -> QueuedTurns:
        from baton.entry.queued_turns import QueuedTurns

        ports = self.ports
        return QueuedTurns(
            turns=turns,
            closer=self.closer,
            summaries=self.memory.history_summaries,
            made_titles=self.sessions.made_titles,
            connections=ports.connections,
            records=records,
            clock=ports.clock,
            forgotten=ports.forget_requests,
            a2a_tasks=ports.a2a_tasks,
            task_notifications=self.task_notifications,
            tracer=ports.tracer,
        )

    @cached_property
    def controls(self) -> Controls:
        """Carries out users' requests other than messages."""
        from baton.entry.controls import Controls

        ports = self.ports
        return Controls(ports.store, ports.live, ports.queue, self.conversations, ports.audit)

    @cached_property
    def merges(self) -> Merges:
        """Merges answers of forks into their parents."""
        from baton.turns.merges import Merges

        return Merges(self.turns, self.forks, self.ports.audit)

    @cached_property
    def sweeper(self) -> Sweeper:
        """Checks threads that are due."""
        from baton.entry.jobs.sweep import Sweeper

        ports = self.ports
        return Sweeper(
            ports.idle,
            ports.store,
            self.sessions.endings,
            self.controls,
            ports.episodes,
            self.sessions.sessions,
            ports.clock,
        )

    @cached_property
    def closing_events(self) -> ClosingEvents:
        """Makes episodes of ended sessions."""
        from baton.entry.jobs.closing_events import ClosingEvents

        return ClosingEvents(self.memory.session_closing, self.procedures.session_learning, self.ports.admission)

    # Turns

    @cached_property
    def turns(self) -> Turns:
        """Runs turns of all callers."""
        from baton.turns.turns import Turns

        return Turns(self.turn_services, self.replays, self.follower)

    @cached_property
    def closer(self) -> Closer:
        """Closes threads."""
        from baton.turns.closing import Closer

        return Closer(self.turn_services, self.turns, self.sessions.endings, self.ports.audit)

    @cached_property
    def branch_selection(self) -> BranchSelection:
        """Selects branches of threads."""
        from baton.turns.branch_selection import BranchSelection

        return BranchSelection(self.turn_services, self.ports.audit)

    @cached_property
    def reruns(self) -> Reruns:
        """Answers turns again as dry runs."""
        from baton.turns.reruns import Reruns

        return Reruns(self.turn_services, self.agent_editing, self.own_agents, lambda: self.offered_models)

    @cached_property
    def current_limits(self) -> CurrentLimits:
        """The current limits of tenants."""
        from baton.tenants.tenant_copies import CurrentLimits

        ports = self.ports
        return CurrentLimits(ports.tenant_limits, lambda: ports.deployment_limits, ports.clock)

    @cached_property
    def run_limits(self) -> RunLimits:
        """Limits runs, messages and tokens."""
        from baton.tenants.rates import RunLimits

        return RunLimits(self.ports.activity, self.current_limits, self.ports.clock)

    @cached_property
    def place_limits(self) -> PlaceLimits:
        """Limits connections, streams and requests that wait."""
        from baton.tenants.rates import PlaceLimits

        return PlaceLimits(self.ports.activity, self.current_limits, self.ports.clock)

    @cached_property
    def turn_services(self) -> TurnServices:
        """The services that a turn uses."""
        from baton.domain.threads.thread_title import TitleSource
        from baton.turns.turn_services import TurnServices

        ports = self.ports
        return TurnServices(
            agents=self.agent_services,
            store=ports.store,
            log=ports.log,
            live=ports.live,
            connections=ports.connections,
            sessions=self.sessions.sessions,
            conversations=self.conversations,
            forks=self.forks,
            approved_procedures=self.procedures.approved,
            inspector=self.memory.inspector,
            task_notifications=self.task_notifications,
            learning=self.procedures.learning,
            lease_times=ports.lease_times,
            queue=lambda: ports.queue,
            makes_titles=ports.title_source is not TitleSource.NONE,
            limits=self.current_limits,
            run_limits=self.run_limits,
            place_limits=self.place_limits,
            time_zones=ports.time_zones,
            tracer=ports.tracer,
        )

    @cached_property
    def task_notifications(self) -> TaskNotifications:
        """Queues push notifications of A2A tasks."""
        from baton.threads.outbox.task_notifications import TaskNotifications

        return TaskNotifications(lambda: self.ports.push_queue)

    @cached_property
    def agent_services(self) -> AgentServices:
        """The services that a running agent uses."""
        from baton.agents.attempt_context import AgentServices
        from baton.agents.context_budgets import ContextBudgets

        ports = self.ports
        return AgentServices(
            registry=self.agents,
            model=ports.model,
            default_model=ports.default_model,
            light_model=ports.light_model,
            memory=self.memory.agent_memory,
            tools=ports.tools,
            agent_client=ports.agent_client,
            records=ports.records,
            files=ports.files,
            counter=ports.counter,
            audit=ports.audit,
            clock=ports.clock,
            budgets=ContextBudgets(ports.context_tokens),
            functions=ports.functions,
        )

    @cached_property
    def model_checks(self) -> ModelChecks:
        """Checks the abilities of the deployment's models."""
        from baton.agents.checks.model_checks import ModelChecks

        ports = self.ports
        return ModelChecks(
            model=ports.model,
            embedder=lambda: ports.embedder,
            shipped_agents=ports.shipped_agents,
            providers=lambda: ports.model_providers,
            default_model=ports.default_model,
            light_model=ports.light_model,
        )

    @cached_property
    def approvals(self) -> Approvals:
        """Takes people's answers to interrupts."""
        from baton.agents.approvals import Approvals

        return Approvals(self.ports.store, self.ports.audit)

    # Agents, handoffs and events

    @cached_property
    def agents(self) -> AgentRegistry:
        """The agents of each tenant, for users who may talk to them."""
        from baton.tenants.registry.agent_registry import AgentRegistry

        return AgentRegistry(self.ports.shipped_agents, self.own_agents)

    @cached_property
    def evaluations(self) -> Evaluations:
        """Takes, lists and removes published evaluations."""
        from baton.tenants.evaluations import Evaluations

        ports = self.ports
        return Evaluations(ports.evaluations, self.privacy.readers, ports.audit, ports.clock)

    @cached_property
    def own_agents(self) -> OwnAgents:
        """Keeps copies of tenants' own agents."""
        from baton.tenants.registry.own_agents import OwnAgents

        return OwnAgents(self.ports.agent_definitions, self.ports.clock, lambda: self.offered_models)

    @cached_property
    def agent_editing(self) -> AgentEditing:
        """Changes tenants' own agents."""
        from baton.tenants.registry.agent_belongings import AgentBelongings
        from baton.tenants.registry.agent_editing import AgentEditing

        ports = self.ports
        return AgentEditing(
            ports.shipped_agents,
            ports.agent_definitions,
            self.own_agents,
            ports.audit,
            ports.clock,
            lambda: self.offered_models,
            AgentBelongings(ports.documents, ports.sources, ports.procedures),
            self.current_limits,
        )

    @property
    def offered_models(self) -> OfferedModels:
        """The models that tenants' own agents may name now: the deployment's own, and those it offers."""
        from baton.domain.agents.model_providers import OfferedModels

        ports = self.ports
        choices = [agent.model for agent in ports.shipped_agents.all()]
        named = [name for choice in choices for name in (choice.name, *choice.fallback) if name is not None]
        return OfferedModels.of((ports.default_model, ports.light_model, *named), ports.model_providers)

    @cached_property
    def conversations(self) -> ConversationStates:
        """Loads and stores the conversation states of threads."""
        from baton.threads.handoffs.conversation_states import ConversationStates

        ports = self.ports
        return ConversationStates(
            ports.handoffs, ports.workflows, self.procedures.skill_making, self.agents, ports.audit, ports.clock
        )

    @cached_property
    def forks(self) -> Forks:
        """Creates, reads and extends forks of threads."""
        from baton.threads.handoffs.forks import Forks

        ports = self.ports
        return Forks(ports.store, self.agents, ports.audit, ports.counter, ports.clock)

    @cached_property
    def sandboxes(self) -> Sandboxes:
        """Copies threads for readers who continue them without changing them."""
        from baton.threads.handoffs.sandboxes import Sandboxes

        ports = self.ports
        return Sandboxes(ports.store, self.agents, self.forks, self.privacy.readers, ports.audit, ports.clock)

    @cached_property
    def replays(self) -> Replays:
        """Rebuilds events that clients have missed."""
        from baton.threads.outbox.replay import Replays

        return Replays(self.ports.store, self.ports.log, self.ports.clock)

    @cached_property
    def follower(self) -> Follower:
        """Follows runs that other workers carry out."""
        from baton.threads.outbox.follow import Follower

        return Follower(
            self.ports.store,
            self.ports.live,
            self.replays,
            poll_seconds=self._poll_seconds,
            times=self.ports.lease_times,
        )
