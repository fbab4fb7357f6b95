"""The Context Inspector: its policy, and its records of items of a prompt."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from baton.domain.memory.found_item import NO_SOURCE, PROCEDURE, FoundItem, ItemSource
from baton.domain.times import to_iso
from baton.domain.wire_model import THREAD_ID, TIMESTAMP, WireModel


class InspectorMode(StrEnum):
    """The share of turns that are recorded."""

    ALL = "all"
    SAMPLE = "sample"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class InspectionPolicy:
    """A deployment's choice of the runs that the Context Inspector records."""

    mode: InspectorMode = InspectorMode.ALL
    rate: float = 0.1
    """The share of turns that the mode ``sample`` records, from 0 to 1."""
    redacts: bool = False
    """Whether personal data is removed from the records."""

    def records(self, run_id: str) -> bool:
        """Return whether a run is recorded. The result is the same for every attempt at the run."""
        if self.mode is InspectorMode.SAMPLE:
            position = int.from_bytes(hashlib.sha256(run_id.encode("utf-8", "replace")).digest()[:8])
            return position < self.rate * 2**64
        return self.mode is InspectorMode.ALL


class RecordedModel(WireModel):
    """A shape that is stored as it is served."""

    model_config = ConfigDict(alias_generator=to_camel)

    def to_stored(self) -> dict[str, Any]:
        """Return the fields that were set, as JSON values. Texts may contain surrogates that UTF-8 cannot encode."""
        return self.model_dump(by_alias=True, exclude_unset=True)


class ContextSource(RecordedModel):
    """The origin of an item."""

    thread_id: str | None = Field(
        description="The conversation of what was recalled; null in `history`, and for documents.", examples=[THREAD_ID]
    )
    episode_id: str | None = Field(description="The session in it.", examples=["0f2d5c1e-3b64-5c9e-8f0e-3a1c2f7f9f10"])
    message_ids: list[str] = Field(description="Its messages; empty for a summary.", examples=[["m-1"]])
    document_id: str | None = Field(description="The document of a chunk.", examples=[None])
    agent_id: str | None = Field(
        description="The agent that said the message, or whose document it is.", examples=[None]
    )
    section: str | None = Field(default=None, description="The headings above a chunk.", examples=[None])
    pages: str | None = Field(default=None, description="The page or pages of a chunk, as in `3-4`.", examples=[None])
    url: str | None = Field(default=None, description="The address of its document.", examples=[None])
    library: str | None = Field(
        default=None, description="The library of the project that has its document.", examples=[None]
    )


class ContextItem(RecordedModel):
    """One item of a block, in the prompt or left out of it."""

    id: str = Field(
        description="The id of the message, fact or procedure, or of the summary's or chunk's document in search.",
        examples=["fact_5d0ad1c6d1b05f6c8d0c0f4a2b1e3d4c"],
    )
    kind: str = Field(description="Its kind: a message, a fact, a chunk, a procedure.", examples=["fact"])
    title: str = Field(
        description="The speaker of a message, the title of a document, the name of a procedure; `noted` for a fact.",
        examples=["noted"],
    )
    text: str = Field(examples=["The user's cat is called Miso."])
    date: str | None = Field(examples=[TIMESTAMP])
    score: float | None = Field(description="The fused score by which items are ranked, from 0 to 1.", examples=[0.83])
    signals: dict[str, float] = Field(
        description="Raw scores: cosine similarity for `meaning`, BM25 for `words`, by view.",
        examples=[{"turn.meaning": 0.61, "turn.words": 4.2}],
    )
    tokens: int = Field(description="Tokens in the prompt; 0 for an item that was left out.", examples=[21])
    included: bool
    reason: str | None = Field(
        description="The reason for which it was left out.", examples=["below the relevance floor: 0.130 < 0.2"]
    )
    masked: bool = Field(
        default=False, description="Whether the prompt has only the length of this tool's result.", examples=[False]
    )
    ambiguous: bool = Field(
        default=False, description="Whether it is one of several procedures that fit the message.", examples=[False]
    )
    number: int | None = Field(
        default=None,
        exclude_if=lambda number: number is None,
        description="The number by which answers cite a chunk; absent for other items.",
        examples=[2],
    )
    source: ContextSource | None = Field(
        default=None, description="Its origin; null for procedures written by hand, and for texts of an agent's file."
    )

    @classmethod
    def from_found(cls, item: FoundItem) -> ContextItem:
        """Return the record of a found item. A procedure has no date: its title names its version."""
        context_item = cls.create(
            item.id,
            item.kind,
            item.title,
            item.shown,
            item.tokens,
            date=to_iso(item.at) if item.kind != PROCEDURE else None,
            score=round(item.score, 4),
            signals={name: round(score, 4) for name, score in item.signals.items()},
            included=item.included,
            reason=item.reason,
            ambiguous=item.ambiguous,
            source=_make_source(item.source),
        )
        if item.number is not None:
            context_item.number = item.number
        return context_item

    @classmethod
    def create(cls, id_: str, kind: str, title: str, text: str, tokens: int, **more: Any) -> ContextItem:
        """Return an item of a prompt, with ``more`` fields. Nothing is validated, because texts may be malformed."""
        fields: dict[str, Any] = dict.fromkeys(("date", "score", "reason", "source"))
        fields |= {"included": True, "ambiguous": False, "signals": {}, **more}
        return cls.model_construct(id=id_, kind=kind, title=title, text=text, tokens=tokens, **fields)


def _make_source(source: ItemSource) -> ContextSource | None:
    if source == NO_SOURCE:
        return None
    citation = source.citation
    return ContextSource.model_construct(
        thread_id=source.thread_id,
        episode_id=source.episode_id,
        message_ids=list(source.message_ids),
        document_id=source.document_id,
        agent_id=source.agent_id,
        section=citation.section if citation is not None else None,
        pages=citation.pages if citation is not None else None,
        url=citation.url if citation is not None else None,
        library=citation.library if citation is not None else None,
    )
