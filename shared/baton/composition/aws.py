"""The ports of a deployment: Baton's adapters, configured by the function's environment variables.

Each adapter is built on first use, and reads only the settings that it needs. The methods contain their imports,
because the authorizer and the sockets must not load the libraries of the model or the API.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import cached_property
from typing import TYPE_CHECKING

from baton.ports.clock import SystemClock

if TYPE_CHECKING:
    from datetime import timedelta

    from baton.adapters.agent_files import AgentFiles
    from baton.adapters.deferred_model import DeferredChatModel
    from baton.adapters.dynamodb.table import Table
    from baton.adapters.opensearch.definitions import Layout
    from baton.adapters.opensearch.engine import Engine
    from baton.adapters.s3_bodies import S3Bodies
    from baton.adapters.secrets import SecretsManager
    from baton.adapters.token_counter import TiktokenCounter
    from baton.adapters.tokens import JwtVerifier
    from baton.composition.outside import Outside
    from baton.domain.inspection_policy import InspectionPolicy
    from baton.domain.lease_times import LeaseTimes
    from baton.ports.agent_catalog import AgentCatalog
    from baton.ports.agent_client import AgentClient
    from baton.ports.audit import AuditLog
    from baton.ports.chat_model import ChatModel
    from baton.ports.clock import Clock
    from baton.ports.connections import Connections
    from baton.ports.context_records import ContextRecords
    from baton.ports.embedder import Embedder
    from baton.ports.episodes import Closings, Episodes
    from baton.ports.erasure import Erasure, ObjectErasure
    from baton.ports.files import Files
    from baton.ports.forget_requests import ForgetRequests, Forgettings
    from baton.ports.handoffs import HandoffStore
    from baton.ports.idle_threads import IdleThreads
    from baton.ports.live import LiveRegistry
    from baton.ports.pii_detector import PiiDetector
    from baton.ports.queue_records import QueueRecords
    from baton.ports.retentions import Retentions
    from baton.ports.run_records import RunRecords
    from baton.ports.search_administration import SearchAdministration
    from baton.ports.search_index import SearchIndex
    from baton.ports.skills import SkillStore
    from baton.ports.stream_log import StreamLog
    from baton.ports.thread_store import ThreadStore
    from baton.ports.tools import Tools
    from baton.ports.turn_queue import TurnQueue
    from baton.ports.workflows import WorkflowStore
    from baton.settings import ModelSettings


class AwsPorts:
    """Implements ``composition.ports.Ports`` for one execution environment.

    A subclass may replace any of them, such as the table. The others are then built on the replacement.
    """

    @cached_property
    def clock(self) -> Clock:
        """The system clock."""
        return SystemClock()

    @cached_property
    def lease_times(self) -> LeaseTimes:
        """The lease times of the settings."""
        from baton.settings import LeaseSettings

        return LeaseSettings().times

    # Stores

    @cached_property
    def table(self) -> Table:
        """The DynamoDB table of the deployment."""
        from baton.adapters.aws import QUICK, client
        from baton.adapters.dynamodb.table import Table
        from baton.settings import StoreSettings

        return Table.of(client("dynamodb", config=QUICK), StoreSettings().table)

    @cached_property
    def bodies(self) -> S3Bodies:
        """Bodies in S3 that are too large for the table."""
        from baton.adapters.aws import client
        from baton.adapters.s3_bodies import S3Bodies
        from baton.settings import StoreSettings

        return S3Bodies(client("s3"), StoreSettings().bucket)

    @cached_property
    def store(self) -> ThreadStore:
        from baton.adapters.dynamodb.thread_store import DynamoThreadStore

        return DynamoThreadStore(self.table, self.bodies, self.clock, self.lease_times.lease)

    @cached_property
    def log(self) -> StreamLog:
        from baton.adapters.dynamodb.stream_log import DynamoStreamLog

        return DynamoStreamLog(self.table, self.clock)

    @cached_property
    def live(self) -> LiveRegistry:
        from baton.adapters.dynamodb.live import DynamoLiveRegistry

        return DynamoLiveRegistry(self.table, self.clock)

    @cached_property
    def records(self) -> RunRecords:
        from baton.adapters.dynamodb.run_records import DynamoRunRecords

        return DynamoRunRecords(self.table, self.bodies)

    @cached_property
    def handoffs(self) -> HandoffStore:
        from baton.adapters.dynamodb.handoffs import DynamoHandoffs

        return DynamoHandoffs(self.table, self.bodies)

    @cached_property
    def workflows(self) -> WorkflowStore:
        from baton.adapters.dynamodb.workflows import DynamoWorkflows

        return DynamoWorkflows(self.table, self.clock)

    @cached_property
    def skills(self) -> SkillStore:
        from baton.adapters.dynamodb.skills import DynamoSkills

        return DynamoSkills(self.table)

    @cached_property
    def episodes(self) -> Episodes:
        from baton.adapters.dynamodb.episodes import DynamoEpisodes

        return DynamoEpisodes(self.table, self.bodies)

    @cached_property
    def idle(self) -> IdleThreads:
        from baton.adapters.dynamodb.idle_threads import DynamoIdleThreads

        return DynamoIdleThreads(self.table, self.clock)

    @cached_property
    def audit(self) -> AuditLog:
        from baton.adapters.dynamodb.audit import DynamoAuditLog

        return DynamoAuditLog(self.table, self.clock)

    @cached_property
    def files(self) -> Files:
        from baton.adapters.s3_files import S3Files, s3_client
        from baton.settings import StoreSettings

        return S3Files(s3_client(), StoreSettings().bucket, self.clock)

    @cached_property
    def context_records(self) -> ContextRecords:
        from baton.adapters.s3_context_records import S3ContextRecords

        return S3ContextRecords(self.bodies.client, self.bodies.bucket)

    @cached_property
    def inspection_policy(self) -> InspectionPolicy:
        from baton.settings import InspectorSettings

        return InspectorSettings().policy

    # Search

    @cached_property
    def search(self) -> SearchIndex:
        from baton.settings import EmbeddingSettings, SearchSettings

        url, dimensions = SearchSettings().url, EmbeddingSettings().dimensions
        if not url:
            from baton.adapters.no_search import NoSearch

            return NoSearch()
        if url.startswith("sqlite:"):
            from pathlib import Path

            from baton.adapters.sqlite_index import SqliteIndex

            return SqliteIndex(Path(url.removeprefix("sqlite:///")), dimensions)
        from baton.adapters.opensearch.index import OpenSearchIndex

        return OpenSearchIndex(self.opensearch, self.clock, self.search_layout, EmbeddingSettings().model)

    @cached_property
    def search_administration(self) -> SearchAdministration | None:
        """What makes and rebuilds the search indices; None for an engine that needs no such thing."""
        from baton.settings import SearchSettings

        if not SearchSettings().url.startswith("http"):
            return None
        from baton.adapters.opensearch.administration import OpenSearchAdministration

        return OpenSearchAdministration(self.opensearch, self.search_layout)

    @cached_property
    def opensearch(self) -> Engine:
        """The OpenSearch of the settings. Its library is loaded with the first request."""
        from baton.adapters.opensearch.engine import Engine
        from baton.settings import SearchSettings

        return Engine(SearchSettings().url)

    @cached_property
    def search_layout(self) -> Layout:
        """How the indices of OpenSearch are named and spread."""
        from baton.adapters.opensearch.definitions import Layout
        from baton.settings import SearchSettings

        settings = SearchSettings()
        return Layout(settings.prefix.lower(), settings.shards, settings.replicas)

    @cached_property
    def embedder(self) -> Embedder:
        from baton.settings import EmbeddingSettings

        settings = EmbeddingSettings()
        if settings.model is None:
            from baton.adapters.no_embedder import NoEmbedder

            return NoEmbedder()
        from baton.adapters.deferred_embedder import DeferredEmbedder

        model, dimensions = settings.model, settings.dimensions

        def openai() -> Embedder:
            from baton.adapters.openai.embedder import OpenAIEmbedder

            base_url = settings.base_url or self.model_settings.base_url
            return OpenAIEmbedder(model, dimensions, counter=self.counter, api_key=self.model_key, base_url=base_url)

        return DeferredEmbedder(openai, model, dimensions)

    @cached_property
    def pii_detector(self) -> PiiDetector:
        from baton.adapters.pii.in_process import InProcessPiiDetector
        from baton.settings import PrivacySettings

        settings = PrivacySettings()
        in_process = InProcessPiiDetector(settings.regions)
        if settings.pii_detector == "local":
            return in_process
        from baton.adapters.aws import client
        from baton.adapters.pii.comprehend import ComprehendPiiDetector

        return ComprehendPiiDetector(client("comprehend"), in_process, language=settings.language)

    @cached_property
    def with_episode_facts(self) -> bool:
        from baton.settings import EpisodeSettings

        return EpisodeSettings().facts

    @cached_property
    def recall_deadline(self) -> timedelta:
        from baton.settings import RecallSettings

        return RecallSettings().deadline

    # Forgetting

    @cached_property
    def erasure(self) -> Erasure:
        from baton.adapters.dynamodb.erasure import DynamoErasure

        return DynamoErasure(self.table, self.clock)

    @cached_property
    def objects(self) -> ObjectErasure:
        from baton.adapters.aws import client
        from baton.adapters.s3_erasure import S3Erasure
        from baton.settings import StoreSettings

        return S3Erasure(client("s3"), StoreSettings().bucket)

    @cached_property
    def forget_requests(self) -> ForgetRequests:
        from baton.adapters.dynamodb.forget_requests import DynamoForgetRequests

        return DynamoForgetRequests(self.table, self.clock)

    @cached_property
    def retentions(self) -> Retentions:
        from baton.adapters.dynamodb.retentions import DynamoRetentions

        return DynamoRetentions(self.table, self.clock)

    @cached_property
    def forgettings(self) -> Forgettings:
        from baton.adapters.aws import client
        from baton.adapters.step_functions import StepFunctionsForgettings
        from baton.settings import ForgettingSettings

        return StepFunctionsForgettings(client("stepfunctions"), ForgettingSettings().forget_user_arn)

    @cached_property
    def forget_wait_seconds(self) -> float:
        from baton.settings import ForgettingWaitSettings

        return ForgettingWaitSettings().wait_seconds

    # Queues and connections

    @cached_property
    def queue(self) -> TurnQueue:
        from baton.adapters.aws import QUICK, client
        from baton.adapters.sqs import SqsTurnQueue
        from baton.settings import QueueSettings

        return SqsTurnQueue(client("sqs", config=QUICK), QueueSettings().turns_queue_url)

    @cached_property
    def queue_records(self) -> QueueRecords | None:
        from baton.adapters.aws import client
        from baton.adapters.sqs import SqsRecords
        from baton.settings import QueueSettings

        return SqsRecords(client("sqs"), QueueSettings().turns_queue_url, self.lease_times)

    @cached_property
    def closings(self) -> Closings:
        from baton.adapters.aws import client
        from baton.adapters.step_functions import StepFunctionsClosings
        from baton.settings import ClosingSettings

        return StepFunctionsClosings(client("stepfunctions"), ClosingSettings().close_session_arn)

    @cached_property
    def connections(self) -> Connections:
        from baton.adapters.api_gateway import ApiGatewayConnections
        from baton.adapters.aws import client
        from baton.settings import SocketSettings

        return ApiGatewayConnections(client("apigatewaymanagementapi", SocketSettings().connections_url))

    # Agents, their models and tools

    @cached_property
    def agent_files(self) -> AgentFiles:
        """The agents' files. Raises ``AgentFileError`` for a file that cannot be used."""
        from baton.adapters.agent_files import AgentFiles
        from baton.settings import AgentSettings

        settings = AgentSettings()
        return AgentFiles.load(settings.agents_dir, settings.default_agent)

    @cached_property
    def catalog(self) -> AgentCatalog:
        return self.agent_files

    @cached_property
    def deferred_model(self) -> DeferredChatModel:
        """The model's client. Its library is loaded at the first call, or by ``load``."""
        from baton.adapters.deferred_model import DeferredChatModel

        settings = self.model_settings

        def openai() -> ChatModel:
            from baton.adapters.openai import OpenAIChatModel
            from baton.adapters.openai.cache_hints import hints_for

            return OpenAIChatModel(
                api_key=self.model_key,
                base_url=settings.base_url,
                sends_metadata=settings.sends_metadata,
                cache_hints=hints_for(settings.base_url, settings.cache_hints),
            )

        return DeferredChatModel(openai)

    @cached_property
    def model_settings(self) -> ModelSettings:
        """The settings of the model endpoint."""
        from baton.settings import ModelSettings

        return ModelSettings()

    @property
    def model_key(self) -> str | Callable[[], Awaitable[str]]:
        """The key of the model endpoint, or what reads it from the secret."""
        key = self.model_settings.key
        return self._key_from_secret if key is None else key.get_secret_value()

    async def _key_from_secret(self) -> str:
        return await asyncio.to_thread(self.secrets.get, self.model_settings.key_secret or "")

    @cached_property
    def model(self) -> ChatModel:
        return self.deferred_model

    @cached_property
    def default_model(self) -> str:
        return self.model_settings.chat_model

    @cached_property
    def light_model(self) -> str:
        return self.model_settings.light_model or self.default_model

    @cached_property
    def counter(self) -> TiktokenCounter:
        """The counter of tokens. Its vocabulary is loaded with the first text, or by ``load``."""
        from baton.adapters.token_counter import TiktokenCounter

        return TiktokenCounter(self.model_settings.tokenizer_dir)

    @cached_property
    def outside(self) -> Outside:
        """Tools and remote agents, called through guarded HTTP clients."""
        from baton.composition.outside import Outside

        return Outside(self.agent_files, self.secrets)

    @cached_property
    def tools(self) -> Tools:
        return self.outside.toolbox

    @cached_property
    def agent_client(self) -> AgentClient:
        from baton.adapters.deferred_agents import DeferredAgentClient

        return DeferredAgentClient(lambda: self.outside.remote_agents)

    # Identity

    @cached_property
    def secrets(self) -> SecretsManager:
        """Secrets Manager. Its client is built when the first secret is read."""
        from baton.adapters.secrets import SecretsManager

        return SecretsManager()

    @cached_property
    def verifier(self) -> JwtVerifier:
        from baton.adapters.tokens import EmbedKeys, JwtVerifier
        from baton.composition.preloading import preload
        from baton.settings import IdentitySettings

        settings = IdentitySettings()
        keys = None
        if settings.embed_keys_secret is not None:
            preload("baton.adapters.aws")  # the secret is read with the first token
            keys = EmbedKeys(self.secrets, settings.embed_keys_secret, allow_any_tenant=settings.is_local)
        return JwtVerifier(settings.token_issuers, keys, allow_http=settings.is_local)
