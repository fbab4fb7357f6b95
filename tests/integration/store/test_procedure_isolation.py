"""Whatever tenants do with procedures of whichever agents: each sees its own, and only what is approved is used."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from baton.domain.errors import ProcedureChanged, UnknownProcedure
from baton.domain.memory.procedure import (
    REVIEWED,
    Procedure,
    ProcedureAction,
    ProcedureDecision,
    ProcedureDraft,
    ProcedureScope,
    ProcedureStatus,
    ProcedureStep,
)
from baton.domain.tenants.identity import Scope
from tests.contracts.fake_stores import in_memory
from tests.contracts.stores import Stores
from tests.integration.store.conftest import Engine

TENANTS = ("a", "a-2", "ab")
AGENTS = ("assistant", "assistant-2")
NAMES = ("Alert", "Alert 1")
"""Names that are prefixes of each other, few enough that most acts meet earlier ones."""


@dataclass(frozen=True)
class Act:
    """An action."""

    tenant: str
    agent_id: str
    name: str
    of: ProcedureScope
    action: ProcedureAction | None
    """None to save another version."""
    version: int


acts = st.lists(
    st.builds(
        Act,
        st.sampled_from(TENANTS),
        st.sampled_from(AGENTS),
        st.sampled_from(NAMES),
        st.sampled_from([ProcedureScope.AGENT, ProcedureScope.TENANT]),
        st.sampled_from([None, ProcedureAction.APPROVE, *ProcedureAction, None]),
        st.integers(1, 2),
    ),
    min_size=20,
    max_size=40,
)


def owner(act: Act) -> str:
    """The owner of the procedures of an action; their descriptions name it."""
    return f"{act.tenant}/{'' if act.of is ProcedureScope.TENANT else act.agent_id}"


async def act_on(stores: Stores, scope: Scope, act: Act, number: int) -> None:
    draft = ProcedureDraft(act.name, f"{owner(act)} {number}", ("do it",), (ProcedureStep("Do it."),))
    procedure = Procedure(draft, "", act.agent_id, "ada", stores.clock.now(), scope=act.of)
    if act.action is None:
        await stores.procedures.put(scope, procedure)
        return
    decision = ProcedureDecision(act.action, "bob", stores.clock.now())
    with contextlib.suppress(ProcedureChanged, UnknownProcedure):
        await stores.procedures.decide(scope, act.agent_id, procedure.id, act.version, decision)


async def check(stores: Stores, scope: Scope, tenant: str, agent_id: str) -> None:
    own = await stores.procedures.approved(scope, agent_id)
    shared = await stores.procedures.approved(scope, "", of=ProcedureScope.TENANT)
    for used, whose in ((own, f"{tenant}/{agent_id}"), (shared, f"{tenant}/")):
        assert {item.draft.description.split()[0] for item in used} <= {whose}
        assert len({item.id for item in used}) == len(used)
        for item in used:
            stored = await stores.procedures.get(scope, agent_id, item.id, version=item.version)
            assert stored == item
            assert item.status is ProcedureStatus.APPROVED
    listed: Sequence[Procedure]
    listed, _ = await stores.procedures.of_agents(scope, [agent_id], REVIEWED, limit=100, cursor=None)
    assert {item.draft.description.split()[0] for item in listed} <= {f"{tenant}/{agent_id}", f"{tenant}/"}
    in_use = {(item.id, item.version) for item in listed if item.status is ProcedureStatus.APPROVED}
    assert in_use == {(item.id, item.version) for item in (*own, *shared)}


@pytest.mark.parametrize("engine", ["in_memory", "on_dynamodb_local"])
def test_tenants_and_agents_see_their_own_and_use_what_is_approved(request: pytest.FixtureRequest, engine: str) -> None:
    stores: Stores = in_memory()
    if engine != "in_memory":
        on: Engine = request.getfixturevalue(engine)
        stores = on.stores()
    loop = asyncio.new_event_loop()

    @settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(acts)
    def holds(done: list[Act]) -> None:
        loop.run_until_complete(carry_out(done))

    async def carry_out(done: list[Act]) -> None:
        suffix = uuid.uuid4().hex
        scopes = {tenant: Scope(f"{tenant}{suffix}", "ada") for tenant in TENANTS}
        for number, act in enumerate(done):
            await act_on(stores, scopes[act.tenant], act, number)
        for tenant, agent_id in {(act.tenant, act.agent_id) for act in done}:
            await check(stores, scopes[tenant], tenant, agent_id)

    try:
        holds()
    finally:
        loop.close()
