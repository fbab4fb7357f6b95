"""Compare the index of episodes with the stored episodes, and fix the differences."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass

from baton.domain.documents.search import IndexName, SearchFilter
from baton.domain.memory.episode import Episode, EpisodeStatus
from baton.domain.tenants.identity import Scope, make_stored_scope
from baton.ports.documents.search import IndexedSource, SearchAdministration, SearchIndex
from baton.ports.memory.episodes import Episodes

OPERATOR = "operator"
"""The user id of scopes for a whole tenant."""


@dataclass(frozen=True, slots=True, order=True)
class EpisodeKey:
    """The ids of an episode and of its owner."""

    user_id: str
    episode_id: str


@dataclass(frozen=True, slots=True)
class TenantCheck:
    """The results of the check of one tenant."""

    tenant_id: str
    episodes: int
    indexed: int
    """The number of episodes that have documents."""
    documents: int
    missing: tuple[EpisodeKey, ...]
    """Complete episodes without documents."""
    without_vectors: tuple[EpisodeKey, ...]
    """Episodes with documents without vectors, which are found by their words only."""
    orphaned: tuple[EpisodeKey, ...]
    """Episodes that have documents but are not stored."""

    @property
    def is_sound(self) -> bool:
        """True if nothing has to be fixed."""
        return not (self.missing or self.without_vectors or self.orphaned)


@dataclass(frozen=True, slots=True)
class IndexCheck:
    """A comparison of episodes with their index. It may run while conversations continue."""

    episodes: Episodes
    search: SearchIndex
    administration: SearchAdministration | None
    """Lists the sources in the index; None if the engine cannot, so that only users with episodes are checked."""
    index_episode: Callable[[Scope, Episode], Awaitable[None]]
    """Writes an episode's documents to the index again."""
    embeds: bool
    """True if documents should have vectors."""

    async def verify(self, tenants: Sequence[str], *, with_others: bool = True) -> list[TenantCheck]:
        """Check ``tenants`` and, if ``with_others`` and the engine can list them, all other tenants with documents."""
        indexed: dict[str, list[IndexedSource]] = {tenant: [] for tenant in tenants}
        if self.administration is not None:
            for tenant_id in (None,) if with_others else tuple(indexed):
                async for source in self.administration.list_sources(IndexName.EPISODES, tenant_id):
                    indexed.setdefault(source.tenant_id, []).append(source)
        return [await self._verify_tenant(tenant, sources) for tenant, sources in sorted(indexed.items())]

    async def repair(self, check: TenantCheck) -> TenantCheck:
        """Index episodes that lack documents or vectors, delete orphaned documents, and check the tenant again.

        Raises ``SearchUnavailable`` and ``EmbedderUnavailable``.
        """
        episode_ids = {source.episode_id for source in (*check.missing, *check.without_vectors)}
        async for episode in self.episodes.of_tenant(make_stored_scope(check.tenant_id, OPERATOR)):
            if episode.ref.id in episode_ids:
                await self.index_episode(make_stored_scope(check.tenant_id, episode.user_id), episode)
        for source in check.orphaned:
            scope = make_stored_scope(check.tenant_id, source.user_id)
            # The episode may have been stored since the check.
            if await self.episodes.find(scope, source.episode_id) is None:
                await self.search.delete(scope, IndexName.EPISODES, SearchFilter(source_id=source.episode_id))
        [again] = await self.verify([check.tenant_id], with_others=False)
        return again

    async def rebuild(self, tenant: str) -> AsyncIterator[bool]:
        """Index complete episodes without documents, one at a time. Yield for each episode whether it was indexed now.

        A repetition continues where an earlier rebuild has stopped. Raises ``SearchUnavailable`` and
        ``EmbedderUnavailable``.
        """
        indexed: dict[str, set[str]] = defaultdict(set)
        if self.administration is not None:
            async for source in self.administration.list_sources(IndexName.EPISODES, tenant):
                indexed[source.user_id].add(source.source_id)
        async for episode in self.episodes.of_tenant(make_stored_scope(tenant, OPERATOR)):
            user, is_missing = episode.user_id, _is_due(episode)
            if is_missing and self.administration is None and user not in indexed:
                indexed[user] = {source.source_id for source in await self._list_sources(tenant, user)}
            is_missing = is_missing and episode.ref.id not in indexed[user]
            if is_missing:
                await self.index_episode(make_stored_scope(tenant, user), episode)
            yield is_missing

    async def _verify_tenant(self, tenant: str, sources: Sequence[IndexedSource]) -> TenantCheck:
        """Compare the index with the stored episodes."""
        stored = {
            EpisodeKey(episode.user_id, episode.ref.id): episode
            async for episode in self.episodes.of_tenant(make_stored_scope(tenant, OPERATOR))
        }
        if self.administration is None:
            users = sorted({key.user_id for key in stored})
            sources = [source for user in users for source in await self._list_sources(tenant, user)]
        indexed = {EpisodeKey(source.user_id, source.source_id): source for source in sources}
        missing = [key for key, episode in stored.items() if _is_due(episode) and key not in indexed]
        plain = [key for key, source in indexed.items() if source.without_vectors and key in stored]
        return TenantCheck(
            tenant_id=tenant,
            episodes=len(stored),
            indexed=len(stored.keys() & indexed.keys()),
            documents=sum(source.documents for source in sources),
            missing=tuple(sorted(missing)),
            without_vectors=tuple(sorted(plain)) if self.embeds else (),
            orphaned=tuple(sorted(indexed.keys() - stored.keys())),
        )

    async def _list_sources(self, tenant: str, user: str) -> list[IndexedSource]:
        documents, plain = Counter[str](), Counter[str]()
        async for document in self.search.list(make_stored_scope(tenant, user), IndexName.EPISODES, SearchFilter()):
            documents[document.source_id] += 1
            plain[document.source_id] += document.embedder is None
        return [IndexedSource(tenant, user, source, count, plain[source]) for source, count in documents.items()]


def _is_due(episode: Episode) -> bool:
    """Return whether the episode should have documents: its closing is complete, and it has messages."""
    return episode.status is EpisodeStatus.COMPLETE and episode.message_count > 0
