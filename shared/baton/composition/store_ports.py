"""The ports to what Baton keeps. ``composition.aws_stores`` has those of a deployment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from baton.domain.thread import LeaseTimes
    from baton.ports.a2a import A2ATasks, PushConfigs
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


class StorePorts(Protocol):
    """The ports on the table and the bucket, and the clock and leases of those who write there. See ``Ports``."""

    @property
    def clock(self) -> Clock:
        """The current time and new ids."""
        ...

    @property
    def lease_times(self) -> LeaseTimes:
        """How long a worker keeps a lease without a sign of life, and how often it renews the lease."""
        ...

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
    def time_zones(self) -> TimeZones:
        """The time zones that users were in last."""
        ...

    @property
    def procedures(self) -> ProcedureStore:
        """Procedures of agents and tenants."""
        ...

    @property
    def private_skills(self) -> PrivateSkills:
        """Skills that users have made for themselves."""
        ...

    @property
    def agent_definitions(self) -> AgentDefinitions:
        """Agents that tenants have made."""
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
    def sources(self) -> SourceStore:
        """Records of the sources of documents."""
        ...

    @property
    def source_objects(self) -> SourceObjects:
        """Objects in the buckets that sources may read."""
        ...

    @property
    def document_files(self) -> DocumentFiles:
        """The content of documents."""
        ...
