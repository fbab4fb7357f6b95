"""All ports of Baton. ``composition.aws`` builds those of a deployment; tests pass their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from baton.domain.inspection_policy import InspectionPolicy
    from baton.domain.lease_times import LeaseTimes
    from baton.domain.prices import Prices
    from baton.domain.source_rules import SourceRules
    from baton.domain.tenant_limits import DeploymentLimits
    from baton.domain.title_source import TitleSource
    from baton.ports.a2a_tasks import A2ATasks
    from baton.ports.agent_catalog import AgentCatalog
    from baton.ports.agent_client import AgentClient
    from baton.ports.agent_definitions import AgentDefinitions
    from baton.ports.announcements import Announcements
    from baton.ports.audit import AuditLog
    from baton.ports.captures import Captures, CaptureStore
    from baton.ports.card_signer import CardSigner
    from baton.ports.chat_model import ChatModel
    from baton.ports.clock import Clock
    from baton.ports.connections import Connections
    from baton.ports.context_records import ContextRecords
    from baton.ports.documents import DocumentFiles, DocumentStore, Ingestions, TextExtractor
    from baton.ports.embedder import Embedder
    from baton.ports.episodes import Closings, Episodes
    from baton.ports.erasure import Erasure, ObjectErasure
    from baton.ports.feedback import FeedbackStore
    from baton.ports.files import Files
    from baton.ports.forget_requests import ForgetRequests, Forgettings
    from baton.ports.handoffs import HandoffStore
    from baton.ports.idle_threads import IdleThreads
    from baton.ports.live import LiveRegistry
    from baton.ports.mcp_calls import McpCalls
    from baton.ports.pii_detector import PiiDetector
    from baton.ports.procedures import ProcedureStore
    from baton.ports.push_configs import PushConfigs
    from baton.ports.push_queue import PushQueue
    from baton.ports.queue_records import QueueRecords
    from baton.ports.retentions import Retentions
    from baton.ports.run_records import RunRecords
    from baton.ports.search_index import SearchIndex
    from baton.ports.signing_key import SigningKey
    from baton.ports.sources import SourceObjects, SourceStore, WebPages
    from baton.ports.stream_log import StreamLog
    from baton.ports.tenant_limits import TenantLimitStore
    from baton.ports.thread_store import ThreadStore
    from baton.ports.token_counter import TokenCounter
    from baton.ports.token_verifier import TokenVerifier
    from baton.ports.tools import Tools
    from baton.ports.turn_queue import TurnQueue
    from baton.ports.webhooks import Webhooks
    from baton.ports.workflows import WorkflowStore


class Ports(Protocol):
    """The ports that ``composition.app.build`` makes an ``App`` from.

    The first use case that needs a port reads it, so that a function neither loads nor configures unused ports.
    """

    @property
    def clock(self) -> Clock:
        """The current time and new ids."""
        ...

    @property
    def lease_times(self) -> LeaseTimes:
        """How long a worker keeps a lease without a sign of life, and how often it renews the lease."""
        ...

    # Stores

    @property
    def store(self) -> ThreadStore:
        """Threads and their messages."""
        ...

    @property
    def log(self) -> StreamLog:
        """The events of recent runs."""
        ...

    @property
    def live(self) -> LiveRegistry:
        """Connections, cancellations and heartbeats."""
        ...

    @property
    def records(self) -> RunRecords:
        """Tool calls and sub-tasks."""
        ...

    @property
    def handoffs(self) -> HandoffStore:
        """Handoffs."""
        ...

    @property
    def workflows(self) -> WorkflowStore:
        """Guided workflows."""
        ...

    @property
    def a2a_tasks(self) -> A2ATasks:
        """Marks of A2A tasks."""
        ...

    @property
    def push_configs(self) -> PushConfigs:
        """Where clients want to be notified of A2A tasks."""
        ...

    @property
    def feedback(self) -> FeedbackStore:
        """Feedback on answers."""
        ...

    @property
    def mcp_calls(self) -> McpCalls:
        """Calls over MCP in progress."""
        ...

    @property
    def procedures(self) -> ProcedureStore:
        """Procedures of agents and tenants."""
        ...

    @property
    def episodes(self) -> Episodes:
        """Episodes of ended sessions."""
        ...

    @property
    def idle(self) -> IdleThreads:
        """The index of threads that are due for a check."""
        ...

    @property
    def audit(self) -> AuditLog:
        """The audit log."""
        ...

    @property
    def files(self) -> Files:
        """Uploads."""
        ...

    @property
    def documents(self) -> DocumentStore:
        """Records of documents."""
        ...

    @property
    def document_files(self) -> DocumentFiles:
        """The content of documents."""
        ...

    @property
    def sources(self) -> SourceStore:
        """Records of the sources of documents."""
        ...

    @property
    def web_pages(self) -> WebPages:
        """Pages of the web, for sources."""
        ...

    @property
    def source_objects(self) -> SourceObjects:
        """Objects in the buckets that sources may read."""
        ...

    @property
    def source_rules(self) -> SourceRules:
        """What sources may read."""
        ...

    @property
    def context_records(self) -> ContextRecords:
        """The Context Inspector's records."""
        ...

    @property
    def inspection_policy(self) -> InspectionPolicy:
        """Which turns the Context Inspector records."""
        ...

    # Search

    @property
    def search(self) -> SearchIndex:
        """The search indices."""
        ...

    @property
    def embedder(self) -> Embedder:
        """The embedding model."""
        ...

    @property
    def pii_detector(self) -> PiiDetector:
        """The detector of personal data."""
        ...

    @property
    def with_episode_facts(self) -> bool:
        """Whether the light model writes summaries and facts of episodes."""
        ...

    @property
    def title_source(self) -> TitleSource:
        """What titles of threads are made of."""
        ...

    @property
    def tenant_limits(self) -> TenantLimitStore:
        """Limits that tenants have chosen."""
        ...

    @property
    def deployment_limits(self) -> DeploymentLimits:
        """What every tenant may have."""
        ...

    @property
    def prices(self) -> Prices:
        """What models cost."""
        ...

    @property
    def recall_deadline(self) -> timedelta:
        """How long a turn waits for what it recalls."""
        ...

    # Learning

    @property
    def capture_records(self) -> CaptureStore:
        """Records of captures."""
        ...

    @property
    def captures(self) -> Captures:
        """The pipeline that captures procedures."""
        ...

    @property
    def announcements(self) -> Announcements:
        """Events for other systems."""
        ...

    @property
    def with_learning(self) -> bool:
        """Whether procedures are captured."""
        ...

    # Forgetting

    @property
    def erasure(self) -> Erasure:
        """Removal of threads and users from the table."""
        ...

    @property
    def objects(self) -> ObjectErasure:
        """Removal of objects from the bucket."""
        ...

    @property
    def forget_requests(self) -> ForgetRequests:
        """Requests to forget."""
        ...

    @property
    def retentions(self) -> Retentions:
        """How long tenants keep things."""
        ...

    @property
    def forgettings(self) -> Forgettings:
        """The pipeline that forgets."""
        ...

    @property
    def forget_wait_seconds(self) -> float:
        """The wait before the second sweep."""
        ...

    # Ingestion

    @property
    def pipelines_since(self) -> datetime | None:
        """When the engine of the pipelines began, if what ran in it before has ended."""
        ...

    @property
    def ingestions(self) -> Ingestions:
        """The pipeline that ingests documents."""
        ...

    @property
    def extractor(self) -> TextExtractor:
        """What extracts text from documents. Only the pipeline has its libraries."""
        ...

    # Queues and connections

    @property
    def queue(self) -> TurnQueue:
        """The queue of turns."""
        ...

    @property
    def queue_records(self) -> QueueRecords | None:
        """Records of that queue while a worker holds them; None if no other worker could receive them."""
        ...

    @property
    def push_queue(self) -> PushQueue:
        """The queue of push notifications."""
        ...

    @property
    def webhooks(self) -> Webhooks:
        """What posts push notifications."""
        ...

    @property
    def signing_key(self) -> SigningKey:
        """The key that signs them."""
        ...

    @property
    def push_issuer(self) -> str:
        """The address of the deployment, below which receivers find the public key."""
        ...

    @property
    def closings(self) -> Closings:
        """The pipeline that makes episodes."""
        ...

    @property
    def connections(self) -> Connections:
        """WebSocket connections."""
        ...

    # Agents, their models and tools

    @property
    def catalog(self) -> AgentCatalog:
        """Definitions of agents."""
        ...

    @property
    def agent_definitions(self) -> AgentDefinitions:
        """Agents that tenants have made."""
        ...

    @property
    def model(self) -> ChatModel:
        """The model endpoint."""
        ...

    @property
    def default_model(self) -> str:
        """The name of the model for agents that name none."""
        ...

    @property
    def light_model(self) -> str:
        """The name of the model for tasks that need speed more than quality."""
        ...

    @property
    def counter(self) -> TokenCounter:
        """The counter of tokens."""
        ...

    @property
    def tools(self) -> Tools:
        """Tools outside Baton."""
        ...

    @property
    def agent_client(self) -> AgentClient:
        """Agents outside Baton."""
        ...

    # Identity

    @property
    def verifier(self) -> TokenVerifier:
        """The verifier of tokens."""
        ...

    @property
    def card_signer(self) -> CardSigner | None:
        """The signer of agent cards; None where they are not signed."""
        ...
