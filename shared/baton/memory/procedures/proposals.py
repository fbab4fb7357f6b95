"""Proposals of drafts among the procedures of an agent: as a new one, a new version, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from baton.domain.errors import EmbedderUnavailable
from baton.domain.handoffs.triggers import matching
from baton.domain.memory.capture import Capture
from baton.domain.memory.procedure import (
    REVIEWED,
    Procedure,
    ProcedureDraft,
    ProcedureScope,
    ProcedureSource,
    ProcedureStatus,
)
from baton.domain.tenants.identity import Scope
from baton.domain.text import fold
from baton.memory.recall.relevance import content_words
from baton.ports.clock import Clock
from baton.ports.documents.search import Embedder, EmbeddingPurpose
from baton.ports.memory.procedures import ProcedureStore

CAPTURED_BY: Final = "capture"
"""The maker of a captured procedure. Its user is not named, because the procedure outlives the user's data."""
PAGE: Final = 100
MAX_READ: Final = 1_000
"""Versions of an agent's procedures that a draft is compared with, the newest ones."""
MAX_COMPARED: Final = 50
"""Procedures that are compared by meaning: those that have most words in common with the draft."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """The form in which a draft is proposed."""

    draft: ProcedureDraft
    """The draft, with the name of the procedure that it is a version of."""
    scope: ProcedureScope = ProcedureScope.AGENT
    procedure_id: str | None = None
    """The procedure that the draft is like; None for a new one."""
    refusal: str | None = None
    """The reason why it is not proposed; None if it is."""


@dataclass(frozen=True, slots=True)
class Proposals:
    """Drafts that become pending procedures, unless they are equal to known ones."""

    procedures: ProcedureStore
    embedder: Embedder
    clock: Clock

    async def compare(self, scope: Scope, agent_id: str, draft: ProcedureDraft, *, floor: float) -> Proposal:
        """Return the proposal of the draft. Raises ``StoreUnavailable`` and ``EmbedderUnavailable``.

        A draft like a rejected procedure is not proposed again, and one like a pending procedure would only wait
        with it. Likeness begins at ``floor``.
        """
        procedures = await self._all(scope, agent_id)
        for score, other in await most_alike(draft, procedures, self.embedder):
            if score < floor and other.draft.slug != draft.slug and not is_same(draft, other.draft):
                continue
            refusal = _refusal(draft, other, [procedure for procedure in procedures if procedure.id == other.id])
            return Proposal(replace(draft, name=other.draft.name), other.scope, other.id, refusal)
        return Proposal(draft)

    async def store(self, scope: Scope, capture: Capture, source: ProcedureSource) -> Procedure:
        """Store the draft of a capture as pending. Storing it again returns the stored one."""
        assert capture.draft is not None  # noqa: S101 - the caller has checked
        procedure = Procedure(
            capture.draft,
            scope.tenant_id,
            capture.ref.agent_id,
            created_by=CAPTURED_BY,
            created_at=self.clock.now(),
            scope=capture.procedure_scope,
            source=source,
        )
        return await self.procedures.put(scope, procedure)

    async def withdraw(self, scope: Scope, stored: Procedure) -> None:
        """Take back a pending procedure whose conversation was deleted in the meantime."""
        await self.procedures.forget_source(scope, stored.agent_id, stored.id, stored.version)

    async def _all(self, scope: Scope, agent_id: str) -> Sequence[Procedure]:
        procedures: list[Procedure] = []
        cursor: str | None = None
        while True:
            page, cursor = await self.procedures.of_agents(scope, [agent_id], REVIEWED, limit=PAGE, cursor=cursor)
            procedures += page
            if cursor is None or len(procedures) >= MAX_READ:
                return procedures


def _refusal(draft: ProcedureDraft, other: Procedure, versions: Sequence[Procedure]) -> str | None:
    """Return the reason why a draft is not proposed as a version of a procedure; None if it is."""
    if any(is_same(replace(draft, name=version.draft.name), version.draft) for version in versions):
        return "there is the same procedure already"
    newest = max(versions, key=lambda version: version.version)
    if ProcedureStatus.REJECTED in (other.status, newest.status):
        return "a procedure like it was rejected"
    if any(version.status is ProcedureStatus.PENDING for version in versions):
        return "a procedure like it waits for approval"
    return None


async def most_alike(
    draft: ProcedureDraft, procedures: Sequence[Procedure], embedder: Embedder
) -> list[tuple[float, Procedure]]:
    """Return the procedures that a draft is like, the most alike first, each after its likeness from 0 to 1.

    Alike are texts of the same meaning, and procedures whose triggers match the draft's: both would answer the same
    messages. Where embedding is switched off, words count instead of meaning. Raises ``EmbedderUnavailable``.
    """
    words = _words(draft)
    nearest = sorted(
        procedures, key=lambda procedure: (-_overlap(words, _words(procedure.draft)), procedure.slug, procedure.version)
    )
    nearest = nearest[:MAX_COMPARED]
    meanings = await _meanings(draft, nearest, embedder) if nearest and embedder.dimensions else None
    scores = meanings or [_overlap(words, _words(procedure.draft)) for procedure in nearest]
    likenesses = [
        (max(score, _triggered(draft, procedure.draft)), procedure)
        for procedure, score in zip(nearest, scores, strict=True)
    ]
    return sorted(likenesses, key=lambda likeness: (-likeness[0], likeness[1].slug, -likeness[1].version))


def is_same(draft: ProcedureDraft, other: ProcedureDraft) -> bool:
    """Return whether two drafts say the same, apart from case and spacing."""
    return _said(draft) == _said(other)


async def _meanings(draft: ProcedureDraft, procedures: Sequence[Procedure], embedder: Embedder) -> list[float]:
    vectors = await embedder.embed(
        [_text(draft), *(_text(procedure.draft) for procedure in procedures)],
        purpose=EmbeddingPurpose.DOCUMENT,
        tenant_id=procedures[0].tenant_id,
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
    steps = tuple((fold(step.text), fold(step.condition or "")) for step in draft.steps)
    triggers = frozenset(map(fold, draft.triggers))
    return fold(draft.name), fold(draft.description), triggers, steps, frozenset(draft.allowed_tools)
