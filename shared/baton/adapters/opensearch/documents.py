"""Documents as OpenSearch stores them, and the filters that choose them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from baton.domain.documents.search import IndexDocument, IndexedText, IndexName, SearchFilter, Vector
from baton.domain.documents.search_words import index_words
from baton.domain.tenants.identity import Scope
from baton.domain.text import replace_surrogates

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
NO_PERMISSION = ""
"""The ``required_permission`` of documents that everybody in the scope may read."""


def to_microseconds(at: datetime) -> int:
    """Return the time since 1970 in microseconds, negative before."""
    return (at - EPOCH) // MICROSECOND


def derive_engine_id(scope: Scope, index: IndexName, document_id: str) -> str:
    """Return OpenSearch's id of a document, a digest with the owner, so that nobody can name another's document."""
    parts = (scope.tenant_id, get_owner(scope, index), document_id)
    return hashlib.blake2b("\0".join(map(replace_surrogates, parts)).encode(), digest_size=24).hexdigest()


def get_owner(scope: Scope, index: IndexName) -> str:
    """Return the user to whom documents of ``index`` belong; empty if they belong to no user."""
    return scope.user_id if index is IndexName.EPISODES else ""


def round_vector(vector: Vector) -> list[float]:
    """Return a vector with the eight decimals of single precision, in which it is stored."""
    return [round(float(number), 8) for number in vector]


def to_search_text(text: str) -> str:
    """Return the words of a text or query, in the form of the field ``words``."""
    return " ".join(index_words(text))


def to_source(
    scope: Scope,
    index: IndexName,
    document: IndexDocument,
    written_at: datetime,
    *,
    with_vectors: bool,
    with_words: bool,
) -> dict[str, Any]:
    """Return the stored fields of ``document``, without those that are None."""
    has_vectors = with_vectors and any(view.vector is not None for view in document.views.values())
    views: dict[str, dict[str, Any]] = {}
    for name, view in document.views.items():
        views[name] = {"text": replace_surrogates(view.text)}
        if with_words:
            views[name]["words"] = to_search_text(view.text)
        if has_vectors and view.vector is not None:
            views[name]["vector"] = round_vector(view.vector)
    source: dict[str, Any] = {
        "tenant": scope.tenant_id,
        "user": get_owner(scope, index),
        "id": document.id,
        "source_id": document.source_id,
        "kind": document.kind,
        "agent_id": document.agent_id,
        "thread_id": document.thread_id,
        "required_permission": document.required_permission or NO_PERMISSION,
        "embedder": document.embedder if has_vectors else None,
        "at": to_microseconds(document.at),
        "written_at": to_microseconds(written_at),
        "fields": json.loads(replace_surrogates(json.dumps(document.fields, ensure_ascii=False))),
        "views": views,
    }
    return {name: value for name, value in source.items() if value is not None}


def from_source(source: Mapping[str, Any]) -> IndexDocument:
    """Return the stored document, without its vectors."""
    return IndexDocument(
        id=source["id"],
        source_id=source["source_id"],
        kind=source["kind"],
        views={name: IndexedText(view["text"]) for name, view in source["views"].items()},
        at=EPOCH + source["at"] * MICROSECOND,
        agent_id=source.get("agent_id"),
        thread_id=source.get("thread_id"),
        required_permission=source["required_permission"] or None,
        embedder=source.get("embedder"),
        fields=source.get("fields", {}),
    )


def make_tenant_condition(scope: Scope) -> dict[str, Any]:
    """Return the condition for all documents of the tenant."""
    return {"term": {"tenant": scope.tenant_id}}


def make_filter_conditions(scope: Scope, index: IndexName, chosen: SearchFilter) -> list[dict[str, Any]]:
    """Return the conditions for the documents of ``scope`` that ``chosen`` chooses, without those of permissions."""
    conditions: list[dict[str, Any]] = [make_tenant_condition(scope), {"term": {"user": get_owner(scope, index)}}]
    for name in ("agent_id", "thread_id", "source_id"):
        value = getattr(chosen, name)
        if value is not None:
            conditions.append({"term": {name: value}})
    if chosen.kinds:
        conditions.append({"terms": {"kind": list(chosen.kinds)}})
    bounds = {
        name: to_microseconds(bound)
        for name, bound in (("gte", chosen.since), ("lt", chosen.until))
        if bound is not None
    }
    if bounds:
        conditions.append({"range": {"at": bounds}})
    return conditions


def make_permission_condition(scope: Scope) -> dict[str, Any]:
    """Return the condition for documents that the permissions of ``scope`` allow to read."""
    return {"terms": {"required_permission": [NO_PERMISSION, *sorted(scope.permissions)]}}
