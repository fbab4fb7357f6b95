"""Past conversations and documents in a search index, as tests put them there."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from baton.domain.identity import Scope
from baton.domain.search import IndexDocument, IndexedText, IndexName
from baton.memory.episodes.episode_documents import DIGEST, MESSAGE, TURN
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.search_index import FakeSearchIndex

MARCH = datetime(2026, 3, 14, 9, 26, tzinfo=UTC)


async def remember(
    search: FakeSearchIndex,
    embedder: FakeEmbedder,
    scope: Scope,
    text: str,
    *,
    kind: str = MESSAGE,
    at: datetime = MARCH,
    thread_id: str | None = None,
    document_id: str | None = None,
    is_embedded: bool = True,
    neighbours: Mapping[str, str] | None = None,
    **fields: Any,
) -> IndexDocument:
    """Put a message, a fact or a summary of a past conversation into the index.

    ``neighbours`` are the texts of other views of a message.
    """
    dated = f"{at.date()}: {text}"
    view = IndexedText(dated, embedder.vector(dated) if is_embedded else None)
    around = {name: IndexedText(text, embedder.vector(text)) for name, text in (neighbours or {}).items()}
    told = {"message_id": f"m-{uuid.uuid4()}", "role": "user"} if kind == MESSAGE else {}
    document = IndexDocument(
        id=document_id or str(uuid.uuid4()),
        source_id=f"episode-{at.date()}",
        kind=kind,
        views={TURN if kind == MESSAGE else DIGEST: view, **around},
        at=at,
        thread_id=thread_id or str(uuid.uuid4()),
        embedder=embedder.name if is_embedded else None,
        fields={"text": text, **told, **fields},
    )
    await search.put(scope, IndexName.EPISODES, [document])
    return document


async def learn(
    search: FakeSearchIndex,
    embedder: FakeEmbedder,
    scope: Scope,
    agent_id: str,
    text: str,
    *,
    title: str = "Handbook",
    at: datetime = MARCH,
) -> IndexDocument:
    """Put a chunk of a document of an agent into the index."""
    document = IndexDocument(
        id=str(uuid.uuid4()),
        source_id="document-1",
        kind="chunk",
        views={"chunk": IndexedText(text, embedder.vector(text))},
        at=at,
        agent_id=agent_id,
        embedder=embedder.name,
        fields={"text": text, "title": title},
    )
    await search.put(scope, IndexName.KNOWLEDGE, [document])
    return document
