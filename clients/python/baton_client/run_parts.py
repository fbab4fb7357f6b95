"""Parts of a run's result: sources of its answers, and the tokens of its models."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NotRequired, TypedDict

from pydantic import Field, ValidationError

from baton_client.model_base import Model


class CitedPlace(Model):
    """A place of a text where it cites a passage, in characters."""

    start: int
    end: int


class Source(Model):
    """A source of an answer: a consulted agent, a passage of a document, a file, or a tool's own source.

    Further fields of tools are in ``model_extra``.
    """

    kind: str
    """``agent``, ``document``, ``file``, or a tool's own word."""
    id: str
    title: str | None = None
    agent_id: str | None = None
    """The agent that owns the document or file."""
    score: float | None = None
    """The relevance of a passage."""
    section: str | None = None
    """The headings above a passage."""
    page: int | None = None
    """The first page of a passage; ``None`` in formats without pages."""
    chunk: str | None = None
    """The id of a passage, which ``client.documents.search`` shows too."""
    number: int | None = None
    """The number by which a text cites a passage, as in ``[2]``."""
    excerpt: str | None = None
    """Words of a passage that is cited."""
    places: list[CitedPlace] = Field(default_factory=list)
    """The places where the message's text cites the passage by number."""
    url: str | None = None
    """The address of the document; the address of a file works for 15 minutes."""
    media_type: str | None = None
    """The type of a file."""
    is_kept: bool | None = None
    """Whether a file is among the conversation's files."""


class Person(Model):
    """A person of a desk, as users see them."""

    id: str
    name: str
    avatar_url: str | None = None

    @classmethod
    def of(cls, raw: Any) -> Person | None:
        """Return the author of a message as a server sent it; ``None`` for agents."""
        try:
            return cls.model_validate(raw) if raw else None
        except ValidationError:
            return None


class ModelUsage(Model):
    """The tokens of a model in a run."""

    model: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    cached_input_tokens: int | None = None
    """Input tokens that the provider read from its prompt cache; ``None`` if it did not say."""


class UploadedPart(TypedDict):
    """A file of a message, as ``client.threads.files.upload`` returns it: put it into the message as it is."""

    type: str
    """``document``, ``image`` or another kind of part."""
    source: dict[str, Any]
    metadata: NotRequired[dict[str, Any]]


def parse_sources(raw_sources: Iterable[Any] | None) -> list[Source]:
    """Return sources as a server sent them. A malformed one is kept, because tools name its fields as they like."""
    return [_parse_source(raw_source) for raw_source in raw_sources or () if isinstance(raw_source, dict)]


def _parse_source(raw: dict[str, Any]) -> Source:
    try:
        return Source.model_validate(raw)
    except ValidationError:
        names = {"kind": str(raw.get("kind")), "id": str(raw.get("id"))}
        return Source.model_construct(**{**raw, **names})
