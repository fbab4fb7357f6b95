"""Users use their own private skills in any order of acts, and others get only those that were offered and shared."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from baton.domain.errors import ProcedureChanged, ProcedureNameTaken, UnknownProcedure
from baton.domain.memory.private_skill import IN_USE, SkillAction, SkillDecision
from baton.domain.memory.procedure import REVIEWED, Procedure, ProcedureDraft, ProcedureStatus, ProcedureStep
from baton.domain.tenants.identity import Scope
from tests.contracts.fake_stores import in_memory
from tests.contracts.stores import Stores
from tests.integration.store.conftest import Engine

PLACES = (("a", "ada"), ("a", "ad"), ("a", "ada#a"), ("a-2", "ada"))
"""Tenants and users that could be taken for each other."""
AGENTS = ("assistant", "assistant-2")
NAMES = ("Alert", "Alert 1")


@dataclass(frozen=True)
class Act:
    """An action of a user or an approver on a skill."""

    owner: tuple[str, str]
    agent_id: str
    name: str
    action: SkillAction | str
    version: int


acts = st.lists(
    st.builds(
        Act,
        st.sampled_from(PLACES),
        st.sampled_from(AGENTS),
        st.sampled_from(NAMES),
        st.sampled_from(["save", "save", "remove", *SkillAction, SkillAction.OFFER]),
        st.integers(1, 2),
    ),
    min_size=20,
    max_size=40,
)


async def act_on(stores: Stores, scope: Scope, act: Act, number: int) -> str | None:
    """Carry an act out. Returns what was shared."""
    skills = stores.private_skills
    draft = ProcedureDraft(act.name, f"{scope.user_id} {number}", ("do it",), (ProcedureStep("Do it."),))
    procedure = Procedure(draft, "", act.agent_id, scope.user_id, stores.clock.now())
    skill_id = f"user.{procedure.slug}"
    with contextlib.suppress(ProcedureChanged, ProcedureNameTaken, UnknownProcedure):
        if act.action == "save":
            await skills.save(scope, procedure, made_of=f"w-{number}")
        elif act.action == "remove":
            await skills.remove(scope, act.agent_id, skill_id, act.version)
        elif act.action is SkillAction.SHARE:
            decision = SkillDecision(SkillAction.SHARE, "boss", stores.clock.now())
            shared = await skills.share(scope, act.agent_id, skill_id, act.version, decision, replaces=None)
            return shared.version.draft.description
        else:
            by = "boss" if act.action is SkillAction.DECLINE else scope.user_id
            decision = SkillDecision(SkillAction(act.action), by, stores.clock.now())
            await skills.change(scope, act.agent_id, skill_id, act.version, decision)
    return None


@pytest.mark.parametrize("engine", ["in_memory", "on_dynamodb_local"])
def test_users_use_their_own_skills_and_what_was_shared(request: pytest.FixtureRequest, engine: str) -> None:
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
        scopes = {location: Scope(f"{location[0]}{suffix}", location[1]) for location in PLACES}
        shared: dict[str, set[str]] = {scope.tenant_id: set() for scope in scopes.values()}
        for number, act in enumerate(done):
            scope = scopes[act.owner]
            result = await act_on(stores, scope, act, number)
            shared[scope.tenant_id] |= {result} if result is not None else set()
        for scope in scopes.values():
            await check(scope, shared[scope.tenant_id])

    async def check(scope: Scope, shared: set[str]) -> None:
        own = await stores.private_skills.of_user(scope)
        assert {skill.draft.description.split()[0] for skill in own} <= {scope.user_id}
        assert {(skill.created_by, skill.tenant_id) for skill in own} <= {(scope.user_id, scope.tenant_id)}
        for agent_id in AGENTS:
            used = await stores.private_skills.in_use(scope, agent_id)
            assert list(used) == [skill for skill in own if skill.agent_id == agent_id and skill.status in IN_USE]
            approved = await stores.procedures.approved(scope, agent_id)
            assert {skill.draft.description for skill in approved} <= shared
            assert {skill.decided_by for skill in approved} <= {"boss"}
            listed, _ = await stores.procedures.of_agents(scope, [agent_id], REVIEWED, limit=100, cursor=None)
            assert {skill.draft.description for skill in listed} <= shared
        offered, _ = await stores.private_skills.offered(scope, AGENTS, limit=100, cursor=None)
        assert {skill.status for skill in offered} <= {ProcedureStatus.OFFERED}
        mine = [skill for skill in offered if skill.created_by == scope.user_id]
        assert sorted(mine, key=repr) == sorted(
            (skill for skill in own if skill.status is ProcedureStatus.OFFERED), key=repr
        )

    try:
        holds()
    finally:
        loop.close()
