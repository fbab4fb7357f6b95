"""Captures of a conversation that is forgotten: nothing that waits stays, and nothing leads back."""

from __future__ import annotations

import pytest

from baton.domain.memory.forgetting import ForgetStatus
from baton.domain.memory.private_skill import SkillAction, SkillDecision
from baton.domain.memory.procedure import Procedure, ProcedureAction, ProcedureScope, ProcedureStatus
from baton.domain.tenants.identity import Scope
from tests.contracts.procedures import DRAFT
from tests.contracts.stores import new_thread_id
from tests.integration.privacy.conftest import World
from tests.integration.privacy.stored_data import capture

ADA, BOB = Scope("acme", "ada"), Scope("acme", "bob")


@pytest.mark.parametrize("of", [ProcedureScope.AGENT, ProcedureScope.TENANT])
async def test_a_forgotten_user_leaves_no_pending_procedure_and_no_source(world: World, of: ProcedureScope) -> None:
    procedures = world.stores.procedures
    waits, waiting = await capture(world, ADA, "Waits", of=of)
    used, in_use = await capture(world, ADA, "Used", ProcedureAction.APPROVE, of=of)
    stored, other = await capture(world, BOB, "Of another", of=of)
    request = await world.app.privacy.forget_calls.forget_user(ADA, ADA.user_id)
    await world.run(ADA, request.id)
    done = await world.app.privacy.forget_calls.get(ADA, request.id)
    assert (done.status, done.residue) == (ForgetStatus.COMPLETED, {})
    assert await procedures.get(ADA, "assistant", waiting) is None
    approved = await procedures.get(ADA, "assistant", in_use)
    assert approved is not None
    assert (approved.status, approved.source) == (ProcedureStatus.APPROVED, None)
    assert await procedures.approved(ADA, "assistant", of=of) == [approved]
    stays = await procedures.get(BOB, "assistant", other)
    assert stays is not None
    assert stays.source is not None
    assert stays.source.thread_id == stored
    items = [item for item in world.items() if waits in repr(item) or used in repr(item)]
    assert all("PROCEDURE" not in repr(item) and "CAPTURE" not in item["SK"] for item in items)


@pytest.mark.parametrize("action", [None, SkillAction.OFFER, SkillAction.SHARE])
async def test_a_forgotten_maker_leaves_no_private_skill_and_no_name_on_a_shared_one(
    world: World, action: SkillAction | None
) -> None:
    maker, skills = Scope("acme", "maria-the-maker"), world.stores.private_skills
    thread_id = new_thread_id()
    await world.say(maker, thread_id, "Make it.")
    for scope in (maker, BOB):
        procedure = Procedure(DRAFT, "acme", "assistant", scope.user_id, world.clock.now())
        skill = await skills.save(scope, procedure, made_of=f"{thread_id}#{scope.user_id}")
        if action is not None:
            offer = SkillDecision(SkillAction.OFFER, scope.user_id, world.clock.now())
            await skills.change(scope, "assistant", skill.id, 1, offer)
    if action is SkillAction.SHARE:
        share = SkillDecision(SkillAction.SHARE, "boss", world.clock.now())
        await skills.share(maker, "assistant", "user.slack-alert", 1, share, replaces=None)
    request = await world.app.privacy.forget_calls.forget_user(maker, maker.user_id)
    await world.run(maker, request.id)
    done = await world.app.privacy.forget_calls.get(maker, request.id)
    assert (done.status, done.residue) == (ForgetStatus.COMPLETED, {})
    assert done.counts["skills"] == 1
    assert await skills.of_user(maker) == []
    assert [entry.created_by for entry in await skills.of_user(BOB)] == ["bob"]
    approved = await world.stores.procedures.approved(BOB, "assistant")
    assert [(entry.id, entry.created_by, entry.source) for entry in approved] == (
        [("slack-alert", "boss", None)] if action is SkillAction.SHARE else []
    )
    items = [item for item in world.items() if maker.user_id in repr(item) or thread_id in repr(item)]
    assert all("SKILL" not in item["SK"] and "PROCEDURES" not in item["PK"] for item in items)
