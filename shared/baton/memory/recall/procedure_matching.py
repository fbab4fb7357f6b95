"""Procedures that match a message by their meaning, for messages that match no trigger."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import nsmallest
from operator import mul

from cachetools import LRUCache

from baton.concurrency.tasks import off_loop
from baton.domain.documents.search import Vector
from baton.domain.errors import EmbedderUnavailable
from baton.domain.handoffs.triggers import is_phrase
from baton.domain.memory.procedure import Procedure, ProcedureScope
from baton.domain.memory.procedure_set import ProcedureSet
from baton.memory.recalled import ProcedureMatch
from baton.ports.documents.search import Embedder, EmbeddingPurpose

MAX_KNOWN = 4_000
"""Procedures whose vectors a worker keeps: about 40 MB at 1,536 dimensions and three texts each."""
MAX_PHRASES = 8
"""Trigger phrases of a procedure that are embedded."""
BATCH = 96
"""Texts that are embedded in one request. The results of a request are kept even if the next request fails."""
CANDIDATES = 48
"""Texts that are compared exactly if there are more procedures: those whose vectors have most signs in common with the
message's vector."""
SHOWN = 5
"""The most procedures that a retrieval by meaning returns."""

_Key = tuple[str, str, str, str, int, str]
"""Tenant, maker of a private skill, agent, id, version and embedding model."""


@dataclass(frozen=True, slots=True)
class _View:
    """The vector of one text, in half precision, and the signs of its components as bits of a number."""

    halves: bytes
    signs: int

    @classmethod
    def of(cls, vector: Vector) -> _View:
        return cls(struct.pack(f"{len(vector)}e", *vector), _pack_signs(vector))

    def compute_cosine(self, vector: Vector) -> float:
        """Return the cosine similarity to a vector of length 1. Raises ``EmbedderUnavailable`` for other dimensions."""
        if len(self.halves) != 2 * len(vector):
            raise EmbedderUnavailable("The embedding model has changed the length of its vectors.")
        own = struct.unpack(f"{len(vector)}e", self.halves)
        return float(sum(map(mul, own, vector)))


class ProcedureVectors:
    """The vectors of procedures, made once for each version, and their similarity to messages."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: LRUCache[_Key, tuple[_View, ...]] = LRUCache(MAX_KNOWN)

    async def find_nearest(
        self, procedures: ProcedureSet, vector: Vector, *, seconds: float | None = None
    ) -> tuple[ProcedureMatch, ...]:
        """Return the ``SHOWN`` procedures most similar to a message, best first.

        Procedures that cannot be embedded within ``seconds`` (None: any time) are left out. For later messages, more of
        them are embedded already. Raises ``EmbedderUnavailable`` if none is embedded in time, too.
        """
        views = await self._get_views(procedures.procedures, seconds)
        size = sum(map(len, views.values())) * len(vector)
        return await off_loop(size, partial(_rank_nearest, procedures.procedures, views, vector))

    async def _get_views(self, procedures: Sequence[Procedure], seconds: float | None) -> dict[int, tuple[_View, ...]]:
        """Return the views of the procedures that are embedded in time, by their index.

        Raises as ``find_nearest`` does.
        """
        keys = [self._make_key(procedure) for procedure in procedures]
        # Cached vectors are taken first, because another message may displace them while others are embedded.
        known_views = {index: self._known[key] for index, key in enumerate(keys) if key in self._known}
        missing = [index for index in range(len(keys)) if index not in known_views]
        try:
            async with asyncio.timeout(seconds):
                for indices in _divide_into_batches(procedures, missing):
                    texts = [_list_texts(procedures[index]) for index in indices]
                    embedded = list(
                        await self._embedder.embed(
                            [text for own_texts in texts for text in own_texts],
                            purpose=EmbeddingPurpose.DOCUMENT,
                            tenant_id=procedures[0].tenant_id,
                        )
                    )
                    for index, own_texts in zip(indices, texts, strict=True):
                        known_views[index] = tuple(map(_View.of, embedded[: len(own_texts)]))
                        self._known[keys[index]] = known_views[index]
                        embedded = embedded[len(own_texts) :]
        except TimeoutError:
            if not known_views:
                raise EmbedderUnavailable("The procedures are not embedded yet.") from None
        for index, views in known_views.items():
            self._known[keys[index]] = views
        return known_views

    def _make_key(self, procedure: Procedure) -> _Key:
        user_id = procedure.created_by if procedure.scope is ProcedureScope.USER else ""
        return procedure.tenant_id, user_id, procedure.agent_id, procedure.id, procedure.version, self._embedder.name


def _rank_nearest(
    procedures: Sequence[Procedure], views: dict[int, tuple[_View, ...]], vector: Vector
) -> tuple[ProcedureMatch, ...]:
    pairs: Iterable[tuple[int, _View]] = [(index, view) for index, own in views.items() for view in own]
    if len(views) > CANDIDATES:
        signs = _pack_signs(vector)
        pairs = nsmallest(CANDIDATES, pairs, key=lambda pair: (pair[1].signs ^ signs).bit_count())
    best: dict[int, float] = {}
    for index, view in pairs:
        best[index] = max(best.get(index, -1.0), view.compute_cosine(vector))
    matches = [ProcedureMatch(procedures[index], None, cosine) for index, cosine in best.items()]
    return tuple(sorted(matches, key=lambda match: (-match.score, match.procedure.id))[:SHOWN])


def _divide_into_batches(procedures: Sequence[Procedure], indices: Sequence[int]) -> Iterable[list[int]]:
    """Yield the indices of procedures whose texts are embedded together."""
    batch: list[int] = []
    texts = 0
    for index in indices:
        count = len(_list_texts(procedures[index]))
        if batch and texts + count > BATCH:
            yield batch
            batch, texts = [], 0
        batch.append(index)
        texts += count
    if batch:
        yield batch


def _list_texts(procedure: Procedure) -> list[str]:
    """Return the texts of a procedure that are embedded: name and description, and each trigger that is a phrase."""
    draft = procedure.draft
    phrases = [trigger for trigger in draft.triggers if is_phrase(trigger)]
    return [f"{draft.name}: {draft.description}", *phrases[:MAX_PHRASES]]


def _pack_signs(vector: Vector) -> int:
    """Return the signs of a vector's components as bits."""
    return int("".join("1" if component > 0 else "0" for component in vector) or "0", 2)
