"""``SearchAdministration`` on OpenSearch: indices are versions behind aliases; and permissions in its domain."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from baton.adapters.opensearch.definitions import (
    DEFAULT_LAYOUT,
    MAPPING_VERSION,
    EmbeddingModel,
    Layout,
    Version,
    Versions,
    make_index_body,
)
from baton.adapters.opensearch.engine import Engine, EngineError
from baton.adapters.opensearch.reindexing import DEFAULT_PACE, Copy, Pace
from baton.domain.documents.search import IndexName
from baton.ports.documents.search import Embedder, IndexedSource, IndexState, ReindexResult

ALLOWED_ACTIONS = [
    "indices:admin/get",
    "indices:admin/mapping/put",
    "indices:admin/mappings/get",
    "indices:admin/refresh*",
    "indices:data/read/*",
    "indices:data/write/*",
]


async def grant(engine: Engine, layout: Layout, roles: Sequence[str]) -> None:
    """Let only the IAM ``roles`` (ARNs) read and write the indices. May be called again. Raises ``EngineError``."""
    body = {
        "description": "Functions of Baton that search and index",
        "cluster_permissions": ["cluster_composite_ops"],
        "index_permissions": [{"index_patterns": [f"{layout.prefix}-*"], "allowed_actions": ALLOWED_ACTIONS}],
    }
    await engine.request("PUT", f"/_plugins/_security/api/roles/{layout.prefix}", body)
    await engine.request("PUT", f"/_plugins/_security/api/rolesmapping/{layout.prefix}", {"backend_roles": list(roles)})


SOURCES_AT_ONCE = 1000
"""The number of sources that one request lists."""
SOURCE_FIELDS = ("tenant", "user", "source_id")


class OpenSearchAdministration:
    """``SearchAdministration`` on OpenSearch: makes versions, and moves the searched alias from one to the next."""

    def __init__(self, engine: Engine, layout: Layout = DEFAULT_LAYOUT, pace: Pace = DEFAULT_PACE) -> None:
        self._engine = engine
        self._layout = layout
        self._pace = pace
        self._versions = Versions(engine, layout)

    async def migrate(self, embedder: Embedder) -> Sequence[IndexState]:
        """See ``SearchAdministration``.

        An index is made with its aliases in one request, so that only one of two deployments can make it.
        """
        model = get_embedding_model(embedder)
        return [await self._migrate(index, model) for index in IndexName]

    async def discard_damaged(self, tenant_id: str, index: IndexName) -> int:
        """Return 0, because OpenSearch has no files that Baton could check. See ``Reindexing``."""
        return 0

    async def reindex(self, index: IndexName, embedder: Embedder) -> ReindexResult:
        """See ``SearchAdministration``.

        Writers write to every version that has a write alias. The new version is therefore complete when it has copies
        of the old version's documents, including those of writes that began before the new version existed. In a
        version of the current model, documents without vectors are embedded.
        """
        model = get_embedding_model(embedder)
        old = await self._versions.get_searched(index)
        if _is_current(old, model):
            copy = Copy(self._engine, self._pace, old, old, self._layout.make_write_alias(index, old.number), embedder)
            await copy.embed_missing()
            return ReindexResult(index, old.name, 0, copy.embedded)
        new = await self._get_new_version(index, model)
        copy = Copy(self._engine, self._pace, old, new, self._layout.make_write_alias(index, new.number), embedder)
        await copy.copy_all()
        await self._pace.let_writers_end()
        await copy.copy_recent()
        await copy.embed_missing()
        await self._swap(index, old, new)
        # Copy documents that were written while the last ones were copied.
        await copy.copy_recent()
        await copy.embed_missing()
        await self._delete(old)
        return ReindexResult(index, new.name, copy.copied, copy.embedded)

    async def list_sources(self, index: IndexName, tenant_id: str | None = None) -> AsyncIterator[IndexedSource]:
        alias = self._layout.make_read_alias(index)
        await self._engine.request("POST", f"/{alias}/_refresh")
        composite: dict[str, Any] = {
            "size": SOURCES_AT_ONCE,
            "sources": [{name: {"terms": {"field": name}}} for name in SOURCE_FIELDS],
        }
        without_vectors = {"without_vectors": {"missing": {"field": "embedder"}}}
        body = {
            "size": 0,
            "query": {"match_all": {}} if tenant_id is None else {"term": {"tenant": tenant_id}},
            "aggs": {"sources": {"composite": composite, "aggs": without_vectors}},
        }
        while True:
            answer = await self._engine.request("POST", f"/{alias}/_search", body, allow_partial_search_results=False)
            aggregation = answer["aggregations"]["sources"]
            for bucket in aggregation["buckets"]:
                unembedded = bucket["without_vectors"]["doc_count"]
                tenant, user, source_id = (bucket["key"][name] for name in SOURCE_FIELDS)
                yield IndexedSource(tenant, user, source_id, bucket["doc_count"], unembedded)
            if "after_key" not in aggregation:
                return
            composite["after"] = aggregation["after_key"]

    async def _migrate(self, index: IndexName, model: EmbeddingModel | None) -> IndexState:
        """Make the first version of an index that has none. Return the state of the searched version."""
        versions = await self._versions.list_all(index)
        if not any(version.is_read for version in versions):
            number = max((version.number for version in versions), default=0) + 1
            aliases = (self._layout.make_read_alias(index), self._layout.make_write_alias(index, number))
            await self._create(index, number, model, aliases)
        searched = await self._versions.get_searched(index)
        return IndexState(
            index,
            searched.name,
            searched.model.name if searched.model else None,
            searched.model.dimensions if searched.model else None,
            _is_current(searched, model),
        )

    async def _get_new_version(self, index: IndexName, model: EmbeddingModel | None) -> Version:
        """Return the version that an earlier reindex has begun, or a new one."""
        versions = await self._versions.list_all(index)
        for version in versions:
            if version.is_written and not version.is_read:
                if _is_current(version, model):
                    return version
                await self._delete(version)  # an earlier reindex has begun it for another model
        number = versions[-1].number + 1
        await self._create(index, number, model, (self._layout.make_write_alias(index, number),))
        [new] = [version for version in await self._versions.list_all(index) if version.number == number]
        return new

    async def _create(
        self, index: IndexName, number: int, model: EmbeddingModel | None, aliases: Sequence[str]
    ) -> None:
        """Make a version, unless another deployment has just made it."""
        body = make_index_body(index, self._layout, model) | {"aliases": {alias: {} for alias in aliases}}
        try:
            await self._engine.request(
                "PUT", f"/{self._layout.make_version_name(index, number)}", body, wait_for_active_shards=1
            )
        except EngineError as problem:
            if problem.kind != "resource_already_exists_exception":  # another deployment was faster
                raise

    async def _swap(self, index: IndexName, old: Version, new: Version) -> None:
        """Move searches to the new version, and end writes to the old one, in one step."""
        alias = self._layout.make_read_alias(index)
        await self._engine.request("POST", f"/{new.name}/_refresh")
        actions = [
            {"remove": {"index": old.name, "alias": alias}},
            {"remove": {"index": old.name, "alias": self._layout.make_write_alias(index, old.number)}},
            {"add": {"index": new.name, "alias": alias}},
        ]
        await self._engine.request("POST", "/_aliases", {"actions": actions})

    async def _delete(self, version: Version) -> None:
        try:
            await self._engine.request("DELETE", f"/{version.name}")
        except EngineError as problem:
            if problem.kind != "index_not_found_exception":
                raise


def get_embedding_model(embedder: Embedder) -> EmbeddingModel | None:
    """Return the name and the dimensions of the embedder's model; None if embedding is off."""
    return EmbeddingModel(embedder.name, embedder.dimensions) if embedder.dimensions else None


def _is_current(version: Version, model: EmbeddingModel | None) -> bool:
    return version.mapping_version == MAPPING_VERSION and version.model == model
