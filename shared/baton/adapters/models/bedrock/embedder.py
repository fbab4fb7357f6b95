"""An embedding model behind InvokeModel of Amazon Bedrock."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import httpx2 as httpx

from baton.adapters.egress.circuit_breaker import CircuitBreakers
from baton.adapters.egress.stream_limits import StreamLimits
from baton.adapters.models.bedrock.connection import BedrockConnection
from baton.adapters.models.bedrock.embedding_models import BedrockEmbeddingModel, find_embedding_model, read_vectors
from baton.adapters.models.bedrock.event_stream import BrokenStream
from baton.adapters.models.bedrock.events import JSON_TYPE, read_json
from baton.adapters.models.bedrock.failures import make_broken_failure
from baton.adapters.models.embedding_calls import ApiEmbedder
from baton.adapters.models.embedding_pace import EmbeddingPaces
from baton.adapters.models.failures.failure import Backoff
from baton.concurrency.tasks import off_loop
from baton.domain.documents.search import Vector
from baton.domain.errors import WrongEmbeddings
from baton.ports.agents.chat_model import TokenCounter
from baton.ports.documents.search import EmbeddingPurpose

LIMITS = StreamLimits(stream_bytes=16 * 1024 * 1024, event_bytes=16 * 1024 * 1024, event_values=300_000)
"""96 vectors of 1,536 numbers are 3 MB of text."""


class BedrockEmbedder(ApiEmbedder):
    """``ports.documents.search.Embedder`` over Amazon's Titan and Nova, and Cohere's Embed.

    See ``ApiEmbedder`` for batches, retries and the circuit.
    """

    def __init__(
        self,
        model: str,
        dimensions: int,
        *,
        connection: BedrockConnection,
        counter: TokenCounter,
        name: str | None = None,
        family: str | None = None,
        timeout_seconds: float = 30.0,
        max_retries: int = 3,
        backoff_seconds: float = 0.5,
        breakers: CircuitBreakers | None = None,
        paces: EmbeddingPaces | None = None,
    ) -> None:
        """``model`` is an id, inference profile or ARN. Vectors are stored with ``name``, or with ``model`` without it.

        ``family`` is the id of a known model, for names that do not imply it. Raises ``ValueError`` for a model that is
        not known.
        """
        known_model = find_embedding_model(family or model)
        if known_model is None:
            raise ValueError(
                f"{model!r} is no known embedding model of Amazon Bedrock. Known are Amazon's Titan and Nova,"
                " and Cohere's Embed"
            )
        self._family: BedrockEmbeddingModel = known_model
        self._connection = connection
        super().__init__(
            name or model,
            dimensions,
            model=model,
            endpoint=connection.endpoint,
            limits=known_model.limits,
            counter=counter,
            timeout_seconds=timeout_seconds,
            max_retries=max_retries,
            backoff=Backoff(backoff_seconds),
            breakers=breakers or CircuitBreakers(),
            paces=paces or EmbeddingPaces(),
        )

    async def embed(
        self,
        texts: Sequence[str],
        *,
        purpose: EmbeddingPurpose = EmbeddingPurpose.DOCUMENT,
        seconds: float | None = None,
        tenant_id: str | None = None,
    ) -> Sequence[Vector]:
        """See ``Embedder``."""
        if texts and self.dimensions not in self._family.dimensions:
            dimensions = " or ".join(map(str, self._family.dimensions))
            raise WrongEmbeddings(
                f"{self._model} gives vectors of {dimensions} numbers, and BATON_EMBEDDING_DIMENSIONS is "
                f"{self.dimensions}. Ask the operator to change one of the two, and to rebuild the search index."
            )
        return await super().embed(texts, purpose=purpose, seconds=seconds, tenant_id=tenant_id)

    async def ask(self, texts: Sequence[str], purpose: EmbeddingPurpose) -> list[Vector]:
        """See ``ApiEmbedder``."""
        request = json.dumps(self._family.make_body(texts, purpose, self.dimensions), ensure_ascii=False).encode()
        response = await self._connection.post(self._model, "invoke", request, JSON_TYPE)
        try:
            answer: Any = await read_json(response, LIMITS)
        except (httpx.HTTPError, BrokenStream) as error:
            raise make_broken_failure(error) from None
        finally:
            await response.aclose()
        size = len(texts) * self.dimensions
        return await off_loop(size, read_vectors, answer, self._family, len(texts), self.dimensions)

    async def aclose(self) -> None:
        """Close this event loop's connections."""
        await self._connection.aclose()
