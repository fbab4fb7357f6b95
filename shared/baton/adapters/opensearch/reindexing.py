"""Copy the documents of one version of an index to the next."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from baton.adapters.opensearch.definitions import Version, add_views
from baton.adapters.opensearch.documents import round_vector, to_search_text
from baton.adapters.opensearch.engine import (
    HAS_CHANGED,
    NEWER_EXISTS,
    Engine,
    make_index_operation,
    make_replace_operation,
    send_bulk,
)
from baton.domain.documents.search import IndexedText
from baton.ports.documents.search import Embedder, EmbeddingPurpose

BATCH = 100
"""The number of documents that are copied at once."""
SECOND = 1_000_000
"""A second in microseconds."""
SKEW = 600 * SECOND
"""The largest difference between clocks of writers plus the longest write, in microseconds."""
FILL_ROUNDS = 10
"""The number of rounds in which documents without vectors are embedded while others write more of them."""

Source = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Pace:
    """The pace of a reindex."""

    texts_per_second: float = 50.0
    """The maximum number of texts embedded in a second, so that requests of conversations are not throttled."""
    writers_seconds: float = 60.0
    """The longest duration of a write that began before the new version existed."""

    async def let_writers_end(self) -> None:
        """Wait until writers that do not know the new version have ended."""
        await asyncio.sleep(self.writers_seconds)


DEFAULT_PACE = Pace()


class Copy:
    """The copying of an old version's documents to a new version. Documents that the new version has are kept."""

    def __init__(
        self, engine: Engine, pace: Pace, old: Version, new: Version, write_alias: str, embedder: Embedder
    ) -> None:
        self._engine = engine
        self._pace = pace
        self._old = old
        self._new = new
        self._write_alias = write_alias
        self._embedder = embedder
        self._began_at = int(time.time() * SECOND)
        self.copied = 0
        """The number of documents that were copied."""
        self.embedded = 0
        """The number of documents that were embedded."""

    async def copy_all(self) -> None:
        """Copy every document that the new version lacks."""
        await self._copy({"match_all": {}})

    async def copy_recent(self) -> None:
        """Copy the documents that were written since the copy began and that the new version lacks."""
        await self._copy({"range": {"written_at": {"gte": self._began_at - SKEW}}})

    async def embed_missing(self) -> None:
        """Embed the new version's documents without vectors, which writers with another model have written.

        After ``FILL_ROUNDS`` some may be left. Documents that are deleted meanwhile stay deleted.
        """
        if self._new.model is None:
            return
        for _ in range(FILL_ROUNDS):
            filled = 0
            query = {"bool": {"must_not": {"exists": {"field": "embedder"}}}}
            async for hits in self._read_batches(self._new, query):
                sources = [hit["_source"] for hit in hits]
                await self._embed(sources)
                await self._complete(hits)
                operations = [make_replace_operation(self._write_alias, hit) for hit in hits]
                await send_bulk(self._engine, operations, accepted=HAS_CHANGED)
                filled += len(hits)
            if not filled:
                return

    async def _copy(self, query: Source) -> None:
        """Copy the old version's documents that match ``query`` and that the new version lacks."""
        async for hits in self._read_batches(self._old, query):
            current_ids = await self._find_current_ids(hits)
            hits = [hit for hit in hits if hit["_id"] not in current_ids]
            if not hits:
                continue
            await self._convert_vectors([hit["_source"] for hit in hits])
            await self._complete(hits)
            operations = [
                make_index_operation(self._write_alias, hit["_id"], hit["_routing"], hit["_source"]) for hit in hits
            ]
            await send_bulk(self._engine, operations, accepted=NEWER_EXISTS)
            self.copied += len(hits)
            await self._repeat_deletions(hits)

    async def _read_batches(self, version: Version, query: Source) -> AsyncIterator[list[Source]]:
        """Yield the hits of all documents of a version that match ``query``, with the numbers of their changes."""
        await self._engine.request("POST", f"/{version.name}/_refresh")
        sort = [{"tenant": "asc"}, {"user": "asc"}, {"id": "asc"}]
        body = {"size": BATCH, "query": query, "sort": sort, "seq_no_primary_term": True}
        async for hits in self._engine.read_pages(version.name, body):
            yield hits

    async def _find_current_ids(self, hits: Sequence[Source]) -> set[str]:
        """Return the ids of the hits that the new version has, unchanged or newer."""
        answer = await self._get(self._new, hits)
        written = {copy["_id"]: copy["_source"]["written_at"] for copy in answer if copy.get("found")}
        return {hit["_id"] for hit in hits if written.get(hit["_id"], -1) >= hit["_source"]["written_at"]}

    async def _convert_vectors(self, sources: Sequence[Source]) -> None:
        """Give the documents vectors of the new version's model, or remove their vectors if it has none."""
        model = self._new.model
        if model is None:
            for source in sources:
                source.pop("embedder", None)
                for view in source["views"].values():
                    view.pop("vector", None)
        else:
            await self._embed([source for source in sources if source.get("embedder") != model.name])

    async def _embed(self, sources: Sequence[Source]) -> None:
        """Add vectors to the documents, then wait as the pace requires."""
        views = [view for source in sources for view in source["views"].values()]
        if not views:
            return
        began_at = time.monotonic()
        texts = [IndexedText(view["text"]).text_to_embed for view in views]
        vectors = await self._embedder.embed(texts, purpose=EmbeddingPurpose.DOCUMENT)
        for view, vector in zip(views, vectors, strict=True):
            view["vector"] = round_vector(vector)
        for source in sources:
            source["embedder"] = self._embedder.name
        self.embedded += len(sources)
        pause = len(views) / self._pace.texts_per_second - (time.monotonic() - began_at)
        await asyncio.sleep(max(0.0, pause))

    async def _complete(self, hits: Sequence[Source]) -> None:
        """Add their words to documents, and the views that they have to the new version."""
        names = {name for hit in hits for name in hit["_source"]["views"]}
        await add_views(self._engine, self._new, names)
        self._new = replace(self._new, views=self._new.views | names)
        for view in (view for hit in hits for view in hit["_source"]["views"].values()):
            view["words"] = to_search_text(view["text"])

    async def _repeat_deletions(self, hits: Sequence[Source]) -> None:
        """Delete copies of documents that were deleted from the old version while they were copied."""
        originals = await self._get(self._old, hits)
        deleted_ids = {original["_id"] for original in originals if not original.get("found")}
        operations = [
            [{"delete": {"_index": self._write_alias, "_id": hit["_id"], "routing": hit["_routing"]}}]
            for hit in hits
            if hit["_id"] in deleted_ids
        ]
        if operations:
            await send_bulk(self._engine, operations, accepted=frozenset({404}))

    async def _get(self, version: Version, hits: Sequence[Source]) -> list[Source]:
        """Return the entries of a version for the documents of ``hits``, with ``written_at`` if they are found."""
        requests = [{"_id": hit["_id"], "routing": hit["_routing"], "_source": ["written_at"]} for hit in hits]
        answer = await self._engine.request("POST", f"/{version.name}/_mget", {"docs": requests})
        documents: list[Source] = answer["docs"]
        return documents
