"""The embedding models of Amazon Bedrock: the requests and answers of InvokeModel for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from baton.adapters.models.embedding_calls import EmbeddingLimits, NoEmbeddings, make_unit_vectors
from baton.adapters.models.profiles.known_profiles import without_place
from baton.domain.documents.search import Vector
from baton.ports.documents.search import EmbeddingPurpose

PARALLEL = 5
"""The number of requests at the same time. Models that take one text a request reach rate limits sooner than others."""
MAX_TEXT_TOKENS = 4_000
"""The number of embedded tokens of a text, in OpenAI's vocabulary. Amazon's models take 8,192 of their tokens."""
MAX_CHARACTERS = 50_000
"""The number of characters of a text that Amazon's models take."""

_COHERE_PURPOSES = {EmbeddingPurpose.DOCUMENT: "search_document", EmbeddingPurpose.QUERY: "search_query"}
_NOVA_PURPOSES = {EmbeddingPurpose.DOCUMENT: "GENERIC_INDEX", EmbeddingPurpose.QUERY: "GENERIC_RETRIEVAL"}


@dataclass(frozen=True, slots=True)
class BedrockEmbeddingModel:
    """A family of embedding models."""

    limits: EmbeddingLimits
    dimensions: tuple[int, ...]
    """The lengths of vectors that the models return."""
    make_body: Callable[[Sequence[str], EmbeddingPurpose, int], dict[str, Any]]
    """Returns the request for texts, their purpose, and the length of their vectors."""
    read_numbers: Callable[[Mapping[str, Any]], Any]
    """Returns the vectors of an answer, which are not validated: a list of lists of numbers if the answer is valid."""


def find_embedding_model(name: str) -> BedrockEmbeddingModel | None:
    """Return the family of the model with this id, inference profile or ARN; None if it is unknown."""
    bare_name = without_place(name)
    return next((family for beginning, family in _FAMILIES.items() if bare_name.startswith(beginning)), None)


def read_vectors(response: object, model: BedrockEmbeddingModel, texts: int, dimensions: int) -> list[Vector]:
    """Return the vectors, of length 1, in a response to a number of ``texts``.

    Raises ``NoEmbeddings`` and ``WrongEmbeddings``.
    """
    if not isinstance(response, Mapping):
        raise NoEmbeddings("The answer is no object.")
    numbers = model.read_numbers(response)
    if not isinstance(numbers, list) or len(numbers) != texts:
        raise NoEmbeddings(f"The answer has no list of {texts} embeddings.")
    return make_unit_vectors([vector if isinstance(vector, list) else () for vector in numbers], dimensions)


def _make_titan_body(texts: Sequence[str], purpose: EmbeddingPurpose, dimensions: int) -> dict[str, Any]:
    return {"inputText": texts[0], "dimensions": dimensions, "normalize": True}


def _read_titan_numbers(response: Mapping[str, Any]) -> Any:
    return [response.get("embedding")]


def _make_cohere_3_body(texts: Sequence[str], purpose: EmbeddingPurpose, dimensions: int) -> dict[str, Any]:
    return {"texts": list(texts), "input_type": _COHERE_PURPOSES[purpose], "truncate": "END"}


def _make_cohere_4_body(texts: Sequence[str], purpose: EmbeddingPurpose, dimensions: int) -> dict[str, Any]:
    return {
        "texts": list(texts),
        "input_type": _COHERE_PURPOSES[purpose],
        "output_dimension": dimensions,
        "embedding_types": ["float"],
        "truncate": "RIGHT",
    }


def _read_cohere_numbers(response: Mapping[str, Any]) -> Any:
    embeddings = response.get("embeddings")
    # The embeddings are an object if the request names types.
    return embeddings.get("float") if isinstance(embeddings, Mapping) else embeddings


def _make_nova_body(texts: Sequence[str], purpose: EmbeddingPurpose, dimensions: int) -> dict[str, Any]:
    return {
        "taskType": "SINGLE_EMBEDDING",
        "singleEmbeddingParams": {
            "embeddingPurpose": _NOVA_PURPOSES[purpose],
            "embeddingDimension": dimensions,
            "text": {"value": texts[0], "truncationMode": "END"},
        },
    }


def _read_nova_numbers(response: Mapping[str, Any]) -> Any:
    embeddings = response.get("embeddings")
    if not isinstance(embeddings, list):
        return None
    return [embedding.get("embedding") if isinstance(embedding, Mapping) else None for embedding in embeddings]


_ONE_TEXT = EmbeddingLimits(1, MAX_TEXT_TOKENS, MAX_TEXT_TOKENS, MAX_CHARACTERS, PARALLEL)
_FAMILIES = {
    "amazon.titan-embed-text-v1": BedrockEmbeddingModel(
        _ONE_TEXT, (1536,), lambda texts, purpose, dimensions: {"inputText": texts[0]}, _read_titan_numbers
    ),
    "amazon.titan-embed-text": BedrockEmbeddingModel(
        _ONE_TEXT, (256, 512, 1024), _make_titan_body, _read_titan_numbers
    ),
    "amazon.nova-2-multimodal-embeddings": BedrockEmbeddingModel(
        _ONE_TEXT, (256, 384, 1024, 3072), _make_nova_body, _read_nova_numbers
    ),
    "cohere.embed-v4": BedrockEmbeddingModel(
        EmbeddingLimits(96, 100_000, 32_000, None, PARALLEL),
        (256, 512, 1024, 1536),
        _make_cohere_4_body,
        _read_cohere_numbers,
    ),
    # The model takes 512 tokens. A text of 2,048 characters may have more; the service cuts it.
    "cohere.embed": BedrockEmbeddingModel(
        EmbeddingLimits(96, 100_000, MAX_TEXT_TOKENS, 2_048, PARALLEL),
        (1024,),
        _make_cohere_3_body,
        _read_cohere_numbers,
    ),
}
"""Families by the beginning of their names, the longer ones first."""
