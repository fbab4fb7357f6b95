"""The forms in which documents and vectors are stored in a file."""

from __future__ import annotations

import hashlib
import json
import math
from array import array
from collections.abc import Mapping, Sequence
from typing import Any

from baton.domain.documents.search import IndexDocument, IndexedText, Vector
from baton.domain.times import from_millis, to_millis

COLUMNS = "id, source_id, kind, agent_id, thread_id, required_permission, at, embedder, texts, fields"
"""The columns of a document's row, in the order of ``to_document``."""
_MAX_BYTE = 127


def to_columns(document: IndexDocument) -> dict[str, Any]:
    """Return the values of a document's columns other than its id, by the columns' names."""
    return {
        "source_id": document.source_id,
        "kind": document.kind,
        "agent_id": document.agent_id,
        "thread_id": document.thread_id,
        "required_permission": document.required_permission,
        "at": to_millis(document.at),
        "embedder": document.embedder,
        "texts": json.dumps({name: view.text for name, view in document.views.items()}),
        "fields": json.dumps(dict(document.fields)),
    }


def to_document(row: Sequence[Any]) -> IndexDocument:
    """Return the document of a row of ``COLUMNS``, without its vectors."""
    id_, source_id, kind, agent_id, thread_id, required_permission, at, embedder, texts, fields = row
    return IndexDocument(
        id=id_,
        source_id=source_id,
        kind=kind,
        views={name: IndexedText(text) for name, text in json.loads(texts).items()},
        at=from_millis(at),
        agent_id=agent_id,
        thread_id=thread_id,
        required_permission=required_permission,
        embedder=embedder,
        fields=json.loads(fields),
    )


def to_vector_blob(vector: Vector) -> bytes:
    """Return a vector in its stored form: signed bytes, scaled so that the largest absolute value is 127.

    The numbers are finite, as embedders return them. Cosines do not depend on the length of vectors.
    ``docs/decisions/0064`` has the loss of precision.
    """
    largest = max(map(abs, vector), default=0.0)
    scale = _MAX_BYTE / largest if largest > 0 else 0.0
    return array("b", [round(number * scale) for number in vector]).tobytes()


def to_unit_vector(blob: bytes) -> Vector:
    """Return a stored vector, scaled to length 1. A vector of zeros stays as it is."""
    numbers = array("b", blob)
    length = math.sqrt(sum(number * number for number in numbers)) or 1.0
    return [number / length for number in numbers]


def compute_digest(columns: Mapping[str, Any], vectors: Mapping[str, bytes]) -> bytes:
    """Return a digest of a document's stored form."""
    digest = hashlib.sha256(json.dumps([list(columns.values()), sorted(vectors)]).encode())
    for name in sorted(vectors):
        digest.update(vectors[name])
    return digest.digest()
