"""The only place that joins ports to adapters. Everything is built once per execution environment, when first needed.

Imports stand inside the functions: the authorizer and the sockets must not load the model's or the API's libraries.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from baton.composition.environment import cache
from baton.composition.preloading import HTTP_MODULES, MODEL_MODULES, preload
from baton.ports.clock import SystemClock

if TYPE_CHECKING:
    from baton.adapters.agent_files import AgentFiles
    from baton.adapters.api_gateway import ApiGatewayConnections
    from baton.adapters.deferred_model import DeferredChatModel
    from baton.adapters.dynamodb.episodes import DynamoEpisodes
    from baton.adapters.dynamodb.stream_log import DynamoStreamLog
    from baton.adapters.dynamodb.table import Table
    from baton.adapters.dynamodb.thread_store import DynamoThreadStore
    from baton.adapters.s3_bodies import S3Bodies
    from baton.adapters.s3_files import S3Files
    from baton.adapters.secrets import SecretsManager
    from baton.adapters.sqs import SqsTurnQueue
    from baton.adapters.step_functions import StepFunctionsClosings
    from baton.adapters.token_counter import TiktokenCounter
    from baton.adapters.tokens import JwtVerifier
    from baton.agents.approvals import Approvals
    from baton.agents.run_context import RunServices
    from baton.entry.actions import Actions
    from baton.entry.controls import Controls
    from baton.entry.merges import Merges
    from baton.entry.queued_turns import QueuedTurns
    from baton.entry.sweep import Sweeper
    from baton.handoffs.conversations import Conversations
    from baton.handoffs.forks import Forks
    from baton.outbox.follow import Follower
    from baton.outbox.replay import Replays
    from baton.ports.audit import AuditLog
    from baton.ports.chat_model import ChatModel
    from baton.ports.handoffs import HandoffStore
    from baton.ports.live import LiveRegistry
    from baton.ports.run_records import RunRecords
    from baton.ports.skills import SkillStore
    from baton.ports.workflows import WorkflowStore
    from baton.sessions.sessions import Sessions
    from baton.turns.closing import Closer, EpisodeWriter
    from baton.turns.turns import Turns

clock = SystemClock()


@cache
def authorizer() -> JwtVerifier:
    """Verifies tokens, for the authorizer function and for the HTTP API."""
    from baton.adapters.tokens import EmbedKeys, JwtVerifier
    from baton.settings import IdentitySettings

    settings = IdentitySettings()
    keys = None
    if settings.embed_keys_secret is not None:
        preload("baton.adapters.aws")  # the secret is read with the first token
        keys = EmbedKeys(secrets(), settings.embed_keys_secret, allow_any_tenant=settings.is_local)
    return JwtVerifier(settings.token_issuers, keys, allow_http=settings.is_local)


@cache
def sockets() -> Actions:
    """Takes WebSocket frames."""
    from baton.entry.actions import Actions, ActionServices

    return Actions(
        ActionServices(
            store=store(),
            queue=_turn_queue(),
            controls=controls(),
            approvals=approvals(),
            live=_live(),
            connections=_connections(),
            replays=replays(),
            catalog=_agent_files(),
            audit=audit(),
            clock=clock,
        )
    )


@cache
def queued_turns() -> QueuedTurns:
    """Runs turns from the queue."""
    from baton.adapters.aws import client
    from baton.adapters.sqs import SqsRecords
    from baton.entry.queued_turns import QueuedTurns
    from baton.settings import LeaseSettings, QueueSettings

    records = SqsRecords(client("sqs"), QueueSettings().turns_queue_url, LeaseSettings().times)
    return QueuedTurns(turns(), closer(), _connections(), records, clock)


def prepare_turns() -> None:
    """Load what a first turn would load: the model's client and the tokenizer's vocabulary."""
    preload(*HTTP_MODULES, *MODEL_MODULES)
    _chat_model().load()
    _counter().load()


@cache
def _counter() -> TiktokenCounter:
    from baton.adapters.token_counter import TiktokenCounter
    from baton.settings import ModelSettings

    return TiktokenCounter(ModelSettings().tokenizer_dir)


@cache
def dead_turns() -> QueuedTurns:
    """Ends turns that the queue has given up."""
    from baton.entry.queued_turns import QueuedTurns

    return QueuedTurns(turns(), closer(), _connections(), None, clock)


@cache
def closing() -> EpisodeWriter:
    """Makes episodes of ended sessions."""
    from baton.turns.closing import EpisodeWriter

    return EpisodeWriter(store(), _episodes())


@cache
def sweeper() -> Sweeper:
    """Looks at threads that are due."""
    from baton.adapters.dynamodb.idle_threads import DynamoIdleThreads
    from baton.entry.sweep import Sweeper
    from baton.sessions.endings import Endings

    idle = DynamoIdleThreads(_table(), clock)
    endings = Endings(store(), _stream_log(), _live(), _connections(), _sessions(), conversations(), clock)
    return Sweeper(idle, store(), endings, controls(), _episodes(), _sessions(), clock)


@cache
def closer() -> Closer:
    """Closes threads."""
    from baton.turns.closing import Closer

    return Closer(run_services(), turns(), audit())


@cache
def approvals() -> Approvals:
    """Lets people answer what runs wait for."""
    from baton.agents.approvals import Approvals

    return Approvals(store(), audit())


@cache
def controls() -> Controls:
    """Carries out what users wish besides talking."""
    from baton.entry.controls import Controls

    return Controls(store(), _live(), _turn_queue(), conversations(), audit())


@cache
def follower() -> Follower:
    """Follows runs that other workers carry out."""
    from baton.outbox.follow import Follower
    from baton.settings import LeaseSettings

    return Follower(store(), _live(), replays(), times=LeaseSettings().times)


@cache
def turns() -> Turns:
    """Runs turns, whoever asks for them."""
    from baton.turns.turns import Turns

    services = run_services()
    return Turns(services, services.agents, replays(), audit())


@cache
def run_services() -> RunServices:
    """The ports a run needs."""
    from baton.adapters.deferred_agents import DeferredAgentClient
    from baton.agents.run_context import RunServices
    from baton.composition import outside
    from baton.handoffs.active_skills import ActiveSkills
    from baton.handoffs.agent_registry import AgentRegistry
    from baton.settings import LeaseSettings, ModelSettings

    settings = ModelSettings()
    return RunServices(
        store=store(),
        log=_stream_log(),
        live=_live(),
        connections=_connections(),
        agents=AgentRegistry(_agent_files()),
        model=_chat_model(),
        default_model=settings.chat_model,
        light_model=settings.light_model or settings.chat_model,
        counter=_counter(),
        files=files(),
        sessions=_sessions(),
        conversations=conversations(),
        forks=forks(),
        active_skills=ActiveSkills(_skills(), clock),
        records=run_records(),
        tools=outside.tools(),
        agent_client=DeferredAgentClient(outside.remote_agents),
        audit=audit(),
        clock=clock,
        lease_times=LeaseSettings().times,
    )


@cache
def _chat_model() -> DeferredChatModel:
    from baton.adapters.deferred_model import DeferredChatModel
    from baton.settings import ModelSettings

    settings = ModelSettings()

    async def key_from_secret() -> str:
        return await asyncio.to_thread(secrets().get, settings.key_secret or "")

    def openai() -> ChatModel:
        from baton.adapters.openai import OpenAIChatModel

        key = settings.key.get_secret_value() if settings.key is not None else key_from_secret
        return OpenAIChatModel(api_key=key, base_url=settings.base_url)

    return DeferredChatModel(openai)


@cache
def _table() -> Table:
    from baton.adapters.aws import QUICK, client
    from baton.adapters.dynamodb.table import Table
    from baton.settings import StoreSettings

    return Table(client("dynamodb", config=QUICK), StoreSettings().table)


@cache
def store() -> DynamoThreadStore:
    """Threads and their messages."""
    from baton.adapters.dynamodb.thread_store import DynamoThreadStore
    from baton.settings import LeaseSettings

    return DynamoThreadStore(_table(), _bodies(), clock, LeaseSettings().lease_seconds)


@cache
def run_records() -> RunRecords:
    """Tool calls and sub-tasks."""
    from baton.adapters.dynamodb.run_records import DynamoRunRecords

    return DynamoRunRecords(_table(), _bodies())


@cache
def conversations() -> Conversations:
    """Which agent is active in threads."""
    from baton.handoffs.agent_registry import AgentRegistry
    from baton.handoffs.conversations import Conversations

    return Conversations(handoffs(), workflows(), _skills(), AgentRegistry(_agent_files()), audit(), clock)


@cache
def forks() -> Forks:
    """Branches conversations."""
    from baton.handoffs.agent_registry import AgentRegistry
    from baton.handoffs.forks import Forks

    return Forks(store(), AgentRegistry(_agent_files()), audit(), _counter(), clock)


@cache
def merges() -> Merges:
    """Takes answers of forks over into their parents; for programs that use Baton as a library."""
    from baton.entry.merges import Merges

    return Merges(turns(), forks())


@cache
def handoffs() -> HandoffStore:
    """Handoffs."""
    from baton.adapters.dynamodb.handoffs import DynamoHandoffs

    return DynamoHandoffs(_table(), _bodies())


@cache
def workflows() -> WorkflowStore:
    """Guided workflows."""
    from baton.adapters.dynamodb.workflows import DynamoWorkflows

    return DynamoWorkflows(_table(), clock)


@cache
def _skills() -> SkillStore:
    from baton.adapters.dynamodb.skills import DynamoSkills

    return DynamoSkills(_table())


@cache
def _bodies() -> S3Bodies:
    from baton.adapters.aws import client
    from baton.adapters.s3_bodies import S3Bodies
    from baton.settings import StoreSettings

    return S3Bodies(client("s3"), StoreSettings().bucket)


@cache
def replays() -> Replays:
    """Rebuilds events for clients that were away."""
    from baton.outbox.replay import Replays

    return Replays(store(), _stream_log(), clock)


@cache
def _stream_log() -> DynamoStreamLog:
    from baton.adapters.dynamodb.stream_log import DynamoStreamLog

    return DynamoStreamLog(_table(), clock)


@cache
def _turn_queue() -> SqsTurnQueue:
    from baton.adapters.aws import QUICK, client
    from baton.adapters.sqs import SqsTurnQueue
    from baton.settings import QueueSettings

    return SqsTurnQueue(client("sqs", config=QUICK), QueueSettings().turns_queue_url)


@cache
def _episodes() -> DynamoEpisodes:
    from baton.adapters.dynamodb.episodes import DynamoEpisodes

    return DynamoEpisodes(_table())


@cache
def _closings() -> StepFunctionsClosings:
    from baton.adapters.aws import client
    from baton.adapters.step_functions import StepFunctionsClosings
    from baton.settings import ClosingSettings

    return StepFunctionsClosings(client("stepfunctions"), ClosingSettings().close_session_arn)


@cache
def _sessions() -> Sessions:
    from baton.sessions.sessions import Sessions

    return Sessions(_episodes(), _closings(), audit())


@cache
def _live() -> LiveRegistry:
    from baton.adapters.dynamodb.live import DynamoLiveRegistry

    return DynamoLiveRegistry(_table(), clock)


@cache
def audit() -> AuditLog:
    """The audit log."""
    from baton.adapters.dynamodb.audit import DynamoAuditLog

    return DynamoAuditLog(_table(), clock)


@cache
def _connections() -> ApiGatewayConnections:
    from baton.adapters.api_gateway import ApiGatewayConnections
    from baton.adapters.aws import client
    from baton.settings import SocketSettings

    return ApiGatewayConnections(client("apigatewaymanagementapi", SocketSettings().connections_url))


@cache
def files() -> S3Files:
    """Uploads."""
    from baton.adapters.s3_files import S3Files, s3_client
    from baton.settings import StoreSettings

    return S3Files(s3_client(), StoreSettings().bucket, clock)


@cache
def _agent_files() -> AgentFiles:
    from baton.adapters.agent_files import AgentFiles
    from baton.settings import AgentSettings

    settings = AgentSettings()
    return AgentFiles.load(settings.agents_dir, settings.default_agent)


@cache
def secrets() -> SecretsManager:
    """Secrets Manager."""
    from baton.adapters.secrets import SecretsManager

    return SecretsManager()
