"""``Reindexing`` of the embedded index: its documents are embedded by another model."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from baton.adapters.sqlite_index.blocking_work import run_in_thread
from baton.adapters.sqlite_index.objects import NoFile
from baton.adapters.sqlite_index.owner_file import Revision
from baton.adapters.sqlite_index.owner_files import OwnerFiles
from baton.adapters.sqlite_index.owners import is_of_index, make_index_prefix
from baton.concurrency.tasks import gather_each
from baton.domain.documents.search import IndexDocument, IndexedText, IndexName
from baton.domain.errors import SearchIndexDamaged, SearchIndexFull, SearchMoved, SearchUnavailable
from baton.failures.reports import report_failure
from baton.ports.documents.search import Embedder, EmbeddingPurpose, ReindexResult

BATCH = 200
"""The number of documents that are embedded and replaced together, by one write of the owner's file."""
PASSES = 10
"""The maximum number of passes over a file that others write meanwhile."""
AT_ONCE = 8
"""The number of files that are read at the same time to find damaged ones."""


class SqliteReindexing:
    """``Reindexing`` of the files of a bucket, which are searched and written meanwhile.

    Each file is changed in place. One write replaces a document, unless the document was written or deleted after it
    was read. Before this write, searches find the document by its words only. A second copy of the files would hide the
    new vectors until all of them exist, and would have to repeat every write.
    """

    def __init__(self, files: OwnerFiles) -> None:
        self._files = files

    async def reindex(self, index: IndexName, embedder: Embedder) -> ReindexResult:
        """See ``Reindexing``."""
        embedded = 0
        failure: SearchUnavailable | None = None
        for key in await run_in_thread(lambda: list(self._files.objects.list_keys(""))):
            if not is_of_index(key, index):
                continue
            try:
                embedded += await self._embed_file(key, embedder)
            except (SearchIndexDamaged, SearchIndexFull) as problem:
                report_failure(problem, "A search index was not embedded again", key=key)
                failure = failure or problem
            except (NoFile, SearchMoved):
                continue  # the file's owner has moved to OpenSearch since the files were listed
        if failure is not None:
            raise failure
        return ReindexResult(index, index.value, 0, embedded if embedder.dimensions else 0)

    async def discard_damaged(self, tenant_id: str, index: IndexName) -> int:
        """See ``Reindexing``."""
        keys = await run_in_thread(lambda: list(self._files.objects.list_keys(make_index_prefix(tenant_id, index))))
        return sum(await gather_each(keys, self._discard_if_damaged, at_once=AT_ONCE))

    async def _discard_if_damaged(self, key: str) -> bool:
        with suppress(NoFile, SearchMoved):
            return await run_in_thread(lambda: self._files.discard_damaged(key))
        return False

    async def _embed_file(self, key: str, embedder: Embedder) -> int:
        """Embed the documents of a file in at most ``PASSES`` passes. Return the number of replacements."""
        embedded = 0
        for _ in range(PASSES):
            outdated_count, replaced = await self._embed_outdated(key, embedder)
            embedded += replaced
            if not outdated_count:
                break
        return embedded

    async def _embed_outdated(self, key: str, embedder: Embedder) -> tuple[int, int]:
        """Embed the documents of other models once. Return their number, and how many of them were replaced."""
        model = embedder.name if embedder.dimensions else None
        outdated_count = replaced = 0
        after = ""
        while outdated := await run_in_thread(lambda: self._read_outdated(key, model, after)):  # noqa: B023 - it is awaited
            documents = await _embed([revision.document for revision in outdated], embedder)
            revisions = [
                Revision(revision.digest, document) for revision, document in zip(outdated, documents, strict=True)
            ]
            outdated_count += len(outdated)
            outcome = await run_in_thread(lambda: self._files.change(key, lambda file: file.revise(revisions)))  # noqa: B023
            replaced += outcome.result
            after = outdated[-1].document.id
        return outdated_count, replaced

    def _read_outdated(self, key: str, model: str | None, after: str) -> list[Revision]:
        with self._files.open_current(key) as file:
            return file.read_outdated(model, after, BATCH) if file is not None else []  # forgetting may have deleted it


async def _embed(documents: Sequence[IndexDocument], embedder: Embedder) -> list[IndexDocument]:
    """Return the documents with vectors of the embedder, or without vectors if embedding is off."""
    texts = [view.text_to_embed for document in documents for view in document.views.values()]
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
