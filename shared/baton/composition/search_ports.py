"""Search indices and embeddings of a deployment."""

from __future__ import annotations

from functools import cache, cached_property, partial
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Protocol

from baton.composition.agent_ports import AgentPorts
from baton.ports.tracing import NO_TRACER

if TYPE_CHECKING:
    from baton.adapters.models.embedding_pace import EmbeddingPaces
    from baton.adapters.opensearch.definitions import Layout
    from baton.adapters.opensearch.engine import Engine
    from baton.composition.startup.deferred import DeferredEmbedder
    from baton.ports.documents.search import Embedder, Reindexing, SearchAdministration, SearchIndex

ENGINES = "baton.search_engines"
EMBEDDERS = "baton.embedders"
"""The entry points by which distributions add these, as the local cloud does, named after the scheme of URLs."""


class SearchEngine(Protocol):
    """An engine whose ``url`` is the setting ``BATON_SEARCH_URL``."""

    def index(self, url: str, dimensions: int) -> SearchIndex:
        """Return the index. ``dimensions`` are those of the embedding model; 0 means no vectors."""
        ...

    def reindexing(self, url: str) -> Reindexing:
        """Return the rebuilding of the index."""
        ...


class MakeEmbedder(Protocol):
    """A factory of embedders. ``url`` is the setting ``BATON_EMBEDDING_BASE_URL``."""

    def __call__(self, url: str, model: str, dimensions: int) -> Embedder:
        """Return the embedder. Raises ``ValueError`` if it has no such model."""
        ...


def engine_of(url: str) -> SearchEngine:
    """Return the engine for the scheme of ``url``. Raises ``ValueError`` if no installed distribution has one."""
    engine: SearchEngine = _installed(ENGINES, url, "BATON_SEARCH_URL")
    return engine


def _installed(group: str, url: str, setting: str) -> Any:
    scheme = url.partition(":")[0]
    for found in entry_points(group=group, name=scheme):
        return found.load()
    raise ValueError(f"{setting}: no installed package handles {scheme}: URLs. Use https://...")


class SearchPorts(AgentPorts):
    """The ports to search indices, and to the embedding model. See ``Ports``."""

    @cached_property
    def search(self) -> SearchIndex:
        """The search indices."""
        from baton.settings.models import EmbeddingSettings
        from baton.settings.resources import SearchSettings

        url = SearchSettings().url
        if not url:
            from baton.adapters.switched_off import NoSearch

            return NoSearch()
        if self.search_administration is None:
            return engine_of(url).index(url, EmbeddingSettings().dimensions)
        from baton.adapters.opensearch.index import OpenSearchIndex

        return OpenSearchIndex(self.opensearch, self.clock, self.search_layout, EmbeddingSettings().model)

    @cached_property
    def search_administration(self) -> SearchAdministration | None:
        """The making and rebuilding of OpenSearch's indices; None for another engine."""
        from baton.settings.resources import SearchSettings

        if not SearchSettings().url.startswith("http"):
            return None
        from baton.adapters.opensearch.administration import OpenSearchAdministration

        return OpenSearchAdministration(self.opensearch, self.search_layout)

    @cached_property
    def search_reindexing(self) -> Reindexing | None:
        """The rebuilding of the search indices; None if search is off."""
        from baton.settings.resources import SearchSettings

        url = SearchSettings().url
        if not url or self.search_administration is not None:
            return self.search_administration
        return engine_of(url).reindexing(url)

    @cached_property
    def opensearch(self) -> Engine:
        """The OpenSearch of the settings. Its library is loaded with the first request."""
        from baton.adapters.opensearch.engine import Engine
        from baton.settings.resources import SearchSettings

        return Engine(SearchSettings().url)

    @cached_property
    def search_layout(self) -> Layout:
        """The names and the shards of the indices of OpenSearch."""
        from baton.adapters.opensearch.definitions import Layout
        from baton.settings.resources import SearchSettings

        settings = SearchSettings()
        return Layout(settings.prefix.lower(), settings.shards, settings.replicas)

    @cached_property
    def embedder(self) -> Embedder:
        """The embedding model."""
        from baton.adapters.switched_off import NoEmbedder

        if self.deferred_embedder is None or self.tracer is NO_TRACER:
            return self.deferred_embedder or NoEmbedder()
        from baton.adapters.tracing.traced_model import TracedEmbedder
        from baton.composition.tracing import find_provider

        return TracedEmbedder(self.deferred_embedder, partial(find_provider, self.model_settings))

    @cached_property
    def deferred_embedder(self) -> DeferredEmbedder | None:
        """The embedder, whose library is loaded at the first use or by ``load``; None if embedding is off."""
        from baton.composition.startup.deferred import DeferredEmbedder
        from baton.settings.models import EmbeddingSettings

        settings = EmbeddingSettings()
        if settings.model is None:
            return None
        model, dimensions = settings.model, settings.dimensions

        def make() -> Embedder:
            if self.model_settings.is_on_bedrock(model):
                from baton.composition.bedrock import embedder

                return embedder(model, dimensions, self.model_settings, self.counter, _embedding_paces())
            from baton.adapters.models.openai.embedder import OpenAIEmbedder

            if settings.base_url is not None and not settings.base_url.startswith("http"):
                make_installed: MakeEmbedder = _installed(EMBEDDERS, settings.base_url, "BATON_EMBEDDING_BASE_URL")
                return make_installed(settings.base_url, model, dimensions)
            base_url = settings.base_url or self.model_settings.base_url
            if base_url is None:
                raise ValueError(
                    "BATON_EMBEDDING_MODEL: it has no endpoint. Set BATON_EMBEDDING_BASE_URL or OPENAI_BASE_URL"
                )
            return OpenAIEmbedder(
                model,
                dimensions,
                counter=self.counter,
                api_key=self.model_key,
                base_url=base_url,
                paces=_embedding_paces(),
            )

        return DeferredEmbedder(make, model, dimensions)


@cache
def _embedding_paces() -> EmbeddingPaces:
    # Functions of a local cloud share the paces, because they share the machine and the endpoints.
    from baton.adapters.models.embedding_pace import EmbeddingPaces

    return EmbeddingPaces()
