"""What a retrieval finds for a message, and what of it a prompt gets: the shapes of recall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Any

from baton.domain.citation import Citation
from baton.domain.procedure import Procedure, ProcedureScope
from baton.domain.search import Vector
from baton.ports.chat_model import Prompt

CLOSE = 0.03
"""Procedures whose cosine similarities differ by no more are equally likely to be meant."""


class BlockKind(StrEnum):
    """The parts of a prompt, in their order."""

    SYSTEM = "system"
    PROCEDURE = "procedure"
    KNOWLEDGE = "knowledge"
    EPISODES = "episodes"
    HISTORY = "history"
    CURRENT = "current"


@dataclass(frozen=True, slots=True)
class ItemSource:
    """What an item was taken from: messages and an episode of a conversation, or a document of an agent."""

    thread_id: str | None = None
    """The conversation; None if it is the one of the prompt, or there is none."""
    episode_id: str | None = None
    message_ids: tuple[str, ...] = ()
    document_id: str | None = None
    agent_id: str | None = None
    """Who said the message, or whose document it is."""
    citation: Citation | None = None
    """Where in the document it stands."""


@dataclass(frozen=True, slots=True)
class FoundItem:
    """One thing that was found: a message, a fact or a summary of a past conversation, or a chunk of a document."""

    id: str
    kind: str
    """``message``, ``fact``, ``summary`` or ``chunk``."""
    title: str
    """Its source: who said it, or the document's title."""
    text: str
    """The whole text, without its date."""
    at: datetime
    score: float
    """The fused score, from 0 to 1. It ranks the items of one search and says nothing about relevance."""
    signals: Mapping[str, float] = field(default_factory=dict)
    """Raw scores of the search by "view.signal"."""
    cosine: float | None = None
    """The best cosine similarity to the message; None if the item has no vector that is comparable."""
    by_words: bool = False
    """True if only its words have found it: it is none of the most similar."""
    thread_id: str | None = None
    message_ids: tuple[str, ...] = ()
    """The messages of the thread that it consists of or was taken from; empty if they are not known."""
    superseded_at: datetime | None = None
    """When a later fact contradicted it; None while it is valid."""
    superseded_by: str | None = None
    """The id of that fact's item."""
    role: str | None = None
    """Who said a message."""
    source_id: str | None = None
    """The episode, or the document of a chunk."""
    agent_id: str | None = None
    """The agent that said a message, or whose document it is."""
    citation: Citation | None = None
    """Where in a document a chunk stands."""
    passage: str | None = None
    """The part of a long chunk that is most similar to the message."""
    terms: tuple[str, ...] = ()
    """The codes, numbers and names of the message that it alone has, of all chunks found."""
    day: date | None = None
    """The user's day when it was said, or that a fact is about; None if it is not known: then the day of ``at``."""

    @property
    def source(self) -> ItemSource:
        """Return what it was taken from."""
        if self.thread_id is None:
            return ItemSource(document_id=self.source_id, agent_id=self.agent_id, citation=self.citation)
        return ItemSource(self.thread_id, self.source_id, self.message_ids, agent_id=self.agent_id)


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What one retrieval found, best first."""

    items: tuple[FoundItem, ...] = ()
    duration: timedelta = timedelta()
    error: str | None = None
    """Why it found nothing, or why it searched by words only."""
    is_asked: bool = False
    """Whether anything was searched. A retrieval that an agent's file switches off is not."""


@dataclass(frozen=True, slots=True)
class ProcedureMatch:
    """A procedure, and how well it fits the message."""

    procedure: Procedure
    trigger: str | None
    """The trigger that the message matches; None if the procedure was compared by meaning."""
    cosine: float | None = None

    @property
    def score(self) -> float:
        """1 for a matching trigger, otherwise the cosine similarity, at least 0."""
        return 1.0 if self.trigger is not None else max(0.0, self.cosine or 0.0)


@dataclass(frozen=True, slots=True)
class ProcedureRetrieval:
    """The procedures that were compared with a message, best first."""

    matches: tuple[ProcedureMatch, ...] = ()
    duration: timedelta = timedelta()
    error: str | None = None

    def rivals(self, floor: float) -> tuple[ProcedureMatch, ...]:
        """Return the procedures that fit the message, best first. More than one is ambiguous.

        Those are all whose triggers match; without any, the most similar one from ``floor`` on, and others that are
        nearly as similar. Among these, approved ones come before private skills.
        """
        triggered = tuple(match for match in self.matches if match.trigger is not None)
        if triggered:
            return triggered
        least = max(floor, self.matches[0].score - CLOSE) if self.matches else floor
        close = [match for match in self.matches if match.score >= least]
        return tuple(sorted(close, key=lambda match: match.procedure.scope is ProcedureScope.USER))


@dataclass(frozen=True, slots=True)
class Found:
    """Everything that was found for one message, before any of it is chosen."""

    query: str = ""
    vector: Vector | None = None
    """The message's embedding; None if there is none."""
    procedure: ProcedureRetrieval = ProcedureRetrieval()
    knowledge: Retrieval = Retrieval()
    episodes: Retrieval = Retrieval()


NOTHING_FOUND = Found()


@dataclass(frozen=True, slots=True)
class RecalledItem:
    """An item with the decision on it."""

    id: str
    title: str
    text: str
    at: datetime | None
    score: float | None
    signals: Mapping[str, float]
    tokens: int
    """Tokens in the prompt; of an item that was dropped, 0."""
    reason: str | None
    """Why it was left out; None if it is in the prompt."""
    kind: str = ""
    role: str | None = None
    source: ItemSource | None = None
    passage: str | None = None
    """The part of a long text that is most similar to the message."""
    ambiguous: bool = False
    """Whether it is one of several procedures that fit the message."""
    day: date | None = None
    """The user's day when it was said; None if that is not known."""

    @property
    def included(self) -> bool:
        return self.reason is None


@dataclass(frozen=True, slots=True)
class RecalledBlock:
    """One block of a prompt: what it holds, what was left out, and its messages. An empty one has no messages."""

    kind: BlockKind
    items: tuple[RecalledItem, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    tokens: int = 0
    """Tokens of ``prompts``."""
    duration: timedelta | None = None
    error: str | None = None

    @property
    def included(self) -> Sequence[RecalledItem]:
        """Return the items in the prompt."""
        return [item for item in self.items if item.included]


@dataclass(frozen=True, slots=True)
class Recalled:
    """The retrieved blocks of a prompt."""

    procedure: RecalledBlock = RecalledBlock(BlockKind.PROCEDURE)
    knowledge: RecalledBlock = RecalledBlock(BlockKind.KNOWLEDGE)
    episodes: RecalledBlock = RecalledBlock(BlockKind.EPISODES)
    procedures: tuple[Procedure, ...] = ()
    """The procedure in its block."""

    @property
    def blocks(self) -> tuple[RecalledBlock, RecalledBlock, RecalledBlock]:
        """Return the blocks in the order of the prompt."""
        return self.procedure, self.knowledge, self.episodes

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """Return the messages of all blocks in their order; none if nothing was recalled."""
        return tuple(prompt for block in self.blocks for prompt in block.prompts)

    @property
    def cited(self) -> Sequence[dict[str, Any]]:
        """Return the documents' chunks in the prompt, as entries of a message's ``metadata.sources``, best first."""
        items = sorted(self.knowledge.included, key=lambda item: -(item.score or 0.0))
        return [
            item.source.citation.as_source(item.score)
            for item in items
            if item.source is not None and item.source.citation is not None
        ]

    @property
    def tokens(self) -> int:
        """Return the tokens of all messages."""
        return sum(block.tokens for block in self.blocks)


NOTHING_RECALLED = Recalled()
