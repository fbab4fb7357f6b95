"""OpenSearch's indices: their names, analysis, fields and vectors, and their existing versions."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any, Literal

from baton.adapters.opensearch.engine import Engine
from baton.domain.documents.search import IndexName
from baton.domain.errors import SearchUnavailable

MAPPING_VERSION = 2
"""The version of the mapping. A change of this module that needs a new index increments it."""
WORDS_SINCE = 2
"""The first mapping version whose views have ``words``. In earlier ones their ``text`` is searched."""
VIEWS: Mapping[IndexName, tuple[str, ...]] = {
    IndexName.EPISODES: ("turn", "pair", "window", "digest"),
    IndexName.KNOWLEDGE: ("chunk", *(f"passage{number}" for number in range(1, 7))),
    IndexName.PROCEDURES: ("procedure",),
}
"""The views of a new index. The first document with another view adds it."""
QUANTIZED_FROM = 128
"""The minimum dimensions of vectors that are held in memory with 7 bits a number, in a quarter of their size."""
QUANTIZATION = {"name": "sq", "parameters": {"bits": 7, "confidence_interval": 1.0}}
"""The encoder for the whole range of numbers. OpenSearch's default cuts outliers, and its cosines are wrong by up to
0.15; with this one by 0.01."""

_STOP_WORDS = """
    a about after again all also am an and any are as at be because been before being but by can could did do
    does doing for from further had has have having he her here hers him his how i if in into is it its just
    me more most my no nor not of off on once only or other our ours out over own same she should so some such
    than that the their theirs them then there these they this those through to too under until up us very was
    we were what when where which while who whom whose why will with would you your yours
"""
STOP_WORDS = _STOP_WORDS.split()
"""English function words and question words. If question words were searched, questions would lose two points of
recall."""
WORD_FILTERS = ["baton_stop", "porter_stem"]


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """The model whose vectors an index has."""

    name: str
    dimensions: int


@dataclass(frozen=True, slots=True)
class Layout:
    """The names of indices and their distribution over nodes."""

    prefix: str = "baton"
    shards: int = 1
    replicas: int = 0
    refresh_interval: str = "1s"

    def make_read_alias(self, index: IndexName) -> str:
        """Return the alias of the one version that is searched."""
        return f"{self.prefix}-{index}"

    def make_version_name(self, index: IndexName, number: int | Literal["*"]) -> str:
        """Return the name of the ``number``-th version, or the pattern of all versions' names."""
        return f"{self.prefix}-{index}-v{number}"

    def read_version_number(self, index: IndexName, name: str) -> int | None:
        """Return the number in a version's name; None for another name."""
        number = name.removeprefix(f"{self.prefix}-{index}-v")
        return int(number) if number != name and number.isdigit() else None

    def make_write_alias(self, index: IndexName, number: int) -> str:
        """Return the alias through which documents are written to a version. It is removed before the version.

        A write to the name of a deleted version would create an index. A write through a missing alias fails.
        """
        return f"{self.prefix}-{index}-writes-v{number}"


DEFAULT_LAYOUT = Layout()


def make_index_body(index: IndexName, layout: Layout, model: EmbeddingModel | None) -> dict[str, Any]:
    """Return settings and mappings of a version with vectors of ``model``, or without vectors."""
    return {
        "settings": {
            "index": {
                "knn": True,
                # Vectors are not stored twice, but can still be copied to another version.
                "knn.derived_source.enabled": True,
                "number_of_shards": layout.shards,
                "number_of_replicas": layout.replicas,
                "refresh_interval": layout.refresh_interval,
            },
            "analysis": {
                "filter": {"baton_stop": {"type": "stop", "stopwords": STOP_WORDS}},
                "analyzer": {"baton_words": {"type": "custom", "tokenizer": "whitespace", "filter": WORD_FILTERS}},
            },
        },
        "mappings": {
            "_meta": {
                "mapping_version": MAPPING_VERSION,
                "embedder": model.name if model else None,
                "dimensions": model.dimensions if model else None,
            },
            "_routing": {"required": True},
            # Words are derived from the texts, which are stored.
            "_source": {"excludes": ["views.*.words"]},
            "dynamic": "strict",
            "properties": {
                **{name: {"type": "keyword"} for name in KEYWORDS},
                "at": {"type": "long"},
                "written_at": {"type": "long"},
                "fields": {"type": "object", "enabled": False},
                "views": {"properties": {view: make_view_mapping(model) for view in VIEWS[index]}},
            },
        },
    }


KEYWORDS = ("tenant", "user", "id", "source_id", "kind", "agent_id", "thread_id", "required_permission", "embedder")


def make_view_mapping(model: EmbeddingModel | None, mapping_version: int = MAPPING_VERSION) -> dict[str, Any]:
    """Return the mapping of one view.

    Its field ``words`` has the words of ``text`` by ``domain.documents.search_words``, which handles all scripts.
    """
    texts: dict[str, Any] = {
        "text": {"type": "object", "enabled": False},
        "words": {"type": "text", "analyzer": "baton_words"},
    }
    if mapping_version < WORDS_SINCE:
        texts = {"text": {"type": "text", "analyzer": "baton_text"}}
    if model is None:
        return {"properties": texts}
    quantized = {"encoder": QUANTIZATION} if model.dimensions >= QUANTIZED_FROM else {}
    parameters = {"m": 16, "ef_construction": 128, **quantized}
    method = {"name": "hnsw", "engine": "lucene", "space_type": "cosinesimil", "parameters": parameters}
    vector = {"type": "knn_vector", "dimension": model.dimensions, "method": method}
    return {"properties": {**texts, "vector": vector}}


@dataclass(frozen=True, slots=True)
class Version:
    """One version of an index in OpenSearch."""

    name: str
    number: int
    is_read: bool
    """Whether the version is searched."""
    is_written: bool
    """Whether documents are written to the version, because it is searched or being built."""
    model: EmbeddingModel | None
    mapping_version: int
    views: frozenset[str]
    """The views that its mapping has."""


class NoIndices(SearchUnavailable):
    """The indices have not been made yet."""

    detail = "The search indices do not exist. An operator has to make them (search migrate)."


class Versions:
    """The versions of indices that the cluster has."""

    def __init__(self, engine: Engine, layout: Layout) -> None:
        self._engine = engine
        self._layout = layout

    async def list_all(self, index: IndexName) -> list[Version]:
        """Return all versions, in the order of their numbers."""
        layout = self._layout
        answer: dict[str, Any] = await self._engine.request(
            "GET",
            f"/{layout.make_version_name(index, '*')}",
            allow_no_indices=True,
            expand_wildcards="open",
            filter_path="*.aliases,*.mappings._meta,*.mappings.properties.views.properties.*.properties.text.type",
        )
        versions = []
        for name, entry in answer.items():
            number = layout.read_version_number(index, name)
            if number is None:
                continue
            mappings = entry.get("mappings", {})
            meta = mappings.get("_meta", {})
            views = mappings.get("properties", {}).get("views", {}).get("properties", {})
            aliases = entry.get("aliases", {})
            versions.append(
                Version(
                    name=name,
                    number=number,
                    is_read=layout.make_read_alias(index) in aliases,
                    is_written=layout.make_write_alias(index, number) in aliases,
                    model=EmbeddingModel(meta["embedder"], meta["dimensions"]) if meta.get("embedder") else None,
                    mapping_version=meta.get("mapping_version", 0),
                    views=frozenset(views),
                )
            )
        return sorted(versions, key=lambda version: version.number)

    async def list_written(self, index: IndexName) -> list[Version]:
        """Return the versions to which documents are written, the searched one first. Raises ``NoIndices``."""
        versions = [version for version in await self.list_all(index) if version.is_written]
        if not any(version.is_read for version in versions):
            raise NoIndices
        return sorted(versions, key=lambda version: not version.is_read)

    async def get_searched(self, index: IndexName) -> Version:
        """Return the version that is searched. Raises ``NoIndices``."""
        return (await self.list_written(index))[0]


async def add_views(engine: Engine, version: Version, views: Set[str]) -> None:
    """Add the ``views`` that the version's mapping lacks."""
    missing = sorted(views - version.views)
    if missing:
        mappings = {view: make_view_mapping(version.model, version.mapping_version) for view in missing}
        await engine.request("PUT", f"/{version.name}/_mapping", {"properties": {"views": {"properties": mappings}}})
