"""Embeddings of texts."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

from baton.domain.search import Vector


class EmbeddingPurpose(StrEnum):
    """The purpose of a vector. Some models make different vectors of questions and of texts that answer them."""

    DOCUMENT = "document"
    """To be stored, or to be compared with vectors of its own kind."""
    QUERY = "query"
    """To search among the vectors of documents."""


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

    async def embed(
        self,
        texts: Sequence[str],
        *,
        purpose: EmbeddingPurpose = EmbeddingPurpose.DOCUMENT,
        seconds: float | None = None,
    ) -> Sequence[Vector]:
        """Return a vector for each text, in their order. Overlong texts are cut, batches are split.

        ``purpose`` is that of all the texts. ``seconds`` is the time that the caller has, if that is little.

        Raises ``EmbedderUnavailable``, also when that time is over and for an answer of the wrong form, and
        ``WrongEmbeddings``, which no repetition helps, for vectors of another length than ``dimensions``.
        """
        ...
