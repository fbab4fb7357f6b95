"""The documents of an episode in the search index: written in batches, replaced, removed."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from baton.domain.documents.search import IndexDocument, IndexName, SearchFilter
from baton.domain.memory.episode import Episode, EpisodeMessage, EpisodeRef
from baton.domain.tenants.identity import Scope
from baton.domain.threads.thread import Thread
from baton.memory.episodes.episode_documents import AROUND, FACT, MESSAGE, embed_documents, episode_documents
from baton.memory.episodes.episode_messages import EpisodeMessages, HeldMessages, is_remembered
from baton.ports.documents.search import Embedder, SearchIndex

BATCH = 20
"""Messages whose documents are made, embedded and written at once: their texts fit into one request to the embedder.
Vectors take up to 200 kilobytes a message."""


@dataclass(frozen=True, slots=True)
class EpisodeIndex:
    """The episodes in the search index. Repeating a call changes nothing. Texts are the redacted ones."""

    search: SearchIndex
    embedder: Embedder
    messages: EpisodeMessages

    async def put(self, scope: Scope, thread: Thread, episode: Episode, held: HeldMessages | None = None) -> None:
        """Write the documents of an episode: its messages, its summary and its facts.

        ``held`` are its messages, if they were read before. Those that an earlier run has written are not embedded
        again. Raises ``SearchUnavailable`` and ``EmbedderUnavailable``.
        """
        written = await self._find_written(scope, episode.ref)
        async for batch in self._message_documents(scope, thread, episode, held):
            await self._write(scope, [document for document in batch if self._digest(document) not in written])
        # Facts that have become known as old ones since an earlier run are not facts of this episode any more.
        await self.search.delete(scope, IndexName.EPISODES, SearchFilter(source_id=episode.ref.id, kinds=(FACT,)))
        await self._write(scope, episode_documents(episode, (), episode.summary, episode.facts))

    async def put_facts(self, scope: Scope, episode: Episode) -> None:
        """Write the documents of an episode's facts again, with their present validity. Raises as ``put`` does."""
        await self._write(scope, episode_documents(episode, (), None, episode.facts))

    async def remove(self, scope: Scope, ref: EpisodeRef) -> None:
        """Remove every document of an episode. Raises ``SearchUnavailable``."""
        await self.search.delete(scope, IndexName.EPISODES, SearchFilter(source_id=ref.id))

    async def _find_written(self, scope: Scope, ref: EpisodeRef) -> set[bytes]:
        """Return the digests of the messages' documents that are in the index with vectors of this embedder."""
        chosen = SearchFilter(source_id=ref.id, kinds=(MESSAGE,))
        embedder = self.embedder.name if self.embedder.dimensions else None
        return {
            self._digest(document)
            async for document in self.search.list(scope, IndexName.EPISODES, chosen)
            if document.embedder == embedder
        }

    @staticmethod
    def _digest(document: IndexDocument) -> bytes:
        texts = "\0".join(f"{name}\0{view.text}" for name, view in sorted(document.views.items()))
        return hashlib.sha256(f"{document.id}\0{texts}".encode(errors="surrogatepass")).digest()

    async def _write(self, scope: Scope, documents: Sequence[IndexDocument]) -> None:
        if documents:
            embedded = await embed_documents(documents, self.embedder, tenant_id=scope.tenant_id)
            await self.search.put(scope, IndexName.EPISODES, embedded)

    async def _message_documents(
        self, scope: Scope, thread: Thread, episode: Episode, held: HeldMessages | None
    ) -> AsyncIterator[list[IndexDocument]]:
        """Yield the messages' documents, batch by batch. Each batch is made with the messages around it."""
        async for before, core, after in _batches(self.messages.windows(scope, thread, episode.ref, held)):
            documents = episode_documents(episode, [*before, *core, *after], None, ())
            yield documents[len(before) : len(before) + len(core)]


async def _batches(
    windows: AsyncIterator[Sequence[EpisodeMessage]],
) -> AsyncIterator[tuple[list[EpisodeMessage], list[EpisodeMessage], list[EpisodeMessage]]]:
    """Yield the messages in batches, with those before and after each."""
    before: list[EpisodeMessage] = []
    waiting: list[EpisodeMessage] = []
    async for window in windows:
        waiting += filter(is_remembered, window)
        while len(waiting) >= BATCH + AROUND:
            core = waiting[:BATCH]
            yield before, core, waiting[BATCH : BATCH + AROUND]
            before, waiting = core[-AROUND:], waiting[BATCH:]
    if waiting:
        yield before, waiting, []
