"""Fake stores."""

from __future__ import annotations

from typing import Any

from baton.domain.identity import Scope
from baton_testing.fakes.a2a_tasks import FakeA2ATasks
from baton_testing.fakes.agent_definitions import FakeAgentDefinitions
from baton_testing.fakes.audit import FakeAuditLog
from baton_testing.fakes.captures import FakeCaptureStore
from baton_testing.fakes.clock import FakeClock
from baton_testing.fakes.episodes import FakeEpisodes
from baton_testing.fakes.feedback import FakeFeedback
from baton_testing.fakes.handoffs import FakeHandoffs
from baton_testing.fakes.idle_threads import FakeIdleThreads
from baton_testing.fakes.live import FakeLiveRegistry
from baton_testing.fakes.mcp_calls import FakeMcpCalls
from baton_testing.fakes.private_skills import FakePrivateSkills
from baton_testing.fakes.procedures import FakeProcedures
from baton_testing.fakes.push import FakePushConfigs
from baton_testing.fakes.run_records import FakeRunRecords
from baton_testing.fakes.stream_log import FakeStreamLog
from baton_testing.fakes.thread_store import FakeThreadStore
from baton_testing.fakes.time_zones import FakeTimeZones
from baton_testing.fakes.workflows import FakeWorkflows
from tests.contracts.stores import Stores


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

    store, procedures = FakeThreadStore(clock), FakeProcedures()
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
        FakeTimeZones(clock),
        procedures,
        FakePrivateSkills(procedures, clock),
        FakeCaptureStore(),
        FakeAgentDefinitions(),
        clock,
        audit_records,
    )
