"""What operators and deployments do with the search indices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from baton.composition import deployed_ports
from baton.domain.errors import InvalidRequest
from baton.domain.search import IndexName

NOTHING_TO_REBUILD = "The embedded index and a search that is off have no versions to rebuild."


async def migrate(roles: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Make the indices that are missing and return the state of all.

    ``roles`` are the IAM roles that a domain of this deployment's own lets in. Raises ``SearchUnavailable``.
    """
    ports = deployed_ports()
    if ports.search_administration is None:
        return []
    if roles:
        from baton.adapters.opensearch.access import grant

        await grant(ports.opensearch, ports.search_layout, roles)
    return [asdict(state) for state in await ports.search_administration.migrate(ports.embedder)]


async def reindex(indices: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Rebuild indices, all unless some are named, for the embedding model and the definitions of this release.

    Raises ``InvalidRequest``, ``SearchUnavailable`` and ``EmbedderUnavailable``; a repetition goes on.
    """
    ports = deployed_ports()
    if ports.search_administration is None:
        raise InvalidRequest(NOTHING_TO_REBUILD)
    unknown = set(indices) - {index.value for index in IndexName}
    if unknown:
        raise InvalidRequest(f"There is no index {', '.join(sorted(unknown))}.")
    chosen = [IndexName(name) for name in indices] or list(IndexName)
    return [asdict(await ports.search_administration.reindex(index, ports.embedder)) for index in chosen]
