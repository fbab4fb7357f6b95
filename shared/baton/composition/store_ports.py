"""The stores of a deployment, on its table."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from baton.ports.clock import SystemClock

if TYPE_CHECKING:
    from baton.adapters.aws.s3_records import S3Bodies
    from baton.adapters.dynamodb.table import Table
    from baton.domain.threads.thread import LeaseTimes
    from baton.ports.agents.a2a import A2ATasks
    from baton.ports.agents.agents import AgentDefinitions
    from baton.ports.clock import Clock, TimeZones
    from baton.ports.documents.documents import DocumentStore
    from baton.ports.documents.sources import SourceStore
    from baton.ports.memory.episodes import Episodes
    from baton.ports.memory.procedures import CaptureStore, PrivateSkills, ProcedureStore
    from baton.ports.tenants.audit import AuditTrail
    from baton.ports.tenants.evaluations import EvaluationStore
    from baton.ports.tenants.privacy import Erasure, ForgetRequests
    from baton.ports.tenants.tenants import Retentions, SearchedTenants, TenantLimitStore
    from baton.ports.threads.activity import ActivityCounts
    from baton.ports.threads.connections import LiveRegistry
    from baton.ports.threads.handoffs import HandoffStore, WorkflowStore
    from baton.ports.threads.messages import FeedbackStore
    from baton.ports.threads.run_records import ContextRecords, McpCalls, RunHistory
    from baton.ports.threads.stream_log import StreamLog
    from baton.ports.threads.threads import IdleThreads, ThreadStore


class StorePorts:
    """The ports on the table, and the clock and leases of its writers. See ``Ports``."""

    def __init__(self, **given: Any) -> None:
        """Use ``given`` ports instead of the deployment's. The other ports are built on them, for example on a table.

        Raises ``TypeError`` for a name that no port has.
        """
        for name, port in given.items():
            if not hasattr(type(self), name):
                raise TypeError(f"There is no port {name!r}.")
            setattr(self, name, port)

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
        from baton.adapters.aws.blocking_calls import QUICK, client
        from baton.adapters.dynamodb.table import Table
        from baton.settings.resources import StoreSettings

        return Table.sent_directly(client("dynamodb", config=QUICK), StoreSettings().table)

    @cached_property
    def bodies(self) -> S3Bodies:
        """Bodies in S3 that are too large for the table."""
        from baton.adapters.aws.blocking_calls import deferred_client
        from baton.adapters.aws.s3_records import S3Bodies
        from baton.settings.resources import StoreSettings

        return S3Bodies(deferred_client("s3"), StoreSettings().bucket)

    @cached_property
    def context_records(self) -> ContextRecords:
        """The Context Inspector's records."""
        from baton.adapters.dynamodb.threads.context_records import DynamoContextRecords

        return DynamoContextRecords(self.table, self.bodies)

    @cached_property
    def store(self) -> ThreadStore:
        """Threads and their messages."""
        from baton.adapters.dynamodb.threads.thread_store import DynamoThreadStore

        return DynamoThreadStore(self.table, self.bodies, self.clock, self.lease_times.lease)

    @cached_property
    def log(self) -> StreamLog:
        """The events of recent runs."""
        from baton.adapters.dynamodb.threads.live import DynamoStreamLog

        return DynamoStreamLog(self.table, self.clock)

    @cached_property
    def live(self) -> LiveRegistry:
        """Connections, cancellations and heartbeats."""
        from baton.adapters.dynamodb.threads.live import DynamoLiveRegistry

        return DynamoLiveRegistry(self.table, self.clock)

    @cached_property
    def records(self) -> RunHistory:
        """Tool calls and sub-tasks."""
        from baton.adapters.dynamodb.threads.run_records import DynamoRunRecords

        return DynamoRunRecords(self.table, self.bodies)

    @cached_property
    def handoffs(self) -> HandoffStore:
        """Handoffs."""
        from baton.adapters.dynamodb.threads.handoffs import DynamoHandoffs

        return DynamoHandoffs(self.table, self.bodies)

    @cached_property
    def workflows(self) -> WorkflowStore:
        """Guided workflows."""
        from baton.adapters.dynamodb.threads.handoffs import DynamoWorkflows

        return DynamoWorkflows(self.table, self.clock)

    @cached_property
    def a2a_tasks(self) -> A2ATasks:
        """Marks of A2A tasks."""
        from baton.adapters.dynamodb.a2a_tasks import DynamoA2ATasks

        return DynamoA2ATasks(self.table)

    @cached_property
    def feedback(self) -> FeedbackStore:
        """Feedback on answers."""
        from baton.adapters.dynamodb.tenants.user_records import DynamoFeedback

        return DynamoFeedback(self.table)

    @cached_property
    def mcp_calls(self) -> McpCalls:
        """Calls over MCP in progress."""
        from baton.adapters.dynamodb.threads.run_records import DynamoMcpCalls

        return DynamoMcpCalls(self.table, self.clock)

    @cached_property
    def time_zones(self) -> TimeZones:
        """The time zones that users were in last."""
        from baton.adapters.dynamodb.tenants.user_records import DynamoTimeZones

        return DynamoTimeZones(self.table, self.clock)

    @cached_property
    def procedures(self) -> ProcedureStore:
        """Procedures of agents and tenants."""
        from baton.adapters.dynamodb.memory.procedures import DynamoProcedures

        return DynamoProcedures(self.table, self.clock)

    @cached_property
    def private_skills(self) -> PrivateSkills:
        """Skills that users have made for themselves."""
        from baton.adapters.dynamodb.memory.private_skills import DynamoPrivateSkills

        return DynamoPrivateSkills(self.table, self.clock)

    @cached_property
    def agent_definitions(self) -> AgentDefinitions:
        """Agents that tenants have made."""
        from baton.adapters.dynamodb.tenants.agent_definitions import DynamoAgentDefinitions

        return DynamoAgentDefinitions(self.table)

    @cached_property
    def episodes(self) -> Episodes:
        """Episodes of ended sessions."""
        from baton.adapters.dynamodb.memory.episodes import DynamoEpisodes

        return DynamoEpisodes(self.table, self.bodies)

    @cached_property
    def idle(self) -> IdleThreads:
        """The index of threads that are due for a check."""
        from baton.adapters.dynamodb.threads.idle_threads import DynamoIdleThreads

        return DynamoIdleThreads(self.table, self.clock)

    @cached_property
    def audit(self) -> AuditTrail:
        """The audit log."""
        from baton.adapters.dynamodb.tenants.audit import DynamoAuditLog

        return DynamoAuditLog(self.table, self.clock)

    @cached_property
    def documents(self) -> DocumentStore:
        """Records of documents."""
        from baton.adapters.dynamodb.documents import DynamoDocuments

        return DynamoDocuments(self.table)

    @cached_property
    def sources(self) -> SourceStore:
        """Records of the sources of documents."""
        from baton.adapters.dynamodb.documents import DynamoSources

        return DynamoSources(self.table)

    @cached_property
    def capture_records(self) -> CaptureStore:
        """Records of captures."""
        from baton.adapters.dynamodb.memory.captures import DynamoCaptures

        return DynamoCaptures(self.table, self.clock)

    @cached_property
    def tenant_limits(self) -> TenantLimitStore:
        """Limits that tenants have chosen."""
        from baton.adapters.dynamodb.tenants.tenant_limits import DynamoTenantLimits

        return DynamoTenantLimits(self.table)

    @cached_property
    def evaluations(self) -> EvaluationStore:
        """Published results of evaluations."""
        from baton.adapters.dynamodb.tenants.evaluations import DynamoEvaluations

        return DynamoEvaluations(self.table, self.clock)

    @cached_property
    def activity(self) -> ActivityCounts:
        """Counts of what tenants and users do."""
        from baton.adapters.dynamodb.threads.activity import DynamoActivityCounts

        return DynamoActivityCounts(self.table, self.clock)

    @cached_property
    def erasure(self) -> Erasure:
        """Removal of threads and users from the table."""
        from baton.adapters.dynamodb.tenants.erasure import DynamoErasure

        return DynamoErasure(self.table, self.clock)

    @cached_property
    def forget_requests(self) -> ForgetRequests:
        """Requests to forget."""
        from baton.adapters.dynamodb.tenants.forget_requests import DynamoForgetRequests

        return DynamoForgetRequests(self.table, self.clock)

    @cached_property
    def searched_tenants(self) -> SearchedTenants:
        """The tenants that have stored something to search."""
        from baton.adapters.dynamodb.tenants.searched_tenants import DynamoSearchedTenants

        return DynamoSearchedTenants(self.table)

    @cached_property
    def retentions(self) -> Retentions:
        """The retention of tenants."""
        from baton.adapters.dynamodb.tenants.forget_requests import DynamoRetentions

        return DynamoRetentions(self.table, self.clock)
