"""Skills by meaning: their vectors are kept for later messages, a limited number of them."""

from __future__ import annotations

import asyncio

import pytest

from baton.domain.skill import Skill, SkillDraft, SkillStatus, SkillStep
from baton.memory.recall import skill_matching
from baton.memory.recall.skill_matching import SkillVectors
from tests.fakes.clock import NOON
from tests.fakes.embedder import FakeEmbedder


def skill(name: str) -> Skill:
    draft = SkillDraft(name, f"About {name}.", (), (SkillStep("Do it."),))
    return Skill(draft, "acme", "assistant", "bob", NOON, version=1, status=SkillStatus.ACTIVE)


async def test_skills_are_compared_although_their_vectors_are_pushed_out_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(skill_matching, "MAX_KNOWN", 2)
    embedder = FakeEmbedder()
    vectors = SkillVectors(embedder)
    cats, dogs, birds, fish = (skill(name) for name in ("cats", "dogs", "birds", "fish"))
    wanted = embedder.vector("cats")
    await vectors.nearest([cats], wanted)
    embedder.seconds = 0.05
    slow = asyncio.ensure_future(vectors.nearest([cats, dogs], wanted))
    await asyncio.sleep(0)
    embedder.seconds = 0.0
    await vectors.nearest([birds, fish], wanted)
    assert [match.skill.draft.name for match in await slow] == ["cats", "dogs"]
