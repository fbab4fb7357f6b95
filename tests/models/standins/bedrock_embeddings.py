"""The embedding models of Bedrock's InvokeModel."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from starlette.responses import JSONResponse

from tests.models.standins.journal import Refusal
from tests.models.standins.question import Json
from tests.models.standins.signed import aws_error

MAX_TOKENS = 8192


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a request's body."""

    kind: type | tuple[type, ...]
    required: bool = False
    values: tuple[object, ...] = ()


TITAN = {
    "inputText": Field(str, required=True),
    "dimensions": Field(int, values=(256, 512, 1024)),
    "normalize": Field(bool),
    "embeddingTypes": Field(list),
}
COHERE = {
    "texts": Field(list, required=True),
    "input_type": Field(
        str, required=True, values=("search_document", "search_query", "classification", "clustering", "image")
    ),
    "output_dimension": Field(int, values=(256, 512, 1024, 1536)),
    "embedding_types": Field(list),
    "max_tokens": Field(int),
    "truncate": Field(str, values=("NONE", "LEFT", "RIGHT")),
}
COHERE_3 = {
    "texts": COHERE["texts"],
    "input_type": COHERE["input_type"],
    "embedding_types": COHERE["embedding_types"],
    "truncate": Field(str, values=("NONE", "START", "END")),
}
NOVA = {
    "schemaVersion": Field(str),
    "taskType": Field(str, required=True, values=("SINGLE_EMBEDDING",)),
    "singleEmbeddingParams": Field(dict, required=True),
}
NOVA_PARAMETERS = {
    "embeddingPurpose": Field(str, required=True, values=("GENERIC_INDEX", "GENERIC_RETRIEVAL", "TEXT_RETRIEVAL")),
    "embeddingDimension": Field(int, values=(256, 384, 1024, 3072)),
    "text": Field(dict, required=True),
}
NOVA_TEXT = {
    "truncationMode": Field(str, required=True, values=("START", "END", "NONE")),
    "value": Field(str, required=True),
}


def embed(model: str, body: Any) -> JSONResponse | Refusal:
    """Return the vectors of a request to ``model``, or why it is refused."""
    if not isinstance(body, dict):
        return aws_error("ValidationException", "Malformed input request, please reformat your input and try again.")
    if model.startswith("amazon.titan-embed-text"):
        return next(_refusals(body, TITAN), None) or _titan(body)
    if model.startswith("cohere.embed-"):
        fields = COHERE if model.startswith("cohere.embed-v4") else COHERE_3
        return next(_refusals(body, fields), None) or _cohere(model, body)
    if model.startswith("amazon.nova-2-multimodal-embeddings"):
        return next(_refusals(body, NOVA), None) or _nova(body)
    return aws_error("ValidationException", "The provided model identifier is invalid.")


def vector(text: str, dimensions: int) -> list[float]:
    """Return a unit vector in which texts with words in common are near each other."""
    sums = [0.0] * dimensions
    for word in re.findall(r"\w+", text.casefold()) or [text]:
        seed = hashlib.sha256(word.encode()).digest()
        for position in range(8):
            index = int.from_bytes(seed[position * 4 : position * 4 + 3]) % dimensions
            sums[index] += 1.0 if seed[position * 4 + 3] % 2 else -1.0
    length = math.sqrt(sum(value * value for value in sums)) or 1.0
    return [value / length for value in sums]


def _refusals(body: Json, fields: dict[str, Field], path: str = "#") -> Iterator[Refusal]:
    def make_refusal(reason: str) -> Refusal:
        message = f"Malformed input request: {path}: {reason}, please reformat your input and try again."
        return aws_error("ValidationException", message)

    for name in body:
        if name not in fields:
            yield make_refusal(f"extraneous key [{name}] is not permitted")
    for name, field in fields.items():
        value = body.get(name)
        if field.required and name not in body:
            yield make_refusal(f"required key [{name}] not found")
        elif name in body and (not isinstance(value, field.kind) or (isinstance(value, bool) and field.kind is int)):
            yield make_refusal(f"expected type of {name} is another than {type(value).__name__}")
        elif name in body and field.values and value not in field.values:
            yield make_refusal(f"{value} is not a valid enum value of {name}")


def _titan(body: Json) -> JSONResponse | Refusal:
    text, count = body["inputText"], len(body["inputText"]) // 4 + 1
    if not text.strip():
        return aws_error(
            "ValidationException", "Malformed input request: #/inputText: expected minLength: 1, actual: 0"
        )
    if count > MAX_TOKENS:
        message = f"400 Bad Request: Too many input tokens. Max input tokens: 8192, request input token count: {count}"
        return aws_error("ValidationException", message)
    values = vector(text, body.get("dimensions", 1024))
    return _answer({"embedding": values, "inputTextTokenCount": count, "embeddingsByType": {"float": values}}, count)


def _cohere(model: str, body: Json) -> JSONResponse | Refusal:
    texts = body["texts"]
    if not 1 <= len(texts) <= 96:
        message = f"Malformed input request: #/texts: expected maximum item count: 96, found: {len(texts)}"
        return aws_error("ValidationException", message)
    if any(not isinstance(text, str) or not text.strip() for text in texts):
        return aws_error("ValidationException", "Malformed input request: #/texts/0: expected minLength: 1, actual: 0")
    dimensions = body.get("output_dimension", 1536 if model.startswith("cohere.embed-v4") else 1024)
    # Questions and documents have different vectors.
    prefix = "question " if body["input_type"] == "search_query" else ""
    vectors = [vector(prefix + text, dimensions) for text in texts]
    typed = bool(body.get("embedding_types"))
    results = {"embeddings": {"float": vectors} if typed else vectors, "id": "stand-in", "texts": texts}
    kind = "embeddings_by_type" if typed else "embeddings_floats"
    return _answer(results | {"response_type": kind}, sum(len(text) // 4 + 1 for text in texts))


def _nova(body: Json) -> JSONResponse | Refusal:
    parameters = body["singleEmbeddingParams"]
    if refusal := next(_refusals(parameters, NOVA_PARAMETERS, "#/singleEmbeddingParams"), None):
        return refusal
    if refusal := next(_refusals(parameters["text"], NOVA_TEXT, "#/singleEmbeddingParams/text"), None):
        return refusal
    values = vector(parameters["text"]["value"], parameters.get("embeddingDimension", 3072))
    count = len(parameters["text"]["value"]) // 4 + 1
    return _answer({"embeddings": [{"embeddingType": "TEXT", "embedding": values}]}, count)


def _answer(body: Json, tokens: int) -> JSONResponse:
    return JSONResponse(body, headers={"x-amzn-bedrock-input-token-count": str(tokens)})
