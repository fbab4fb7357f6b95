"""The sentence encoder as the embedding model of functions that run in the local cloud's own process."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from aws_lambda_powertools import Logger

from baton.adapters.models.embedding_calls import make_embeddable
from baton.concurrency.tasks import off_loop
from baton.domain.documents.search import Vector
from baton.domain.errors import EmbedderUnavailable
from baton.ports.documents.search import EmbeddingPurpose
from baton_local.demo_model.sentence_encoder import DIMENSIONS, NAME, SCHEME, SentenceEncoder, get_shared_encoder

logger = Logger(child=True)


class SentenceEmbedder:
    """``ports.documents.search.Embedder`` over a sentence encoder of this process.

    A request over HTTP to the local cloud's own endpoint costs more CPU time than the encoding of a question.
    """

    name = NAME
    dimensions = DIMENSIONS

    def __init__(self, encoder: SentenceEncoder) -> None:
        self._encoder = encoder

    async def embed(
        self,
        texts: Sequence[str],
        *,
        purpose: EmbeddingPurpose = EmbeddingPurpose.DOCUMENT,
        seconds: float | None = None,
        tenant_id: str | None = None,
    ) -> Sequence[Vector]:
        """See ``Embedder``. The model encodes texts of all purposes alike."""
        if not texts:
            return []
        size = sum(map(len, texts))
        try:
            async with asyncio.timeout(seconds):
                cleaned = await off_loop(size, list, map(make_embeddable, texts))
                encoded = await self._encoder.encode(cleaned)
        except TimeoutError:
            raise EmbedderUnavailable from None
        except Exception as error:
            logger.exception("the sentence encoder failed")
            raise EmbedderUnavailable from error
        vectors: list[Vector] = await off_loop(len(texts) * DIMENSIONS, encoded.vectors.tolist)
        return vectors


def make_embedder(url: str, model: str, dimensions: int) -> SentenceEmbedder:
    """Return the embedder for a URL of the form ``encoder:///folder``. See ``composition.search_ports``.

    Raises ``ValueError`` for another model, and for vectors of another length.
    """
    if (model, dimensions) != (NAME, DIMENSIONS):
        raise ValueError(f"BATON_EMBEDDING_MODEL: {SCHEME} has the model {NAME} with {DIMENSIONS} dimensions only")
    return SentenceEmbedder(get_shared_encoder(Path(url.removeprefix(SCHEME))))
