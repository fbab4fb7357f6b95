"""Private skills: what every store does about them."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from baton.domain.errors import InvalidRequest, ProcedureChanged, ProcedureNameTaken, UnknownProcedure
from baton.domain.memory.private_skill import SkillAction, SkillDecision
from baton.domain.memory.procedure import REVIEWED, Procedure, ProcedureAction, ProcedureScope, ProcedureStatus
from baton.domain.tenants.identity import Scope
from tests.contracts.procedures import ID, add_approved, decide, list_ids, procedure, statuses
from tests.contracts.stores import Stores

MINE = f"user.{ID}"
PRIVATE, OFFERED, SHARED = ProcedureStatus.PRIVATE, ProcedureStatus.OFFERED, ProcedureStatus.SHARED


class PrivateSkillContract:
    """Skills of one user, and how they become an agent's procedures."""

    async def test_a_skill_is_private_to_its_maker(self, stores: Stores) -> None:
        stored = await save(stores)
        expected = replace(procedure(stores, "Posts an alert."), scope=ProcedureScope.USER, status=PRIVATE, version=1)
        assert stored == expected
        assert stored.id == MINE
        assert await stores.private_skills.in_use(stores.ada, "assistant") == [stored]
        assert await stores.private_skills.of_user(stores.ada) == [stored]
        assert await stores.private_skills.get(stores.ada, "assistant", MINE) == stored
        for other in (stores.bob, stores.stranger):
            assert await stores.private_skills.in_use(other, "assistant") == []
            assert await stores.private_skills.of_user(other) == []
            assert await stores.private_skills.get(other, "assistant", MINE) is None
            assert await offers(stores, other) == []
        assert await stores.private_skills.in_use(stores.ada, "assistant-2") == []
        assert await stores.private_skills.get(stores.ada, "assistant", ID) is None

    @pytest.mark.parametrize("is_offered", [False, True])
    async def test_no_procedure_of_the_tenant_comes_of_it(self, stores: Stores, is_offered: bool) -> None:
        await save(stores)
        if is_offered:
            await change(stores, SkillAction.OFFER)
        assert await stores.procedures.approved(stores.ada, "assistant") == []
        assert await list_ids(stores, stores.ada, REVIEWED) == []
        for item in (ID, MINE):
            assert await stores.procedures.get(stores.ada, "assistant", item) is None
            for action in ProcedureAction:
                with pytest.raises(UnknownProcedure):
                    await decide(stores, 1, action, procedure_id=item)

    async def test_making_it_again_keeps_the_newest_content_only(self, stores: Stores) -> None:
        await save(stores)
        await change(stores, SkillAction.OFFER)
        better = await save(stores, "Better.", made_of="t-1#w-2")
        assert (better.version, better.status, better.decided_by) == (2, PRIVATE, None)
        assert await stores.private_skills.of_user(stores.ada) == [better]
        assert await offers(stores, stores.bob) == []
        same = await save(stores, "Better.", made_of="t-1#w-3")
        assert same == better

    async def test_a_repetition_is_known_by_what_made_it_not_by_content(self, stores: Stores) -> None:
        first = await save(stores)
        second = await save(stores, "Better.", made_of="t-1#w-2")
        for made_of, description in (("t-1#w-1", "In other words."), ("t-1#w-2", "In other words.")):
            assert await save(stores, description, made_of=made_of) == second
        again = await save(stores, first.draft.description, made_of="t-1#w-3")
        assert (again.version, again.draft) == (3, first.draft)

    async def test_agents_and_users_may_have_skills_of_the_same_name(self, stores: Stores) -> None:
        await save(stores)
        await save(stores, "For another agent.", agent_id="assistant-2")
        await save(stores, "Bob's.", scope=stores.bob)
        own = await stores.private_skills.of_user(stores.ada)
        assert [(item.agent_id, item.version) for item in own] == [("assistant", 1), ("assistant-2", 1)]
        [bobs] = await stores.private_skills.in_use(stores.bob, "assistant")
        assert (bobs.draft.description, bobs.created_by) == ("Bob's.", "bob")

    async def test_offers_of_all_users_are_listed_latest_first_in_pages(self, stores: Stores) -> None:
        for scope in (stores.ada, stores.bob):
            for agent_id in ("assistant", "assistant-2", "assistant-3"):
                await save(stores, scope=scope, agent_id=agent_id)
                await change(stores, SkillAction.OFFER, scope=scope, agent_id=agent_id)
        for limit in (1, 2, 3, 5):
            result = await offers(stores, stores.auditor, ["assistant", "assistant-2"], limit=limit)
            assert sorted(result) == ["ada/assistant", "ada/assistant-2", "bob/assistant", "bob/assistant-2"]
        assert await offers(stores, stores.stranger, ["assistant"]) == []
        assert await offers(stores, stores.auditor, []) == []
        stores.clock.advance(1)
        await change(stores, SkillAction.WITHDRAW)
        stores.clock.advance(1)
        await change(stores, SkillAction.OFFER)
        assert await offers(stores, stores.auditor) == ["ada/assistant", "bob/assistant"]
        with pytest.raises(InvalidRequest):
            await stores.private_skills.offered(stores.auditor, ["assistant"], limit=1, cursor="x")

    async def test_an_offer_can_be_withdrawn_or_declined(self, stores: Stores) -> None:
        await save(stores)
        for action, by, reason in ((SkillAction.WITHDRAW, "ada", None), (SkillAction.DECLINE, "bob", "No.")):
            offered = await change(stores, SkillAction.OFFER)
            assert (offered.status, offered.decided_by) == (OFFERED, "ada")
            assert await offers(stores, stores.bob) == ["ada/assistant"]
            for _ in range(2):
                private = await change(stores, action, by=by, reason=reason)
                assert (private.status, private.decided_by, private.reason) == (PRIVATE, by, reason)
            assert await offers(stores, stores.bob) == []
            assert await stores.private_skills.in_use(stores.ada, "assistant") == [private]
            assert await stores.private_skills.get(stores.ada, "assistant", MINE) == private

    @pytest.mark.parametrize("action", [SkillAction.WITHDRAW, SkillAction.DECLINE])
    async def test_what_is_not_offered_is_not_decided_on(self, stores: Stores, action: SkillAction) -> None:
        await save(stores)
        with pytest.raises(ProcedureChanged):
            await change(stores, action)
        for scope, skill_id, version in ((stores.bob, MINE, 1), (stores.ada, ID, 1), (stores.ada, MINE, 2)):
            with pytest.raises(UnknownProcedure):
                await change(stores, SkillAction.OFFER, scope=scope, skill_id=skill_id, version=version)
        await save(stores, "Better.", made_of="t-1#w-2")
        with pytest.raises(ProcedureChanged):
            await change(stores, SkillAction.OFFER, version=1)

    async def test_a_shared_skill_is_an_approved_version_of_the_one_who_shares_it(self, stores: Stores) -> None:
        skill = await save(stores)
        await change(stores, SkillAction.OFFER)
        stores.clock.advance(1)
        for _ in range(2):
            shared, replaced = await share(stores)
            stores.clock.advance(1)
        assert (shared.id, shared.version, shared.status, shared.scope) == (
            ID,
            1,
            ProcedureStatus.APPROVED,
            ProcedureScope.AGENT,
        )
        assert (shared.draft, shared.created_by, shared.decided_by, replaced) == (skill.draft, "bob", "bob", None)
        assert await stores.procedures.approved(stores.stranger, "assistant") == []
        assert await stores.procedures.approved(stores.bob, "assistant") == [shared]
        assert await stores.procedures.get(stores.bob, "assistant", ID) == shared
        assert await list_ids(stores, stores.bob, [ProcedureStatus.APPROVED]) == [ID]
        assert await stores.private_skills.in_use(stores.ada, "assistant") == []
        own = await stores.private_skills.get(stores.ada, "assistant", MINE)
        assert own is not None
        assert (own.status, own.decided_by) == (SHARED, "bob")
        assert await offers(stores, stores.bob) == []
        with pytest.raises(ProcedureChanged):
            await share(stores, by="eve")

    async def test_what_is_not_offered_is_shared_by_its_maker_only(self, stores: Stores) -> None:
        await save(stores)
        with pytest.raises(ProcedureChanged):
            await share(stores)
        assert await stores.procedures.approved(stores.ada, "assistant") == []
        shared, _ = await share(stores, by="ada")
        assert await stores.procedures.approved(stores.ada, "assistant") == [shared]

    async def test_an_approved_procedure_is_replaced_only_by_name(self, stores: Stores) -> None:
        former = await add_approved(stores.procedures, stores.bob, procedure(stores, "The administrator's."))
        await stores.procedures.put(stores.bob, procedure(stores, "Waits."))
        await save(stores)
        await change(stores, SkillAction.OFFER)
        for wrong in (None, 2, 3):
            with pytest.raises(ProcedureNameTaken, match="Version 1 of slack-alert is approved"):
                await share(stores, replaces=wrong)
        assert await stores.procedures.approved(stores.ada, "assistant") == [former]
        shared, replaced = await share(stores, replaces=1)
        assert (shared.version, replaced) == (3, 1)
        assert await stores.procedures.approved(stores.ada, "assistant") == [shared]
        assert await statuses(stores) == [*map(ProcedureStatus, ("approved", "pending", "retired"))]

    async def test_nothing_is_replaced_where_nothing_is_approved(self, stores: Stores) -> None:
        await save(stores)
        await change(stores, SkillAction.OFFER)
        with pytest.raises(ProcedureNameTaken, match="leave out replaces"):
            await share(stores, replaces=1)

    async def test_a_removed_skill_is_gone_and_its_number_does_not_come_back(self, stores: Stores) -> None:
        await save(stores)
        await change(stores, SkillAction.OFFER)
        removed = await stores.private_skills.remove(stores.ada, "assistant", MINE, 1)
        assert removed.status is ProcedureStatus.RETIRED
        assert await stores.private_skills.of_user(stores.ada) == []
        assert await stores.private_skills.in_use(stores.ada, "assistant") == []
        assert await offers(stores, stores.bob) == []
        with pytest.raises(UnknownProcedure):
            await stores.private_skills.remove(stores.ada, "assistant", MINE, 1)
        with pytest.raises(UnknownProcedure):
            await share(stores)
        other = await save(stores, "Other words.", made_of="t-1#w-2")
        assert other.version == 2
        await change(stores, SkillAction.OFFER, version=2)
        with pytest.raises(ProcedureChanged):  # by an approver who has read the first one
            await share(stores, version=1)


class PrivateSkillRaces:
    """Rules for several writers at once."""

    async def test_one_workflow_makes_one_skill(self, stores: Stores) -> None:
        results = await asyncio.gather(*(save(stores, f"By {index}.") for index in range(3)))
        assert len({(item.version, item.draft) for item in results}) == 1

    async def test_a_skill_is_shared_once(self, stores: Stores) -> None:
        await save(stores)
        await change(stores, SkillAction.OFFER)
        both = await asyncio.gather(share(stores), share(stores, by="eve"), return_exceptions=True)
        assert [type(item) for item in both if isinstance(item, Exception)] == [ProcedureChanged]
        assert await statuses(stores) == [ProcedureStatus.APPROVED]

    async def test_what_is_withdrawn_or_made_again_meanwhile_is_not_shared(self, stores: Stores) -> None:
        await save(stores)
        await change(stores, SkillAction.OFFER)
        await asyncio.gather(share(stores), change(stores, SkillAction.WITHDRAW), return_exceptions=True)
        own = await stores.private_skills.get(stores.ada, "assistant", MINE)
        approved = await stores.procedures.approved(stores.ada, "assistant")
        assert own is not None
        assert (own.status, len(approved)) in [(SHARED, 1), (PRIVATE, 0)]

    async def test_of_two_skills_shared_under_one_name_the_second_needs_a_decision(self, stores: Stores) -> None:
        for scope in (stores.ada, stores.bob):
            await save(stores, f"Of {scope.user_id}.", scope=scope)
            await change(stores, SkillAction.OFFER, scope=scope)
        both = await asyncio.gather(
            *(share(stores, scope=scope, by="eve") for scope in (stores.ada, stores.bob)), return_exceptions=True
        )
        assert [type(item) for item in both if isinstance(item, Exception)] == [ProcedureNameTaken]
        assert await statuses(stores) == [ProcedureStatus.APPROVED]


async def save(
    stores: Stores,
    description: str = "Posts an alert.",
    *,
    scope: Scope | None = None,
    agent_id: str = "assistant",
    made_of: str = "t-1#w-1",
) -> Procedure:
    """Save a skill, ada's unless ``scope`` says otherwise."""
    new_procedure = replace(procedure(stores, description), agent_id=agent_id)
    return await stores.private_skills.save(scope or stores.ada, new_procedure, made_of=made_of)


async def change(
    stores: Stores,
    action: SkillAction,
    *,
    scope: Scope | None = None,
    agent_id: str = "assistant",
    skill_id: str = MINE,
    version: int | None = None,
    by: str | None = None,
    reason: str | None = None,
) -> Procedure:
    """Change the offer of a skill, its newest version unless ``version`` names one."""
    scope = scope or stores.ada
    if version is None:
        result = await stores.private_skills.get(scope, agent_id, skill_id)
        version = result.version if result is not None else 1
    decision = SkillDecision(action, by or scope.user_id, stores.clock.now(), reason)
    return await stores.private_skills.change(scope, agent_id, skill_id, version, decision)


async def share(
    stores: Stores, *, scope: Scope | None = None, by: str = "bob", version: int = 1, replaces: int | None = None
) -> tuple[Procedure, int | None]:
    """Share a skill."""
    decision = SkillDecision(SkillAction.SHARE, by, stores.clock.now())
    scope = scope or stores.ada
    return await stores.private_skills.share(scope, "assistant", MINE, version, decision, replaces=replaces)


async def offers(stores: Stores, scope: Scope, agents: list[str] | None = None, *, limit: int = 50) -> list[str]:
    """Makers and agents of all pages of offers, latest first."""
    results: list[str] = []
    cursor: str | None = None
    while True:
        expected = agents if agents is not None else ["assistant"]
        page, cursor = await stores.private_skills.offered(scope, expected, limit=limit, cursor=cursor)
        results += [f"{item.created_by}/{item.agent_id}" for item in page]
        if cursor is None:
            return results
