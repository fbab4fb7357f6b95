"""The use cases, built with the ports. Functions, tests and benchmarks all build them here.

``parts`` imports each class when it is first used, so that a cold start does not load use cases of other functions.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from baton.composition import parts
from baton.composition.knowledge import KnowledgeUseCases
from baton.composition.limits import LimitUseCases
from baton.composition.memory import MemoryUseCases, ProcedureUseCases
from baton.composition.privacy import PrivacyUseCases
from baton.composition.self_started import SelfStartedUseCases
from baton.composition.sessions import SessionUseCases

if TYPE_CHECKING:
    from baton.composition.ports import Ports

POLL_SECONDS = 0.5
"""Seconds between two reads of the log by a follower."""


def build(ports: Ports, *, poll_seconds: float = POLL_SECONDS) -> App:
    """Return the use cases built with ``ports``. Followers of runs read the log every ``poll_seconds``."""
    return App(ports, poll_seconds)


class App:
    """The use cases of one set of ports. Each is built once, on first use, with the ports that it needs."""

    def __init__(self, ports: Ports, poll_seconds: float) -> None:
        self.ports = ports
        self._poll_seconds = poll_seconds
        self.limits = LimitUseCases(ports)
        self.self_started = SelfStartedUseCases(
            ports, self.limits, lambda: self.agents, lambda: self.forks, lambda: self.agent_services.tools
        )
        self.knowledge = KnowledgeUseCases(ports, self.limits)
        self.privacy = PrivacyUseCases(ports)
        self.memory = MemoryUseCases(ports, self.knowledge, lambda: self.model)
        self.sessions = SessionUseCases(
            ports,
            lambda: self.agents,
            lambda: self.conversations,
            lambda: self.change_notifications,
            lambda: self.model,
        )
        self.procedures = ProcedureUseCases(ports, self.memory, self.privacy, lambda: self.agents, self.limits)

    # Use cases of the functions

    @cached_property
    def actions(self) -> parts.Actions:
        """The use case that handles WebSocket frames."""
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
            places=self.limits.places,
            waiting=self.waiting,
            removed_tenants=ports.removed_tenants,
        )

    @cached_property
    def queued_turns(self) -> parts.QueuedTurns:
        """The use case that runs turns from the queue."""
        return self._build_queued_turns(self.turns, self.ports.queue_records)

    @cached_property
    def dead_turns(self) -> parts.QueuedTurns:
        """The use case that ends turns of the dead-letter queue, whose records no other worker receives."""
        # This use case makes no titles. The next turn requests them.
        services = replace(self.turn_services, makes_titles=False)
        return self._build_queued_turns(parts.Turns(services, self.replays, self.follower), None)

    def _build_queued_turns(self, turns: parts.Turns, records: parts.QueueRecords | None) -> parts.QueuedTurns:
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
            change_notifications=self.change_notifications,
            waiting=self.waiting,
            live=ports.live,
            due_starts=self.self_started.due_starts,
            background=self.self_started.background_work,
            removed_tenants=ports.removed_tenants,
            tracer=ports.tracer,
        )

    @cached_property
    def waiting(self) -> parts.WaitingMessages:
        """The messages that wait for runs in progress."""
        ports = self.ports
        return parts.WaitingMessages(ports.store, ports.live, self.agents, ports.audit, ports.clock)

    @cached_property
    def controls(self) -> parts.Controls:
        """The use case that carries out requests of users that are not messages."""
        ports = self.ports
        return parts.Controls(ports.store, ports.live, ports.queue, self.conversations, ports.audit)

    @cached_property
    def merges(self) -> parts.Merges:
        """The use case that merges answers of forks into their parents."""
        return parts.Merges(self.turns, self.forks, self.ports.audit)

    @cached_property
    def sweeper(self) -> parts.Sweeper:
        """The use case that checks threads that are due."""
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
        """The use case that makes episodes of ended sessions."""
        return parts.ClosingEvents(self.memory.session_closing, self.procedures.session_learning, self.ports.admission)

    # Turns

    @cached_property
    def turns(self) -> parts.Turns:
        """The use case that runs turns of all callers."""
        return parts.Turns(self.turn_services, self.replays, self.follower)

    @cached_property
    def closer(self) -> parts.Closer:
        """The use case that closes threads."""
        return parts.Closer(self.turn_services, self.turns, self.sessions.endings, self.ports.audit)

    @cached_property
    def branch_selection(self) -> parts.BranchSelection:
        """The use case that selects branches of threads."""
        return parts.BranchSelection(self.turn_services, self.ports.audit)

    @cached_property
    def reruns(self) -> parts.Reruns:
        """The use case that answers turns again as dry runs."""
        return parts.Reruns(self.turn_services, self.agent_editing, self.own_agents, lambda: self.offered_models)

    @cached_property
    def desk_drafts(self) -> parts.DeskDrafts:
        """The use case that writes drafts for people of desks."""
        return parts.DeskDrafts(self.agent_services, self.ports.store, self.limits.runs, self.limits.places)

    @cached_property
    def model(self) -> parts.ChatModel:
        """The models of all calls for tenants, within their spending limits."""
        return parts.LimitedModel(self.ports.model, self.limits.spending, self.ports.counter)

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
            unread_answers=self.sessions.unread_answers,
            conversations=self.conversations,
            forks=self.forks,
            approved_procedures=self.procedures.approved,
            inspector=self.memory.inspector,
            change_notifications=self.change_notifications,
            learning=self.procedures.learning,
            lease_times=ports.lease_times,
            queue=lambda: ports.queue,
            makes_titles=ports.title_source is not parts.TitleSource.NONE,
            limits=self.limits.current,
            run_limits=self.limits.runs,
            spending_limits=self.limits.spending,
            self_starts=self.self_started.self_starts,
            later_runs=self.self_started.later_runs,
            owner_permissions=parts.OwnerPermissions(ports.store, ports.schedules, ports.background_tasks),
            place_limits=self.limits.places,
            waiting=self.waiting,
            time_zones=parts.FollowedTimeZones(
                ports.time_zones, ports.schedules, self.self_started.due_starts, ports.clock
            ),
            tracer=ports.tracer,
        )

    @cached_property
    def change_notifications(self) -> parts.ChangeNotifications:
        """The use case that queues changes of threads for push notifications and webhooks."""
        return parts.ChangeNotifications(lambda: self.ports.push_queue, lambda: self.ports.webhook_settings)

    @cached_property
    def webhook_deliveries(self) -> parts.WebhookDeliveries:
        """The use case that delivers events to webhooks."""
        ports = self.ports
        return parts.WebhookDeliveries(
            settings=lambda: ports.webhook_settings,
            events=parts.ThreadEvents(ports.store, ports.episodes),
            store=ports.store,
            queue=lambda: ports.push_queue,
            receivers=ports.webhook_receivers,
            signer=ports.webhook_signer,
            dead=ports.dead_deliveries,
            audit=ports.audit,
            clock=ports.clock,
        )

    @cached_property
    def agent_services(self) -> parts.AgentServices:
        """The services that a running agent uses."""
        ports = self.ports
        return parts.AgentServices(
            registry=self.agents,
            model=self.model,
            default_model=ports.default_model,
            light_model=ports.light_model,
            memory=self.memory.agent_memory,
            tools=parts.ToolsWithBackground(
                parts.ToolsWithSchedules(ports.tools, lambda: self.self_started.schedule_making, ports.clock),
                lambda: self.self_started.background_work,
            ),
            agent_client=ports.agent_client,
            records=ports.records,
            files=ports.files,
            counter=ports.counter,
            audit=ports.audit,
            clock=ports.clock,
            background=lambda: self.self_started.background_work,
            budgets=parts.ContextBudgets(ports.find_context_limit),
            functions=ports.functions,
        )

    @cached_property
    def model_checks(self) -> parts.ModelChecks:
        """The use case that checks the abilities of the deployment's models."""
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
        """The use case that takes people's decisions on interrupts."""
        return parts.Approvals(self.ports.store, self.ports.audit)

    # Agents, handoffs and events

    @cached_property
    def agents(self) -> parts.AgentRegistry:
        """The agents of each tenant, for users who may talk to them."""
        return parts.AgentRegistry(self.ports.shipped_agents, self.own_agents)

    @cached_property
    def evaluations(self) -> parts.Evaluations:
        """The use case that takes, lists and removes published evaluations."""
        ports = self.ports
        return parts.Evaluations(ports.evaluations, self.privacy.readers, ports.audit, ports.clock)

    @cached_property
    def own_agents(self) -> parts.OwnAgents:
        """The use case that keeps copies of tenants' own agents."""
        return parts.OwnAgents(self.ports.agent_definitions, self.ports.clock, lambda: self.offered_models)

    @cached_property
    def agent_editing(self) -> parts.AgentEditing:
        """The use case that changes tenants' own agents."""
        ports = self.ports
        return parts.AgentEditing(
            ports.shipped_agents,
            ports.agent_definitions,
            self.own_agents,
            ports.audit,
            ports.clock,
            lambda: self.offered_models,
            parts.AgentBelongings(ports.documents, ports.sources, ports.procedures),
            self.limits.current,
            parts.EvaluationGate(ports.evaluations, self.limits.current),
        )

    @cached_property
    def agent_rollouts(self) -> parts.AgentRollouts:
        """The use case that shares, promotes and withdraws candidates of tenants' own agents."""
        return parts.AgentRollouts(self.agent_editing)

    @property
    def offered_models(self) -> parts.OfferedModels:
        """The models that tenants' own agents may use now: models of the deployment's agents, and offered models."""
        ports = self.ports
        choices = [agent.model for agent in ports.shipped_agents.all()]
        named = [name for choice in choices for name in (choice.name, *choice.fallback) if name is not None]
        return parts.OfferedModels.of((ports.default_model, ports.light_model, *named), ports.model_providers)

    @cached_property
    def conversations(self) -> parts.ConversationStates:
        """The use case that loads and stores the conversation states of threads."""
        ports = self.ports
        return parts.ConversationStates(
            ports.handoffs,
            ports.workflows,
            ports.desk_places,
            self.procedures.skill_making,
            self.agents,
            ports.audit,
            ports.clock,
        )

    @cached_property
    def desk_access(self) -> parts.DeskAccess:
        """The use case that finds conversations at desks for the people of the desks."""
        ports = self.ports
        return parts.DeskAccess(
            ports.store, ports.desk_places, ports.handoffs, ports.episodes, self.agents, ports.audit
        )

    @cached_property
    def forks(self) -> parts.Forks:
        """The use case that creates, reads and extends forks of threads."""
        ports = self.ports
        return parts.Forks(ports.store, self.agents, ports.audit, ports.counter, ports.clock)

    @cached_property
    def sandboxes(self) -> parts.Sandboxes:
        """The use case that copies threads for readers, who continue the copies without changing the threads."""
        ports = self.ports
        return parts.Sandboxes(ports.store, self.agents, self.forks, self.privacy.readers, ports.audit, ports.clock)

    @cached_property
    def replays(self) -> parts.Replays:
        """The use case that rebuilds events that clients have missed."""
        return parts.Replays(self.ports.store, self.ports.log, self.ports.clock)

    @cached_property
    def follower(self) -> parts.Follower:
        """The use case that follows runs that other workers carry out."""
        return parts.Follower(
            self.ports.store,
            self.ports.live,
            self.replays,
            poll_seconds=self._poll_seconds,
            times=self.ports.lease_times,
        )
