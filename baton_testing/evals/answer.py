"""One run of a case: the conversation, in the form that checks read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from baton_client.models import Message
from baton_testing.observation import Called


@dataclass(frozen=True, slots=True)
class Source:
    """A document, with all of its names."""

    id: str = ""
    title: str = ""
    url: str = ""
    file: str = ""
    """The file's name."""

    def is_named(self, name: str) -> bool:
        """Return whether ``name`` is one of its names; upper and lower case are the same."""
        folded_name = name.casefold().strip()
        return bool(folded_name) and folded_name in {
            label.casefold() for label in (self.id, self.title, self.url, self.file)
        }

    def __str__(self) -> str:
        return self.title or self.file or self.url or self.id


@dataclass(frozen=True, slots=True)
class Answer:
    """The last answer of a conversation, and how it came about."""

    text: str = ""
    """Everything that agents said after the last turn of the user, without the words of people at desks."""
    result: Any = None
    """The value of the last structured answer."""
    answered_by: str | None = None
    delivered: bool = False
    """Whether the last message went to people of a desk, so that no agent answered it."""
    people: tuple[str, ...] = ()
    """The names of the people who wrote to the user."""
    calls: tuple[Called, ...] = ()
    consulted: tuple[str, ...] = ()
    handoffs: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    """The documents that the last answer names as its sources."""
    retrieved: tuple[Source, ...] | None = None
    """A document for each passage that was retrieved for the last turn, the best passage first.

    None if that is not recorded, or may not be read.
    """
    tokens: int = 0
    usd: float | None = None
    """None if the price is unknown."""
    seconds: float = 0.0
    """Seconds of real time that the user waited."""
    error: str | None = None
    """The reason why the conversation was not completed."""
    transcript: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """Texts that may explain the answer, such as tools that agents went without."""
    thread_id: str | None = None
    """The id of the conversation, if it is stored."""


def read_source(values: Mapping[str, Any]) -> Source:
    """Return a source of an answer, as events and messages have it."""
    return Source(*(str(values.get(name) or "") for name in ("id", "title", "url")))


def read_retrieved(record: Mapping[str, Any]) -> tuple[Source, ...]:
    """Return the passages of documents in a Context Inspector's record, of all agents, the best first."""
    scored_sources: list[tuple[float, Source]] = []
    for block in record.get("blocks", ()):
        for item in block.get("items", ()):
            origin = item.get("source") or {}
            if origin.get("documentId"):
                names = (origin["documentId"], item.get("title"), origin.get("url"))
                scored_sources.append((float(item.get("score") or 0.0), Source(*(str(name or "") for name in names))))
    scored_sources.sort(key=lambda scored: -scored[0])  # stable: equal scores keep the order of the prompt
    return tuple(source for _, source in scored_sources)


def with_files(sources: Sequence[Source], files: Mapping[str, str]) -> tuple[Source, ...]:
    """Return sources with the names of their files. ``files`` has the names by the documents' ids."""
    return tuple(Source(source.id, source.title, source.url, files.get(source.id, "")) for source in sources)


def read_text(message: Message) -> str:
    """Return the text of a stored message: its text parts, each from a new line; empty without such parts."""
    content = message.content or ""
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content if part.get("type") == "text")
