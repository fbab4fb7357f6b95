"""The stand-ins of Amazon Bedrock's models for embeddings take and refuse what the real ones do."""

from __future__ import annotations

from typing import Any

import pytest

from tests.models.raw import Json, send_signed
from tests.models.standins import StandIns

EMBEDDINGS: list[tuple[str, Json, Any]] = [
    ("amazon.titan-embed-text-v2:0", {"inputText": "a dog"}, lambda body: body["embedding"]),
    ("cohere.embed-v4:0", {"texts": ["a dog"], "input_type": "search_document"}, lambda body: body["embeddings"][0]),
    ("cohere.embed-multilingual-v3", {"texts": ["a dog"], "input_type": "search_query", "embedding_types": ["float"]},
     lambda body: body["embeddings"]["float"][0]),
    ("amazon.nova-2-multimodal-embeddings-v1:0", {"taskType": "SINGLE_EMBEDDING", "singleEmbeddingParams": {
        "embeddingPurpose": "GENERIC_INDEX", "embeddingDimension": 1024,
        "text": {"truncationMode": "END", "value": "a dog"}}}, lambda body: body["embeddings"][0]["embedding"]),
]  # fmt: skip


@pytest.mark.parametrize(("model", "body", "result"), EMBEDDINGS, ids=[model for model, *_ in EMBEDDINGS])
def test_texts_are_embedded(stand_ins: StandIns, model: str, body: Json, result: Any) -> None:
    response = send_signed(stand_ins, model, "invoke", body)
    assert len(result(response.json())) in (1024, 1536)
    assert "extraneous key [more]" in send_signed(stand_ins, model, "invoke", body | {"more": 1}).json()["message"]


@pytest.mark.parametrize(
    ("model", "body", "reason"),
    [
        ("amazon.titan-embed-text-v2:0", {"inputText": "a", "dimensions": 384}, "384 is not a valid enum value"),
        ("amazon.titan-embed-text-v2:0", {"inputText": ""}, "minLength"),
        ("amazon.titan-embed-text-v2:0", {"inputText": ["a"]}, "expected type"),
        ("amazon.titan-embed-text-v2:0", {"inputText": "word " * 9000}, "Too many input tokens"),
        ("cohere.embed-v4:0", {"texts": ["a"]}, "required key [input_type] not found"),
        ("cohere.embed-v4:0", {"texts": ["a"] * 97, "input_type": "search_query"}, "maximum item count: 96"),
        ("cohere.embed-v4:0", {"texts": ["a"], "input_type": "search_query", "truncate": "END"}, "END is not a valid"),
        ("amazon.nova-2-multimodal-embeddings-v1:0", {"taskType": "SINGLE_EMBEDDING", "singleEmbeddingParams": {}},
         "required key [embeddingPurpose] not found"),
    ],
)  # fmt: skip
def test_a_request_for_an_embedding_is_refused(stand_ins: StandIns, model: str, body: Json, reason: str) -> None:
    assert reason in send_signed(stand_ins, model, "invoke", body).json()["message"]
