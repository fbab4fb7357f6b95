"""Finding the procedure of an agent that a new draft repeats, or is another version of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from baton.domain.errors import EmbedderUnavailable
from baton.domain.procedure import Procedure, ProcedureDraft
from baton.domain.text import folded
from baton.domain.triggers import matching
from baton.memory.recall.relevance import content_words
from baton.ports.search import Embedder, EmbeddingPurpose

MAX_COMPARED: Final = 50
"""Procedures that are compared by meaning: those that have most words in common with the draft."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """A procedure and how alike a draft is, from 0 to 1."""

    procedure: Procedure
    score: float


async def most_alike(draft: ProcedureDraft, procedures: Sequence[Procedure], embedder: Embedder) -> list[Likeness]:
    """Return the procedures that a draft is like, the most alike first.

    Alike are texts of the same meaning, and procedures whose triggers match the draft's: both would answer the same
    messages. Where embedding is switched off, words count instead of meaning. Raises ``EmbedderUnavailable``.
    """
    words = _words(draft)
    nearest = sorted(procedures, key=lambda each: (-_overlap(words, _words(each.draft)), each.slug, each.version))
    nearest = nearest[:MAX_COMPARED]
    meanings = await _meanings(draft, nearest, embedder) if nearest and embedder.dimensions else None
    scores = meanings or [_overlap(words, _words(each.draft)) for each in nearest]
    found = [
        Likeness(each, max(score, _triggered(draft, each.draft))) for each, score in zip(nearest, scores, strict=True)
    ]
    return sorted(found, key=lambda each: (-each.score, each.procedure.slug, -each.procedure.version))


def is_same(draft: ProcedureDraft, other: ProcedureDraft) -> bool:
    """Return whether two drafts say the same, but for case and spacing."""
    return _said(draft) == _said(other)


async def _meanings(draft: ProcedureDraft, procedures: Sequence[Procedure], embedder: Embedder) -> list[float]:
    vectors = await embedder.embed(
        [_text(draft), *(_text(each.draft) for each in procedures)], purpose=EmbeddingPurpose.DOCUMENT
    )
    first, *others = vectors
    if any(len(other) != len(first) for other in others):
        raise EmbedderUnavailable("The embedding model has changed the length of its vectors.")
    return [sum(a * b for a, b in zip(first, other, strict=True)) for other in others]


def _text(draft: ProcedureDraft) -> str:
    return f"{draft.name}: {draft.description} {' '.join(step.text for step in draft.steps)}"


def _triggered(draft: ProcedureDraft, other: ProcedureDraft) -> float:
    """Return the share of the draft's triggers that the other one's triggers match."""
    return sum(matching(other.triggers, trigger) is not None for trigger in draft.triggers) / len(draft.triggers)


def _words(draft: ProcedureDraft) -> frozenset[str]:
    return frozenset(content_words(f"{_text(draft)} {' '.join(draft.triggers)}"))


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one or other else 0.0


def _said(draft: ProcedureDraft) -> tuple[object, ...]:
    steps = tuple((folded(step.text), folded(step.condition or "")) for step in draft.steps)
    triggers = frozenset(map(folded, draft.triggers))
    return folded(draft.name), folded(draft.description), triggers, steps, frozenset(draft.allowed_tools)
