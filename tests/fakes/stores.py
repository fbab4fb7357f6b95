"""Fake stores."""

from __future__ import annotations

from typing import Any

from baton.domain.identity import Scope
from tests.contracts.stores import Stores
from tests.fakes.a2a_tasks import FakeA2ATasks
from tests.fakes.agent_definitions import FakeAgentDefinitions
from tests.fakes.audit import FakeAuditLog
from tests.fakes.captures import FakeCaptureStore
from tests.fakes.clock import FakeClock
from tests.fakes.episodes import FakeEpisodes
from tests.fakes.feedback import FakeFeedback
from tests.fakes.handoffs import FakeHandoffs
from tests.fakes.idle_threads import FakeIdleThreads
from tests.fakes.live import FakeLiveRegistry
from tests.fakes.mcp_calls import FakeMcpCalls
from tests.fakes.procedures import FakeProcedures
from tests.fakes.push import FakePushConfigs
from tests.fakes.run_records import FakeRunRecords
from tests.fakes.stream_log import FakeStreamLog
from tests.fakes.thread_store import FakeThreadStore
from tests.fakes.workflows import FakeWorkflows


def in_memory(clock: FakeClock | None = None) -> Stores:
    """A tenant in the doubles."""
    clock = clock or FakeClock()
    audit = FakeAuditLog()

    async def audit_records(scope: Scope) -> list[dict[str, Any]]:
        return [
            {
                "user_id": record.scope.user_id,
                "action": record.action,
                "outcome": record.outcome,
                "thread_id": record.thread_id,
                "detail": record.detail,
            }
            for record in audit.records
            if record.scope.tenant_id == scope.tenant_id
        ]

    store = FakeThreadStore(clock)
    return Stores(
        store,
        FakeStreamLog(clock),
        FakeLiveRegistry(clock),
        audit,
        FakeEpisodes(),
        FakeIdleThreads(store, clock),
        FakeRunRecords(),
        FakeHandoffs(audit),
        FakeWorkflows(clock),
        FakeA2ATasks(),
        FakePushConfigs(clock),
        FakeFeedback(store),
        FakeMcpCalls(clock),
        FakeProcedures(),
        FakeCaptureStore(),
        FakeAgentDefinitions(),
        clock,
        audit_records,
    )
