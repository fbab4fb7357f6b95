"""TEMPORARY until merged."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace

from baton.domain.episode import Episode, EpisodeMessage, Fact
from baton.domain.search import IndexDocument, IndexedText
from baton.ports.embedder import Embedder


def episode_documents(
    episode: Episode, messages: Sequence[EpisodeMessage], summary: str | None, facts: Sequence[Fact]
) -> list[IndexDocument]:
    def document(kind: str, name: str, text: str, at: object) -> IndexDocument:
        return IndexDocument(
            id=str(uuid.uuid5(uuid.UUID(episode.ref.id), f"{kind}:{name}")),
            source_id=episode.ref.id,
            kind=kind,
            views={"turn": IndexedText(f"{episode.started_at:%Y-%m-%d}: {text}")},
            at=episode.started_at,
            thread_id=episode.ref.thread_id,
            fields={"text": text, "name": name},
        )

    found = [document("message", m.id, m.text, m.timestamp) for m in messages]
    if summary:
        found.append(document("summary", "summary", summary, episode.started_at))
    return found + [document("fact", f.id, f.text, f.on) for f in facts]


async def embedded(documents: Sequence[IndexDocument], embedder: Embedder) -> list[IndexDocument]:
    vectors = await embedder.embed([d.views["turn"].text for d in documents])
    if not vectors:
        return list(documents)
    return [
        replace(d, views={"turn": replace(d.views["turn"], vector=v)}, embedder=embedder.name)
        for d, v in zip(documents, vectors, strict=True)
    ]
