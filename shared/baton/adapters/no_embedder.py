"""Embedding that is switched off."""

from __future__ import annotations

from collections.abc import Sequence

from baton.domain.errors import EmbedderUnavailable
from baton.domain.search import Vector
from baton.ports.search import EmbeddingPurpose


class NoEmbedder:
    """``ports.embedder.Embedder`` without a model: texts are searched by their words only."""

    name = ""
    dimensions = 0

    async def embed(
        self,
        texts: Sequence[str],
        *,
        purpose: EmbeddingPurpose = EmbeddingPurpose.DOCUMENT,
        seconds: float | None = None,
    ) -> Sequence[Vector]:
        """Return nothing for no texts. Raises ``EmbedderUnavailable`` for any others."""
        if texts:
            raise EmbedderUnavailable
        return ()
