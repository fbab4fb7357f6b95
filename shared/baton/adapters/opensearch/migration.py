"""Make the indices."""

from __future__ import annotations

import logging

from baton.adapters.opensearch.definitions import EmbeddingModel, Layout, index_body
from baton.adapters.opensearch.engine import Engine, EngineError
from baton.adapters.opensearch.versions import Versions
from baton.domain.search import IndexName

logger = logging.getLogger(__name__)


async def migrate(engine: Engine, layout: Layout, model: EmbeddingModel | None) -> None:
    for index in IndexName:
        if any(version.is_read for version in await Versions(engine, layout).all(index)):
            continue
        body = index_body(index, layout, model)
        body["aliases"] = {layout.read_alias(index): {}, layout.write_alias(index, 1): {}}
        try:
            await engine.request("PUT", f"/{layout.version_name(index, 1)}", body)
        except EngineError as problem:
            if problem.kind != "resource_already_exists_exception":
                raise
