"""Skills that a message needs: by their triggers, or else by their meaning."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from baton.domain.errors import EmbedderUnavailable
from baton.domain.procedure import Procedure, ProcedureStatus, matched
from baton.domain.search import Vector
from baton.domain.triggers import is_phrase
from baton.memory.recalled import ProcedureMatch
from baton.ports.embedder import Embedder

MAX_KNOWN = 2_000
"""Skills whose vectors a worker keeps: about 30 MB at 1,536 dimensions and three texts each."""
MAX_PHRASES = 8
"""Trigger phrases of a skill that are embedded."""
MAX_EMBEDDED = 100
"""Skills of an agent that are compared by meaning."""
SHOWN = 5
"""Skills, of those compared by meaning, that a retrieval returns."""

_Key = tuple[str, str, str, int, str]
"""Tenant, agent, slug, version and embedding model."""


def by_trigger(procedures: Sequence[Procedure], text: str) -> tuple[ProcedureMatch, ...]:
    """Return the active skills that the message asks for by a trigger, in the order of the skills."""
    return tuple(ProcedureMatch(procedure, trigger) for procedure, trigger in matched(procedures, text))


class ProcedureVectors:
    """Embeds skills, each version once, and compares messages with them."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: OrderedDict[_Key, tuple[Vector, ...]] = OrderedDict()

    async def nearest(self, procedures: Sequence[Procedure], vector: Vector) -> tuple[ProcedureMatch, ...]:
        """Return the active skills most similar to a message, best first. Raises ``EmbedderUnavailable``."""
        active = [procedure for procedure in procedures if procedure.status is ProcedureStatus.APPROVED][:MAX_EMBEDDED]
        vectors = await self._vectors(active)
        found = [
            ProcedureMatch(procedure, None, max(_cosine(vector, each) for each in views))
            for procedure, views in zip(active, vectors, strict=True)
        ]
        return tuple(sorted(found, key=lambda match: (-match.score, match.procedure.slug))[:SHOWN])

    async def _vectors(self, procedures: Sequence[Procedure]) -> list[tuple[Vector, ...]]:
        texts = {self._key(procedure): _texts(procedure) for procedure in procedures}
        # Another message may push known vectors out while these are embedded.
        found = {key: self._known[key] for key in texts if key in self._known}
        missing = [key for key in texts if key not in found]
        if missing:
            embedded = list(await self._embedder.embed([text for key in missing for text in texts[key]]))
            for key in missing:
                count = len(texts[key])
                found[key], embedded = tuple(embedded[:count]), embedded[count:]
        for key in texts:
            self._known[key] = found[key]
            self._known.move_to_end(key)
        while len(self._known) > MAX_KNOWN:
            self._known.popitem(last=False)
        return [found[key] for key in texts]

    def _key(self, procedure: Procedure) -> _Key:
        return procedure.tenant_id, procedure.agent_id, procedure.slug, procedure.version, self._embedder.name


def _texts(procedure: Procedure) -> list[str]:
    """Return what is embedded of a skill: name and description, and each trigger that is a phrase."""
    draft = procedure.draft
    phrases = [trigger for trigger in draft.triggers if is_phrase(trigger)]
    return [f"{draft.name}: {draft.description}", *phrases[:MAX_PHRASES]]


def _cosine(one: Vector, other: Vector) -> float:
    """Return the similarity of two vectors of length 1."""
    if len(one) != len(other):
        raise EmbedderUnavailable("The embedding model has changed the length of its vectors.")
    return sum(a * b for a, b in zip(one, other, strict=True))
