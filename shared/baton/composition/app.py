"""The use cases, built from the ports. Functions, tests and benchmarks all build them here.

The methods contain their imports, because a cold start must not wait for the modules of another function's use cases.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from baton.outbox.follow import POLL_SECONDS, Follower

if TYPE_CHECKING:
    from baton.agents.agent_services import AgentServices
    from baton.agents.approvals import Approvals
    from baton.catalog.agent_editing import AgentEditing
    from baton.catalog.own_agents import OwnAgents
    from baton.composition.ports import Ports
    from baton.entry.actions import Actions
    from baton.entry.controls import Controls
    from baton.entry.forget_requests import ForgetCalls
    from baton.entry.ingestion_events import IngestionEvents
    from baton.entry.merges import Merges
    from baton.entry.queued_turns import QueuedTurns
    from baton.entry.sweep import Sweeper
    from baton.handoffs.agent_registry import AgentRegistry
    from baton.handoffs.conversation_states import ConversationStates
    from baton.handoffs.forks import Forks
    from baton.handoffs.sandboxes import Sandboxes
    from baton.knowledge.cleaning import Cleaning
    from baton.knowledge.document_records import DocumentRecords
    from baton.knowledge.documents import Documents
    from baton.knowledge.ingestion import Ingestion
    from baton.knowledge.ingestion_starts import IngestionStarts
    from baton.knowledge.knowledge_search import KnowledgeSearch
    from baton.knowledge.source_refresh import SourceRefreshes
    from baton.knowledge.sources import Sources
    from baton.limits.current_limits import CurrentLimits
    from baton.memory.episodes.episode_index import EpisodeIndex
    from baton.memory.episodes.episode_messages import EpisodeMessages
    from baton.memory.episodes.episode_search import EpisodeSearch
    from baton.memory.episodes.session_closing import SessionClosing
    from baton.memory.inspection.inspector import Inspector
    from baton.memory.prompt.history_summary import HistorySummaries
    from baton.memory.recall.recall import Recall
    from baton.outbox.replay import Replays
    from baton.outbox.task_news import TaskNews
    from baton.privacy.export import Exports
    from baton.privacy.forgetting import Forgetting
    from baton.privacy.readers import Readers
    from baton.privacy.retention import RetentionRuns
    from baton.procedures.administration import ProcedureAdministration
    from baton.procedures.approved_procedures import ApprovedProcedures
    from baton.procedures.learning import Learning, SessionLearning
    from baton.procedures.procedure_capture import ProcedureCapture
    from baton.procedures.procedure_sources import ProcedureSources
    from baton.sessions.endings import Endings
    from baton.sessions.importing import Importer
    from baton.sessions.made_titles import MadeTitles
    from baton.sessions.overviews import Overviews
    from baton.sessions.ratings import Ratings
    from baton.sessions.sessions import Sessions
    from baton.sessions.titles import Titles
    from baton.turns.branch_selection import BranchSelection
    from baton.turns.closing import Closer
    from baton.turns.reruns import Reruns
    from baton.turns.turn_services import TurnServices
    from baton.turns.turns import Turns


def build(ports: Ports, *, poll_seconds: float = POLL_SECONDS) -> App:
    """Return the use cases built from ``ports``. A follower of a run polls the log every ``poll_seconds``."""
    return App(ports, poll_seconds)


class App:
    """The use cases over one set of ports. Each is built once, on first use, with the ports that it needs."""

    def __init__(self, ports: Ports, poll_seconds: float) -> None:
        self.ports = ports
        self._poll_seconds = poll_seconds

    # Use cases of the functions

    @cached_property
    def actions(self) -> Actions:
        """Handles WebSocket frames."""
        from baton.entry.actions import Actions, ActionServices

        ports = self.ports
        return Actions(
            ActionServices(
                store=ports.store,
                queue=ports.queue,
                live=ports.live,
                connections=ports.connections,
                controls=self.controls,
                approvals=self.approvals,
                replays=self.replays,
                agents=self.agents,
                audit=ports.audit,
                readers=self.readers,
                clock=ports.clock,
            )
        )

    @cached_property
    def readers(self) -> Readers:
        """Shows conversations to others than their users."""
        from baton.privacy.readers import Readers

        return Readers(self.ports.pii_detector)

    @cached_property
    def queued_turns(self) -> QueuedTurns:
        """Runs turns from the queue."""
        from baton.entry.queued_turns import QueuedTurns

        ports = self.ports
        return QueuedTurns(
            self.turns,
            self.closer,
            self.history_summaries,
            self.made_titles,
            ports.connections,
            ports.queue_records,
            ports.clock,
            ports.forget_requests,
            ports.a2a_tasks,
            self.task_news,
        )

    @cached_property
    def dead_turns(self) -> QueuedTurns:
        """Ends turns of the dead-letter queue. No other worker receives their records any more."""
        from baton.entry.queued_turns import QueuedTurns
        from baton.turns.turns import Turns

        ports = self.ports
        # It has no queue for titles: the next turn asks for them.
        services = replace(self.turn_services, makes_titles=False)
        return QueuedTurns(
            Turns(services, self.agents, self.replays, self.follower, ports.audit),
            self.closer,
            self.history_summaries,
            self.made_titles,
            ports.connections,
            None,
            ports.clock,
            ports.forget_requests,
            ports.a2a_tasks,
            self.task_news,
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
        from baton.entry.merges import Merges

        return Merges(self.turns, self.forks, self.ports.audit)

    @cached_property
    def sweeper(self) -> Sweeper:
        """Checks threads that are due."""
        from baton.entry.sweep import Sweeper

        ports = self.ports
        return Sweeper(ports.idle, ports.store, self.endings, self.controls, ports.episodes, self.sessions, ports.clock)

    # Documents

    @cached_property
    def ingestion_events(self) -> IngestionEvents:
        """Handles stored documents, and the steps of their pipeline."""
        from baton.entry.ingestion_events import IngestionEvents

        return IngestionEvents(self.ingestion_starts, self.ingestion, self.cleaning)

    @cached_property
    def ingestion_starts(self) -> IngestionStarts:
        """Starts the pipeline that ingests documents."""
        from baton.knowledge.ingestion_starts import IngestionStarts

        return IngestionStarts(
            self.document_records, self.ports.ingestions, self.ports.clock, self.ports.pipelines_since
        )

    @cached_property
    def ingestion(self) -> Ingestion:
        """Makes documents part of agents' knowledge."""
        from baton.knowledge.ingestion import Ingestion

        ports = self.ports
        return Ingestion(
            self.document_records, ports.document_files, ports.extractor, ports.search, ports.embedder, ports.clock
        )

    @cached_property
    def cleaning(self) -> Cleaning:
        """Removes what versions of documents leave behind."""
        from baton.knowledge.cleaning import Cleaning

        ports = self.ports
        wait = timedelta(seconds=ports.forget_wait_seconds)
        return Cleaning(self.document_records, ports.document_files, ports.search, ports.clock, wait)

    @cached_property
    def document_records(self) -> DocumentRecords:
        """Changes records of documents."""
        from baton.knowledge.document_records import DocumentRecords

        return DocumentRecords(self.ports.documents)

    @cached_property
    def documents(self) -> Documents:
        """Takes in, lists and deletes documents of agents."""
        from baton.knowledge.documents import Documents

        ports = self.ports
        return Documents(
            ports.documents, ports.document_files, ports.ingestions, ports.audit, ports.clock, self.current_limits
        )

    @cached_property
    def sources(self) -> Sources:
        """Creates, lists and deletes sources of documents."""
        from baton.knowledge.sources import Sources

        ports = self.ports
        return Sources(ports.sources, ports.source_rules, ports.audit, ports.clock)

    @cached_property
    def source_refreshes(self) -> SourceRefreshes:
        """Reads due sources."""
        from baton.knowledge.page_listing import PageListings
        from baton.knowledge.page_refresh import PageRefreshes
        from baton.knowledge.source_refresh import SourceRefreshes

        ports = self.ports
        return SourceRefreshes(
            ports.sources,
            PageRefreshes(ports.sources, self.documents, ports.web_pages, ports.source_objects),
            PageListings(ports.web_pages, ports.source_objects, ports.source_rules),
            ports.clock,
        )

    # Personal data

    @cached_property
    def forget_calls(self) -> ForgetCalls:
        """Takes requests to forget."""
        from baton.entry.forget_requests import ForgetCalls

        ports = self.ports
        wait = timedelta(seconds=ports.forget_wait_seconds)
        return ForgetCalls(ports.store, ports.forget_requests, ports.forgettings, ports.audit, ports.clock, wait)

    @cached_property
    def forgetting(self) -> Forgetting:
        """Carries out requests to forget."""
        from baton.privacy.forgetting import Forgetting, Waits

        ports = self.ports
        return Forgetting(
            ports.forget_requests,
            ports.erasure,
            ports.objects,
            ports.search,
            ports.live,
            ports.audit,
            ports.retentions,
            ports.clock,
            Waits(zombies=ports.forget_wait_seconds),
        )

    @cached_property
    def retention_runs(self) -> RetentionRuns:
        """Starts the enforcement of retention."""
        from baton.privacy.retention import RetentionRuns

        ports = self.ports
        return RetentionRuns(ports.retentions, ports.forget_requests, ports.forgettings, ports.clock)

    @cached_property
    def exports(self) -> Exports:
        """Hands out what is stored of a user."""
        from baton.privacy.export import Exports

        ports = self.ports
        return Exports(
            ports.store,
            ports.records,
            ports.handoffs,
            ports.workflows,
            ports.episodes,
            ports.feedback,
            ports.audit,
            ports.clock,
        )

    # Turns

    @cached_property
    def turns(self) -> Turns:
        """Runs turns of all callers."""
        from baton.turns.turns import Turns

        return Turns(self.turn_services, self.agents, self.replays, self.follower, self.ports.audit)

    @cached_property
    def closer(self) -> Closer:
        """Closes threads."""
        from baton.turns.closing import Closer

        return Closer(self.turn_services, self.turns, self.endings, self.ports.audit)

    @cached_property
    def branch_selection(self) -> BranchSelection:
        """Selects branches of threads."""
        from baton.turns.branch_selection import BranchSelection

        return BranchSelection(self.turn_services, self.ports.audit)

    @cached_property
    def reruns(self) -> Reruns:
        """Answers turns again as dry runs."""
        from baton.turns.reruns import Reruns

        return Reruns(self.turn_services, self.agent_editing, self.own_agents, self.offered_models)

    @cached_property
    def history_summaries(self) -> HistorySummaries:
        """Summarises what has left the message history of an agent."""
        from baton.memory.prompt.history_summary import HistorySummaries

        ports = self.ports
        return HistorySummaries(ports.store, ports.model, ports.light_model, ports.files)

    @cached_property
    def current_limits(self) -> CurrentLimits:
        """Tells what holds for a tenant."""
        from baton.limits.current_limits import CurrentLimits

        ports = self.ports
        return CurrentLimits(ports.tenant_limits, ports.deployment_limits, ports.clock)

    @cached_property
    def overviews(self) -> Overviews:
        """Counts what has happened in a tenant's threads."""
        from baton.sessions.overviews import Overviews

        return Overviews(self.ports.store, self.ports.prices)

    @cached_property
    def titles(self) -> Titles:
        """Names threads, as users ask for."""
        from baton.sessions.titles import Titles

        ports = self.ports
        return Titles(ports.store, ports.live, ports.connections, ports.audit, ports.clock)

    @cached_property
    def made_titles(self) -> MadeTitles:
        """Makes titles of threads that users have not named."""
        from baton.sessions.made_titles import MadeTitles

        ports = self.ports
        return MadeTitles(
            ports.store,
            ports.model,
            ports.light_model,
            ports.files,
            ports.pii_detector,
            ports.title_source,
            self.titles,
        )

    @cached_property
    def ratings(self) -> Ratings:
        """Takes feedback on answers."""
        from baton.sessions.ratings import Ratings

        ports = self.ports
        return Ratings(ports.store, ports.feedback, ports.audit, ports.clock)

    @cached_property
    def turn_services(self) -> TurnServices:
        """The services that a turn uses."""
        from baton.domain.title_source import TitleSource
        from baton.turns.turn_services import TurnServices

        ports = self.ports
        return TurnServices(
            agents=self.agent_services,
            store=ports.store,
            log=ports.log,
            live=ports.live,
            connections=ports.connections,
            sessions=self.sessions,
            conversations=self.conversations,
            forks=self.forks,
            approved_procedures=self.approved_procedures,
            inspector=self.inspector,
            task_news=self.task_news,
            learning=self.learning,
            lease_times=ports.lease_times,
            queue=lambda: ports.queue,
            makes_titles=ports.title_source is not TitleSource.NONE,
            limits=self.current_limits,
        )

    @cached_property
    def task_news(self) -> TaskNews:
        """Queues changes of A2A tasks for those who want to be notified."""
        from baton.outbox.task_news import TaskNews

        return TaskNews(lambda: self.ports.push_queue)

    @cached_property
    def agent_services(self) -> AgentServices:
        """The services that a running agent uses."""
        from baton.agents.agent_services import AgentServices

        ports = self.ports
        return AgentServices(
            registry=self.agents,
            model=ports.model,
            default_model=ports.default_model,
            light_model=ports.light_model,
            recall=self.recall,
            tools=ports.tools,
            agent_client=ports.agent_client,
            records=ports.records,
            files=ports.files,
            counter=ports.counter,
            audit=ports.audit,
            clock=ports.clock,
        )

    @cached_property
    def approvals(self) -> Approvals:
        """Takes people's answers to interrupts."""
        from baton.agents.approvals import Approvals

        return Approvals(self.ports.store, self.ports.audit)

    # Memory

    @cached_property
    def session_closing(self) -> SessionClosing:
        """Makes episodes of ended sessions."""
        from baton.memory.episodes.episode_digest import Digester
        from baton.memory.episodes.episode_writing import EpisodeWriter
        from baton.memory.episodes.fact_changes import FactChanges
        from baton.memory.episodes.light_model import LightModel
        from baton.memory.episodes.session_closing import SessionClosing

        ports = self.ports
        light_model = LightModel(ports.model, ports.light_model)
        return SessionClosing(
            store=ports.store,
            episodes=ports.episodes,
            writer=EpisodeWriter(ports.store, ports.episodes, ports.pii_detector),
            messages=self.episode_messages,
            digester=Digester(light_model, ports.pii_detector),
            fact_changes=FactChanges(light_model, ports.search, ports.embedder, ports.episodes, self.episode_index),
            index=self.episode_index,
            with_facts=ports.with_episode_facts,
        )

    @cached_property
    def episode_index(self) -> EpisodeIndex:
        """Puts episodes into the search index."""
        from baton.memory.episodes.episode_index import EpisodeIndex

        return EpisodeIndex(self.ports.search, self.ports.embedder, self.episode_messages)

    @cached_property
    def episode_search(self) -> EpisodeSearch:
        """Searches episodes."""
        from baton.memory.episodes.episode_search import EpisodeSearch

        return EpisodeSearch(self.ports.search, self.ports.embedder)

    @cached_property
    def importer(self) -> Importer:
        """Imports sessions of other systems."""
        from baton.sessions.importing import Importer

        ports = self.ports
        return Importer(ports.store, self.sessions, self.agents, ports.counter, ports.feedback, ports.audit)

    @cached_property
    def episode_messages(self) -> EpisodeMessages:
        """Reads the messages of episodes."""
        from baton.memory.episodes.episode_messages import EpisodeMessages

        return EpisodeMessages(self.ports.store, self.ports.episodes)

    @cached_property
    def recall(self) -> Recall:
        """Retrieves what is remembered."""
        from baton.memory.recall.recall import Recall

        ports = self.ports
        return Recall(ports.search, self.knowledge_search, ports.embedder, deadline=ports.recall_deadline)

    @cached_property
    def knowledge_search(self) -> KnowledgeSearch:
        """Searches the documents of agents."""
        from baton.knowledge.knowledge_search import KnowledgeSearch

        return KnowledgeSearch(self.ports.search, self.ports.documents, self.ports.embedder)

    @cached_property
    def inspector(self) -> Inspector:
        """Keeps and reads the Context Inspector's records."""
        from baton.memory.inspection.inspector import Inspector

        ports = self.ports
        return Inspector(
            ports.context_records,
            ports.counter,
            ports.inspection_policy,
            ports.pii_detector,
            ports.clock,
        )

    # Learning

    @cached_property
    def learning(self) -> Learning:
        """Learns from runs that were committed."""
        from baton.procedures.learning import Learning

        ports = self.ports
        return Learning(self.agents, ports.procedures, lambda: ports.captures, is_on=ports.with_learning)

    @cached_property
    def session_learning(self) -> SessionLearning:
        """Makes up for what was not learned during a session."""
        from baton.procedures.learning import SessionLearning

        ports = self.ports
        return SessionLearning(ports.store, ports.episodes, ports.capture_records, self.learning)

    @cached_property
    def procedure_capture(self) -> ProcedureCapture:
        """Makes procedures of completed tasks."""
        from baton.memory.episodes.light_model import LightModel
        from baton.procedures.drafting import Drafting
        from baton.procedures.procedure_capture import ProcedureCapture
        from baton.procedures.proposals import Proposals
        from baton.procedures.task_record import TaskRecords

        ports = self.ports
        return ProcedureCapture(
            store=ports.store,
            captures=ports.capture_records,
            agents=self.agents,
            records=TaskRecords(ports.store, ports.pii_detector),
            drafting=Drafting(LightModel(ports.model, ports.light_model)),
            proposals=Proposals(ports.procedures, ports.embedder, ports.clock),
            announcements=ports.announcements,
            clock=ports.clock,
            limits=self.current_limits,
        )

    # Sessions, handoffs and events

    @cached_property
    def sessions(self) -> Sessions:
        """Ends sessions."""
        from baton.sessions.sessions import Sessions

        return Sessions(self.ports.episodes, self.ports.closings, self.ports.audit)

    @cached_property
    def endings(self) -> Endings:
        """Ends the sessions of threads under a lease."""
        from baton.sessions.endings import Endings

        ports = self.ports
        return Endings(
            ports.store,
            ports.log,
            ports.live,
            ports.connections,
            self.sessions,
            self.conversations,
            ports.clock,
            self.task_news,
        )

    @cached_property
    def agents(self) -> AgentRegistry:
        """Knows which agents exist, and which users may talk to them."""
        from baton.handoffs.agent_registry import AgentRegistry

        return AgentRegistry(self.ports.catalog, self.own_agents)

    @cached_property
    def own_agents(self) -> OwnAgents:
        """Keeps copies of tenants' own agents."""
        from baton.catalog.own_agents import OwnAgents

        return OwnAgents(self.ports.agent_definitions, self.ports.clock, lambda: self.offered_models)

    @cached_property
    def agent_editing(self) -> AgentEditing:
        """Changes tenants' own agents."""
        from baton.catalog.agent_belongings import AgentBelongings
        from baton.catalog.agent_editing import AgentEditing

        ports = self.ports
        return AgentEditing(
            ports.catalog,
            ports.agent_definitions,
            self.own_agents,
            ports.audit,
            ports.clock,
            lambda: self.offered_models,
            AgentBelongings(ports.documents, ports.sources, ports.procedures),
            self.current_limits,
        )

    @cached_property
    def offered_models(self) -> tuple[str, ...]:
        """The models that tenants' own agents may name: those that the deployment uses itself."""
        ports = self.ports
        named = [agent.model.name for agent in ports.catalog.all() if agent.model.name is not None]
        return tuple(sorted({ports.default_model, ports.light_model, *named}))

    @cached_property
    def conversations(self) -> ConversationStates:
        """Loads and stores which agent is active in a thread."""
        from baton.handoffs.conversation_states import ConversationStates

        ports = self.ports
        return ConversationStates(
            ports.handoffs, ports.workflows, ports.procedures, self.agents, ports.audit, ports.clock
        )

    @cached_property
    def approved_procedures(self) -> ApprovedProcedures:
        """Finds the procedures that agents may follow."""
        from baton.procedures.approved_procedures import ApprovedProcedures

        return ApprovedProcedures(self.ports.procedures, self.ports.clock)

    @cached_property
    def procedure_administration(self) -> ProcedureAdministration:
        """Reads, writes and decides on procedures."""
        from baton.memory.recall.recall import Recall
        from baton.procedures.administration import DEADLINE, ProcedureAdministration

        ports = self.ports
        return ProcedureAdministration(
            ports.procedures,
            self.approved_procedures,
            Recall(ports.search, self.knowledge_search, ports.embedder, deadline=DEADLINE),
            ports.counter,
            ports.audit,
            ports.clock,
        )

    @cached_property
    def procedure_sources(self) -> ProcedureSources:
        """Reads what procedures were made of."""
        from baton.procedures.procedure_sources import ProcedureSources

        return ProcedureSources(self.ports.store, self.readers, self.ports.audit)

    @cached_property
    def forks(self) -> Forks:
        """Creates, reads and extends forks of threads."""
        from baton.handoffs.forks import Forks

        ports = self.ports
        return Forks(ports.store, self.agents, ports.audit, ports.counter, ports.clock)

    @cached_property
    def sandboxes(self) -> Sandboxes:
        """Copies conversations for those who look into them."""
        from baton.handoffs.sandboxes import Sandboxes

        ports = self.ports
        return Sandboxes(ports.store, self.agents, self.forks, self.readers, ports.audit, ports.clock)

    @cached_property
    def replays(self) -> Replays:
        """Rebuilds events that clients have missed."""
        from baton.outbox.replay import Replays

        return Replays(self.ports.store, self.ports.log, self.ports.clock)

    @cached_property
    def follower(self) -> Follower:
        """Follows runs that other workers carry out."""
        return Follower(
            self.ports.store,
            self.ports.live,
            self.replays,
            poll_seconds=self._poll_seconds,
            times=self.ports.lease_times,
        )
