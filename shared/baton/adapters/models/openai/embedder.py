"""An embedding model behind the OpenAI Embeddings API."""

from __future__ import annotations

import base64
import binascii
import json
from array import array
from collections.abc import Awaitable, Callable, Sequence

import httpx2 as httpx
from openai import OpenAIError

from baton.adapters.egress.circuit_breaker import CircuitBreakers
from baton.adapters.models.embedding_calls import ApiEmbedder, EmbeddingLimits, NoEmbeddings, make_unit_vectors
from baton.adapters.models.embedding_pace import EmbeddingPaces
from baton.adapters.models.failures.failure import Backoff
from baton.adapters.models.openai.clients import EMBEDDING_LIMITS, OpenAIClients
from baton.adapters.models.openai.errors import make_provider_failure
from baton.concurrency.tasks import off_loop
from baton.domain.documents.search import Vector
from baton.ports.agents.chat_model import TokenCounter
from baton.ports.documents.search import EmbeddingPurpose

MAX_TEXT_TOKENS = 4_000
"""The number of tokens of a text that are embedded. OpenAI's models take 8,192 tokens of an older vocabulary, which
needs up to twice as many tokens for some scripts."""
MAX_BATCH_TEXTS = 64
MAX_BATCH_TOKENS = 100_000
"""OpenAI takes 2,048 texts of 300,000 tokens together."""
PARALLEL_BATCHES = 4


class OpenAIEmbedder(ApiEmbedder):
    """``ports.documents.search.Embedder`` over the Embeddings API of any base URL.

    See ``ApiEmbedder`` for batches, retries and the circuit. ``transport`` carries the requests in place of the SDK's
    own.
    """

    def __init__(
        self,
        model: str,
        dimensions: int,
        *,
        counter: TokenCounter,
        api_key: str | Callable[[], Awaitable[str]],
        base_url: str | None = None,
        timeout_seconds: float = 30.0,
        max_retries: int = 2,
        backoff_seconds: float = 0.5,
        breakers: CircuitBreakers | None = None,
        paces: EmbeddingPaces | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._clients = OpenAIClients(api_key, base_url, timeout_seconds, EMBEDDING_LIMITS, transport)
        super().__init__(
            model,
            dimensions,
            model=model,
            endpoint=base_url or "OpenAI",
            limits=EmbeddingLimits(MAX_BATCH_TEXTS, MAX_BATCH_TOKENS, MAX_TEXT_TOKENS, None, PARALLEL_BATCHES),
            counter=counter,
            timeout_seconds=timeout_seconds,
            max_retries=max_retries,
            backoff=Backoff(backoff_seconds),
            breakers=breakers or CircuitBreakers(),
            paces=paces or EmbeddingPaces(),
            secret=lambda: self._clients.key,
        )

    async def ask(self, texts: Sequence[str], purpose: EmbeddingPurpose) -> list[Vector]:
        """See ``ApiEmbedder``. This API ignores the purpose."""
        try:
            body: dict[str, object] = {"model": self._model, "input": list(texts), "encoding_format": "base64"}
            if "text-embedding-3" in self._model:  # Only these shorten their vectors. Most others refuse the field.
                body["dimensions"] = self.dimensions
            # The SDK's method for this path would make pydantic models of the answer.
            answer = await self._clients.get().post(
                "/embeddings", body=body, cast_to=object, options={"security": {"bearer_auth": True}}
            )
            if isinstance(answer, str):  # what the SDK returns for other content types than JSON's
                answer = json.loads(answer)
        except (OpenAIError, ValueError, RecursionError) as error:
            raise make_provider_failure(error) from None
        data = answer.get("data") if isinstance(answer, dict) else None
        return await off_loop(len(texts) * self.dimensions, _read_vectors, data, len(texts), self.dimensions)

    async def aclose(self) -> None:
        """Close this event loop's connections."""
        await self._clients.aclose()


def _read_vectors(data: object, texts: int, dimensions: int) -> list[Vector]:
    """Return the vectors of an answer's ``data``, with length 1. Raises ``NoEmbeddings`` and ``WrongEmbeddings``."""
    if not isinstance(data, list) or len(data) != texts:
        raise NoEmbeddings(f"The answer has no list of {texts} embeddings.")
    entries = [entry if isinstance(entry, dict) else {} for entry in data]
    vectors = make_unit_vectors([_decode_numbers(entry.get("embedding")) for entry in entries], dimensions)
    # Some endpoints leave the indices out.
    indices = [position if (index := entry.get("index")) is None else index for position, entry in enumerate(entries)]
    by_index = {index: vector for index, vector in zip(indices, vectors, strict=True) if isinstance(index, int)}
    if by_index.keys() != set(range(texts)):
        raise NoEmbeddings("The indices of the embeddings are not those of the texts.")
    return [by_index[index] for index in range(texts)]


def _decode_numbers(embedding: object) -> Sequence[float]:
    """Return the numbers of an embedding in base64 or as a list; none for another value. Raises ``NoEmbeddings``."""
    if not isinstance(embedding, str):
        return embedding if isinstance(embedding, list) else ()
    try:
        return array("f", base64.b64decode(embedding, validate=True))
    except (binascii.Error, ValueError):
        raise NoEmbeddings("An embedding is not base64 of numbers.") from None
