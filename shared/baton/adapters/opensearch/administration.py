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
    index_body,
)
from baton.adapters.opensearch.engine import Engine, EngineError
from baton.adapters.opensearch.reindexing import DEFAULT_PACE, Copy, Pace
from baton.domain.documents.search import IndexName
from baton.ports.documents.search import Embedder, IndexedSource, IndexState, Reindexed

ALLOWED = [
    "indices:admin/get",
    "indices:admin/mapping/put",
    "indices:admin/mappings/get",
    "indices:admin/refresh*",
    "indices:data/read/*",
    "indices:data/write/*",
]


async def grant(engine: Engine, layout: Layout, roles: Sequence[str]) -> None:
    """Let the IAM ``roles`` (ARNs), and no others, read and write the indices. A repetition changes nothing."""
    body = {
        "description": "Functions of Baton that search and index",
        "cluster_permissions": ["cluster_composite_ops"],
        "index_permissions": [{"index_patterns": [f"{layout.prefix}-*"], "allowed_actions": ALLOWED}],
    }
    await engine.request("PUT", f"/_plugins/_security/api/roles/{layout.prefix}", body)
    await engine.request("PUT", f"/_plugins/_security/api/rolesmapping/{layout.prefix}", {"backend_roles": list(roles)})


SOURCES_AT_ONCE = 1000
SOURCE_FIELDS = ("tenant", "user", "source_id")


class OpenSearchAdministration:
    """Administration of versions: it makes them, and moves the alias that is searched from one to the next."""

    def __init__(self, engine: Engine, layout: Layout = DEFAULT_LAYOUT, pace: Pace = DEFAULT_PACE) -> None:
        self._engine = engine
        self._layout = layout
        self._pace = pace
        self._versions = Versions(engine, layout)

    async def migrate(self, embedder: Embedder) -> Sequence[IndexState]:
        """See ``SearchAdministration``. An index is made with its aliases in one request, so that one of two wins."""
        model = model_of(embedder)
        return [await self._migrate(index, model) for index in IndexName]

    async def discard_damaged(self) -> int:
        """Return 0: OpenSearch has no files that Baton could judge. See ``Reindexing``."""
        return 0

    async def reindex(self, index: IndexName, embedder: Embedder) -> Reindexed:
        """See ``SearchAdministration``.

        Writers write to every version that has a write alias. So the new one is complete once it has a copy of the
        old one's documents, and of those that were written by requests begun before it was there. In an index that is
        current, documents without vectors get theirs.
        """
        model = model_of(embedder)
        old = await self._versions.read(index)
        if _is_current(old, model):
            copy = Copy(self._engine, self._pace, old, old, self._layout.write_alias(index, old.number), embedder)
            await copy.fill()
            return Reindexed(index, old.name, 0, copy.embedded)
        new = await self._new_version(index, model)
        copy = Copy(self._engine, self._pace, old, new, self._layout.write_alias(index, new.number), embedder)
        await copy.all()
        await self._pace.let_writers_end()
        await copy.recent()
        await copy.fill()
        await self._swap(index, old, new)
        # Documents written to both while the last ones were copied.
        await copy.recent()
        await copy.fill()
        await self._delete(old)
        return Reindexed(index, new.name, copy.copied, copy.embedded)

    async def sources(self, index: IndexName, tenant_id: str | None = None) -> AsyncIterator[IndexedSource]:
        alias = self._layout.read_alias(index)
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
                without = bucket["without_vectors"]["doc_count"]
                tenant, user, source_id = (bucket["key"][name] for name in SOURCE_FIELDS)
                yield IndexedSource(tenant, user, source_id, bucket["doc_count"], without)
            if "after_key" not in aggregation:
                return
            composite["after"] = aggregation["after_key"]

    async def _migrate(self, index: IndexName, model: EmbeddingModel | None) -> IndexState:
        versions = await self._versions.all(index)
        if not any(version.is_read for version in versions):
            number = max((version.number for version in versions), default=0) + 1
            aliases = (self._layout.read_alias(index), self._layout.write_alias(index, number))
            await self._create(index, number, model, aliases)
        read = await self._versions.read(index)
        return IndexState(
            index,
            read.name,
            read.model.name if read.model else None,
            read.model.dimensions if read.model else None,
            _is_current(read, model),
        )

    async def _new_version(self, index: IndexName, model: EmbeddingModel | None) -> Version:
        """Return the version that an earlier reindex has begun, or a new one."""
        versions = await self._versions.all(index)
        for version in versions:
            if version.is_written and not version.is_read:
                if _is_current(version, model):
                    return version
                await self._delete(version)  # begun for another model
        number = versions[-1].number + 1
        await self._create(index, number, model, (self._layout.write_alias(index, number),))
        [new] = [version for version in await self._versions.all(index) if version.number == number]
        return new

    async def _create(
        self, index: IndexName, number: int, model: EmbeddingModel | None, aliases: Sequence[str]
    ) -> None:
        body = index_body(index, self._layout, model) | {"aliases": {alias: {} for alias in aliases}}
        try:
            await self._engine.request(
                "PUT", f"/{self._layout.version_name(index, number)}", body, wait_for_active_shards=1
            )
        except EngineError as problem:
            if problem.kind != "resource_already_exists_exception":  # another deployment was faster
                raise

    async def _swap(self, index: IndexName, old: Version, new: Version) -> None:
        """Let searches go to the new version, and end writing to the old one, in one step."""
        alias = self._layout.read_alias(index)
        await self._engine.request("POST", f"/{new.name}/_refresh")
        actions = [
            {"remove": {"index": old.name, "alias": alias}},
            {"remove": {"index": old.name, "alias": self._layout.write_alias(index, old.number)}},
            {"add": {"index": new.name, "alias": alias}},
        ]
        await self._engine.request("POST", "/_aliases", {"actions": actions})

    async def _delete(self, version: Version) -> None:
        try:
            await self._engine.request("DELETE", f"/{version.name}")
        except EngineError as problem:
            if problem.kind != "index_not_found_exception":
                raise


def model_of(embedder: Embedder) -> EmbeddingModel | None:
    """Return what an index has to know of the embedder; None if embedding is off."""
    return EmbeddingModel(embedder.name, embedder.dimensions) if embedder.dimensions else None


def _is_current(version: Version, model: EmbeddingModel | None) -> bool:
    return version.mapping_version == MAPPING_VERSION and version.model == model
