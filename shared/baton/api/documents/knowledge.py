"""The route that searches an agent's documents as a turn would."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import Field

from baton.api.http.dependencies import Caller, UseCases
from baton.api.http.problems import responses
from baton.api.http.schemas import Asked, check_query, describe
from baton.api.threads.access import KnowledgeAgentId, get_agent
from baton.domain.documents.numbered_passages import DOCUMENT_SOURCE
from baton.domain.memory.found_item import FoundItem
from baton.domain.wire_model import TIMESTAMP, Timestamp, WireModel
from baton.knowledge.knowledge_search import MAX_FOUND
from baton.memory.recall.recall import try_knowledge

router = APIRouter(prefix="/v1/agents", tags=["knowledge"])


class KnowledgeRequest(Asked, extra="forbid"):
    """A search in an agent's documents."""

    query: str = describe(
        "Words or a question; not blank. Search operators have no meaning.", "How is the pump started?"
    )
    limit: int = describe("The most items to return.", default=5, ge=1, le=MAX_FOUND)


class KnowledgeSource(WireModel):
    """The place of a text."""

    kind: str = Field(examples=["document"])
    document_id: str = Field(examples=["doc_5d0ad1c6d1b05f6c8d0c0f4a2b1e3d4c"])
    version: int = describe("The version of the document.", 1)
    agent_id: str = Field(examples=["knowledge"])
    library: str | None = describe("The project's library that has the document; null for the agent's own.", None)
    title: str = Field(examples=["Pumps"])
    section: str | None = describe("The headings above the text.", "Pumps > Starting")
    page: int | None = describe("The page on which the text begins; null in formats without pages.", 3)
    last_page: int | None = Field(examples=[4])
    url: str | None = describe("The address of the document, for readers.", "https://example.com/pumps.pdf")


class KnowledgeItem(WireModel):
    """A chunk of a document."""

    id: str = describe("The chunk's id, as in `metadata.sources`.", "doc_5d0ad1c6d1b05f6c8d0c0f4a2b1e3d4c@1#7")
    text: str = describe(
        "The unchanged text; rows of a table follow its header.", "Open the valve by hand before the pump starts."
    )
    score: float = describe("The fused score by which items are ranked, from 0 to 1.", 0.83)
    signals: dict[str, float] = describe(
        "Raw scores: cosine similarity for `meaning`, BM25 for `words`, by view.",
        {"chunk.meaning": 0.61, "chunk.words": 4.2},
    )
    date: Timestamp = describe("The time at which this version of the document was made.", TIMESTAMP)
    included: bool = describe("Whether it is relevant enough for a prompt.")
    reason: str | None = describe("The reason why a prompt would not get it.", "below the relevance floor: 0.130 < 0.2")
    source: KnowledgeSource

    @classmethod
    def from_found(cls, item: FoundItem) -> KnowledgeItem:
        """Return the served form of a chunk."""
        citation = item.source.citation
        return cls.of(
            item,
            text=item.shown,
            date=item.at,
            source=KnowledgeSource.of(citation, kind=DOCUMENT_SOURCE, page=citation.first_page if citation else None),
        )


class FoundKnowledge(WireModel):
    """The passages of an agent's documents about a question."""

    items: list[KnowledgeItem] = describe("Best first.")
    next_cursor: str | None = describe("Always null: there is one page.", None)
    note: str | None = describe("The reason why the search has used words only, without meaning; null otherwise.", None)


@router.post(
    "/{agent_id}/knowledge/search",
    summary="Search an agent's documents",
    responses=responses("search_unavailable store_unavailable"),
)
async def search_knowledge(
    agent_id: KnowledgeAgentId, caller: Caller, app: UseCases, body: KnowledgeRequest
) -> FoundKnowledge:
    """Return the passages that a turn of the caller would find in the agent's documents, without a turn.

    The caller must have the agent's permissions, and gets only documents whose permission they have.
    """
    agent = await get_agent(caller, app, agent_id, action="knowledge.search")
    check_query(body.query)
    knowledge = await try_knowledge(app.knowledge.search, caller, agent, body.query, limit=body.limit)
    return FoundKnowledge(
        items=[KnowledgeItem.from_found(chunk) for chunk in knowledge.chunks],
        next_cursor=None,
        note=knowledge.words_only,
    )
