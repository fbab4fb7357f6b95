"""All ports of Baton as fakes: ``composition.app.build`` takes them as it takes a deployment's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, cast

from baton.adapters.pii.in_process import InProcessPiiDetector
from baton.domain.context_item import InspectionPolicy
from baton.domain.model_providers import Provider
from baton.domain.pipelines import PipelineLimits
from baton.domain.source import SourceRules
from baton.domain.tenant_limits import DeploymentLimits
from baton.domain.thread import USUAL_TIMES, LeaseTimes
from baton.domain.thread_title import TitleSource
from baton.domain.usage import NO_PRICES, Prices
from baton.memory.recall.recall import DEADLINE
from baton.pipelines.admission import Admission
from baton.ports.a2a import A2ATasks, CardSigner, PushConfigs, PushQueue, SigningKey, Webhooks
from baton.ports.agent_client import AgentClient
from baton.ports.agents import AgentCatalog, AgentDefinitions
from baton.ports.audit import AuditLog
from baton.ports.chat_model import ChatModel, TokenCounter
from baton.ports.clock import Clock, TimeZones
from baton.ports.connections import Connections, LiveRegistry
from baton.ports.documents import DocumentFiles, DocumentStore, Ingestions, TextExtractor
from baton.ports.episodes import Closings, Episodes
from baton.ports.files import Files
from baton.ports.handoffs import HandoffStore, WorkflowStore
from baton.ports.identity import TokenVerifier
from baton.ports.messages import FeedbackStore
from baton.ports.privacy import Erasure, ForgetRequests, Forgettings, ObjectErasure, PiiDetector
from baton.ports.procedures import Announcements, Captures, CaptureStore, PrivateSkills, ProcedureStore
from baton.ports.run_records import ContextRecords, McpCalls, RunRecords
from baton.ports.search import Embedder, SearchIndex
from baton.ports.sources import SourceObjects, SourceStore, WebPages
from baton.ports.stream_log import StreamLog
from baton.ports.tenants import Retentions, TenantLimitStore
from baton.ports.threads import IdleThreads, ThreadStore
from baton.ports.tools import Tools
from baton.ports.turn_queue import QueueRecords, TurnQueue
from baton_testing.fakes.a2a_tasks import FakeA2ATasks
from baton_testing.fakes.agent_catalog import FakeAgentCatalog
from baton_testing.fakes.agent_client import ScriptedAgentClient
from baton_testing.fakes.agent_definitions import FakeAgentDefinitions
from baton_testing.fakes.captures import FakeAnnouncements, FakeCaptures, FakeCaptureStore
from baton_testing.fakes.chat_model import ScriptedChatModel
from baton_testing.fakes.connections import FakeConnections
from baton_testing.fakes.context_records import FakeContextRecords
from baton_testing.fakes.documents import FakeDocumentFiles, FakeDocuments, FakeIngestions
from baton_testing.fakes.embedder import FakeEmbedder
from baton_testing.fakes.episodes import FakeClosings
from baton_testing.fakes.erasure import (
    FakeErasure,
    FakeForgetRequests,
    FakeForgettings,
    FakeObjectErasure,
    FakeRetentions,
)
from baton_testing.fakes.feedback import FakeFeedback
from baton_testing.fakes.files import FakeFiles
from baton_testing.fakes.mcp_calls import FakeMcpCalls
from baton_testing.fakes.pipelines import FakeExecutions, FakePipelineQueue
from baton_testing.fakes.private_skills import FakePrivateSkills
from baton_testing.fakes.push import FakePushConfigs, FakePushQueue, FakeWebhooks, known_key
from baton_testing.fakes.search_index import FakeSearchIndex
from baton_testing.fakes.sources import FakeSourceObjects, FakeSources, FakeWebPages
from baton_testing.fakes.tenant_limits import FakeTenantLimits
from baton_testing.fakes.text_extractor import PlainTextExtractor
from baton_testing.fakes.thread_store import FakeThreadStore
from baton_testing.fakes.time_zones import FakeTimeZones
from baton_testing.fakes.token_counter import WordCounter
from baton_testing.fakes.token_verifier import OpenVerifier
from baton_testing.fakes.tools import FakeTools
from baton_testing.fakes.turn_queue import FakeTurnQueue


@dataclass(kw_only=True)
class FakePorts:
    """``composition.ports.Ports``. A test gives the stores, and whatever else it wants to see or to script."""

    clock: Clock
    store: ThreadStore
    log: StreamLog
    live: LiveRegistry
    records: RunRecords
    handoffs: HandoffStore
    workflows: WorkflowStore
    procedures: ProcedureStore
    episodes: Episodes
    idle: IdleThreads
    audit: AuditLog
    a2a_tasks: A2ATasks = field(default_factory=FakeA2ATasks)
    feedback: FeedbackStore = None  # type: ignore[assignment]
    """An empty one, unless given: it needs the threads."""
    mcp_calls: McpCalls = None  # type: ignore[assignment]
    """An empty one, unless given: it needs the clock."""
    time_zones: TimeZones = None  # type: ignore[assignment]
    """An empty one, unless given: it needs the clock."""
    private_skills: PrivateSkills = None  # type: ignore[assignment]
    """An empty one, unless given: it needs the procedures."""
    files: Files = field(default_factory=FakeFiles)
    documents: DocumentStore = field(default_factory=FakeDocuments)
    document_files: DocumentFiles = field(default_factory=FakeDocumentFiles)
    sources: SourceStore = field(default_factory=FakeSources)
    web_pages: WebPages = field(default_factory=FakeWebPages)
    source_objects: SourceObjects = field(default_factory=FakeSourceObjects)
    source_rules: SourceRules = field(default_factory=SourceRules)
    ingestions: Ingestions = field(default_factory=FakeIngestions)
    extractor: TextExtractor = field(default_factory=PlainTextExtractor)
    context_records: ContextRecords = field(default_factory=FakeContextRecords)
    inspection_policy: InspectionPolicy = field(default_factory=InspectionPolicy)
    recall_deadline: timedelta = DEADLINE
    search: SearchIndex = field(default_factory=FakeSearchIndex)
    embedder: Embedder = field(default_factory=FakeEmbedder)
    push_configs: PushConfigs = field(default_factory=FakePushConfigs)
    push_queue: PushQueue = field(default_factory=FakePushQueue)
    webhooks: Webhooks = field(default_factory=FakeWebhooks)
    signing_key: SigningKey = field(default_factory=known_key)
    push_issuer: str = "http://baton.test"
    queue: TurnQueue = field(default_factory=FakeTurnQueue)
    queue_records: QueueRecords | None = None
    pii_detector: PiiDetector = field(default_factory=InProcessPiiDetector)
    with_episode_facts: bool = True
    title_source: TitleSource = TitleSource.NONE
    """Nothing, so that the queue holds only what a test is about."""
    prices: Prices = NO_PRICES
    tenant_limits: TenantLimitStore = field(default_factory=FakeTenantLimits)
    deployment_limits: DeploymentLimits = field(default_factory=DeploymentLimits)
    closings: Closings = field(default_factory=FakeClosings)
    capture_records: CaptureStore = field(default_factory=FakeCaptureStore)
    captures: Captures = field(default_factory=FakeCaptures)
    announcements: Announcements = field(default_factory=FakeAnnouncements)
    with_learning: bool = True
    connections: Connections = field(default_factory=FakeConnections)
    erasure: Erasure = field(default_factory=FakeErasure)
    objects: ObjectErasure = field(default_factory=FakeObjectErasure)
    forget_requests: ForgetRequests = field(default_factory=FakeForgetRequests)
    forgettings: Forgettings = field(default_factory=FakeForgettings)
    retentions: Retentions = field(default_factory=FakeRetentions)
    forget_wait_seconds: float = 960.0
    pipelines_since: datetime | None = None
    admission: Admission = None  # type: ignore[assignment]
    """One that begins every run at once, unless given: it needs the clock."""
    lease_times: LeaseTimes = USUAL_TIMES
    catalog: AgentCatalog = field(default_factory=FakeAgentCatalog)
    agent_definitions: AgentDefinitions = field(default_factory=FakeAgentDefinitions)
    model: ChatModel = field(default_factory=ScriptedChatModel)
    default_model: str = "test-model"
    light_model: str = "light-model"
    model_providers: Mapping[str, Provider] = field(default_factory=dict)
    context_lengths: dict[str, int] = field(default_factory=dict)
    counter: TokenCounter = field(default_factory=WordCounter)
    tools: Tools = field(default_factory=FakeTools)
    agent_client: AgentClient = field(default_factory=ScriptedAgentClient)
    verifier: TokenVerifier = None  # type: ignore[assignment]
    """One that takes a token's word, unless given: it needs the clock."""
    card_signer: CardSigner | None = None

    def context_tokens(self, model: str) -> int | None:
        return self.context_lengths.get(model)

    def __post_init__(self) -> None:
        self.verifier = self.verifier or OpenVerifier(self.clock)
        if self.feedback is None and isinstance(self.store, FakeThreadStore):
            self.feedback = FakeFeedback(self.store)
        self.admission = self.admission or Admission(
            FakePipelineQueue(), FakeExecutions(), self.clock, PipelineLimits()
        )
        self.mcp_calls = self.mcp_calls or FakeMcpCalls(self.clock)
        self.time_zones = self.time_zones or FakeTimeZones(self.clock)
        self.private_skills = self.private_skills or FakePrivateSkills(cast("Any", self.procedures), self.clock)

    @classmethod
    def over(cls, stores: Any, **others: Any) -> FakePorts:
        """Fakes around ``stores``, which has the ports of its attributes' names; ``others`` come before both."""
        names = ["clock", "store", "log", "live", "records", "handoffs", "workflows", "procedures", "episodes", "idle"]
        names += ["agent_definitions", "a2a_tasks", "push_configs", "feedback", "mcp_calls", "time_zones"]
        names += ["private_skills"]
        given = {name: getattr(stores, name) for name in (*names, "audit")}
        return cls(**given | {"capture_records": stores.captures} | others)
