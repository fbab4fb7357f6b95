"""Copy the documents of one version of an index to the next."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from baton.adapters.opensearch.definitions import Version, add_views
from baton.adapters.opensearch.documents import numbers, searched_words
from baton.adapters.opensearch.engine import NEWER_EXISTS, Engine, bulk, index_operation
from baton.domain.documents.search import IndexedText
from baton.ports.documents.search import Embedder, EmbeddingPurpose

BATCH = 100
SECOND = 1_000_000
"""A second in microseconds."""
SKEW = 600 * SECOND
"""The largest difference between clocks of writers plus the longest write, in seconds."""
FILL_ROUNDS = 10

Source = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Pace:
    """The pace of a reindex."""

    texts_per_second: float = 50.0
    """The most texts that are embedded in a second, so that the conversations' own requests are not throttled."""
    writers_seconds: float = 60.0
    """Seconds that a write may still last which began before the new version existed."""

    async def let_writers_end(self) -> None:
        """Wait until writers that do not know the new version have ended."""
        await asyncio.sleep(self.writers_seconds)


DEFAULT_PACE = Pace()


class Copy:
    """A copy of an old version's documents, with their counts. Whatever is newer in the new version stays."""

    def __init__(
        self, engine: Engine, pace: Pace, old: Version, new: Version, write_alias: str, embedder: Embedder
    ) -> None:
        self._engine = engine
        self._pace = pace
        self._old = old
        self._new = new
        self._write_alias = write_alias
        self._embedder = embedder
        self._began = int(time.time() * SECOND)
        self.copied = 0
        self.embedded = 0

    async def all(self) -> None:
        """Copy every document that is not there yet."""
        await self._copy({"match_all": {}})

    async def recent(self) -> None:
        """Copy documents written since the copy began, as far as they are not there yet."""
        await self._copy({"range": {"written_at": {"gte": self._began - SKEW}}})

    async def fill(self) -> None:
        """Embed documents that writers have written without vectors, because theirs are of another model."""
        if self._new.model is None:
            return
        for _ in range(FILL_ROUNDS):
            filled = 0
            query = {"bool": {"must_not": {"exists": {"field": "embedder"}}}}
            async for hits in self._batches(self._new, query):
                sources = [hit["_source"] for hit in hits]
                await self._embed(sources)
                await self._write(hits)
                filled += len(hits)
            if not filled:
                return

    async def _copy(self, query: Source) -> None:
        async for hits in self._batches(self._old, query):
            copied = await self._known(hits)
            hits = [hit for hit in hits if hit["_id"] not in copied]
            if not hits:
                continue
            await self._fit([hit["_source"] for hit in hits])
            await self._write(hits)
            self.copied += len(hits)
            await self._delete_deleted(hits)

    async def _batches(self, version: Version, query: Source) -> AsyncIterator[list[Source]]:
        await self._engine.request("POST", f"/{version.name}/_refresh")
        sort = [{"tenant": "asc"}, {"user": "asc"}, {"id": "asc"}]
        async for hits in self._engine.pages(version.name, {"size": BATCH, "query": query, "sort": sort}):
            yield hits

    async def _known(self, hits: Sequence[Source]) -> set[str]:
        """Return the ids of those that the new version has as they are, or newer."""
        answer = await self._get(self._new, hits)
        written = {copy["_id"]: copy["_source"]["written_at"] for copy in answer if copy.get("found")}
        return {hit["_id"] for hit in hits if written.get(hit["_id"], -1) >= hit["_source"]["written_at"]}

    async def _fit(self, sources: Sequence[Source]) -> None:
        """Give the documents vectors of the new version's model."""
        model = self._new.model
        if model is None:
            for source in sources:
                source.pop("embedder", None)
                for view in source["views"].values():
                    view.pop("vector", None)
        else:
            await self._embed([source for source in sources if source.get("embedder") != model.name])

    async def _embed(self, sources: Sequence[Source]) -> None:
        views = [view for source in sources for view in source["views"].values()]
        if not views:
            return
        began = time.monotonic()
        texts = [IndexedText(view["text"]).embedded for view in views]
        vectors = await self._embedder.embed(texts, purpose=EmbeddingPurpose.DOCUMENT)
        for view, vector in zip(views, vectors, strict=True):
            view["vector"] = numbers(vector)
        for source in sources:
            source["embedder"] = self._embedder.name
        self.embedded += len(sources)
        pause = len(views) / self._pace.texts_per_second - (time.monotonic() - began)
        await asyncio.sleep(max(0.0, pause))

    async def _write(self, hits: Sequence[Source]) -> None:
        names = {name for hit in hits for name in hit["_source"]["views"]}
        await add_views(self._engine, self._new, names)
        self._new = replace(self._new, views=self._new.views | names)
        for view in (view for hit in hits for view in hit["_source"]["views"].values()):
            view["words"] = searched_words(view["text"])
        operations = [index_operation(self._write_alias, hit["_id"], hit["_routing"], hit["_source"]) for hit in hits]
        await bulk(self._engine, operations, accepted=NEWER_EXISTS)

    async def _delete_deleted(self, hits: Sequence[Source]) -> None:
        """Delete what was deleted from the old version between its reading and its writing."""
        gone = {original["_id"] for original in await self._get(self._old, hits) if not original.get("found")}
        operations = [
            [{"delete": {"_index": self._write_alias, "_id": hit["_id"], "routing": hit["_routing"]}}]
            for hit in hits
            if hit["_id"] in gone
        ]
        if operations:
            await bulk(self._engine, operations, accepted=frozenset({404}))

    async def _get(self, version: Version, hits: Sequence[Source]) -> list[Source]:
        requests = [{"_id": hit["_id"], "routing": hit["_routing"], "_source": ["written_at"]} for hit in hits]
        answer = await self._engine.request("POST", f"/{version.name}/_mget", {"docs": requests})
        documents: list[Source] = answer["docs"]
        return documents
