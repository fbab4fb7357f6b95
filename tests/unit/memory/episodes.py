"""Episodes for tests of their documents and of their search."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

from baton.domain.documents.search import IndexName
from baton.domain.memory.episode import Episode, EpisodeMessage, EpisodeRef, EpisodeStatus, Fact
from baton.domain.runs.usage import Usage
from baton.domain.tenants.identity import Scope
from baton.domain.threads.message import Role
from baton.domain.threads.thread import EndReason
from baton.memory.episodes.episode_index import embed_documents, make_documents
from baton_testing.fakes.documents.embedder import FakeEmbedder
from baton_testing.fakes.documents.search_index import FakeSearchIndex

ADA = Scope("acme", "ada")
MARCH = datetime(2026, 3, 14, 9, 30, tzinfo=UTC)


def episode(name: str = "1", at: datetime = MARCH) -> Episode:
    """Return an episode of a separate thread, of one hour."""
    thread = str(uuid.uuid5(uuid.NAMESPACE_OID, name))
    ref = EpisodeRef(thread, 1, 0, 10, EndReason.TIMEOUT, at + timedelta(hours=1))
    return Episode(ref, "ada", ("assistant",), EpisodeStatus.COMPLETE, at, 10, Usage(0, 0))


def make_messages(texts: Sequence[str], at: datetime = MARCH) -> list[EpisodeMessage]:
    """Return messages of the user and the assistant in turn, a minute apart."""
    return [
        EpisodeMessage(
            f"m{index}",
            index,
            Role.ASSISTANT if index % 2 else Role.USER,
            text,
            at + timedelta(minutes=index),
            "assistant" if index % 2 else None,
        )
        for index, text in enumerate(texts)
    ]


def fact(name: str, text: str, on: date = date(2026, 3, 14), superseded_by: Fact | None = None) -> Fact:
    """Return a fact, valid unless another one superseded it."""
    valid_fact = Fact(name, text, on, ("m0",))
    if superseded_by is None:
        return valid_fact
    return replace(valid_fact, superseded_at=MARCH + timedelta(days=3), superseded_by=superseded_by.id)


async def store(
    index: FakeSearchIndex,
    of: Episode,
    texts: Sequence[str] = (),
    *,
    summary: str | None = None,
    facts: Sequence[Fact] = (),
    embedder: FakeEmbedder | None = None,
    scope: Scope = ADA,
) -> None:
    """Put an episode into the index."""
    documents = make_documents(of, make_messages(texts, of.started_at), summary, facts)
    await index.put(scope, IndexName.EPISODES, await embed_documents(documents, embedder or FakeEmbedder()))
