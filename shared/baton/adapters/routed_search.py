"""Search by two engines while owners move from the embedded index to OpenSearch."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import replace
from itertools import groupby

from cachetools import LRUCache

from baton.adapters.sqlite_index.index import merge_results
from baton.adapters.sqlite_index.objects import NoFile
from baton.domain.documents.search import IndexDocument, IndexName, SearchFilter, SearchQuery, SearchResult
from baton.domain.errors import SearchUnavailable
from baton.domain.tenants.identity import Scope
from baton.ports.documents.index_files import IndexFiles, IndexOwner, OwnerState
from baton.ports.documents.search import SearchIndex

ATTEMPTS = 5
"""The maximum number of attempts of a write. A change of the owner's engine meanwhile needs another attempt."""
MOVED_OWNERS = 10_000
"""The number of moved owners that are cached. They never move back while functions use both engines."""
_ENGINE = "engine:"
"""The beginning of positions in the engine. Positions in files are keys of tenants, which contain no colon."""


class RoutedIndex:
    """``SearchIndex`` over both engines: the file of an owner that has one, and OpenSearch for other owners.

    The first write of an owner without a file marks it as moved. Functions that know only the embedded index then make
    no file beside the documents in OpenSearch. If an owner has a file, its documents in OpenSearch are copies of a move
    that has not ended, and are ignored.
    """

    def __init__(self, files: IndexFiles, embedded: SearchIndex, engine: SearchIndex) -> None:
        """``embedded`` raises ``NoFile`` for an owner without a file. ``engine`` is OpenSearch."""
        self._files = files
        self._embedded = embedded
        self._engine = engine
        self._moved: LRUCache[IndexOwner, bool] = LRUCache(MOVED_OWNERS)

    async def put(self, scope: Scope, index: IndexName, documents: Sequence[IndexDocument]) -> None:
        """See ``SearchIndex``."""
        if index is IndexName.EPISODES:
            await self._put(scope, IndexOwner(index, scope.tenant_id, scope.user_id), documents)
            return
        for agent_id, group in groupby(sorted(documents, key=_get_agent_id), key=_get_agent_id):
            await self._put(scope, IndexOwner(index, scope.tenant_id, agent_id), list(group))

    async def search(self, scope: Scope, index: IndexName, query: SearchQuery) -> SearchResult:
        """See ``SearchIndex``."""
        owner = _find_owner(scope, index, query.filter)
        if owner is None:
            return await self._search_all(scope, index, query)
        if self._is_known_to_have_moved(owner):
            return await self._engine.search(scope, index, query)
        try:
            return await self._embedded.search(scope, index, query)
        except NoFile as absence:
            self._record_move(owner, absence)
            return await self._engine.search(scope, index, query)

    async def delete(self, scope: Scope, index: IndexName, chosen: SearchFilter) -> int:
        """See ``SearchIndex``. Documents of a file are deleted from the copies of a move too."""
        owner = _find_owner(scope, index, chosen)
        deleted = None
        if not self._is_known_to_have_moved(owner):
            try:
                deleted = await self._embedded.delete(scope, index, chosen)
            except NoFile as absence:
                self._record_move(owner, absence)
        in_engine = await self._engine.delete(scope, index, chosen)
        if deleted is None:
            return in_engine
        return deleted if owner is not None else deleted + in_engine

    async def list(self, scope: Scope, index: IndexName, chosen: SearchFilter) -> AsyncIterator[IndexDocument]:
        """See ``SearchIndex``."""
        owner = _find_owner(scope, index, chosen)
        if owner is None:
            async for document in self._list_all(scope, index, chosen):
                yield document
            return
        last_id = ""
        if not self._is_known_to_have_moved(owner):
            try:
                async for document in self._embedded.list(scope, index, chosen):
                    last_id = document.id
                    yield document
            except NoFile as absence:
                self._record_move(owner, absence)
            else:
                return
        async for document in self._engine.list(scope, index, chosen):
            if document.id > last_id:
                yield document

    async def count(self, scope: Scope, index: IndexName, chosen: SearchFilter) -> int:
        """See ``SearchIndex``."""
        owner = _find_owner(scope, index, chosen)
        if owner is None:
            return sum([1 async for _ in self._list_all(scope, index, chosen)])
        if not self._is_known_to_have_moved(owner):
            try:
                return await self._embedded.count(scope, index, chosen)
            except NoFile as absence:
                self._record_move(owner, absence)
        return await self._engine.count(scope, index, chosen)

    async def count_of_tenant(self, scope: Scope, position: str | None) -> tuple[int, str | None]:
        """See ``SearchIndex``. Copies of a move count too. The documents of the engine are counted last."""
        if position is None or not position.startswith(_ENGINE):
            number, following = await self._embedded.count_of_tenant(scope, position)
            return number, following if following is not None else _ENGINE
        number, following = await self._engine.count_of_tenant(scope, position.removeprefix(_ENGINE) or None)
        return number, f"{_ENGINE}{following}" if following is not None else None

    async def sweep_tenant(self, scope: Scope) -> tuple[int, bool]:
        """See ``SearchIndex``. Marks of moved owners are deleted too, and the engine's documents last."""
        number, is_empty = await self._embedded.sweep_tenant(scope)
        if is_empty:
            of_engine, is_empty = await self._engine.sweep_tenant(scope)
            number += of_engine
        return number, is_empty

    async def fill_percent(self, scope: Scope, agent_id: str) -> int | None:
        """See ``SearchIndex``. It is None for an owner that has moved."""
        return await self._embedded.fill_percent(scope, agent_id)

    async def _put(self, scope: Scope, owner: IndexOwner, documents: Sequence[IndexDocument]) -> None:
        """Store documents of one owner. Raises ``SearchUnavailable`` if the owner keeps changing its engine."""
        for _ in range(ATTEMPTS):
            if not self._is_known_to_have_moved(owner):
                try:
                    await self._embedded.put(scope, owner.index, documents)
                except NoFile as absence:
                    if not absence.is_moved and not await self._files.mark_moved(self._files.key(owner), None):
                        continue
                    self._moved[owner] = True
                else:
                    return
            await self._engine.put(scope, owner.index, documents)
            return
        raise SearchUnavailable

    async def _list_all(self, scope: Scope, index: IndexName, chosen: SearchFilter) -> AsyncIterator[IndexDocument]:
        """Yield the chosen documents of all agents, in the order of their ids."""
        documents = {document.id: document async for document in self._embedded.list(scope, index, chosen)}
        in_engine = [document async for document in self._engine.list(scope, index, chosen)]
        ignored_agents = await self._find_agents_with_file(scope, index, in_engine)
        documents |= {document.id: document for document in in_engine if _get_agent_id(document) not in ignored_agents}
        for document_id in sorted(documents):
            yield documents[document_id]

    async def _search_all(self, scope: Scope, index: IndexName, query: SearchQuery) -> SearchResult:
        """Search the documents of all agents."""
        in_files = await self._embedded.search(scope, index, query)
        in_engine = await self._engine.search(scope, index, replace(query, choose=None))
        ignored_agents = await self._find_agents_with_file(scope, index, in_engine.documents.values())
        documents = {
            document_id: document
            for document_id, document in in_engine.documents.items()
            if _get_agent_id(document) not in ignored_agents
        }
        candidates = {
            clause: [candidate for candidate in ranking if candidate.id in documents]
            for clause, ranking in in_engine.candidates.items()
        }
        return merge_results([in_files, SearchResult(candidates, documents)], query)

    async def _find_agents_with_file(
        self, scope: Scope, index: IndexName, documents: Iterable[IndexDocument]
    ) -> set[str]:
        """Return the agents that still have a file. Their ``documents`` in OpenSearch are copies."""
        agent_ids = set()
        for agent_id in {_get_agent_id(document) for document in documents}:
            key = self._files.key(IndexOwner(index, scope.tenant_id, agent_id))
            if await self._files.state(key) is OwnerState.FILE:
                agent_ids.add(agent_id)
        return agent_ids

    def _is_known_to_have_moved(self, owner: IndexOwner | None) -> bool:
        return owner is not None and self._moved.get(owner, False)

    def _record_move(self, owner: IndexOwner | None, absence: NoFile) -> None:
        """Remember that an owner has moved, if its missing file is marked so."""
        if owner is not None and absence.is_moved:
            self._moved[owner] = True


def _find_owner(scope: Scope, index: IndexName, chosen: SearchFilter) -> IndexOwner | None:
    """Return the owner of the documents that a filter chooses; None if the documents may be of several agents."""
    name = scope.user_id if index is IndexName.EPISODES else chosen.agent_id
    return None if name is None else IndexOwner(index, scope.tenant_id, name)


def _get_agent_id(document: IndexDocument) -> str:
    return document.agent_id or ""
