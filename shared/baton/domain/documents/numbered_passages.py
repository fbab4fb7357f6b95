"""Passages of documents: their citations, their numbers in the prompts of a run, and texts that cite them elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from baton.domain.documents.citation_marks import CitationMark, replace_marks

AGENT_SOURCE = "agent"
"""The kind of a source that is a consulted agent."""
DOCUMENT_SOURCE = "document"
"""The kind of a source that is a document."""
FILE_SOURCE = "file"
"""The kind of a source that is a file of a remote agent's answer."""


@dataclass(frozen=True, slots=True)
class Citation:
    """A chunk of a document of an agent, as readers can find it."""

    document_id: str
    title: str
    agent_id: str
    """The agent that found it."""
    version: int
    chunk_id: str
    section: str | None = None
    """The path of headings above it."""
    first_page: int | None = None
    last_page: int | None = None
    url: str | None = None
    library: str | None = None
    """The project's library that contains the document; None: it is a document of the agent."""
    page_unit: str = "page"
    """The kind of its pages: ``page``, or ``sheet`` of a workbook."""

    @property
    def pages(self) -> str | None:
        """Its pages, as in "3" or "3-4"."""
        if self.first_page is None:
            return None
        last = self.last_page
        return f"{self.first_page}-{last}" if last not in (None, self.first_page) else str(self.first_page)

    def as_source(self, score: float | None) -> dict[str, Any]:
        """Return the citation as an entry of a message's ``metadata.sources``, with its search's ``score`` if known."""
        return {
            "kind": DOCUMENT_SOURCE,
            "id": self.document_id,
            "title": self.title,
            "agentId": self.agent_id,
            "score": round(score, 4) if score is not None else None,
            "section": self.section,
            "page": self.first_page,
            **({"pageUnit": self.page_unit} if self.page_unit != "page" else {}),
            "chunk": self.chunk_id,
            "url": self.url,
            **({"library": self.library} if self.library is not None else {}),
        }


Source = Mapping[str, Any]

CONSULTED = "isConsulted"
"""The field that marks a passage which an agent was given but does not cite. The field stays within the run."""
MAX_NAME = 80
"""Characters of a title or a section in the name of a passage."""
_UNSAFE = re.compile(r'[\s"\\\[\]()<>`\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+')


class PassageNumbers:
    """The numbers of passages in the prompts of one run or consultation. A passage keeps its number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._last = 0

    def assign_number(self, source: Source) -> int:
        """Return the number of a passage, from 1. A passage without a number gets the next number."""
        key = derive_source_key(source)
        if key not in self._numbers:
            self._last += 1
            self._numbers[key] = self._last
        return self._numbers[key]

    def reserve(self, sources: Sequence[Source]) -> None:
        """Take over the numbers that passages got in an earlier run, or in an attempt that has died."""
        for source in sources:
            number = source.get("number")
            if isinstance(number, int) and number not in self._numbers.values():
                self._numbers.setdefault(derive_source_key(source), number)
                self._last = max(self._last, number)


def derive_source_key(source: Source) -> str:
    """Return a key of a source and the position in it, which is the same wherever the passage is found."""
    position = source.get("chunk") or f"{source.get('section') or ''}\0{source.get('page') or ''}".strip("\0")
    return f"{source.get('kind')}:{source.get('id')}:{position}"


def split_consulted(sources: Iterable[Source]) -> tuple[tuple[dict[str, Any], ...], tuple[dict[str, Any], ...]]:
    """Return the sources of an answer, and separately the passages that were only consulted for it."""
    cited: list[dict[str, Any]] = []
    consulted: list[dict[str, Any]] = []
    for source in sources:
        bare = {name: value for name, value in source.items() if name != CONSULTED}
        (consulted if source.get(CONSULTED) else cited).append(bare)
    return tuple(cited), tuple(consulted)


def join_consulted(sources: Sequence[Source], consulted: Sequence[Source]) -> tuple[Source, ...]:
    """Return the sources of an answer followed by its consulted passages, which ``split_consulted`` separates again."""
    return (*sources, *({**source, CONSULTED: True} for source in consulted))


def drop_citation(source: Source) -> dict[str, Any]:
    """Return a source without the fields that only a numbered passage has."""
    return {name: value for name, value in source.items() if name not in ("number", "places", "excerpt", CONSULTED)}


def shift_places(source: Source, by: int) -> Source:
    """Return a source whose citations' places are moved ``by`` characters, for a text that now begins later."""
    if not by or not source.get("places"):
        return source
    places = [{"start": span["start"] + by, "end": span["end"] + by} for span in source["places"]]
    return {**source, "places": places}


def map_sources_by_number(sources: Sequence[Source]) -> dict[int, Source]:
    """Return the sources that have a number, by that number."""
    return {source["number"]: source for source in sources if isinstance(source.get("number"), int)}


def name_cited(text: str, sources: Sequence[Source]) -> str:
    """Return a text with names of passages, as in ``(Handbook, page 3)``, in place of their numbers.

    Outside its conversation, a text is shown without its ``sources``, so that numbers would mean nothing.
    """
    return _replace_cited(text, sources, lambda cited: f"({'; '.join(map(_write_name, cited))})")


def strip_citations(text: str, sources: Sequence[Source]) -> str:
    """Return a text without the citations by number that ``sources`` resolve."""
    return re.sub(r"[ \t]*\x00", "", _replace_cited(text, sources, lambda _: "\0"))


def _replace_cited(text: str, sources: Sequence[Source], write: Callable[[list[Source]], str]) -> str:
    source_by_number = map_sources_by_number(sources)

    def rewrite(mark: CitationMark) -> str | None:
        cited_sources = [source_by_number[number] for number in mark.numbers if number in source_by_number]
        return write(cited_sources) if cited_sources else None

    return replace_marks(text, rewrite) if source_by_number else text


def _write_name(source: Source) -> str:
    """Return a short name of a source, without characters that mean something to JSON, Markdown or a prompt."""
    page, section = source.get("page"), str(source.get("section") or "").rpartition(" > ")[2]
    position = f"{source.get('pageUnit', 'page')} {page}" if page is not None else section
    words = [_UNSAFE.sub(" ", str(part)).strip()[:MAX_NAME] for part in (source.get("title") or "", position)]
    return ", ".join(word for word in words if word) or "a document"
