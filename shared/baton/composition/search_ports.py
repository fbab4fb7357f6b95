"""Search indices and embeddings of a deployment."""

from __future__ import annotations

from functools import cache, cached_property, partial
from importlib.metadata import entry_points
from typing import Any, Protocol

from baton.composition import parts
from baton.composition.agent_ports import AgentPorts
from baton.ports.tracing import NO_TRACER

ENGINES = "baton.search_engines"
EMBEDDERS = "baton.embedders"
"""The entry points by which distributions add these, as the local cloud does, named after the scheme of URLs."""


class SearchEngine(Protocol):
    """An engine whose ``url`` is the setting ``BATON_SEARCH_URL``."""

    def index(self, url: str, dimensions: int) -> parts.SearchIndex:
        """Return the index. ``dimensions`` are those of the embedding model; 0 means no vectors."""

    def reindexing(self, url: str) -> parts.Reindexing:
        """Return the rebuilding of the index."""


class MakeEmbedder(Protocol):
    """A factory of embedders. ``url`` is the setting ``BATON_EMBEDDING_BASE_URL``."""

    def __call__(self, url: str, model: str, dimensions: int) -> parts.Embedder:
        """Return the embedder. Raises ``ValueError`` if it has no such model."""


def engine_of(url: str) -> SearchEngine:
    """Return the engine for the scheme of ``url``. Raises ``ValueError`` if no installed distribution has one."""
    engine: SearchEngine = _installed(ENGINES, url, "BATON_SEARCH_URL")
    return engine


def _installed(group: str, url: str, setting: str) -> Any:
    scheme = url.partition(":")[0]
    for entry_point in entry_points(group=group, name=scheme):
        return entry_point.load()
    raise ValueError(f"{setting}: no installed package handles {scheme}: URLs. Use https://...")


class SearchPorts(AgentPorts):
    """The ports to search indices, and to the embedding model. See ``Ports``."""

    @cached_property
    def search(self) -> parts.SearchIndex:
        """The search indices."""
        url = parts.SearchSettings().url
        if not url:
            return parts.NoSearch()
        if self.search_administration is None:
            return engine_of(url).index(url, parts.EmbeddingSettings().dimensions)
        return parts.OpenSearchIndex(self.opensearch, self.clock, self.search_layout, parts.EmbeddingSettings().model)

    @cached_property
    def search_administration(self) -> parts.SearchAdministration | None:
        """The making and rebuilding of OpenSearch's indices; None for another engine."""
        if not parts.SearchSettings().url.startswith("http"):
            return None
        return parts.OpenSearchAdministration(self.opensearch, self.search_layout)

    @cached_property
    def search_reindexing(self) -> parts.Reindexing | None:
        """The rebuilding of the search indices; None if search is off."""
        url = parts.SearchSettings().url
        if not url or self.search_administration is not None:
            return self.search_administration
        return engine_of(url).reindexing(url)

    @cached_property
    def opensearch(self) -> parts.Engine:
        """The OpenSearch of the settings. Its library is loaded with the first request."""
        return parts.Engine(parts.SearchSettings().url)

    @cached_property
    def search_layout(self) -> parts.Layout:
        """The names and the shards of the indices of OpenSearch."""
        settings = parts.SearchSettings()
        return parts.Layout(settings.prefix.lower(), settings.shards, settings.replicas)

    @cached_property
    def embedder(self) -> parts.Embedder:
        """The embedding model."""
        if self.deferred_embedder is None or self.tracer is NO_TRACER:
            return self.deferred_embedder or parts.NoEmbedder()
        from baton.composition.tracing import find_provider

        return parts.TracedEmbedder(self.deferred_embedder, partial(find_provider, self.model_settings))

    @cached_property
    def deferred_embedder(self) -> parts.DeferredEmbedder | None:
        """The embedder, whose library is loaded at the first use or by ``load``; None if embedding is off."""
        settings = parts.EmbeddingSettings()
        if settings.model is None:
            return None
        model, dimensions = settings.model, settings.dimensions

        def make() -> parts.Embedder:
            if self.model_settings.is_on_bedrock(model):
                from baton.composition.bedrock import embedder

                return embedder(model, dimensions, self.model_settings, self.counter, _embedding_paces())
            if settings.base_url is not None and not settings.base_url.startswith("http"):
                make_installed: MakeEmbedder = _installed(EMBEDDERS, settings.base_url, "BATON_EMBEDDING_BASE_URL")
                return make_installed(settings.base_url, model, dimensions)
            base_url = settings.base_url or self.model_settings.base_url
            if base_url is None:
                raise ValueError(
                    "BATON_EMBEDDING_MODEL: it has no endpoint. Set BATON_EMBEDDING_BASE_URL or OPENAI_BASE_URL"
                )
            return parts.OpenAIEmbedder(
                model,
                dimensions,
                counter=self.counter,
                api_key=self.model_key,
                base_url=base_url,
                paces=_embedding_paces(),
            )

        return parts.DeferredEmbedder(make, model, dimensions)


@cache
def _embedding_paces() -> parts.EmbeddingPaces:
    # Functions of a local cloud share the paces, because they share the machine and the endpoints.
    return parts.EmbeddingPaces()
