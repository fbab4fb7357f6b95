"""Commands of operators and deployments for the search indices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from baton.composition import deployed, deployed_ports
from baton.domain.episode import Episode
from baton.domain.errors import InvalidRequest
from baton.domain.identity import Scope
from baton.domain.search import IndexName
from baton.memory.episodes.index_check import IndexCheck, TenantCheck

NOTHING_TO_REBUILD = "Search is off: there is no index to rebuild."


async def migrate(roles: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Make the indices that are missing and return the state of all.

    ``roles`` are the IAM roles that the deployment's own domain lets in. Raises ``SearchUnavailable``.
    """
    ports = deployed_ports()
    if ports.search_administration is None:
        return []
    if roles:
        from baton.adapters.opensearch.administration import grant

        await grant(ports.opensearch, ports.search_layout, roles)
    return [asdict(state) for state in await ports.search_administration.migrate(ports.embedder)]


async def reindex(indices: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Rebuild indices, all unless some are named, for the embedding model and the definitions of this release.

    Raises ``InvalidRequest``, ``SearchUnavailable`` and ``EmbedderUnavailable``; a repetition continues.
    """
    ports = deployed_ports()
    if ports.search_reindexing is None:
        raise InvalidRequest(NOTHING_TO_REBUILD)
    unknown = set(indices) - {index.value for index in IndexName}
    if unknown:
        raise InvalidRequest(f"There is no index {', '.join(sorted(unknown))}.")
    chosen = [IndexName(name) for name in indices] or list(IndexName)
    return [asdict(await ports.search_reindexing.reindex(index, ports.embedder)) for index in chosen]


async def verify(tenants: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Compare the index of episodes with the stored episodes of ``tenants``, and of all tenants in the index.

    Raises ``InvalidRequest``, ``SearchUnavailable`` and ``StoreUnavailable``.
    """
    return [_to_result(check) for check in await index_check().verify(tenants)]


async def repair(tenants: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Repair the findings of ``verify``, and return those that remain. Raises ``EmbedderUnavailable`` too."""
    check = index_check()
    return [_to_result(found if found.is_sound else await check.repair(found)) for found in await check.verify(tenants)]


async def close() -> None:
    """Close the connections to OpenSearch of the running event loop."""
    await deployed_ports().opensearch.close()


def index_check() -> IndexCheck:
    """Return the check of this deployment's index."""
    ports, app = deployed_ports(), deployed()

    async def index_episode(scope: Scope, episode: Episode) -> None:
        thread = await ports.store.get_thread(scope, episode.ref.thread_id)
        await app.memory.episode_index.put(scope, thread, episode)

    return IndexCheck(
        episodes=ports.episodes,
        search=ports.search,
        administration=ports.search_administration,
        index_episode=index_episode,
        embeds=ports.embedder.dimensions > 0,
    )


def _to_result(check: TenantCheck) -> dict[str, Any]:
    return {**asdict(check), "is_sound": check.is_sound}
