"""Embeds the documents of the embedded index with another model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import apsw
from botocore.exceptions import ClientError

from baton.adapters.sqlite_index.owner_file import Revision
from baton.adapters.sqlite_index.owner_files import OwnerFiles
from baton.adapters.sqlite_index.owners import is_of_index
from baton.domain.documents.search import IndexDocument, IndexedText, IndexName
from baton.domain.errors import SearchUnavailable, StoreUnavailable
from baton.ports.documents.search import Embedder, EmbeddingPurpose, Reindexed

T = TypeVar("T")

BATCH = 200
"""Documents that are embedded and replaced together. Each replacement writes the owner's file."""
PASSES = 10
"""Passes over a file that others write meanwhile."""


class SqliteReindexing:
    """``Reindexing`` of the files of a bucket, which are searched and written meanwhile.

    Each file is rebuilt in place. A document is replaced by one write, unless it has been written or deleted since it
    was read: it is found by its words before, and by its new vectors after. A second copy of the files would hide the
    new vectors until all are there, and would have to follow every write.
    """

    def __init__(self, files: OwnerFiles) -> None:
        self._files = files

    async def reindex(self, index: IndexName, embedder: Embedder) -> Reindexed:
        """See ``Reindexing``."""
        embedded = 0
        for key in await _run(lambda: list(self._files.objects.keys(""))):
            if not is_of_index(key, index):
                continue
            for _ in range(PASSES):
                count, replaced = await self._pass(key, embedder)
                embedded += replaced
                if not count:
                    break
        return Reindexed(index, index.value, 0, embedded if embedder.dimensions else 0)

    async def discard_damaged(self) -> int:
        """See ``Reindexing``."""
        keys = await _run(lambda: list(self._files.objects.keys("")))
        return sum([await _run(lambda key=key: self._files.discard_damaged(key)) for key in keys])  # type: ignore[misc]

    async def _pass(self, key: str, embedder: Embedder) -> tuple[int, int]:
        """Return how many documents of a file were of another model, and how many of them were replaced."""
        model = embedder.name if embedder.dimensions else None
        count = replaced = 0
        after = ""
        while outdated := await _run(lambda: self._outdated(key, model, after)):  # noqa: B023 - it is awaited
            documents = await _embed([revision.document for revision in outdated], embedder)
            revisions = [
                Revision(revision.digest, document) for revision, document in zip(outdated, documents, strict=True)
            ]
            count += len(outdated)
            changed = await _run(lambda: self._files.change(key, lambda file: file.revise(revisions)))  # noqa: B023
            replaced += changed.result
            after = outdated[-1].document.id
        return count, replaced

    def _outdated(self, key: str, model: str | None, after: str) -> list[Revision]:
        with self._files.reading(key) as file:
            return file.outdated(model, after, BATCH) if file is not None else []  # its owner may be forgotten


async def _run(work: Callable[[], T]) -> T:
    try:
        return await asyncio.to_thread(work)
    except (apsw.Error, ClientError, OSError, StoreUnavailable) as failure:
        raise SearchUnavailable from failure


async def _embed(documents: Sequence[IndexDocument], embedder: Embedder) -> list[IndexDocument]:
    """Return the documents with vectors of the embedder, or without any if it is off."""
    texts = [view.embedded for document in documents for view in document.views.values()]
    vectors = iter(
        await embedder.embed(texts, purpose=EmbeddingPurpose.DOCUMENT) if embedder.dimensions and texts else []
    )
    return [
        replace(
            document,
            views={name: IndexedText(view.text, next(vectors, None)) for name, view in document.views.items()},
            embedder=embedder.name if embedder.dimensions else None,
        )
        for document in documents
    ]
