"""Commands of operators and deployments for the search indices."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from baton.composition import deployed, deployed_ports
from baton.domain.documents.search import IndexName
from baton.domain.errors import InvalidRequest, SearchUnavailable
from baton.domain.memory.episode import Episode
from baton.domain.tenants.identity import Scope
from baton.entry.jobs.search_rebuild import REBUILT, SearchRebuild
from baton.knowledge.index_check import KnowledgeIndexCheck, Position
from baton.memory.episodes.index_check import IndexCheck, TenantCheck
from baton.ports.documents.index_files import IndexOwner

NOTHING_TO_REBUILD = "Search is off: there is no index to rebuild."
NOTHING_TO_MOVE = (
    "There is nothing to move: owners move from the embedded index to an OpenSearch beside it. Deploy with "
    "SearchEngine=embedded and with OpenSearchEndpoint or CreateSearchDomain."
)
MOVED = "Everything is in OpenSearch. Deploy with SearchEngine=opensearch: searches ask the bucket no more."


async def migrate(roles: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Make the missing indices of OpenSearch, and return the state of each index; empty without OpenSearch.

    ``roles`` are IAM roles that get access to the deployment's own domain. Raises ``SearchUnavailable``.
    """
    ports = deployed_ports()
    if ports.search_administration is None:
        return []
    if roles:
        from baton.adapters.opensearch.administration import grant

        await grant(ports.opensearch, ports.search_layout, roles)
    return [asdict(state) for state in await ports.search_administration.migrate(ports.embedder)]


async def deploy(
    roles: Sequence[str], *, seconds: float, monotonic: Callable[[], float], sleep: Callable[[float], Awaitable[None]]
) -> list[dict[str, Any]]:
    """Repeat ``migrate`` until the domain and the permissions for it are ready, and return its result.

    This takes at most ``seconds``. The last minute is reserved for the last attempt. Raises ``SearchUnavailable``.
    """
    from baton.adapters.opensearch.readiness import ATTEMPT_SECONDS, PATIENCE_SECONDS, complete

    patience = min(PATIENCE_SECONDS, seconds - ATTEMPT_SECONDS)
    return await complete(lambda: migrate(roles), patience, monotonic=monotonic, sleep=sleep)


def explain(problem: Exception) -> str:
    """Return the cause of a failed ``deploy``, with advice for the operator."""
    if not isinstance(problem, SearchUnavailable):
        return f"{type(problem).__name__}: {problem}"
    from baton.adapters.opensearch.readiness import advise, describe

    return f"{describe(problem).removesuffix('.')}. {advise(problem)}"


async def reindex(indices: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Rebuild the named indices, or all, for the embedding model and the index definitions of this release.

    Raises ``InvalidRequest``, ``SearchUnavailable`` and ``EmbedderUnavailable``. A repeated call continues the work.
    """
    ports = deployed_ports()
    if ports.search_reindexing is None:
        raise InvalidRequest(NOTHING_TO_REBUILD)
    unknown = set(indices) - {index.value for index in IndexName}
    if unknown:
        raise InvalidRequest(f"There is no index {', '.join(sorted(unknown))}.")
    chosen = [IndexName(name) for name in indices] or list(IndexName)
    engines = dict.fromkeys(filter(None, (ports.search_reindexing, ports.search_administration)))
    return [asdict(await engine.reindex(index, ports.embedder)) for engine in engines for index in chosen]


async def rebuild(
    indices: Sequence[str] = (),
    tenants: Sequence[str] = (),
    positions: Mapping[str, Position] | None = None,
    *,
    seconds: float = math.inf,
    most_seconds: float = math.inf,
) -> dict[str, Any]:
    """Index stored items that are missing in the named indices, by default in ``knowledge`` and ``episodes``.

    To continue after a result that is not complete, pass its ``tenants`` and ``positions``; see ``SearchRebuild.run``.

    Raises ``InvalidRequest``, ``SearchUnavailable``, ``StoreUnavailable`` and ``EmbedderUnavailable``.
    """
    reindexing = deployed_ports().search_reindexing
    if reindexing is None:
        raise InvalidRequest(NOTHING_TO_REBUILD)
    unknown = set(indices) - set(REBUILT)
    if unknown:
        raise InvalidRequest(f"There is nothing to rebuild in {', '.join(sorted(unknown))}: name {', '.join(REBUILT)}.")
    await _give_up_moves(tenants)
    rebuilding = SearchRebuild(
        deployed_ports().searched_tenants, reindexing, make_knowledge_check(), make_index_check()
    )
    chosen = [IndexName(name) for name in indices] or REBUILT
    return asdict(await rebuilding.run(chosen, tenants, positions, seconds=seconds, most_seconds=most_seconds))


async def move(
    tenants: Sequence[str] = (), agents: Sequence[str] = (), users: Sequence[str] = (), *, seconds: float = math.inf
) -> dict[str, Any]:
    """Move owners from the embedded index to OpenSearch: ``agents`` and ``users`` of one tenant, or whole tenants.

    Without names, all owners are moved. Return the fields of ``MoveResult``, and advice in ``next`` once everything is
    moved. A repeated call continues the work. Raises ``InvalidRequest``, and the errors of ``SearchMove.run``.
    """
    ports = deployed_ports()
    if ports.search_move is None:
        raise InvalidRequest(NOTHING_TO_MOVE)
    if (agents or users) and len(tenants) != 1:
        raise InvalidRequest("Name the one tenant whose agents or users are to move.")
    owners = [IndexOwner(IndexName.KNOWLEDGE, tenants[0], agent) for agent in agents]
    owners += [IndexOwner(IndexName.EPISODES, tenants[0], user) for user in users]
    result = await ports.search_move.run(owners, tenants, seconds=seconds)
    is_all = result.is_complete and not tenants
    return {**asdict(result), **({"next": MOVED} if is_all else {})}


async def verify(tenants: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Compare the indices with the stored episodes and documents of ``tenants``, or of all if none is named.

    Return a result for each tenant. Raises ``InvalidRequest``, ``SearchUnavailable`` and ``StoreUnavailable``.
    """
    stored = await deployed_ports().searched_tenants.all()
    checks = await make_index_check().verify(tenants or [*stored], with_others=not tenants)
    return [await _verify_knowledge(check, stored.get(check.tenant_id, ())) for check in checks]


async def repair(tenants: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Repair the findings of ``verify``, and return the remaining findings. Raises ``EmbedderUnavailable`` too.

    For missing documents, the ingestion pipeline is started, which continues after the call.
    """
    stored = await deployed_ports().searched_tenants.all()
    episodes, documents = make_index_check(), make_knowledge_check()
    results = []
    for tenant_check in await episodes.verify(tenants or [*stored], with_others=not tenants):
        check = tenant_check if tenant_check.is_sound else await episodes.repair(tenant_check)
        agents = stored.get(check.tenant_id, ())
        async for _ in documents.rebuild(check.tenant_id, agents):
            pass
        await documents.remove(check.tenant_id, agents, await documents.verify(check.tenant_id, agents))
        results.append(await _verify_knowledge(check, agents))
    return results


async def _give_up_moves(tenants: Sequence[str]) -> None:
    """Remove the marks of owners that were moved to an OpenSearch that no longer exists.

    Owners without marks get files in the embedded index again.
    """
    ports = deployed_ports()
    if ports.searches_files_only:
        for tenant_id in tenants or (None,):
            await ports.index_files.remove_marks(tenant_id)


async def close() -> None:
    """Close the running event loop's connections to OpenSearch."""
    await deployed_ports().opensearch.close()


def make_index_check() -> IndexCheck:
    """Return the check of this deployment's index of episodes."""
    ports, app = deployed_ports(), deployed()

    async def index_episode(scope: Scope, episode: Episode) -> None:
        thread = await ports.store.get_thread(scope, episode.ref.thread_id)
        await app.memory.episode_index.put(scope, thread, episode)

    return IndexCheck(
        episodes=ports.episodes,
        search=ports.search,
        administration=ports.complete_administration,
        index_episode=index_episode,
        embeds=ports.embedder.dimensions > 0,
    )


def make_knowledge_check() -> KnowledgeIndexCheck:
    """Return the check of this deployment's index of documents."""
    ports = deployed_ports()
    return KnowledgeIndexCheck(ports.documents, ports.ingestions, ports.search, ports.complete_administration)


async def _verify_knowledge(check: TenantCheck, agents: Sequence[str]) -> dict[str, Any]:
    knowledge = await make_knowledge_check().verify(check.tenant_id, agents)
    is_sound = check.is_sound and knowledge.is_sound
    return {**asdict(check), "knowledge": asdict(knowledge), "is_sound": is_sound}
