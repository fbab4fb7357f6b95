"""The stores of a deployment: its table and its bucket."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from baton.ports.clock import SystemClock

if TYPE_CHECKING:
    from baton.adapters.dynamodb.table import Table
    from baton.adapters.s3_records import S3Bodies
    from baton.domain.thread import LeaseTimes
    from baton.ports.a2a import A2ATasks
    from baton.ports.agents import AgentDefinitions
    from baton.ports.audit import AuditLog
    from baton.ports.clock import Clock, TimeZones
    from baton.ports.connections import LiveRegistry
    from baton.ports.documents import DocumentFiles, DocumentStore
    from baton.ports.episodes import Episodes
    from baton.ports.files import Files
    from baton.ports.handoffs import HandoffStore, WorkflowStore
    from baton.ports.messages import FeedbackStore
    from baton.ports.procedures import PrivateSkills, ProcedureStore
    from baton.ports.run_records import McpCalls, RunRecords
    from baton.ports.sources import SourceObjects, SourceStore
    from baton.ports.stream_log import StreamLog
    from baton.ports.threads import IdleThreads, ThreadStore


class AwsStorePorts:
    """The ports on the table and the bucket. See ``AwsPorts``."""

    @cached_property
    def clock(self) -> Clock:
        """The system clock."""
        return SystemClock()

    @cached_property
    def lease_times(self) -> LeaseTimes:
        """The lease times of the settings."""
        from baton.settings.conversations import LeaseSettings

        return LeaseSettings().times

    # Stores

    @cached_property
    def table(self) -> Table:
        """The DynamoDB table of the deployment."""
        from baton.adapters.aws import QUICK, client
        from baton.adapters.dynamodb.table import Table
        from baton.settings.resources import StoreSettings

        return Table.of(client("dynamodb", config=QUICK), StoreSettings().table)

    @cached_property
    def bodies(self) -> S3Bodies:
        """Bodies in S3 that are too large for the table."""
        from baton.adapters.aws import client
        from baton.adapters.s3_records import S3Bodies
        from baton.settings.resources import StoreSettings

        return S3Bodies(client("s3"), StoreSettings().bucket)

    @cached_property
    def store(self) -> ThreadStore:
        from baton.adapters.dynamodb.thread_store import DynamoThreadStore

        return DynamoThreadStore(self.table, self.bodies, self.clock, self.lease_times.lease)

    @cached_property
    def log(self) -> StreamLog:
        from baton.adapters.dynamodb.live import DynamoStreamLog

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
        from baton.adapters.dynamodb.handoffs import DynamoWorkflows

        return DynamoWorkflows(self.table, self.clock)

    @cached_property
    def a2a_tasks(self) -> A2ATasks:
        from baton.adapters.dynamodb.a2a_tasks import DynamoA2ATasks

        return DynamoA2ATasks(self.table)

    @cached_property
    def feedback(self) -> FeedbackStore:
        from baton.adapters.dynamodb.user_records import DynamoFeedback

        return DynamoFeedback(self.table)

    @cached_property
    def mcp_calls(self) -> McpCalls:
        from baton.adapters.dynamodb.run_records import DynamoMcpCalls

        return DynamoMcpCalls(self.table, self.clock)

    @cached_property
    def time_zones(self) -> TimeZones:
        from baton.adapters.dynamodb.user_records import DynamoTimeZones

        return DynamoTimeZones(self.table, self.clock)

    @cached_property
    def procedures(self) -> ProcedureStore:
        from baton.adapters.dynamodb.procedures import DynamoProcedures

        return DynamoProcedures(self.table, self.clock)

    @cached_property
    def private_skills(self) -> PrivateSkills:
        from baton.adapters.dynamodb.private_skills import DynamoPrivateSkills

        return DynamoPrivateSkills(self.table, self.clock)

    @cached_property
    def agent_definitions(self) -> AgentDefinitions:
        from baton.adapters.dynamodb.agent_definitions import DynamoAgentDefinitions

        return DynamoAgentDefinitions(self.table)

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
        from baton.settings.resources import StoreSettings

        return S3Files(s3_client(), StoreSettings().bucket, self.clock)

    @cached_property
    def documents(self) -> DocumentStore:
        from baton.adapters.dynamodb.documents import DynamoDocuments

        return DynamoDocuments(self.table)

    @cached_property
    def sources(self) -> SourceStore:
        from baton.adapters.dynamodb.documents import DynamoSources

        return DynamoSources(self.table)

    @cached_property
    def source_objects(self) -> SourceObjects:
        from baton.adapters.aws import client
        from baton.adapters.s3_documents import S3SourceObjects

        return S3SourceObjects(client("s3"))

    @cached_property
    def document_files(self) -> DocumentFiles:
        from baton.adapters.s3_documents import S3Documents
        from baton.adapters.s3_files import s3_client
        from baton.settings.resources import StoreSettings

        return S3Documents(s3_client(), StoreSettings().bucket, self.clock)
