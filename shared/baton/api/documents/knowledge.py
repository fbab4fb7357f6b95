"""Try what an agent finds in its documents."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import ConfigDict, Field

from baton.api.http.dependencies import Caller, UseCases
from baton.api.http.problems import responses
from baton.api.http.schemas import Asked, check_query
from baton.api.threads.access import KnowledgeAgentId, agent_of
from baton.domain.documents.citation import DOCUMENT_SOURCE
from baton.domain.memory.found_item import FoundItem
from baton.domain.wire_model import TIMESTAMP, Timestamp, WireModel
from baton.knowledge.knowledge_search import MAX_FOUND
from baton.memory.recall.retrievals import try_knowledge

router = APIRouter(prefix="/v1/agents", tags=["knowledge"])


class KnowledgeRequest(Asked):
    """A question to an agent's documents."""

    model_config = ConfigDict(extra="forbid")

    query: str = Field(
        description="Words, or a question; not blank. Operators mean nothing.", examples=["How is the pump started?"]
    )
    limit: int = Field(default=5, ge=1, le=MAX_FOUND, description="Items that are returned at most.")


class KnowledgeSource(WireModel):
    """The place of a text."""

    kind: str = Field(examples=["document"])
    document_id: str = Field(examples=["doc_5d0ad1c6d1b05f6c8d0c0f4a2b1e3d4c"])
    version: int = Field(description="The version of the document.", examples=[1])
    agent_id: str = Field(examples=["knowledge"])
    title: str = Field(examples=["Pumps"])
    section: str | None = Field(description="The headings above the text.", examples=["Pumps > Starting"])
    page: int | None = Field(description="The page of its beginning; null in formats without pages.", examples=[3])
    last_page: int | None = Field(examples=[4])
    url: str | None = Field(
        description="The address of the document, for readers.", examples=["https://example.com/pumps.pdf"]
    )


class KnowledgeItem(WireModel):
    """A chunk of a document."""

    id: str = Field(
        description="The chunk's, as in `metadata.sources`.", examples=["doc_5d0ad1c6d1b05f6c8d0c0f4a2b1e3d4c@1#7"]
    )
    text: str = Field(
        description="Verbatim; rows of a table stand below its header.",
        examples=["Open the valve by hand before the pump starts."],
    )
    score: float = Field(description="Fused, from 0 to 1; it ranks the items.", examples=[0.83])
    signals: dict[str, float] = Field(
        description="Raw scores: cosine similarity for `meaning`, BM25 for `words`, by view.",
        examples=[{"chunk.meaning": 0.61, "chunk.words": 4.2}],
    )
    date: Timestamp = Field(
        description="The time at which this version of the document was made.", examples=[TIMESTAMP]
    )
    included: bool = Field(description="Whether it is relevant enough for a prompt.")
    reason: str | None = Field(
        description="The reason that a prompt would not get it.", examples=["below the relevance floor: 0.130 < 0.2"]
    )
    source: KnowledgeSource

    @classmethod
    def found(cls, item: FoundItem) -> KnowledgeItem:
        """Return the served form of a chunk."""
        citation = item.source.citation
        return cls.of(
            item,
            text=item.shown,
            date=item.at,
            source=KnowledgeSource.of(citation, kind=DOCUMENT_SOURCE, page=citation.first_page if citation else None),
        )


class FoundKnowledge(WireModel):
    """The texts of an agent's documents about a question."""

    items: list[KnowledgeItem] = Field(description="Best first.")
    next_cursor: str | None = Field(description="Always null: there is one page.", examples=[None])
    note: str | None = Field(description="The reason that words decided alone, if they did.", examples=[None])


@router.post(
    "/{agent_id}/knowledge/search",
    summary="Search an agent's documents",
    responses=responses("search_unavailable store_unavailable"),
)
async def search_knowledge(
    agent_id: KnowledgeAgentId, caller: Caller, app: UseCases, body: KnowledgeRequest
) -> FoundKnowledge:
    """Return what a turn of the caller's would find in the agent's documents, without a turn.

    The caller must have the agent's permissions, and gets only documents whose permission they hold.
    """
    agent = await agent_of(caller, app, agent_id, action="knowledge.search")
    check_query(body.query)
    knowledge = await try_knowledge(app.knowledge.search, caller, agent, body.query, limit=body.limit)
    return FoundKnowledge(
        items=[KnowledgeItem.found(chunk) for chunk in knowledge.chunks], next_cursor=None, note=knowledge.words_only
    )
