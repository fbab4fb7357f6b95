"""The search indices and the embedding model of a deployment."""

from __future__ import annotations

from functools import cache, cached_property, partial
from importlib.metadata import entry_points
from typing import Protocol

from baton.composition import parts
from baton.composition.agent_ports import AgentPorts
from baton.ports.tracing import NO_TRACER

EMBEDDERS = "baton.embedders"
"""The group of entry points with which distributions add embedders. Each is named after the scheme of its URLs."""


class MakeEmbedder(Protocol):
    """A factory of embedders. ``url`` is the setting ``BATON_EMBEDDING_BASE_URL``."""

    def __call__(self, url: str, model: str, dimensions: int) -> parts.Embedder:
        """Return the embedder. Raises ``ValueError`` if it has no such model."""


class SearchPorts(AgentPorts):
    """The ports to search indices, and to the embedding model. See ``Ports``."""

    @cached_property
    def search(self) -> parts.SearchIndex:
        """The search indices."""
        if parts.SearchSettings().bucket is None:
            return parts.NoSearch() if self.opensearch_index is None else self.opensearch_index
        embedded = parts.SqliteIndex(self.owner_files, parts.EmbeddingSettings().dimensions)
        if self.opensearch_index is None:
            return embedded
        return parts.RoutedIndex(self.index_files, embedded, self.opensearch_index)

    @cached_property
    def opensearch_index(self) -> parts.OpenSearchIndex | None:
        """The indices of OpenSearch; None if the settings have no OpenSearch."""
        if self.search_administration is None:
            return None
        return parts.OpenSearchIndex(self.opensearch, self.clock, self.search_layout, parts.EmbeddingSettings().model)

    @cached_property
    def search_administration(self) -> parts.SearchAdministration | None:
        """The administration of OpenSearch's indices; None if the settings have no OpenSearch."""
        if not parts.SearchSettings().url:
            return None
        return parts.OpenSearchAdministration(self.opensearch, self.search_layout)

    @cached_property
    def search_reindexing(self) -> parts.Reindexing | None:
        """The rebuilding of the search indices; None if search is off."""
        if parts.SearchSettings().bucket is None:
            return self.search_administration
        return parts.SqliteReindexing(self.owner_files)

    @cached_property
    def complete_administration(self) -> parts.SearchAdministration | None:
        """The administration of OpenSearch if all documents are there; None if the embedded index may have some."""
        return self.search_administration if parts.SearchSettings().bucket is None else None

    @cached_property
    def search_move(self) -> parts.SearchMove | None:
        """The move from the embedded index to OpenSearch; None unless the settings have both."""
        if self.opensearch_index is None or parts.SearchSettings().bucket is None:
            return None
        return parts.SearchMove(self.index_files, self.opensearch_index, self.index_files, self.clock)

    @cached_property
    def index_files(self) -> parts.SqliteFiles:
        """The files of the embedded index, for the move to OpenSearch."""
        return parts.SqliteFiles(self.owner_files)

    @cached_property
    def owner_files(self) -> parts.OwnerFiles:
        """The files of the embedded index. Raises ``ValueError`` if the settings have no bucket for them."""
        bucket = parts.SearchSettings().bucket
        if bucket is None:
            raise ValueError("BATON_SEARCH_BUCKET: the embedded index has no bucket.")
        objects = parts.IndexObjects(parts.defer_client("s3"), bucket)
        return parts.OwnerFiles(objects, is_alone=self.search_administration is None)

    @cached_property
    def searches_files_only(self) -> bool:
        """True if the embedded index is the only engine."""
        return parts.SearchSettings().bucket is not None and self.search_administration is None

    @cached_property
    def opensearch(self) -> parts.Engine:
        """The OpenSearch of the settings. Its library is loaded for the first request."""
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
        """The embedder, whose library is loaded by the first use or by ``load``; None if embedding is off."""
        settings = parts.EmbeddingSettings()
        if settings.model is None:
            return None
        model, dimensions = settings.model, settings.dimensions

        def make() -> parts.Embedder:
            if self.model_settings.is_on_bedrock(model):
                from baton.composition.models.bedrock import make_embedder

                return make_embedder(model, dimensions, self.model_settings, self.counter, _get_paces())
            if settings.base_url is not None and not settings.base_url.startswith("http"):
                return _find_factory(settings.base_url)(settings.base_url, model, dimensions)
            base_url = settings.base_url or self.model_settings.base_url
            if base_url is None:
                raise ValueError(
                    "BATON_EMBEDDING_MODEL: it has no endpoint. Set BATON_EMBEDDING_BASE_URL or OPENAI_BASE_URL"
                )
            return parts.OpenAIEmbedder(
                model, dimensions, counter=self.counter, api_key=self.model_key, base_url=base_url, paces=_get_paces()
            )

        return parts.DeferredEmbedder(make, model, dimensions)


def _find_factory(url: str) -> MakeEmbedder:
    """Return the factory for the scheme of ``url``. Raises ``ValueError`` if no distribution provides a factory."""
    scheme = url.partition(":")[0]
    for entry_point in entry_points(group=EMBEDDERS, name=scheme):
        factory: MakeEmbedder = entry_point.load()
        return factory
    raise ValueError(f"BATON_EMBEDDING_BASE_URL: no installed package handles {scheme}: URLs. Use https://...")


@cache
def _get_paces() -> parts.EmbeddingPaces:
    # Functions of a local cloud share the paces, because they share the machine and the endpoints.
    return parts.EmbeddingPaces()
