"""Skills: what every store does about them."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from baton.domain.skill import Skill, SkillDraft, SkillStatus, SkillStep
from tests.contracts.house import House

DRAFT = SkillDraft(
    name="Slack Alert",
    description="Posts an alert, größer 😀.",
    triggers=("send slack alert", r"alert (me|us)"),
    steps=(SkillStep("Ask for the channel.", "skip if the user named one"), SkillStep("Post it.")),
    allowed_tools=("slack_post",),
)


class SkillContract:
    """Versions of skills, and which are in use."""

    async def test_a_skill_comes_back_whole_with_its_version(self, house: House) -> None:
        kept = await house.skills.put(house.ada, skill(house))
        assert kept == replace(skill(house), version=1)
        assert await house.skills.get(house.ada, "assistant", "slack-alert") == kept
        assert await house.skills.get(house.ada, "assistant", "slack-alert", version=1) == kept

    async def test_every_change_makes_a_version_and_all_are_kept(self, house: House) -> None:
        for number in range(1, 13):
            kept = await house.skills.put(house.ada, skill(house, description=f"Number {number}."))
            assert kept.version == number
        newest = await house.skills.get(house.ada, "assistant", "slack-alert")
        third = await house.skills.get(house.ada, "assistant", "slack-alert", version=3)
        assert newest is not None
        assert newest.version == 12
        assert third is not None
        assert third.draft.description == "Number 3."

    async def test_saving_the_same_again_makes_no_version(self, house: House) -> None:
        first = await house.skills.put(house.ada, skill(house))
        house.clock.advance(60)
        assert await house.skills.put(house.bob, replace(skill(house), created_by="bob")) == first
        assert await house.skills.get(house.ada, "assistant", "slack-alert", version=2) is None

    async def test_versions_saved_at_once_each_get_a_number(self, house: House) -> None:
        kept = await asyncio.gather(
            *(house.skills.put(house.ada, skill(house, description=f"By {number}.")) for number in range(3))
        )
        assert sorted(one.version for one in kept) == [1, 2, 3]

    async def test_only_the_activated_version_is_in_use(self, house: House) -> None:
        await house.skills.put(house.ada, skill(house))
        second = await house.skills.put(house.ada, skill(house, description="Better."))
        assert await house.skills.active(house.ada, "assistant") == []
        for version in (2, 1, 2, 2):
            activated = await house.skills.activate(house.ada, "assistant", "slack-alert", version=version)
            assert activated is not None
            assert (activated.version, activated.status) == (version, SkillStatus.ACTIVE)
            assert await house.skills.active(house.bob, "assistant") == [activated]
        assert await house.skills.get(house.ada, "assistant", "slack-alert") == activated
        first = await house.skills.get(house.ada, "assistant", "slack-alert", version=1)
        assert first is not None
        assert first.status is SkillStatus.DRAFT
        assert (await house.skills.put(house.ada, second)).status is SkillStatus.ACTIVE

    async def test_a_deactivated_skill_is_kept(self, house: House) -> None:
        kept = await house.skills.put(house.ada, skill(house))
        await house.skills.activate(house.ada, "assistant", "slack-alert", version=1)
        for _ in range(2):
            await house.skills.deactivate(house.ada, "assistant", "slack-alert")
        assert await house.skills.active(house.ada, "assistant") == []
        assert await house.skills.get(house.ada, "assistant", "slack-alert") == kept

    async def test_what_does_not_exist_is_not_activated(self, house: House) -> None:
        await house.skills.put(house.ada, skill(house))
        assert await house.skills.activate(house.ada, "assistant", "slack-alert", version=2) is None
        assert await house.skills.activate(house.ada, "assistant", "slack", version=1) is None
        assert await house.skills.get(house.ada, "assistant", "slack") is None
        assert await house.skills.active(house.ada, "assistant") == []

    async def test_every_agent_and_tenant_has_skills_of_its_own(self, house: House) -> None:
        for agent_id in ("assistant", "assistant-2"):
            await house.skills.put(house.ada, replace(skill(house), agent_id=agent_id))
            await house.skills.activate(house.ada, agent_id, "slack-alert", version=1)
            [one] = await house.skills.active(house.ada, agent_id)
            assert one.agent_id == agent_id
        assert await house.skills.active(house.ada, "assist") == []
        assert await house.skills.active(house.stranger, "assistant") == []
        assert await house.skills.get(house.stranger, "assistant", "slack-alert") is None


def skill(house: House, *, description: str = DRAFT.description) -> Skill:
    """A skill that is not saved yet."""
    return Skill(replace(DRAFT, description=description), house.tenant, "assistant", "ada", house.clock.now())
