"""Items of memory that a search finds for a message."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime

from baton.domain.documents.numbered_passages import Citation


@dataclass(frozen=True, slots=True)
class ItemSource:
    """The source of an item: messages and an episode of a conversation, or a document of an agent."""

    thread_id: str | None = None
    """The conversation; None for the conversation of the prompt, and for documents and procedures."""
    episode_id: str | None = None
    message_ids: tuple[str, ...] = ()
    """The messages of which the item consists or from which it was taken; empty if they are not known."""
    document_id: str | None = None
    agent_id: str | None = None
    """The agent that said the message, or whose document it is."""
    citation: Citation | None = None
    """The position in the document."""


NO_SOURCE = ItemSource()
PROCEDURE = "procedure"
"""The kind of an item that is a procedure."""


@dataclass(frozen=True, slots=True)
class FoundItem:
    """A message, a fact or a summary of a past conversation, a chunk of a document, or a procedure."""

    id: str
    kind: str
    """``message``, ``fact``, ``summary``, ``chunk`` or ``procedure``."""
    title: str
    """The speaker of a message, the title of a document, the name of a procedure, or words for a fact or a summary."""
    text: str
    """The whole text, verbatim and without its date."""
    at: datetime
    """The time at which it was said, or at which the version of its document or procedure was created."""
    score: float
    """The fused score, from 0 to 1. It ranks the items of one search and says nothing about relevance."""
    signals: Mapping[str, float] = field(default_factory=dict)
    """Raw scores of the search by "view.signal"."""
    cosine: float | None = None
    """The best cosine similarity to the message; None if the item has no vector that is comparable."""
    by_words: bool = False
    """True if it was found only by its words, and is not among the most similar items."""
    source: ItemSource = NO_SOURCE
    superseded_at: datetime | None = None
    """The time at which a later fact contradicted it; None while it is valid."""
    superseded_by: str | None = None
    """The id of the later fact's item."""
    role: str | None = None
    """The role that said a message."""
    table_header: str | None = None
    """The names of the columns, if a chunk begins in the middle of a table, below them."""
    passage: str | None = None
    """The part of a long chunk that is most similar to the message."""
    terms: tuple[str, ...] = ()
    """The codes, numbers and names of the message that no other found chunk contains."""
    day: date | None = None
    """The user's day on which it was said, or that a fact is about; None if the day of ``at`` counts."""
    reason: str | None = None
    """The reason why it is left out of the prompt; None if it is in the prompt."""
    line: str = ""
    """Its line in the prompt."""
    tokens: int = 0
    """Tokens in the prompt; 0 if it is left out."""
    number: int | None = None
    """The number of a chunk in the prompt."""
    excerpt: str = ""
    """The part of a chunk's text that a reader is shown beside a citation; empty if it is not in the prompt."""
    ambiguous: bool = False
    """True if it is one of several procedures that fit the message."""

    @property
    def included(self) -> bool:
        """True if it is in the prompt."""
        return self.reason is None

    @property
    def shown(self) -> str:
        """The text for readers and models, below the header of its table if it has one."""
        return put_below_header(self.table_header, self.text)


def put_below_header(header: str | None, rows: str) -> str:
    """Return the rows of a table below their ``header``, or other text, which has none, as it is."""
    return f"{header}\n{rows}" if header else rows
