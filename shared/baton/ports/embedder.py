"""Embeddings of texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from baton.domain.search import Vector


class Embedder(Protocol):
    """A model that turns texts into vectors of length 1."""

    @property
    def name(self) -> str:
        """The model's name. It is stored with vectors: those of different models are not comparable. Empty if off."""
        ...

    @property
    def dimensions(self) -> int:
        """The length of its vectors; 0 if embedding is switched off, and ``embed`` always raises."""
        ...

    async def embed(self, texts: Sequence[str], *, seconds: float | None = None) -> Sequence[Vector]:
        """Return a vector for each text, in their order. Overlong texts are cut, batches are split.

        ``seconds`` is the time that the caller has, if that is little. Raises ``EmbedderUnavailable``, also when that
        time is over and for an answer of the wrong form or dimension.
        """
        ...
