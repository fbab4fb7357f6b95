"""Embeds the documents of the embedded index with another model."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from baton.domain.documents.search import IndexDocument, IndexedText, IndexName
from baton.domain.errors import SearchUnavailable
from baton.ports.documents.search import Embedder, EmbeddingPurpose, Reindexed
from baton_local.sqlite_index.index import FORMAT
from baton_local.sqlite_index.owner_file import OwnerFile, Revision

BATCH = 50
"""Documents that are embedded and replaced together."""
PASSES = 10
"""Passes over a file that others write meanwhile."""


class SqliteReindexing:
    """``Reindexing`` of the files of a folder, which are searched and written meanwhile, by other processes too.

    Each file is rebuilt in place. A document is replaced in one transaction, unless it has been written or deleted
    since it was read: it is found by its words before, and by its new vectors after. A second copy of the files would
    hide the new vectors until all are there, and would have to follow every write.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FORMAT

    async def reindex(self, index: IndexName, embedder: Embedder) -> Reindexed:
        """See ``Reindexing``."""
        embedded = 0
        try:
            for path in sorted(self._folder.glob(f"*/{index.value}*.sqlite")):
                for _ in range(PASSES):
                    count, replaced = await self._pass(path, embedder)
                    embedded += replaced
                    if not count:
                        break
        except (sqlite3.Error, OSError) as failure:
            raise SearchUnavailable from failure
        return Reindexed(index, f"{index.value} {FORMAT}", 0, embedded if embedder.dimensions else 0)

    async def _pass(self, path: Path, embedder: Embedder) -> tuple[int, int]:
        """Return how many documents of a file were of another model, and how many of them were replaced."""
        model = embedder.name if embedder.dimensions else None
        count = replaced = 0
        after = ""
        while outdated := await asyncio.to_thread(_outdated, path, model, after):
            documents = await _embed([revision.document for revision in outdated], embedder)
            revisions = [
                Revision(revision.digest, document) for revision, document in zip(outdated, documents, strict=True)
            ]
            count += len(outdated)
            replaced += await asyncio.to_thread(_revise, path, revisions)
            after = outdated[-1].document.id
        return count, replaced


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


def _outdated(path: Path, model: str | None, after: str) -> list[Revision]:
    if not path.exists():  # its owner was forgotten
        return []
    file = OwnerFile(path)
    try:
        return file.outdated(model, after, BATCH)
    finally:
        file.connection.close()


def _revise(path: Path, revisions: Sequence[Revision]) -> int:
    if not path.exists():
        return 0
    file = OwnerFile(path)
    try:
        return file.revise(revisions)
    finally:
        file.connection.close()
