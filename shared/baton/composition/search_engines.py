"""Search engines that other distributions add, such as the local cloud's embedded one. Deployments use none."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from baton.ports.search import Reindexing, SearchIndex

GROUP = "baton.search_engines"
"""The entry points by which distributions add engines. Each has the name of its URLs' scheme."""


class SearchEngine(Protocol):
    """An engine whose ``url`` is the setting ``BATON_SEARCH_URL``."""

    def index(self, url: str, dimensions: int) -> SearchIndex:
        """Return the index. ``dimensions`` are those of the embedding model; 0 means no vectors."""
        ...

    def reindexing(self, url: str) -> Reindexing:
        """Return the rebuilding of the index."""
        ...


def engine_of(url: str) -> SearchEngine:
    """Return the engine for the scheme of ``url``. Raises ``ValueError`` if no installed distribution has one."""
    scheme = url.partition(":")[0]
    for found in entry_points(group=GROUP, name=scheme):
        engine: SearchEngine = found.load()
        return engine
    raise ValueError(f"BATON_SEARCH_URL: no installed package has a search engine for {scheme}: URLs. Use https://...")
