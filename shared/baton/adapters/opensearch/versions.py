"""The versions of an index: which one is searched, which ones are written, and what each was made for."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Any

from baton.adapters.opensearch.definitions import EmbeddingModel, Layout, view_mapping
from baton.adapters.opensearch.engine import Engine
from baton.domain.documents.search import IndexName
from baton.domain.errors import SearchUnavailable


@dataclass(frozen=True, slots=True)
class Version:
    """One version of an index as OpenSearch has it."""

    name: str
    number: int
    is_read: bool
    """Whether searches go to it."""
    is_written: bool
    """Whether documents are written to it: the one that is read, and the one that is being built."""
    model: EmbeddingModel | None
    mapping_version: int
    views: frozenset[str]
    """The views that its mapping has."""


class NoIndices(SearchUnavailable):
    """The indices have not been made yet."""

    detail = "The search indices are not there. An operator has to make them (search migrate)."


class Versions:
    """The versions of indices that the cluster has."""

    def __init__(self, engine: Engine, layout: Layout) -> None:
        self._engine = engine
        self._layout = layout

    async def all(self, index: IndexName) -> list[Version]:
        """Return all versions, in the order of their numbers."""
        layout = self._layout
        answer: dict[str, Any] = await self._engine.request(
            "GET",
            f"/{layout.version_name(index, '*')}",
            allow_no_indices=True,
            expand_wildcards="open",
            filter_path="*.aliases,*.mappings._meta,*.mappings.properties.views.properties.*.properties.text.type",
        )
        versions = []
        for name, described in answer.items():
            number = layout.version_number(index, name)
            if number is None:
                continue
            mappings = described.get("mappings", {})
            meta = mappings.get("_meta", {})
            views = mappings.get("properties", {}).get("views", {}).get("properties", {})
            aliases = described.get("aliases", {})
            versions.append(
                Version(
                    name=name,
                    number=number,
                    is_read=layout.read_alias(index) in aliases,
                    is_written=layout.write_alias(index, number) in aliases,
                    model=EmbeddingModel(meta["embedder"], meta["dimensions"]) if meta.get("embedder") else None,
                    mapping_version=meta.get("mapping_version", 0),
                    views=frozenset(views),
                )
            )
        return sorted(versions, key=lambda version: version.number)

    async def written(self, index: IndexName) -> list[Version]:
        """Return the versions that are written, first the one that is read. Raises ``NoIndices``."""
        versions = [version for version in await self.all(index) if version.is_written]
        if not any(version.is_read for version in versions):
            raise NoIndices
        return sorted(versions, key=lambda version: not version.is_read)

    async def read(self, index: IndexName) -> Version:
        """Return the version that is read. Raises ``NoIndices``."""
        return (await self.written(index))[0]


async def add_views(engine: Engine, version: Version, views: Set[str]) -> None:
    """Add views to the mapping that no document of the version has had before."""
    missing = sorted(views - version.views)
    if missing:
        mappings = {view: view_mapping(version.model, version.mapping_version) for view in missing}
        await engine.request("PUT", f"/{version.name}/_mapping", {"properties": {"views": {"properties": mappings}}})
