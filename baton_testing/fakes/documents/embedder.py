"""Embeddings without a model: texts that share words are similar."""

from __future__ import annotations

import asyncio
import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from baton.domain.documents.search import Vector
from baton.ports.documents.search import EmbeddingPurpose

DIMENSIONS = 64


@dataclass
class FakeEmbedder:
    """``ports.documents.search.Embedder`` that hashes words to components of a vector, equally in every process."""

    name: str = "fake-embedder"
    dimensions: int = DIMENSIONS
    embedded: list[str] = field(default_factory=list)
    """All texts, in the order of the calls."""
    queries: list[str] = field(default_factory=list)
    """The embedded texts that were queries."""
    failure: Exception | None = None
    """The error that ``embed`` raises."""
    seconds: float = 0.0
    """Seconds that ``embed`` takes."""

    async def embed(
        self,
        texts: Sequence[str],
        *,
        purpose: EmbeddingPurpose = EmbeddingPurpose.DOCUMENT,
        seconds: float | None = None,
        tenant_id: str | None = None,
    ) -> Sequence[Vector]:
        self.embedded.extend(texts)
        if purpose is EmbeddingPurpose.QUERY:
            self.queries.extend(texts)
        if self.seconds:
            await asyncio.sleep(self.seconds)
        if self.failure is not None:
            raise self.failure
        return [self.vector(text) for text in texts]

    def vector(self, text: str) -> Vector:
        """Return the vector of a text, of length 1."""
        components = [0.0] * self.dimensions
        for word in re.findall(r"\w+", text.lower()) or [""]:
            digest = hashlib.blake2b(word.encode(), digest_size=8).digest()
            components[int.from_bytes(digest[1:]) % self.dimensions] += 1.0 if digest[0] % 2 else -1.0
        length = math.hypot(*components)
        if not length:  # words have cancelled each other out
            return (1.0,) + (0.0,) * (self.dimensions - 1)
        return tuple(component / length for component in components)
