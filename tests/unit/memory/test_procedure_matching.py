"""Skills by meaning: their vectors are kept for later messages, a limited number of them."""

from __future__ import annotations

import asyncio

import pytest

from baton.domain.procedure import Procedure, ProcedureDraft, ProcedureStatus, ProcedureStep
from baton.memory.recall import procedure_matching
from baton.memory.recall.procedure_matching import ProcedureVectors
from tests.fakes.clock import NOON
from tests.fakes.embedder import FakeEmbedder


def procedure(name: str) -> Procedure:
    draft = ProcedureDraft(name, f"About {name}.", (), (ProcedureStep("Do it."),))
    return Procedure(draft, "acme", "assistant", "bob", NOON, version=1, status=ProcedureStatus.APPROVED)


async def test_skills_are_compared_although_their_vectors_are_pushed_out_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(procedure_matching, "MAX_KNOWN", 2)
    embedder = FakeEmbedder()
    vectors = ProcedureVectors(embedder)
    cats, dogs, birds, fish = (procedure(name) for name in ("cats", "dogs", "birds", "fish"))
    wanted = embedder.vector("cats")
    await vectors.nearest([cats], wanted)
    embedder.seconds = 0.05
    slow = asyncio.ensure_future(vectors.nearest([cats, dogs], wanted))
    await asyncio.sleep(0)
    embedder.seconds = 0.0
    await vectors.nearest([birds, fish], wanted)
    assert [match.procedure.draft.name for match in await slow] == ["cats", "dogs"]
