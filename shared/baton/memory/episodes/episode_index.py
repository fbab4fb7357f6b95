"""The documents of an episode in the search index."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from typing import Any

from baton.domain.documents.search import IndexDocument, IndexedText, IndexName, SearchFilter
from baton.domain.memory.episode import Episode, EpisodeMessage, EpisodeRef, Fact
from baton.domain.tenants.identity import Scope
from baton.domain.threads.thread import Thread
from baton.memory.episodes.episode_messages import EpisodeMessages, HeldMessages, is_remembered
from baton.ports.documents.search import Embedder, EmbeddingPurpose, SearchIndex

MESSAGE, SUMMARY, FACT = "message", "summary", "fact"
"""The kinds of documents."""
TURN, PAIR, WINDOW = "turn", "pair", "window"
"""The views of a message: alone, with the previous message, and with the messages around it."""
DIGEST = "digest"
"""The view of summaries and facts. They compete with each other, not with messages."""
AROUND = 3
"""Messages of a window on either side."""
MAX_INDEXED = 20_000
"""Characters of a message that are searched."""
MAX_NEIGHBOUR = 300
"""Characters of a message in the views of its neighbours. More of a long neighbour would dominate the view."""
MAX_SHOWN = 8_000
"""Characters of a text that a search returns."""
# Names in English, because those of ``strftime`` depend on the machine's locale.
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def make_documents(
    episode: Episode, messages: Sequence[EpisodeMessage], summary: str | None, facts: Sequence[Fact]
) -> list[IndexDocument]:
    """Return the documents of the messages in their order, then of the summary, then of the facts, without vectors.

    The user's day precedes every searched text. ``messages`` may be a part of the episode's messages; the first
    and last of them are then indexed without the neighbours that are missing.
    """
    documents = [_make_message_document(episode, messages, index) for index in range(len(messages))]
    if summary:
        view, fields = (
            _add_date(episode.began_on, summary[:MAX_INDEXED]),
            _make_day_field(episode.time_zone, episode.began_on),
        )
        at = episode.started_at
        documents.append(_make_document(episode, SUMMARY, "", {DIGEST: view}, text=summary, at=at, fields=fields))
    return documents + [_make_fact_document(episode, fact) for fact in facts]


async def embed_documents(
    documents: Sequence[IndexDocument], embedder: Embedder, *, tenant_id: str | None = None
) -> list[IndexDocument]:
    """Return the documents with vectors of all their views; without vectors if embedding is switched off.

    Raises ``EmbedderUnavailable``.
    """
    if not embedder.dimensions:
        return list(documents)
    # Texts repeat: a first message has the same text in the views ``turn`` and ``pair``. Each is embedded once.
    texts = list(dict.fromkeys(view.text_to_embed for document in documents for view in document.views.values()))
    embedded = await embedder.embed(texts, purpose=EmbeddingPurpose.DOCUMENT, tenant_id=tenant_id)
    vectors = dict(zip(texts, embedded, strict=True))
    with_vectors: list[IndexDocument] = []
    for document in documents:
        views = {name: replace(view, vector=vectors[view.text_to_embed]) for name, view in document.views.items()}
        with_vectors.append(replace(document, views=views, embedder=embedder.name))
    return with_vectors


def _make_message_document(episode: Episode, messages: Sequence[EpisodeMessage], index: int) -> IndexDocument:
    message = messages[index]

    def make_view(before: int, after: int) -> IndexedText:
        near = messages[max(0, index - before) : index + after + 1]
        # The message comes first, then the nearest: embedding models cut long texts at their ends.
        near = sorted(near, key=lambda episode_message: abs(episode_message.ordinal - message.ordinal))
        texts = [
            _make_spoken_text(episode_message)[: MAX_INDEXED if episode_message is message else MAX_NEIGHBOUR]
            for episode_message in near
        ]
        # The day is in words too, because questions name months and weekdays.
        day = message.day
        in_words = f"{_WEEKDAYS[day.weekday()]}, {day.day} {_MONTHS[day.month - 1]} {day.year}"
        return IndexedText("\n".join([f"{day:%Y-%m-%d} ({in_words}): {texts[0]}", *texts[1:]]))

    fields = {
        "message_id": message.id,
        "ordinal": message.ordinal,
        "role": message.shown_role,
        **({"author": {"id": message.author.id, "name": message.author.name}} if message.author is not None else {}),
        "timestamp": message.timestamp.isoformat(),
        **_make_day_field(message.time_zone, message.day),
    }
    return _make_document(
        episode,
        MESSAGE,
        message.id,
        {TURN: make_view(0, 0), PAIR: make_view(1, 0), WINDOW: make_view(AROUND, AROUND)},
        text=message.text,
        at=message.timestamp,
        agent_id=message.agent_id,
        fields=fields,
    )


def _make_spoken_text(message: EpisodeMessage) -> str:
    """Return the text of a message, after the name of the person who wrote it in an agent's place."""
    return message.text if message.author is None else f"{message.author.name}: {message.text}"


def _make_fact_document(episode: Episode, fact: Fact) -> IndexDocument:
    fields = {
        "fact_id": fact.id,
        "on": fact.on.isoformat(),
        "message_ids": list(fact.message_ids),
        "superseded_at": fact.superseded_at.isoformat() if fact.superseded_at else None,
        "superseded_by": fact.superseded_by,
    }
    view = _add_date(fact.on, fact.text[:MAX_INDEXED])
    at = datetime.combine(fact.on, time(), UTC)
    return _make_document(episode, FACT, fact.id, {DIGEST: view}, text=fact.text, at=at, fields=fields)


def _make_document(
    episode: Episode,
    kind: str,
    name: str,
    views: dict[str, IndexedText],
    *,
    text: str,
    at: datetime,
    agent_id: str | None = None,
    fields: dict[str, Any] | None = None,
) -> IndexDocument:
    ref = episode.ref
    of_episode = {
        "text": text[:MAX_SHOWN],
        "number": ref.number,
        "started_at": episode.started_at.isoformat(),
        "ended_at": ref.ended_at.isoformat(),
    }
    return IndexDocument(
        id=str(uuid.uuid5(uuid.UUID(ref.id), f"{kind}\0{name}")),
        source_id=ref.id,
        kind=kind,
        views=views,
        at=at,
        agent_id=agent_id,
        thread_id=ref.thread_id,
        fields=of_episode | (fields or {}),
    )


def _make_day_field(time_zone: str | None, day: date) -> dict[str, Any]:
    """Return the field with the user's day; an empty dict if their time zone is not known."""
    return {"day": day.isoformat()} if time_zone is not None else {}


def _add_date(at: date, text: str) -> IndexedText:
    return IndexedText(f"{at:%Y-%m-%d}: {text}")


BATCH = 20
"""Messages whose documents are made, embedded by one request and written at once. Vectors take up to 200 KB each."""


@dataclass(frozen=True, slots=True)
class EpisodeIndex:
    """The episodes in the search index. Repeating a call changes nothing. All texts are redacted."""

    search: SearchIndex
    embedder: Embedder
    messages: EpisodeMessages

    async def put(self, scope: Scope, thread: Thread, episode: Episode, held: HeldMessages | None = None) -> None:
        """Write the documents of an episode: its messages, its summary and its facts.

        ``held`` has its messages, if they were read before. Messages that an earlier run has written are not embedded
        again. Raises ``SearchUnavailable`` and ``EmbedderUnavailable``.
        """
        written = await self._find_written(scope, episode.ref)
        async for batch in self._make_message_documents(scope, thread, episode, held):
            await self._write(scope, [document for document in batch if self._compute_digest(document) not in written])
        # An earlier run may have written facts that were dropped since as duplicates of another episode's.
        await self.search.delete(scope, IndexName.EPISODES, SearchFilter(source_id=episode.ref.id, kinds=(FACT,)))
        await self._write(scope, make_documents(episode, (), episode.summary, episode.facts))

    async def put_facts(self, scope: Scope, episode: Episode) -> None:
        """Write the documents of an episode's facts again, with their current validity. Raises as ``put`` does."""
        await self._write(scope, make_documents(episode, (), None, episode.facts))

    async def remove(self, scope: Scope, ref: EpisodeRef) -> None:
        """Remove every document of an episode. Raises ``SearchUnavailable``."""
        await self.search.delete(scope, IndexName.EPISODES, SearchFilter(source_id=ref.id))

    async def _find_written(self, scope: Scope, ref: EpisodeRef) -> set[bytes]:
        """Return the digests of the messages' documents that are in the index with vectors of this embedder."""
        chosen = SearchFilter(source_id=ref.id, kinds=(MESSAGE,))
        embedder = self.embedder.name if self.embedder.dimensions else None
        return {
            self._compute_digest(document)
            async for document in self.search.list(scope, IndexName.EPISODES, chosen)
            if document.embedder == embedder
        }

    @staticmethod
    def _compute_digest(document: IndexDocument) -> bytes:
        texts = "\0".join(f"{name}\0{view.text}" for name, view in sorted(document.views.items()))
        return hashlib.sha256(f"{document.id}\0{texts}".encode(errors="surrogatepass")).digest()

    async def _write(self, scope: Scope, documents: Sequence[IndexDocument]) -> None:
        if documents:
            embedded = await embed_documents(documents, self.embedder, tenant_id=scope.tenant_id)
            await self.search.put(scope, IndexName.EPISODES, embedded)

    async def _make_message_documents(
        self, scope: Scope, thread: Thread, episode: Episode, held: HeldMessages | None
    ) -> AsyncIterator[list[IndexDocument]]:
        """Yield the messages' documents in batches, each made with its neighbouring messages."""
        async for before, core, after in _divide_into_batches(
            self.messages.read_windows(scope, thread, episode.ref, held)
        ):
            documents = make_documents(episode, [*before, *core, *after], None, ())
            yield documents[len(before) : len(before) + len(core)]


async def _divide_into_batches(
    windows: AsyncIterator[Sequence[EpisodeMessage]],
) -> AsyncIterator[tuple[list[EpisodeMessage], list[EpisodeMessage], list[EpisodeMessage]]]:
    """Yield the messages in batches, each with the messages before and after it: before, batch, after."""
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
