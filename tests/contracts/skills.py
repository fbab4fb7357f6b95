"""Skills: what every store does about them."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from baton.domain.skill import Skill, SkillDraft, SkillStatus, SkillStep
from tests.contracts.stores import Stores

DRAFT = SkillDraft(
    name="Slack Alert",
    description="Posts an alert, größer 😀.",
    triggers=("send slack alert", r"alert (me|us)"),
    steps=(SkillStep("Ask for the channel.", "skip if the user named one"), SkillStep("Post it.")),
    allowed_tools=("slack_post",),
)


class SkillContract:
    """Versions of skills, and which are in use."""

    async def test_a_skill_comes_back_whole_with_its_version(self, stores: Stores) -> None:
        kept = await stores.skills.put(stores.ada, skill(stores))
        assert kept == replace(skill(stores), version=1)
        assert await stores.skills.get(stores.ada, "assistant", "slack-alert") == kept
        assert await stores.skills.get(stores.ada, "assistant", "slack-alert", version=1) == kept

    async def test_every_change_makes_a_version_and_all_are_kept(self, stores: Stores) -> None:
        for number in range(1, 13):
            kept = await stores.skills.put(stores.ada, skill(stores, description=f"Number {number}."))
            assert kept.version == number
        newest = await stores.skills.get(stores.ada, "assistant", "slack-alert")
        third = await stores.skills.get(stores.ada, "assistant", "slack-alert", version=3)
        assert newest is not None
        assert newest.version == 12
        assert third is not None
        assert third.draft.description == "Number 3."

    async def test_saving_the_same_again_makes_no_version(self, stores: Stores) -> None:
        first = await stores.skills.put(stores.ada, skill(stores))
        stores.clock.advance(60)
        assert await stores.skills.put(stores.bob, replace(skill(stores), created_by="bob")) == first
        assert await stores.skills.get(stores.ada, "assistant", "slack-alert", version=2) is None

    async def test_versions_saved_at_once_each_get_a_number(self, stores: Stores) -> None:
        kept = await asyncio.gather(
            *(stores.skills.put(stores.ada, skill(stores, description=f"By {number}.")) for number in range(3))
        )
        assert sorted(one.version for one in kept) == [1, 2, 3]

    async def test_only_the_activated_version_is_in_use(self, stores: Stores) -> None:
        await stores.skills.put(stores.ada, skill(stores))
        second = await stores.skills.put(stores.ada, skill(stores, description="Better."))
        assert await stores.skills.active(stores.ada, "assistant") == []
        for version in (2, 1, 2, 2):
            activated = await stores.skills.activate(stores.ada, "assistant", "slack-alert", version=version)
            assert activated is not None
            assert (activated.version, activated.status) == (version, SkillStatus.ACTIVE)
            assert await stores.skills.active(stores.bob, "assistant") == [activated]
        assert await stores.skills.get(stores.ada, "assistant", "slack-alert") == activated
        first = await stores.skills.get(stores.ada, "assistant", "slack-alert", version=1)
        assert first is not None
        assert first.status is SkillStatus.DRAFT
        assert (await stores.skills.put(stores.ada, second)).status is SkillStatus.ACTIVE

    async def test_a_deactivated_skill_is_kept(self, stores: Stores) -> None:
        kept = await stores.skills.put(stores.ada, skill(stores))
        await stores.skills.activate(stores.ada, "assistant", "slack-alert", version=1)
        for _ in range(2):
            await stores.skills.deactivate(stores.ada, "assistant", "slack-alert")
        assert await stores.skills.active(stores.ada, "assistant") == []
        assert await stores.skills.get(stores.ada, "assistant", "slack-alert") == kept

    async def test_what_does_not_exist_is_not_activated(self, stores: Stores) -> None:
        await stores.skills.put(stores.ada, skill(stores))
        assert await stores.skills.activate(stores.ada, "assistant", "slack-alert", version=2) is None
        assert await stores.skills.activate(stores.ada, "assistant", "slack", version=1) is None
        assert await stores.skills.get(stores.ada, "assistant", "slack") is None
        assert await stores.skills.active(stores.ada, "assistant") == []

    async def test_every_agent_and_tenant_has_skills_of_its_own(self, stores: Stores) -> None:
        for agent_id in ("assistant", "assistant-2"):
            await stores.skills.put(stores.ada, replace(skill(stores), agent_id=agent_id))
            await stores.skills.activate(stores.ada, agent_id, "slack-alert", version=1)
            [one] = await stores.skills.active(stores.ada, agent_id)
            assert one.agent_id == agent_id
        assert await stores.skills.active(stores.ada, "assist") == []
        assert await stores.skills.active(stores.stranger, "assistant") == []
        assert await stores.skills.get(stores.stranger, "assistant", "slack-alert") is None


def skill(stores: Stores, *, description: str = DRAFT.description) -> Skill:
    """A skill that is not saved yet."""
    return Skill(replace(DRAFT, description=description), stores.tenant, "assistant", "ada", stores.clock.now())
