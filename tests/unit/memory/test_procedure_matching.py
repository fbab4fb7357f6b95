"""Procedures by meaning: their vectors are kept for later messages, a limited number of them."""

from __future__ import annotations

import asyncio
import math
import random

import pytest

from baton.domain.documents.search import Vector
from baton.domain.errors import EmbedderUnavailable
from baton.domain.memory.procedure import Procedure, ProcedureDraft, ProcedureScope, ProcedureStatus, ProcedureStep
from baton.domain.memory.procedure_set import ProcedureSet
from baton.memory.recall import procedure_matching
from baton.memory.recall.procedure_matching import ProcedureVectors
from baton_testing.fakes.clock import NOON
from baton_testing.fakes.documents.embedder import FakeEmbedder
from tests.unit.memory.matching import procedure


async def test_procedures_are_compared_although_their_vectors_are_pushed_out_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(procedure_matching, "MAX_KNOWN", 2)
    embedder = FakeEmbedder()
    vectors = ProcedureVectors(embedder)
    cats, dogs, birds, fish = (procedure(name) for name in ("cats", "dogs", "birds", "fish"))
    expected = embedder.vector("cats")
    await vectors.find_nearest(ProcedureSet([cats]), expected)
    embedder.seconds = 0.05
    slow = asyncio.ensure_future(vectors.find_nearest(ProcedureSet([cats, dogs]), expected))
    await asyncio.sleep(0)
    embedder.seconds = 0.0
    await vectors.find_nearest(ProcedureSet([birds, fish]), expected)
    assert [match.procedure.draft.name for match in await slow] == ["cats", "dogs"]


class Dense(FakeEmbedder):
    """An embedder whose vectors have no zeros, as those of models."""

    def vector(self, text: str) -> Vector:
        chance = random.Random(text)  # noqa: S311 - the same vector in every run
        places = [chance.gauss(0, 1) for _ in range(self.dimensions)]
        length = math.hypot(*places)
        return tuple(location / length for location in places)


def make_procedures(count: int) -> ProcedureSet:
    return ProcedureSet([procedure(f"number {number}") for number in range(count)])


def text_of(name: str) -> str:
    return f"{name}: About {name}."


async def test_among_many_procedures_the_exact_similarity_decides() -> None:
    embedder = Dense()
    vectors = ProcedureVectors(embedder)
    for number in (0, 77, 299):
        expected = embedder.vector(text_of(f"number {number}"))
        best, *_ = await vectors.find_nearest(make_procedures(300), expected)
        assert best.procedure.draft.name == f"number {number}"
        assert best.cosine == pytest.approx(1.0, abs=0.001)
    assert len(embedder.embedded) == 300


async def test_what_was_embedded_in_time_is_compared_and_the_rest_by_later_messages() -> None:
    embedder = Dense()
    vectors = ProcedureVectors(embedder)
    expected = embedder.vector(text_of("number 0"))
    embedder.seconds = 0.4
    best, *_ = await vectors.find_nearest(make_procedures(300), expected, seconds=0.5)
    assert best.procedure.draft.name == "number 0"
    late = embedder.vector(text_of("number 299"))
    result = await vectors.find_nearest(make_procedures(300), late, seconds=0.5)
    assert all(match.procedure.draft.name != "number 299" for match in result)
    embedder.seconds = 0.0
    best, *_ = await vectors.find_nearest(make_procedures(300), late, seconds=0.5)
    assert best.procedure.draft.name == "number 299"


async def test_if_nothing_is_embedded_in_time_that_is_said() -> None:
    embedder = Dense()
    embedder.seconds = 60
    with pytest.raises(EmbedderUnavailable):
        await ProcedureVectors(embedder).find_nearest(make_procedures(2), embedder.vector("x"), seconds=0.5)


async def test_skills_of_the_same_name_of_two_users_are_compared_each_by_its_own_words() -> None:
    embedder = FakeEmbedder()
    vectors = ProcedureVectors(embedder)
    for user, about in (("ada", "cats"), ("bob", "dogs"), ("ada", "cats")):
        draft = ProcedureDraft("Mine", about, (), (ProcedureStep("Do it."),))
        skill = Procedure(
            draft, "acme", "assistant", user, NOON, version=1, status=ProcedureStatus.PRIVATE, scope=ProcedureScope.USER
        )
        [match] = await vectors.find_nearest(ProcedureSet().with_skills([skill]), embedder.vector(f"Mine: {about}"))
        assert match.score == pytest.approx(1.0, abs=0.01)
