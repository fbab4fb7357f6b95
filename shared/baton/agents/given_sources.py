"""The sources that an agent is given for one answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from baton.domain.documents.citation import DOCUMENT_SOURCE, FILE_SOURCE
from baton.domain.documents.numbered_passages import CONSULTED, source_key

MAX_SOURCES = 50
"""Sources of an answer. Further ones are left out."""
MAX_SOURCE_FIELD = 500
"""Characters of a field of a source. A longer text is cut, and a longer link is None."""
MAX_FILE_URL = 4_096
"""Characters of the address of a kept file: it is signed."""


class GivenSources:
    """Passages, files and sources of tools, each once and bounded, in the order in which they came."""

    def __init__(self) -> None:
        self._sources: dict[str, Mapping[str, Any]] = {}

    @property
    def all(self) -> tuple[Mapping[str, Any], ...]:
        """All sources."""
        return tuple(self._sources.values())

    @property
    def documents(self) -> tuple[Mapping[str, Any], ...]:
        """The passages of documents."""
        return tuple(source for source in self._sources.values() if source.get("kind") == DOCUMENT_SOURCE)

    @property
    def files(self) -> tuple[Mapping[str, Any], ...]:
        """The files that came with answers of agents and tools."""
        return tuple(source for source in self._sources.values() if source.get("kind") == FILE_SOURCE)

    def add(self, sources: Sequence[Mapping[str, Any]]) -> None:
        """Add sources. Those that are there already stay as they are, unless they were consulted only."""
        for source in sources:
            if len(self._sources) < MAX_SOURCES:
                bounded = _bound(source)
                key = source_key(bounded)
                if key not in self._sources or (self._sources[key].get(CONSULTED) and not bounded.get(CONSULTED)):
                    self._sources[key] = bounded


def bound_sources(sources: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    """Return sources as an answer may have them."""
    bounded = GivenSources()
    bounded.add(sources)
    return bounded.all


def _bound(source: Mapping[str, Any]) -> dict[str, Any]:
    longest_url = MAX_FILE_URL if source.get("kind") == FILE_SOURCE else MAX_SOURCE_FIELD
    return {key: _shorten(key, value, longest_url) for key, value in source.items() if key != "places"}


def _shorten(key: str, value: Any, longest_url: int) -> Any:
    """Return a field of a source, shortened. Only strings, numbers and None are allowed. A link is whole, or None."""
    if key == "url" and isinstance(value, str) and len(value) > longest_url:
        return None
    if isinstance(value, str):
        return value[:MAX_SOURCE_FIELD]
    return value if isinstance(value, int | float | None) else str(value)[:MAX_SOURCE_FIELD]
