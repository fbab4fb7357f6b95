"""All ports of Baton. ``composition.aws`` builds those of a deployment; tests pass their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from baton.composition.agent_ports import AgentPorts
from baton.composition.store_ports import StorePorts

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from baton.domain.context_item import InspectionPolicy
    from baton.domain.source import SourceRules
    from baton.domain.tenant_limits import DeploymentLimits
    from baton.domain.thread_title import TitleSource
    from baton.domain.usage import Prices
    from baton.pipelines.admission import Admission
    from baton.ports.a2a import PushQueue, SigningKey, Webhooks
    from baton.ports.connections import Connections
    from baton.ports.documents import Ingestions, TextExtractor
    from baton.ports.episodes import Closings
    from baton.ports.privacy import Erasure, ForgetRequests, Forgettings, ObjectErasure, PiiDetector
    from baton.ports.procedures import Announcements, Captures, CaptureStore
    from baton.ports.run_records import ContextRecords
    from baton.ports.search import Embedder, SearchIndex
    from baton.ports.sources import WebPages
    from baton.ports.tenants import Retentions, TenantLimitStore
    from baton.ports.turn_queue import QueueRecords, TurnQueue


class Ports(StorePorts, AgentPorts, Protocol):
    """The ports that ``composition.app.build`` makes an ``App`` from.

    The first use case that needs a port reads it, so that a function neither loads nor configures unused ports.
    """

    # Memory

    @property
    def context_records(self) -> ContextRecords:
        """The Context Inspector's records."""
        ...

    @property
    def inspection_policy(self) -> InspectionPolicy:
        """Which turns the Context Inspector records."""
        ...

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
    def admission(self) -> Admission:
        """Admission of the pipelines' runs."""
        ...

    @property
    def ingestions(self) -> Ingestions:
        """The pipeline that ingests documents."""
        ...

    @property
    def source_rules(self) -> SourceRules:
        """What sources may read."""
        ...

    @property
    def web_pages(self) -> WebPages:
        """Pages of the web, for sources."""
        ...

    @property
    def extractor(self) -> TextExtractor:
        """The extractor of text from documents. Only functions with its libraries can use it."""
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
