"""All records can be read: no GET route fails over any of them, and each answers as its description says."""

from __future__ import annotations

import pytest

from baton.domain.handoffs.handoff import ContextMode, HandoffOutcome
from baton.domain.runs.task import TaskStatus
from baton.domain.threads.message import MessageStatus, Role
from baton.domain.threads.run_end import OutcomeType
from baton.domain.threads.thread import RunStatus, ThreadStatus
from tests.unit.api.every_read import AT_ONCE
from tests.unit.api.recorded import RecordedHarness
from tests.unit.api.served import Served
from tests.unit.api.sweep import CALLERS, Sweep


@pytest.fixture(scope="module")
async def sweep() -> Sweep:
    harness = RecordedHarness()
    await harness.everything()
    return Sweep(Served(harness, AT_ONCE))


async def test_there_is_a_record_of_every_kind(sweep: Sweep) -> None:
    harness = sweep.harness
    rows = [row for (tenant, _), row in harness.store.rows.items() if tenant == harness.ada.tenant_id]
    messages = [m for row in rows for m in harness.store.committed(harness.ada.tenant_id, row.thread.id)]
    tasks, handoffs = [], []
    for row in rows:
        tasks += (await harness.records.list_tasks(harness.ada, row.thread.id, limit=100, cursor=None))[0]
        handoffs += (await harness.handoffs.of_thread(harness.ada, row.thread.id, limit=100, cursor=None))[0]
    ends = [message.end for message in messages if message.end is not None]
    runs = [row.to_thread(harness.clock.now()).run for row in rows]

    assert {message.role for message in messages} == {Role.USER, Role.ASSISTANT, Role.TOOL}
    assert {message.status for message in messages} == set(MessageStatus)
    assert {end.outcome for end in ends} == set(OutcomeType)
    assert {task.status for task in tasks} == set(TaskStatus)
    assert {handoff.outcome for handoff in handoffs} == {None, *HandoffOutcome}
    assert {handoff.context_mode for handoff in handoffs} >= {
        ContextMode.SUMMARY,
        ContextMode.RECENT,
        ContextMode.FORKED,
    }
    assert {row.thread.status for row in rows} == set(ThreadStatus)
    assert {run.status for run in runs if run is not None} == set(RunStatus)
    assert any(message.tool_calls and not message.text for message in messages)
    assert any(row.thread.pending is not None for row in rows)


async def test_every_route_answers_as_described_whatever_it_is_asked_for(sweep: Sweep) -> None:
    await sweep.ask_everything()
    keys = {"/.well-known/agent-card-keys.json", "/.well-known/jwks.json"}  # this deployment has none
    for route in sweep.routes.keys() - keys:
        assert sweep.statuses[route, 200] > 0, f"nothing was found at {route}"


async def test_lists_can_be_followed_to_their_ends(sweep: Sweep) -> None:
    assert await sweep.page_through(2) > 0


@pytest.mark.parametrize("caller", [caller for caller in CALLERS if caller != "the user, who may do everything"])
async def test_every_caller_is_answered_as_described(sweep: Sweep, caller: str) -> None:
    await sweep.ask_as(caller)


def test_what_the_description_leaves_out_is_the_description_itself(sweep: Sweep) -> None:
    assert sweep.undocumented == ["/v1/docs", "/v1/docs/{name}"]
