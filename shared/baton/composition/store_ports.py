"""The stores of a deployment in its DynamoDB table."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

from baton.composition import parts
from baton.ports.clock import SystemClock


class StorePorts:
    """The ports to stores in the table, the clock, and the lease times. See ``Ports``."""

    def __init__(self, **ports: Any) -> None:
        """Use ``ports`` instead of the deployment's ports with the same names. Other ports use them, such as a table.

        Raises ``TypeError`` for an unknown name.
        """
        for name, port in ports.items():
            if not hasattr(type(self), name):
                raise TypeError(f"There is no port {name!r}.")
            setattr(self, name, port)

    @cached_property
    def clock(self) -> parts.Clock:
        """The system clock."""
        return SystemClock()

    @cached_property
    def lease_times(self) -> parts.LeaseTimes:
        """The lease times of the settings."""
        return parts.LeaseSettings().times

    @cached_property
    def last_wills(self) -> parts.LastWills:
        """The requests that a supervisor sends if this process dies."""
        return parts.get_own_last_wills()

    # Stores

    @cached_property
    def table(self) -> parts.Table:
        """The DynamoDB table of the deployment. It refuses writes for removed tenants."""
        client, name = parts.create_client("dynamodb", config=parts.QUICK), parts.StoreSettings().table
        table = parts.Table.sent_directly(client, name, wills=self.last_wills)
        return replace(table, check_partition=lambda partition: self.removed_tenants.check_partition(partition))

    @cached_property
    def removed_tenants(self) -> parts.RemovedTenants:
        """The check that refuses work for removed tenants."""
        return parts.RemovedTenants(self.removals, self.clock)

    @cached_property
    def removals(self) -> parts.TenantRemovals:
        """Records of the removals of tenants."""
        return parts.DynamoTenantRemovals(replace(self.table, check_partition=None))

    @cached_property
    def tenant_erasure(self) -> parts.TenantErasure:
        """The removal of all items of a tenant from the table, even after the tenant was closed."""
        return parts.DynamoTenantErasure(replace(self.table, check_partition=None))

    @cached_property
    def tenant_records(self) -> parts.TenantRecords:
        """All records of tenants, for exports."""
        return parts.DynamoTenantRecords(self.table)

    @cached_property
    def bodies(self) -> parts.S3Bodies:
        """Bodies in S3 that are too large for the table."""
        return parts.S3Bodies(parts.defer_client("s3"), parts.StoreSettings().bucket)

    @cached_property
    def context_records(self) -> parts.ContextRecords:
        """The Context Inspector's records."""
        return parts.DynamoContextRecords(self.table, self.bodies)

    @cached_property
    def store(self) -> parts.ThreadStore:
        """Threads and their messages."""
        return parts.DynamoThreadStore(self.table, self.bodies, self.clock, self.lease_times.lease)

    @cached_property
    def log(self) -> parts.StreamLog:
        """The events of recent runs."""
        return parts.DynamoStreamLog(self.table, self.clock)

    @cached_property
    def live(self) -> parts.LiveRegistry:
        """Connections that watch threads, and requests to the workers of threads."""
        return parts.DynamoLiveRegistry(self.table, self.clock)

    @cached_property
    def records(self) -> parts.RunHistory:
        """Tool calls and sub-tasks."""
        return parts.DynamoRunRecords(self.table, self.bodies)

    @cached_property
    def handoffs(self) -> parts.HandoffStore:
        """Handoffs."""
        return parts.DynamoHandoffs(self.table, self.bodies)

    @cached_property
    def workflows(self) -> parts.WorkflowStore:
        """Guided workflows."""
        return parts.DynamoWorkflows(self.table, self.clock)

    @cached_property
    def desk_places(self) -> parts.DeskPlaces:
        """The conversations at desks."""
        return parts.DynamoDeskPlaces(self.table, self.clock)

    @cached_property
    def schedules(self) -> parts.Schedules:
        """Schedules of users."""
        return parts.DynamoSchedules(self.table, self.clock)

    @cached_property
    def background_tasks(self) -> parts.BackgroundTasks:
        """Tasks in the background of conversations."""
        return parts.DynamoBackgroundTasks(self.table, self.clock)

    @cached_property
    def due_items(self) -> parts.DueItems:
        """Schedules, background tasks and messages, by the times at which they are due."""
        return parts.DynamoDueItems(self.table, self.clock)

    @cached_property
    def a2a_tasks(self) -> parts.A2ATasks:
        """Marks of A2A tasks."""
        return parts.DynamoA2ATasks(self.table)

    @cached_property
    def dead_deliveries(self) -> parts.DeadDeliveries:
        """Deliveries to webhooks that were given up."""
        return parts.DynamoDeadDeliveries(self.table, self.clock)

    @cached_property
    def feedback(self) -> parts.FeedbackStore:
        """Feedback on answers."""
        return parts.DynamoFeedback(self.table)

    @cached_property
    def mcp_calls(self) -> parts.McpCalls:
        """Calls over MCP in progress."""
        return parts.DynamoMcpCalls(self.table, self.clock)

    @cached_property
    def time_zones(self) -> parts.TimeZones:
        """The last known time zones of users."""
        return parts.DynamoTimeZones(self.table, self.clock)

    @cached_property
    def procedures(self) -> parts.ProcedureStore:
        """Procedures of agents and tenants."""
        return parts.DynamoProcedures(self.table, self.clock)

    @cached_property
    def private_skills(self) -> parts.PrivateSkills:
        """Private skills of users."""
        return parts.DynamoPrivateSkills(self.table, self.clock)

    @cached_property
    def agent_definitions(self) -> parts.AgentDefinitions:
        """The definitions of tenants' own agents."""
        return parts.DynamoAgentDefinitions(self.table)

    @cached_property
    def episodes(self) -> parts.Episodes:
        """Episodes of ended sessions."""
        return parts.DynamoEpisodes(self.table, self.bodies)

    @cached_property
    def idle(self) -> parts.IdleThreads:
        """The index of threads that are due for a check."""
        return parts.DynamoIdleThreads(self.table, self.clock)

    @cached_property
    def audit(self) -> parts.AuditTrail:
        """The audit log."""
        return parts.DynamoAuditLog(self.table, self.clock)

    @cached_property
    def documents(self) -> parts.DocumentStore:
        """Records of documents."""
        return parts.DynamoDocuments(self.table)

    @cached_property
    def sources(self) -> parts.SourceStore:
        """Records of the sources of documents."""
        return parts.DynamoSources(self.table)

    @cached_property
    def capture_records(self) -> parts.CaptureStore:
        """Records of captures."""
        return parts.DynamoCaptures(self.table, self.clock)

    @cached_property
    def tenant_limits(self) -> parts.TenantLimitStore:
        """Limits that tenants have chosen."""
        return parts.DynamoTenantLimits(self.table)

    @cached_property
    def evaluations(self) -> parts.EvaluationStore:
        """Published results of evaluations."""
        return parts.DynamoEvaluations(self.table, self.clock)

    @cached_property
    def activity(self) -> parts.ActivityCounts:
        """Counts of runs, messages, tokens and connections, by tenant and user."""
        return parts.DynamoActivityCounts(self.table, self.clock)

    @cached_property
    def spending(self) -> parts.SpendingStore:
        """Counts of the costs of models."""
        return parts.DynamoSpending(self.table, self.clock)

    @cached_property
    def erasure(self) -> parts.Erasure:
        """The removal of threads and users from the table."""
        return parts.DynamoErasure(self.table, self.clock)

    @cached_property
    def forget_requests(self) -> parts.ForgetRequests:
        """Requests to forget."""
        return parts.DynamoForgetRequests(self.table, self.clock)

    @cached_property
    def searched_tenants(self) -> parts.SearchedTenants:
        """The tenants with stored items that can be searched."""
        return parts.DynamoSearchedTenants(self.table)

    @cached_property
    def retentions(self) -> parts.Retentions:
        """The retention of tenants."""
        return parts.DynamoRetentions(self.table, self.clock)
