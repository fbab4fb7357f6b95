"""The use cases, built from the ports. Functions, tests and benchmarks all build them here.

``parts`` imports their classes one by one, because a cold start must not wait for another function's use cases.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from baton.composition import parts
from baton.composition.knowledge import KnowledgeUseCases
from baton.composition.memory import MemoryUseCases, ProcedureUseCases
from baton.composition.privacy import PrivacyUseCases
from baton.composition.sessions import SessionUseCases

if TYPE_CHECKING:
    from baton.composition.ports import Ports

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
    def actions(self) -> parts.Actions:
        """Handles WebSocket frames."""
        ports = self.ports
        return parts.Actions(
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
    def queued_turns(self) -> parts.QueuedTurns:
        """Runs turns from the queue."""
        return self._queued_turns(self.turns, self.ports.queue_records)

    @cached_property
    def dead_turns(self) -> parts.QueuedTurns:
        """Ends turns of the dead-letter queue. No other worker receives their records."""
        # It has no queue for titles: the next turn asks for them.
        services = replace(self.turn_services, makes_titles=False)
        return self._queued_turns(parts.Turns(services, self.replays, self.follower), None)

    def _queued_turns(self, turns: parts.Turns, records: parts.QueueRecords | None) -> parts.QueuedTurns:
        ports = self.ports
        return parts.QueuedTurns(
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
    def controls(self) -> parts.Controls:
        """Carries out users' requests other than messages."""
        ports = self.ports
        return parts.Controls(ports.store, ports.live, ports.queue, self.conversations, ports.audit)

    @cached_property
    def merges(self) -> parts.Merges:
        """Merges answers of forks into their parents."""
        return parts.Merges(self.turns, self.forks, self.ports.audit)

    @cached_property
    def sweeper(self) -> parts.Sweeper:
        """Checks threads that are due."""
        ports = self.ports
        return parts.Sweeper(
            ports.idle,
            ports.store,
            self.sessions.endings,
            self.controls,
            ports.episodes,
            self.sessions.sessions,
            ports.clock,
        )

    @cached_property
    def closing_events(self) -> parts.ClosingEvents:
        """Makes episodes of ended sessions."""
        return parts.ClosingEvents(self.memory.session_closing, self.procedures.session_learning, self.ports.admission)

    # Turns

    @cached_property
    def turns(self) -> parts.Turns:
        """Runs turns of all callers."""
        return parts.Turns(self.turn_services, self.replays, self.follower)

    @cached_property
    def closer(self) -> parts.Closer:
        """Closes threads."""
        return parts.Closer(self.turn_services, self.turns, self.sessions.endings, self.ports.audit)

    @cached_property
    def branch_selection(self) -> parts.BranchSelection:
        """Selects branches of threads."""
        return parts.BranchSelection(self.turn_services, self.ports.audit)

    @cached_property
    def reruns(self) -> parts.Reruns:
        """Answers turns again as dry runs."""
        return parts.Reruns(self.turn_services, self.agent_editing, self.own_agents, lambda: self.offered_models)

    @cached_property
    def current_limits(self) -> parts.CurrentLimits:
        """The current limits of tenants."""
        ports = self.ports
        return parts.CurrentLimits(ports.tenant_limits, lambda: ports.deployment_limits, ports.clock)

    @cached_property
    def run_limits(self) -> parts.RunLimits:
        """Limits runs, messages and tokens."""
        return parts.RunLimits(self.ports.activity, self.current_limits, self.ports.clock)

    @cached_property
    def place_limits(self) -> parts.PlaceLimits:
        """Limits connections, streams and requests that wait."""
        return parts.PlaceLimits(self.ports.activity, self.current_limits, self.ports.clock)

    @cached_property
    def turn_services(self) -> parts.TurnServices:
        """The services that a turn uses."""
        ports = self.ports
        return parts.TurnServices(
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
            makes_titles=ports.title_source is not parts.TitleSource.NONE,
            limits=self.current_limits,
            run_limits=self.run_limits,
            place_limits=self.place_limits,
            time_zones=ports.time_zones,
            tracer=ports.tracer,
        )

    @cached_property
    def task_notifications(self) -> parts.TaskNotifications:
        """Queues push notifications of A2A tasks."""
        return parts.TaskNotifications(lambda: self.ports.push_queue)

    @cached_property
    def agent_services(self) -> parts.AgentServices:
        """The services that a running agent uses."""
        ports = self.ports
        return parts.AgentServices(
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
            budgets=parts.ContextBudgets(ports.context_tokens),
            functions=ports.functions,
        )

    @cached_property
    def model_checks(self) -> parts.ModelChecks:
        """Checks the abilities of the deployment's models."""
        ports = self.ports
        return parts.ModelChecks(
            model=ports.model,
            embedder=lambda: ports.embedder,
            shipped_agents=ports.shipped_agents,
            providers=lambda: ports.model_providers,
            default_model=ports.default_model,
            light_model=ports.light_model,
        )

    @cached_property
    def approvals(self) -> parts.Approvals:
        """Takes people's answers to interrupts."""
        return parts.Approvals(self.ports.store, self.ports.audit)

    # Agents, handoffs and events

    @cached_property
    def agents(self) -> parts.AgentRegistry:
        """The agents of each tenant, for users who may talk to them."""
        return parts.AgentRegistry(self.ports.shipped_agents, self.own_agents)

    @cached_property
    def evaluations(self) -> parts.Evaluations:
        """Takes, lists and removes published evaluations."""
        ports = self.ports
        return parts.Evaluations(ports.evaluations, self.privacy.readers, ports.audit, ports.clock)

    @cached_property
    def own_agents(self) -> parts.OwnAgents:
        """Keeps copies of tenants' own agents."""
        return parts.OwnAgents(self.ports.agent_definitions, self.ports.clock, lambda: self.offered_models)

    @cached_property
    def agent_editing(self) -> parts.AgentEditing:
        """Changes tenants' own agents."""
        ports = self.ports
        return parts.AgentEditing(
            ports.shipped_agents,
            ports.agent_definitions,
            self.own_agents,
            ports.audit,
            ports.clock,
            lambda: self.offered_models,
            parts.AgentBelongings(ports.documents, ports.sources, ports.procedures),
            self.current_limits,
        )

    @property
    def offered_models(self) -> parts.OfferedModels:
        """The models that tenants' own agents may name now: the deployment's own, and those it offers."""
        ports = self.ports
        choices = [agent.model for agent in ports.shipped_agents.all()]
        named = [name for choice in choices for name in (choice.name, *choice.fallback) if name is not None]
        return parts.OfferedModels.of((ports.default_model, ports.light_model, *named), ports.model_providers)

    @cached_property
    def conversations(self) -> parts.ConversationStates:
        """Loads and stores the conversation states of threads."""
        ports = self.ports
        return parts.ConversationStates(
            ports.handoffs, ports.workflows, self.procedures.skill_making, self.agents, ports.audit, ports.clock
        )

    @cached_property
    def forks(self) -> parts.Forks:
        """Creates, reads and extends forks of threads."""
        ports = self.ports
        return parts.Forks(ports.store, self.agents, ports.audit, ports.counter, ports.clock)

    @cached_property
    def sandboxes(self) -> parts.Sandboxes:
        """Copies threads for readers who continue them without changing them."""
        ports = self.ports
        return parts.Sandboxes(ports.store, self.agents, self.forks, self.privacy.readers, ports.audit, ports.clock)

    @cached_property
    def replays(self) -> parts.Replays:
        """Rebuilds events that clients have missed."""
        return parts.Replays(self.ports.store, self.ports.log, self.ports.clock)

    @cached_property
    def follower(self) -> parts.Follower:
        """Follows runs that other workers carry out."""
        return parts.Follower(
            self.ports.store,
            self.ports.live,
            self.replays,
            poll_seconds=self._poll_seconds,
            times=self.ports.lease_times,
        )
