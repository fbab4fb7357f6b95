"""Load the embedder when it is first used."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from baton.domain.search import Vector
from baton.ports.search import Embedder, EmbeddingPurpose


class DeferredEmbedder:
    """``Embedder`` that is created by its first use or ``load``, because loading the SDK takes half a second."""

    def __init__(self, make: Callable[[], Embedder], name: str, dimensions: int) -> None:
        self._make = make
        self._name = name
        self._dimensions = dimensions
        self._embedder: Embedder | None = None

    @property
    def name(self) -> str:
        """See ``Embedder``."""
        return self._name

    @property
    def dimensions(self) -> int:
        """See ``Embedder``."""
        return self._dimensions

    def load(self) -> Embedder:
        """Return the embedder and create it if needed. Blocks while the SDK loads."""
        embedder = self._embedder
        if embedder is None:
            embedder = self._embedder = self._make()
        return embedder

    async def embed(
        self,
        texts: Sequence[str],
        *,
        purpose: EmbeddingPurpose = EmbeddingPurpose.DOCUMENT,
        seconds: float | None = None,
    ) -> Sequence[Vector]:
        """See ``Embedder``."""
        embedder = self._embedder
        if embedder is None:
            embedder = await asyncio.to_thread(self.load)
        return await embedder.embed(texts, purpose=purpose, seconds=seconds)
