"""The services that the routers use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends, Request

from baton.agents.approvals import Approvals
from baton.agents.model_checks import ModelChecks
from baton.catalog.agent_editing import AgentEditing
from baton.composition.app import App
from baton.domain.prices import Prices
from baton.entry.controls import Controls
from baton.entry.forget_requests import ForgetCalls
from baton.entry.merges import Merges
from baton.handoffs.agent_registry import AgentRegistry
from baton.handoffs.forks import Forks
from baton.handoffs.sandboxes import Sandboxes
from baton.knowledge.documents import Documents
from baton.knowledge.knowledge_search import KnowledgeSearch
from baton.knowledge.sources import Sources
from baton.memory.episodes.episode_messages import EpisodeMessages
from baton.memory.episodes.episode_search import EpisodeSearch
from baton.memory.inspection.inspector import Inspector
from baton.outbox.follow import Follower
from baton.outbox.replay import Replays
from baton.outbox.task_news import TaskNews
from baton.ports.a2a import A2ATasks, CardSigner, PushConfigs, SigningKey, Webhooks
from baton.ports.agents import AgentCatalog
from baton.ports.audit import AuditLog
from baton.ports.clock import Clock
from baton.ports.episodes import Episodes
from baton.ports.files import Files
from baton.ports.handoffs import HandoffStore, WorkflowStore
from baton.ports.identity import TokenVerifier
from baton.ports.messages import FeedbackStore
from baton.ports.privacy import Erasure, ForgetRequests
from baton.ports.run_records import McpCalls, RunRecords
from baton.ports.tenants import Retentions, TenantLimitStore
from baton.ports.threads import ThreadStore
from baton.ports.turn_queue import TurnQueue
from baton.privacy.export import Exports
from baton.privacy.readers import Readers
from baton.procedures.administration import ProcedureAdministration
from baton.procedures.procedure_sources import ProcedureSources
from baton.procedures.skill_administration import SkillAdministration
from baton.sessions.importing import Importer
from baton.sessions.overviews import Overviews
from baton.sessions.ratings import Ratings
from baton.sessions.titles import Titles
from baton.tenant_copies import CurrentLimits
from baton.turns.branch_selection import BranchSelection
from baton.turns.reruns import Reruns
from baton.turns.turns import Turns


@dataclass(frozen=True, slots=True)
class ApiServices:
    """The use cases and ports behind the API."""

    verifier: TokenVerifier
    turns: Turns
    branch_selection: BranchSelection
    store: ThreadStore
    records: RunRecords
    handoffs: HandoffStore
    workflows: WorkflowStore
    replays: Replays
    follower: Follower
    controls: Controls
    forks: Forks
    merges: Merges
    sandboxes: Sandboxes
    approvals: Approvals
    agents: AgentRegistry
    catalog: AgentCatalog
    agent_editing: AgentEditing
    files: Files
    inspector: Inspector
    audit: AuditLog
    readers: Readers
    forget_calls: ForgetCalls
    exports: Exports
    retentions: Retentions
    forget_requests: ForgetRequests
    erasure: Erasure
    clock: Clock
    queue: TurnQueue
    a2a_tasks: A2ATasks
    card_signer: CardSigner | None
    """None in deployments that do not sign their agents' cards."""
    push_configs: PushConfigs
    feedback: FeedbackStore
    titles: Titles
    ratings: Ratings
    task_news: TaskNews
    mcp_calls: McpCalls
    episodes: Episodes
    episode_messages: EpisodeMessages
    episode_search: EpisodeSearch
    importer: Importer
    procedures: ProcedureAdministration
    procedure_sources: ProcedureSources
    skills: SkillAdministration
    app: App
    knowledge_search: KnowledgeSearch
    prices: Prices
    overviews: Overviews
    tenant_limits: TenantLimitStore
    current_limits: CurrentLimits

    @classmethod
    def of(cls, app: App) -> ApiServices:
        """What the routers need of ``app``."""
        ports = app.ports
        return cls(
            verifier=ports.verifier,
            turns=app.turns,
            branch_selection=app.branch_selection,
            store=ports.store,
            records=ports.records,
            handoffs=ports.handoffs,
            workflows=ports.workflows,
            replays=app.replays,
            follower=app.follower,
            controls=app.controls,
            forks=app.forks,
            merges=app.merges,
            sandboxes=app.sandboxes,
            approvals=app.approvals,
            agents=app.agents,
            catalog=ports.catalog,
            agent_editing=app.agent_editing,
            files=ports.files,
            inspector=app.memory.inspector,
            audit=ports.audit,
            readers=app.privacy.readers,
            forget_calls=app.privacy.forget_calls,
            exports=app.privacy.exports,
            retentions=ports.retentions,
            forget_requests=ports.forget_requests,
            erasure=ports.erasure,
            clock=ports.clock,
            queue=ports.queue,
            a2a_tasks=ports.a2a_tasks,
            card_signer=ports.card_signer,
            push_configs=ports.push_configs,
            feedback=ports.feedback,
            titles=app.sessions.titles,
            ratings=app.sessions.ratings,
            task_news=app.task_news,
            mcp_calls=ports.mcp_calls,
            episodes=ports.episodes,
            episode_messages=app.memory.episode_messages,
            episode_search=app.memory.episode_search,
            importer=app.sessions.importer,
            procedures=app.procedures.administration,
            procedure_sources=app.procedures.sources,
            skills=app.procedures.skills,
            app=app,
            knowledge_search=app.knowledge.search,
            prices=ports.prices,
            overviews=app.sessions.overviews,
            tenant_limits=ports.tenant_limits,
            current_limits=app.current_limits,
        )

    @property
    def documents(self) -> Documents:
        """Documents of agents. Built by the first request for them: the function that streams has none."""
        return self.app.knowledge.documents

    @property
    def reruns(self) -> Reruns:
        """Dry runs of turns, likewise."""
        return self.app.reruns

    @property
    def model_checks(self) -> ModelChecks:
        """Trials of models, likewise."""
        return self.app.model_checks

    @property
    def webhooks(self) -> Webhooks:
        """What posts push notifications."""
        return self.app.ports.webhooks

    @property
    def signing_key(self) -> SigningKey:
        """The key that signs them. Only deployments that send some have one."""
        return self.app.ports.signing_key

    @property
    def sources(self) -> Sources:
        """Sources of documents, likewise."""
        return self.app.knowledge.sources


# Like other dependencies async, although it waits for nothing: FastAPI calls other functions in a thread.
async def services(request: Request) -> ApiServices:
    """Return the application's services. They are built by the first request that needs them; /health does not."""
    return cast("ApiServices", request.app.state.services())


Services = Annotated[ApiServices, Depends(services)]
