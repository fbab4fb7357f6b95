"""The ports of a deployment: Baton's adapters, configured by the function's environment variables.

Each adapter is built on first use, and reads only the settings that it needs. The methods contain their imports,
because the authorizer and the sockets must not load the libraries of the model or the API.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from baton.composition.aws_agents import AwsAgentPorts
from baton.composition.aws_pipelines import AwsPipelinePorts

if TYPE_CHECKING:
    from datetime import timedelta

    from baton.adapters.deferred import DeferredEmbedder
    from baton.adapters.opensearch.definitions import Layout
    from baton.adapters.opensearch.engine import Engine
    from baton.domain.context_item import InspectionPolicy
    from baton.domain.source import SourceRules
    from baton.domain.tenant_limits import DeploymentLimits
    from baton.domain.thread_title import TitleSource
    from baton.domain.usage import Prices
    from baton.ports.a2a import PushConfigs, PushQueue, SigningKey, Webhooks
    from baton.ports.connections import Connections
    from baton.ports.documents import TextExtractor
    from baton.ports.privacy import Erasure, ForgetRequests, Forgettings, ObjectErasure, PiiDetector
    from baton.ports.procedures import Announcements, CaptureStore
    from baton.ports.run_records import ContextRecords
    from baton.ports.search import Embedder, Reindexing, SearchAdministration, SearchIndex
    from baton.ports.sources import WebPages
    from baton.ports.tenants import Retentions, TenantLimitStore
    from baton.ports.turn_queue import QueueRecords, TurnQueue


class AwsPorts(AwsAgentPorts, AwsPipelinePorts):
    """Implements ``composition.ports.Ports`` for one execution environment.

    A subclass may replace any of them, such as the table. The others are then built on the replacement.
    """

    # Memory

    @cached_property
    def context_records(self) -> ContextRecords:
        from baton.adapters.s3_records import S3ContextRecords

        return S3ContextRecords(self.bodies.client, self.bodies.bucket)

    @cached_property
    def inspection_policy(self) -> InspectionPolicy:
        from baton.settings.conversations import InspectorSettings

        return InspectorSettings().policy

    @cached_property
    def search(self) -> SearchIndex:
        from baton.settings.models import EmbeddingSettings
        from baton.settings.resources import SearchSettings

        url = SearchSettings().url
        if not url:
            from baton.adapters.switched_off import NoSearch

            return NoSearch()
        if self.search_administration is None:
            from baton.composition.search_engines import engine_of

            return engine_of(url).index(url, EmbeddingSettings().dimensions)
        from baton.adapters.opensearch.index import OpenSearchIndex

        return OpenSearchIndex(self.opensearch, self.clock, self.search_layout, EmbeddingSettings().model)

    @cached_property
    def search_administration(self) -> SearchAdministration | None:
        """The making and rebuilding of OpenSearch's indices; None for another engine."""
        from baton.settings.resources import SearchSettings

        if not SearchSettings().url.startswith("http"):
            return None
        from baton.adapters.opensearch.administration import OpenSearchAdministration

        return OpenSearchAdministration(self.opensearch, self.search_layout)

    @cached_property
    def search_reindexing(self) -> Reindexing | None:
        """The rebuilding of the search indices; None if search is off."""
        from baton.settings.resources import SearchSettings

        url = SearchSettings().url
        if not url or self.search_administration is not None:
            return self.search_administration
        from baton.composition.search_engines import engine_of

        return engine_of(url).reindexing(url)

    @cached_property
    def opensearch(self) -> Engine:
        """The OpenSearch of the settings. Its library is loaded with the first request."""
        from baton.adapters.opensearch.engine import Engine
        from baton.settings.resources import SearchSettings

        return Engine(SearchSettings().url)

    @cached_property
    def search_layout(self) -> Layout:
        """How the indices of OpenSearch are named and spread."""
        from baton.adapters.opensearch.definitions import Layout
        from baton.settings.resources import SearchSettings

        settings = SearchSettings()
        return Layout(settings.prefix.lower(), settings.shards, settings.replicas)

    @cached_property
    def embedder(self) -> Embedder:
        from baton.adapters.switched_off import NoEmbedder

        return self.deferred_embedder or NoEmbedder()

    @cached_property
    def deferred_embedder(self) -> DeferredEmbedder | None:
        """The embedder, whose library is loaded at the first use or by ``load``; None if embedding is off."""
        from baton.adapters.deferred import DeferredEmbedder
        from baton.settings.models import EmbeddingSettings

        settings = EmbeddingSettings()
        if settings.model is None:
            return None
        model, dimensions = settings.model, settings.dimensions

        def make() -> Embedder:
            if self.model_settings.is_on_bedrock(model):
                from baton.composition.bedrock import embedder

                return embedder(model, dimensions, self.model_settings, self.counter)
            from baton.adapters.openai.embedder import OpenAIEmbedder
            from baton.composition.paces import embedding_paces

            base_url = settings.base_url or self.model_settings.base_url
            if base_url is None:
                raise ValueError(
                    "BATON_EMBEDDING_MODEL: it has no endpoint. Set BATON_EMBEDDING_BASE_URL or OPENAI_BASE_URL"
                )
            return OpenAIEmbedder(
                model,
                dimensions,
                counter=self.counter,
                api_key=self.model_key,
                base_url=base_url,
                paces=embedding_paces(),
            )

        return DeferredEmbedder(make, model, dimensions)

    @cached_property
    def pii_detector(self) -> PiiDetector:
        from baton.adapters.pii.in_process import InProcessPiiDetector
        from baton.settings.conversations import PrivacySettings

        return InProcessPiiDetector(PrivacySettings().regions)

    @cached_property
    def with_episode_facts(self) -> bool:
        from baton.settings.conversations import EpisodeSettings

        return EpisodeSettings().facts

    @cached_property
    def title_source(self) -> TitleSource:
        from baton.settings.conversations import TitleSettings

        return TitleSettings().source

    @cached_property
    def tenant_limits(self) -> TenantLimitStore:
        from baton.adapters.dynamodb.tenant_limits import DynamoTenantLimits

        return DynamoTenantLimits(self.table)

    @cached_property
    def deployment_limits(self) -> DeploymentLimits:
        from baton.settings.conversations import LimitSettings

        return LimitSettings().tenants

    @cached_property
    def prices(self) -> Prices:
        from baton.settings.models import PriceSettings

        return PriceSettings().prices

    @cached_property
    def recall_deadline(self) -> timedelta:
        from baton.settings.conversations import RecallSettings

        return RecallSettings().deadline

    # Learning

    @cached_property
    def capture_records(self) -> CaptureStore:
        from baton.adapters.dynamodb.captures import DynamoCaptures

        return DynamoCaptures(self.table, self.clock)

    @cached_property
    def announcements(self) -> Announcements:
        from baton.adapters.aws import client
        from baton.adapters.event_bridge import EventBridgeAnnouncements
        from baton.settings.resources import AnnouncementSettings

        return EventBridgeAnnouncements(client("events"), AnnouncementSettings().event_bus)

    @cached_property
    def with_learning(self) -> bool:
        from baton.settings.conversations import LearningSettings

        return LearningSettings().learning

    # Forgetting

    @cached_property
    def erasure(self) -> Erasure:
        from baton.adapters.dynamodb.erasure import DynamoErasure

        return DynamoErasure(self.table, self.clock)

    @cached_property
    def objects(self) -> ObjectErasure:
        from baton.adapters.aws import client
        from baton.adapters.s3_erasure import S3Erasure
        from baton.settings.resources import StoreSettings

        return S3Erasure(client("s3"), StoreSettings().bucket)

    @cached_property
    def forget_requests(self) -> ForgetRequests:
        from baton.adapters.dynamodb.forget_requests import DynamoForgetRequests

        return DynamoForgetRequests(self.table, self.clock)

    @cached_property
    def retentions(self) -> Retentions:
        from baton.adapters.dynamodb.forget_requests import DynamoRetentions

        return DynamoRetentions(self.table, self.clock)

    @cached_property
    def forgettings(self) -> Forgettings:
        from baton.adapters.aws import client
        from baton.adapters.step_functions import StepFunctionsForgettings
        from baton.settings.resources import ForgettingSettings

        return StepFunctionsForgettings(client("stepfunctions"), ForgettingSettings().forget_user_arn)

    @cached_property
    def forget_wait_seconds(self) -> float:
        from baton.settings.resources import ForgettingWaitSettings

        return ForgettingWaitSettings().wait_seconds

    # Ingestion

    @cached_property
    def source_rules(self) -> SourceRules:
        from baton.domain.source import SourceRules
        from baton.settings.resources import OutsideSettings, SourceSettings

        return SourceRules(OutsideSettings().egress, SourceSettings().allowed_prefixes)

    @cached_property
    def web_pages(self) -> WebPages:
        from baton.adapters.egress import http_client
        from baton.adapters.web_pages import HttpPages
        from baton.settings.resources import OutsideSettings

        policy = OutsideSettings().egress
        return HttpPages(
            lambda seconds, limit: http_client(policy, timeout_seconds=seconds, max_response_bytes=limit),
            pause_seconds=0.0 if policy.allow_local else 1.0,
        )

    @cached_property
    def extractor(self) -> TextExtractor:
        from baton.adapters.document_reader import ChildProcessExtractor

        return ChildProcessExtractor()

    # Queues and connections

    @cached_property
    def queue(self) -> TurnQueue:
        from baton.adapters.aws import QUICK, client
        from baton.adapters.sqs import SqsTurnQueue
        from baton.settings.resources import QueueSettings

        return SqsTurnQueue(client("sqs", config=QUICK), QueueSettings().turns_queue_url)

    @cached_property
    def queue_records(self) -> QueueRecords | None:
        from baton.adapters.aws import client
        from baton.adapters.sqs import SqsRecords
        from baton.settings.resources import QueueSettings

        return SqsRecords(client("sqs"), QueueSettings().turns_queue_url, self.lease_times)

    @cached_property
    def push_queue(self) -> PushQueue:
        from baton.adapters.aws import QUICK, client
        from baton.adapters.sqs import SqsPushQueue
        from baton.settings.resources import PushQueueSettings

        return SqsPushQueue(client("sqs", config=QUICK), PushQueueSettings().push_queue_url)

    @cached_property
    def webhooks(self) -> Webhooks:
        from baton.adapters.egress import http_client
        from baton.adapters.webhooks import HttpWebhooks
        from baton.settings.resources import PushSettings

        policy = PushSettings().egress
        return HttpWebhooks(policy, lambda seconds: http_client(policy, timeout_seconds=seconds))

    @cached_property
    def push_configs(self) -> PushConfigs:
        from baton.adapters.dynamodb.a2a_tasks import DynamoPushConfigs
        from baton.adapters.tokens.receiver_secrets import ReceiverSecrets
        from baton.settings.resources import PushKeySettings

        secrets = ReceiverSecrets(lambda: self.secrets.get(PushKeySettings().secret))
        return DynamoPushConfigs(self.table, self.clock, secrets)

    @cached_property
    def signing_key(self) -> SigningKey:
        from baton.adapters.signing import DerivedSigningKey
        from baton.settings.resources import PushKeySettings

        settings = PushKeySettings()
        return DerivedSigningKey(self.secrets, settings.secret, accepts_short=settings.is_local)

    @cached_property
    def push_issuer(self) -> str:
        from baton.settings.resources import PushIssuerSettings

        return PushIssuerSettings().issuer.rstrip("/")

    @cached_property
    def connections(self) -> Connections:
        from baton.adapters.api_gateway import ApiGatewayConnections
        from baton.adapters.aws import client
        from baton.settings.resources import SocketSettings

        return ApiGatewayConnections(client("apigatewaymanagementapi", SocketSettings().connections_url))
