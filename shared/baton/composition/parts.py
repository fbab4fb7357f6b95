"""The classes and functions from which ports and use cases are built: ``parts.Turns`` is ``Turns``.

Each is imported when it is first used, so that the start of a function does not load modules that it does not use. The
authorizer, for example, needs no module of models or of the API.

Only type checkers evaluate the imports below. ``__getattr__`` parses their text as the table of names. This takes
0.3 ms once, and then a microsecond for each use.
"""

# mypy: implicit-reexport
# ruff: noqa: F401

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from baton.adapters.a2a import RemoteAgents
    from baton.adapters.agents.agent_files import AgentFiles
    from baton.adapters.aws.api_gateway import ApiGatewayConnections
    from baton.adapters.aws.blocking_calls import QUICK, create_client, defer_client
    from baton.adapters.aws.direct_calls import make_operations
    from baton.adapters.aws.event_bridge import EventBridgeAnnouncements
    from baton.adapters.aws.last_wills import LastWills, get_own_last_wills
    from baton.adapters.aws.s3_documents import S3Documents, S3SourceObjects
    from baton.adapters.aws.s3_erasure import S3Erasure
    from baton.adapters.aws.s3_files import S3Files, create_s3_client
    from baton.adapters.aws.s3_records import S3Bodies
    from baton.adapters.aws.s3_settings import S3Settings
    from baton.adapters.aws.s3_tenant_files import S3TenantFiles
    from baton.adapters.aws.s3_usage import S3TenantObjects
    from baton.adapters.aws.secrets import ParameterStore, SecretsManager, create_quick_client
    from baton.adapters.aws.session import CredentialSource, get_own_region, get_own_session
    from baton.adapters.aws.sqs import SqsDelayQueue, SqsPushQueue, SqsRecords, SqsTurnQueue
    from baton.adapters.aws.step_functions import StepFunctionsExecutions, StepFunctionsForgettings
    from baton.adapters.cached_value import RefreshedValue
    from baton.adapters.documents.document_reader import ChildProcessExtractor, ChildProcessReader
    from baton.adapters.dynamodb.a2a_tasks import DynamoA2ATasks, DynamoPushConfigs
    from baton.adapters.dynamodb.bodies import unpack
    from baton.adapters.dynamodb.documents import DynamoDocuments, DynamoSources
    from baton.adapters.dynamodb.memory.captures import DynamoCaptures
    from baton.adapters.dynamodb.memory.episodes import DynamoEpisodes
    from baton.adapters.dynamodb.memory.private_skills import DynamoPrivateSkills
    from baton.adapters.dynamodb.memory.procedures import DynamoProcedures
    from baton.adapters.dynamodb.pipeline_queue import DynamoPipelineQueue
    from baton.adapters.dynamodb.table import Table
    from baton.adapters.dynamodb.tenants.agent_definitions import DynamoAgentDefinitions
    from baton.adapters.dynamodb.tenants.audit import DynamoAuditLog
    from baton.adapters.dynamodb.tenants.erasure import DynamoErasure
    from baton.adapters.dynamodb.tenants.evaluations import DynamoEvaluations
    from baton.adapters.dynamodb.tenants.forget_requests import DynamoForgetRequests, DynamoRetentions
    from baton.adapters.dynamodb.tenants.removals import DynamoTenantRemovals
    from baton.adapters.dynamodb.tenants.searched_tenants import DynamoSearchedTenants
    from baton.adapters.dynamodb.tenants.spending import DynamoSpending
    from baton.adapters.dynamodb.tenants.tenant_erasure import DynamoTenantErasure
    from baton.adapters.dynamodb.tenants.tenant_limits import DynamoTenantLimits
    from baton.adapters.dynamodb.tenants.tenant_records import DynamoTenantRecords
    from baton.adapters.dynamodb.tenants.user_records import DynamoFeedback, DynamoTimeZones
    from baton.adapters.dynamodb.threads.activity import DynamoActivityCounts
    from baton.adapters.dynamodb.threads.dead_deliveries import DynamoDeadDeliveries
    from baton.adapters.dynamodb.threads.desks import DynamoDeskPlaces
    from baton.adapters.dynamodb.threads.due_items import DynamoBackgroundTasks, DynamoDueItems, DynamoSchedules
    from baton.adapters.dynamodb.threads.handoffs import DynamoHandoffs, DynamoWorkflows
    from baton.adapters.dynamodb.threads.idle_threads import DynamoIdleThreads
    from baton.adapters.dynamodb.threads.live import DynamoLiveRegistry, DynamoStreamLog
    from baton.adapters.dynamodb.threads.run_records import DynamoContextRecords, DynamoMcpCalls, DynamoRunRecords
    from baton.adapters.dynamodb.threads.thread_store import DynamoThreadStore
    from baton.adapters.egress import make_http2_client, make_http_client
    from baton.adapters.egress.circuit_breaker import CircuitBreakers
    from baton.adapters.egress.web_pages import HttpPages
    from baton.adapters.egress.webhooks import HttpWebhooks
    from baton.adapters.models.bedrock.chat_model import BedrockChatModel
    from baton.adapters.models.bedrock.connection import BedrockConnection, NoSession, make_profile_session
    from baton.adapters.models.bedrock.embedder import BedrockEmbedder
    from baton.adapters.models.bedrock.request import BedrockGuardrail
    from baton.adapters.models.embedding_pace import EmbeddingPaces
    from baton.adapters.models.openai import OpenAIChatModel
    from baton.adapters.models.openai.clients import AwsSigning
    from baton.adapters.models.openai.embedder import OpenAIEmbedder
    from baton.adapters.models.profiles.known_profiles import find_family, make_context_lengths
    from baton.adapters.models.profiles.profile import Api, read_hints, read_profile_overrides
    from baton.adapters.models.provider_models import ProviderModels
    from baton.adapters.models.token_counter import TiktokenCounter
    from baton.adapters.opensearch.administration import OpenSearchAdministration
    from baton.adapters.opensearch.definitions import Layout
    from baton.adapters.opensearch.engine import Engine
    from baton.adapters.opensearch.index import OpenSearchIndex
    from baton.adapters.pii import InProcessPiiDetector
    from baton.adapters.routed_search import RoutedIndex
    from baton.adapters.sqlite_index import SqliteIndex, SqliteReindexing
    from baton.adapters.sqlite_index.moving import SqliteFiles
    from baton.adapters.sqlite_index.objects import IndexObjects
    from baton.adapters.sqlite_index.owner_files import OwnerFiles
    from baton.adapters.switched_off import NoEmbedder, NoSearch
    from baton.adapters.tokens.embed_keys import EmbedKeys
    from baton.adapters.tokens.exchange import EXCHANGE_SECONDS, TokenExchanges
    from baton.adapters.tokens.hook_signatures import SignatureVerifier
    from baton.adapters.tokens.receiver_secrets import ReceiverSecrets
    from baton.adapters.tokens.sealed_cursors import SealedCursors
    from baton.adapters.tokens.signing_keys import DerivedSigningKey, JwkCardSigner
    from baton.adapters.tokens.subject_tokens import SubjectTokens
    from baton.adapters.tokens.verifier import JwtVerifier
    from baton.adapters.tokens.webhook_signatures import StandardWebhookSigner
    from baton.adapters.tools.header_values import HeaderValues
    from baton.adapters.tools.http_tools import HttpRequests, HttpTools
    from baton.adapters.tools.mcp import McpTools
    from baton.adapters.tools.openapi_tools import OpenApiTools
    from baton.adapters.tools.python_tools import PythonTools
    from baton.adapters.tools.tool_source import ToolSource
    from baton.adapters.tools.toolbox import Toolbox
    from baton.adapters.tracing.otel_tracer import OtelTracer
    from baton.adapters.tracing.sending import (
        MAX_WAITING,
        MAX_WAITING_WITH_CONTENT,
        BoundedSending,
        RestingExporter,
        SpansDropped,
    )
    from baton.adapters.tracing.traced_model import TracedEmbedder, TracedModel
    from baton.agents.approvals import Approvals
    from baton.agents.attempt_context import AgentServices
    from baton.agents.checks.model_checks import ModelChecks
    from baton.agents.context_budgets import ContextBudgets
    from baton.agents.limited_model import LimitedModel
    from baton.agents.tools.background_tools import ToolsWithBackground
    from baton.agents.tools.schedule_tools import ToolsWithSchedules
    from baton.authoring.functions import Functions
    from baton.composition.startup.deferred import DeferredAgentClient, DeferredEmbedder, DeferredPiiDetector
    from baton.domain.agents.model_providers import DEFAULT_PROVIDER, OfferedModels, Provider, ProviderKind
    from baton.domain.agents.tool import HttpTool, McpServer, OpenApiTool, PythonTool
    from baton.domain.documents.pipelines import Pipeline
    from baton.domain.documents.source import SourceRules
    from baton.domain.memory.inspection import InspectionPolicy
    from baton.domain.runs.usage import Prices
    from baton.domain.tenants.egress_policy import EgressPolicy
    from baton.domain.tenants.identity import OidcIssuer
    from baton.domain.tenants.inbound_hook import HookSettings
    from baton.domain.tenants.tenant_limits import DeploymentLimits
    from baton.domain.tenants.webhook import WebhookSettings
    from baton.domain.threads.thread import LeaseTimes
    from baton.domain.threads.thread_title import TitleSource
    from baton.domain.tracing import parse_trace_headers
    from baton.entry.actions import Actions
    from baton.entry.controls import Controls
    from baton.entry.forget_requests import ForgetCalls
    from baton.entry.jobs.closing_events import ClosingEvents
    from baton.entry.jobs.ingestion_events import IngestionEvents
    from baton.entry.jobs.library_commands import LibraryCommands
    from baton.entry.jobs.pipeline_admission import PipelineAdmission
    from baton.entry.jobs.pipeline_starts import AdmittedCaptures, AdmittedClosings, AdmittedIngestions
    from baton.entry.jobs.search_move import SearchMove
    from baton.entry.jobs.sweep import Sweeper
    from baton.entry.queued_turns import QueuedTurns
    from baton.knowledge.cleaning import Cleaning
    from baton.knowledge.document_records import DocumentRecords
    from baton.knowledge.documents import Documents
    from baton.knowledge.ingestion import Ingestion
    from baton.knowledge.ingestion_starts import IngestionStarts
    from baton.knowledge.knowledge_search import KnowledgeSearch
    from baton.knowledge.source_pages import PageListings, PageRefreshes
    from baton.knowledge.source_refresh import SourceRefreshes
    from baton.knowledge.sources import Sources
    from baton.memory.agent_memory import AgentMemory
    from baton.memory.episodes.episode_digest import Digester
    from baton.memory.episodes.episode_index import EpisodeIndex
    from baton.memory.episodes.episode_messages import EpisodeMessages
    from baton.memory.episodes.episode_search import EpisodeSearch
    from baton.memory.episodes.fact_changes import FactChanges
    from baton.memory.episodes.session_closing import SessionClosing
    from baton.memory.inspection.inspector import Inspector
    from baton.memory.light_model import LightModel
    from baton.memory.procedures.administration import DEADLINE, ProcedureAdministration
    from baton.memory.procedures.approved_procedures import ApprovedProcedures
    from baton.memory.procedures.learning import Learning, SessionLearning
    from baton.memory.procedures.procedure_capture import ProcedureCapture
    from baton.memory.procedures.procedure_sources import ProcedureSources
    from baton.memory.procedures.skill_administration import SkillAdministration
    from baton.memory.procedures.task_record import TaskRecords
    from baton.memory.prompt.history_summary import HistorySummaries
    from baton.memory.recall.recall import Recall
    from baton.ports.agents.a2a import A2ATasks, CardSigner, PushConfigs, PushQueue, SigningKey, Webhooks
    from baton.ports.agents.agent_client import AgentClient
    from baton.ports.agents.agents import AgentDefinitions, ShippedAgents
    from baton.ports.agents.chat_model import ChatModel, TokenCounter
    from baton.ports.agents.tools import Tools
    from baton.ports.clock import Clock, TimeZones
    from baton.ports.documents.documents import DocumentFiles, DocumentReader, DocumentStore, Ingestions, TextExtractor
    from baton.ports.documents.files import Files, ThreadFiles
    from baton.ports.documents.search import Embedder, Reindexing, SearchAdministration, SearchIndex
    from baton.ports.documents.sources import SourceObjects, SourceStore, WebPages
    from baton.ports.memory.episodes import Closings, Episodes
    from baton.ports.memory.procedures import Announcements, Captures, CaptureStore, PrivateSkills, ProcedureStore
    from baton.ports.tenants.audit import AuditTrail
    from baton.ports.tenants.export import CursorSeal, TenantFiles, TenantRecords
    from baton.ports.tenants.identity import Secrets, TokenVerifier
    from baton.ports.tenants.privacy import Erasure, ForgetRequests, Forgettings, ObjectErasure, PiiDetector
    from baton.ports.tenants.removal import TenantErasure, TenantRemovals
    from baton.ports.tenants.spending import SpendingStore
    from baton.ports.tenants.tenants import (
        ActivityCounts,
        EvaluationStore,
        Retentions,
        SearchedTenants,
        TenantLimitStore,
    )
    from baton.ports.tenants.usage import TenantObjects
    from baton.ports.threads.background import BackgroundTasks
    from baton.ports.threads.connections import Connections, LiveRegistry
    from baton.ports.threads.desks import DeskPlaces
    from baton.ports.threads.handoffs import HandoffStore, WorkflowStore
    from baton.ports.threads.messages import FeedbackStore
    from baton.ports.threads.run_records import ContextRecords, McpCalls, RunHistory
    from baton.ports.threads.schedules import DelayQueue, DueItems, Schedules
    from baton.ports.threads.stream_log import StreamLog
    from baton.ports.threads.threads import IdleThreads, ThreadStore
    from baton.ports.threads.turn_queue import QueueRecords, TurnQueue
    from baton.ports.threads.webhooks import DeadDeliveries, HookVerifier, WebhookSigner
    from baton.ports.tracing import Tracer
    from baton.settings.base import StageSettings
    from baton.settings.conversations import (
        EpisodeSettings,
        InspectorSettings,
        LeaseSettings,
        PrivacySettings,
        ProcedureSettings,
        RecallSettings,
        TitleSettings,
    )
    from baton.settings.document import MAX_SETTINGS_BYTES, SettingsDocument, apply_variables, read_document
    from baton.settings.identity import ApiSettings, CardSettings, DelegationSettings, IdentitySettings
    from baton.settings.models import (
        BedrockSettings,
        EmbeddingSettings,
        ModelNameSettings,
        ProviderSettings,
        TokenizerSettings,
    )
    from baton.settings.resources import (
        AgentSettings,
        AnnouncementSettings,
        CaptureSettings,
        ClosingSettings,
        DocumentSettings,
        DueQueueSettings,
        ForgettingSettings,
        ForgettingWaitSettings,
        IngestionSettings,
        OutsideSettings,
        PipelineSettings,
        PushIssuerSettings,
        PushKeySettings,
        PushQueueSettings,
        QueueSettings,
        SearchSettings,
        SocketSettings,
        SourceSettings,
        StoreSettings,
        TracedDeploymentSettings,
        TraceSettings,
    )
    from baton.tenants.evaluations import Evaluations
    from baton.tenants.privacy.export import Exports
    from baton.tenants.privacy.forgetting import Forgetting, Waits
    from baton.tenants.privacy.readers import Readers
    from baton.tenants.privacy.removal import RemovalCalls, TenantRemovalWork
    from baton.tenants.privacy.retention import RetentionRuns
    from baton.tenants.privacy.tenant_export import TenantExports
    from baton.tenants.rates import ForgottenRuns, PlaceLimits, RunLimits
    from baton.tenants.registry.agent_editing import AgentEditing
    from baton.tenants.registry.agent_registry import AgentRegistry
    from baton.tenants.registry.agent_rollouts import AgentRollouts
    from baton.tenants.registry.evaluation_gate import EvaluationGate
    from baton.tenants.registry.own_agents import OwnAgents
    from baton.tenants.registry.tenant_agents import AgentBelongings
    from baton.tenants.removed_tenants import RemovedTenants
    from baton.tenants.spending_limits import SpendingLimits
    from baton.tenants.tenant_copies import CurrentLimits
    from baton.threads.background.background_work import BackgroundWork
    from baton.threads.background.callbacks import TaskCallbacks
    from baton.threads.background.forgotten_tasks import ForgottenTasks
    from baton.threads.background.remote_work import RemoteWork
    from baton.threads.background.task_results import TaskResults
    from baton.threads.background.tool_work import ToolWork
    from baton.threads.desks.desk_access import DeskAccess
    from baton.threads.handoffs.conversation_states import ConversationStates
    from baton.threads.handoffs.forks import Forks
    from baton.threads.handoffs.sandboxes import Sandboxes
    from baton.threads.handoffs.skill_making import SkillMaking
    from baton.threads.outbox.change_notifications import ChangeNotifications
    from baton.threads.outbox.follow import Follower
    from baton.threads.outbox.replay import Replays
    from baton.threads.requests.waiting_messages import WaitingMessages
    from baton.threads.schedules.due_starts import DueStarts
    from baton.threads.schedules.event_starts import EventStarts
    from baton.threads.schedules.followed_time_zones import FollowedTimeZones
    from baton.threads.schedules.later_runs import LaterRuns
    from baton.threads.schedules.owner_permissions import OwnerPermissions
    from baton.threads.schedules.run_conversations import RunConversations
    from baton.threads.schedules.schedule_lists import ScheduleLists
    from baton.threads.schedules.schedule_making import ScheduleMaking
    from baton.threads.schedules.self_starts import SelfStarts
    from baton.threads.sessions.importing import Importer
    from baton.threads.sessions.overviews import Overviews
    from baton.threads.sessions.ratings import Ratings
    from baton.threads.sessions.sessions import Endings, Sessions
    from baton.threads.sessions.titles import MadeTitles, Titles
    from baton.threads.sessions.unread_answers import UnreadAnswers
    from baton.threads.sessions.usage_counts import UsageCounts
    from baton.threads.sessions.version_figures import VersionFigures
    from baton.threads.webhooks.deliveries import WebhookDeliveries
    from baton.threads.webhooks.inbound_hooks import InboundHooks
    from baton.threads.webhooks.thread_events import ThreadEvents
    from baton.turns.branch_selection import BranchSelection
    from baton.turns.closing import Closer
    from baton.turns.desk_drafts import DeskDrafts
    from baton.turns.merges import Merges
    from baton.turns.reruns import Reruns
    from baton.turns.turn_services import TurnServices
    from baton.turns.turns import Turns

_IMPORT = re.compile(r"^    from (baton\.[\w.]+) import (?:\(([^)]*)\)|(.*))$", re.MULTILINE)


@cache
def _find_modules() -> dict[str, str]:
    """Return the names of modules by the names that are imported from them."""
    imports = _IMPORT.findall(Path(__file__).read_text(encoding="utf-8"))
    return {name: module for module, several, single in imports for name in re.findall(r"\w+", several or single)}


if not TYPE_CHECKING:  # for a type checker, only the imports above exist

    def __getattr__(name: str) -> Any:
        """Import a part by its name. The part is not cached, because its module may be reloaded."""
        module = _find_modules().get(name)
        if module is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(module), name)
