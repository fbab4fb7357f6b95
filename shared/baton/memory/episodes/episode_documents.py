"""The documents of an episode in the search index."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time
from typing import Any

from baton.domain.documents.search import IndexDocument, IndexedText, Vector
from baton.domain.memory.episode import Episode, EpisodeMessage, Fact
from baton.ports.documents.search import Embedder, EmbeddingPurpose

MESSAGE, SUMMARY, FACT = "message", "summary", "fact"
"""The kinds of documents."""
TURN, PAIR, WINDOW = "turn", "pair", "window"
"""The views of a message: alone, after the one before it, and with those around it."""
DIGEST = "digest"
"""The view of summaries and facts. They compete with each other, not with messages."""
AROUND = 3
"""Messages of a window on either side."""
MAX_INDEXED = 20_000
"""Characters of a message that are searched."""
MAX_NEIGHBOUR = 300
"""Characters of a message in the views of its neighbours: what it is about, and not all of a long answer, which would
drown the message itself."""
MAX_SHOWN = 8_000
"""Characters of a text that a search returns."""
# Not by ``strftime``, whose names depend on the machine's locale.
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def episode_documents(
    episode: Episode, messages: Sequence[EpisodeMessage], summary: str | None, facts: Sequence[Fact]
) -> list[IndexDocument]:
    """Return the documents of the messages in their order, then of the summary, then of the facts, without vectors.

    The user's day precedes every searched text. ``messages`` may be a part of the episode's: those at its
    ends are then indexed with the neighbours that are given.
    """
    documents = [_message(episode, messages, index) for index in range(len(messages))]
    if summary:
        documents.append(_summary(episode, summary))
    return documents + [_fact(episode, fact) for fact in facts]


async def embed_documents(
    documents: Sequence[IndexDocument], embedder: Embedder, *, tenant_id: str | None = None
) -> list[IndexDocument]:
    """Return the documents with vectors of all their views; without, if embedding is switched off.

    Raises ``EmbedderUnavailable``.
    """
    if not embedder.dimensions:
        return list(documents)
    # A first message is alone in two views.
    texts = list(dict.fromkeys(view.embedded for document in documents for view in document.views.values()))
    embedded = await embedder.embed(texts, purpose=EmbeddingPurpose.DOCUMENT, tenant_id=tenant_id)
    vectors = dict(zip(texts, embedded, strict=True))
    return [_add_vectors(document, vectors, embedder.name) for document in documents]


def _add_vectors(document: IndexDocument, vectors: dict[str, Vector], embedder: str) -> IndexDocument:
    views = {name: replace(view, vector=vectors[view.embedded]) for name, view in document.views.items()}
    return replace(document, views=views, embedder=embedder)


def _message(episode: Episode, messages: Sequence[EpisodeMessage], index: int) -> IndexDocument:
    message = messages[index]

    def with_neighbours(before: int, after: int) -> IndexedText:
        near = messages[max(0, index - before) : index + after + 1]
        # The message comes first, then the nearest: embedding models cut long texts at their ends.
        near = sorted(near, key=lambda episode_message: abs(episode_message.ordinal - message.ordinal))
        texts = [
            episode_message.text[: MAX_INDEXED if episode_message is message else MAX_NEIGHBOUR]
            for episode_message in near
        ]
        return _add_date_in_words(message.day, "\n".join(texts))

    fields = {
        "message_id": message.id,
        "ordinal": message.ordinal,
        "role": message.role.value,
        "timestamp": message.timestamp.isoformat(),
        **_day(message.time_zone, message.day),
    }
    return _document(
        episode,
        MESSAGE,
        message.id,
        {TURN: with_neighbours(0, 0), PAIR: with_neighbours(1, 0), WINDOW: with_neighbours(AROUND, AROUND)},
        text=message.text,
        at=message.timestamp,
        agent_id=message.agent_id,
        fields=fields,
    )


def _summary(episode: Episode, summary: str) -> IndexDocument:
    view = _add_date(episode.began_on, summary[:MAX_INDEXED])
    fields = _day(episode.time_zone, episode.began_on)
    return _document(episode, SUMMARY, "", {DIGEST: view}, text=summary, at=episode.started_at, fields=fields)


def _fact(episode: Episode, fact: Fact) -> IndexDocument:
    fields = {
        "fact_id": fact.id,
        "on": fact.on.isoformat(),
        "message_ids": list(fact.message_ids),
        "superseded_at": fact.superseded_at.isoformat() if fact.superseded_at else None,
        "superseded_by": fact.superseded_by,
    }
    view = _add_date(fact.on, fact.text[:MAX_INDEXED])
    at = datetime.combine(fact.on, time(), UTC)
    return _document(episode, FACT, fact.id, {DIGEST: view}, text=fact.text, at=at, fields=fields)


def _document(
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


def _day(time_zone: str | None, day: date) -> dict[str, Any]:
    """Return the field with the user's day; nothing if their time zone is not known."""
    return {"day": day.isoformat()} if time_zone is not None else {}


def _add_date(at: date, text: str) -> IndexedText:
    return IndexedText(f"{at:%Y-%m-%d}: {text}")


def _add_date_in_words(at: date, text: str) -> IndexedText:
    """Put the date in front in numbers and in words, because questions name months and weekdays."""
    in_words = f"{_WEEKDAYS[at.weekday()]}, {at.day} {_MONTHS[at.month - 1]} {at.year}"
    return IndexedText(f"{at:%Y-%m-%d} ({in_words}): {text}")
