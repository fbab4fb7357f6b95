"""The job that moves owners from the embedded index to OpenSearch, one after the other, while they stay in use."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from baton.domain.documents.search import IndexDocument
from baton.domain.errors import SearchIndexDamaged, SearchMoveClaimed, SearchUnavailable
from baton.failures.reports import report_failure
from baton.ports.clock import Clock
from baton.ports.documents.index_files import IndexFile, IndexFiles, IndexOwner, MoveClaim, MoveClaims, OwnerState
from baton.ports.documents.search import SearchIndex

ATTEMPTS = 20
"""Passes over an owner whose file is written during the move. Each pass copies the changes since the previous pass."""
AT_ONCE = 50
"""Documents that are copied by one request. With passages, a document has seven vectors."""
CLAIM_SECONDS = 120.0
"""Seconds until another command may take over the claim of a killed command: twice the longest request."""
RENEWAL_SECONDS = 60.0
"""The least seconds for which a claim must still be valid when a write begins."""


@dataclass(frozen=True, slots=True)
class MoveResult:
    """The work of one call."""

    owners_moved: int
    documents_copied: int
    owners_left: int
    """The number of requested owners that were not moved, without those whose file cannot be read."""
    is_complete: bool


@dataclass(frozen=True, slots=True)
class SearchMove:
    """The move of owners to OpenSearch.

    An owner's documents are copied from one state of its file. Then a mark replaces the file, if it still has this
    state. If the file was written meanwhile, the differences are copied, and deleted documents are deleted from the
    copies too. Searches use the copies only once the mark is stored. So a killed move changes no search, and a repeated
    call continues it.
    """

    files: IndexFiles
    engine: SearchIndex
    """OpenSearch."""
    claims: MoveClaims
    clock: Clock
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def run(
        self, owners: Sequence[IndexOwner] = (), tenants: Sequence[str] = (), *, seconds: float = math.inf
    ) -> MoveResult:
        """Move the named owners, or all owners of the named tenants, or all owners.

        After ``seconds``, no owner is begun once one was moved, so that repeated calls come to an end. Raises
        ``SearchUnavailable``, ``SearchMoveClaimed`` if another command moves owners, and, once all other owners are
        moved, ``SearchIndexDamaged`` for a file that cannot be read.
        """
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + seconds
        claim = await _Claim.take(self.claims, self.clock, self.sleep)
        moved = copied = remaining = 0
        failure: SearchIndexDamaged | None = None
        try:
            async for key in self._yield_keys(owners, tenants):
                if moved and loop.time() >= ends_at:
                    remaining += 1
                    continue
                try:
                    outcome = await self._move(key, claim)
                except SearchIndexDamaged as problem:
                    report_failure(problem, "A search index was not moved", key=key)
                    failure = problem
                    continue
                copied += outcome.copied
                moved += outcome.is_moved
                remaining += outcome.is_left
        finally:
            await claim.release()
        if failure is not None and not remaining:
            raise failure
        return MoveResult(moved, copied, remaining, is_complete=not remaining)

    async def _yield_keys(self, owners: Sequence[IndexOwner], tenants: Sequence[str]) -> AsyncIterator[str]:
        for owner in owners:
            yield self.files.key(owner)
        if owners:
            return
        for tenant_id in tenants or (None,):
            async for key in self.files.keys(tenant_id):
                yield key

    async def _move(self, key: str, claim: _Claim) -> _Outcome:
        copied = 0
        copies: tuple[IndexOwner, frozenset[str]] | None = None
        for _ in range(ATTEMPTS):
            async with self.files.open(key) as file:
                if file is None:
                    state = await self.files.state(key)
                    if state is OwnerState.FILE:
                        continue  # the file was created after the attempt to open it
                    if copies is not None and state is OwnerState.NONE:
                        await self._delete(*copies)
                    return _Outcome(copied, is_moved=copies is not None and state is OwnerState.MOVED)
                difference = await self._compare(file)
                copies = file.owner, difference.sources
                copied += await self._copy(file, difference, claim)
                await claim.hold()
                if await self.files.mark_moved(key, file.tag):
                    return _Outcome(copied, is_moved=True)
        return _Outcome(copied, is_left=True)

    async def _compare(self, file: IndexFile) -> _Difference:
        """Compare a file with the copies of its documents. Both are read in the order of ids."""
        owner = file.owner
        stored = self._yield_copies(owner)
        stored_next = await anext(stored, None)
        stale: set[str] = set()
        missing: list[str] = []
        sources: dict[str, str] = {}
        async for document in file.list():
            sources[document.id] = document.source_id
            while stored_next is not None and stored_next.id < document.id:
                stale.add(stored_next.source_id)
                stored_next = await anext(stored, None)
            if stored_next is not None and stored_next.id == document.id:
                if stored_next != document:
                    missing.append(document.id)
                stored_next = await anext(stored, None)
            else:
                missing.append(document.id)
        while stored_next is not None:
            stale.add(stored_next.source_id)
            stored_next = await anext(stored, None)
        # Copies are deleted by their source only. The documents that remain of a stale source are copied again.
        of_stale = [document_id for document_id, source_id in sources.items() if source_id in stale]
        return _Difference(
            tuple(dict.fromkeys((*missing, *of_stale))), tuple(sorted(stale)), frozenset(sources.values())
        )

    async def _yield_copies(self, owner: IndexOwner) -> AsyncIterator[IndexDocument]:
        async for document in self.engine.list(owner.scope, owner.index, owner.filter):
            # A filter cannot select documents without an agent, so they are selected here.
            if owner.name or document.agent_id is None:
                yield document

    async def _copy(self, file: IndexFile, difference: _Difference, claim: _Claim) -> int:
        owner = file.owner
        for source_id in difference.stale:
            await claim.hold()
            await self.engine.delete(owner.scope, owner.index, replace(owner.filter, source_id=source_id))
        for start in range(0, len(difference.missing), AT_ONCE):
            documents = await file.get(difference.missing[start : start + AT_ONCE])
            await claim.hold()
            await self.engine.put(owner.scope, owner.index, documents)
        return len(difference.missing)

    async def _delete(self, owner: IndexOwner, sources: frozenset[str]) -> None:
        """Delete the copies of a file that was deleted during the move."""
        for source_id in sources:
            await self.engine.delete(owner.scope, owner.index, replace(owner.filter, source_id=source_id))


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The result for one owner."""

    copied: int
    is_moved: bool = False
    is_left: bool = False
    """True if the owner was not moved, because its file was written during each pass."""


@dataclass(frozen=True, slots=True)
class _Difference:
    """The changes after which the copies are equal to a file."""

    missing: tuple[str, ...]
    """The ids of documents to copy."""
    stale: tuple[str, ...]
    """The sources of copies whose documents are no longer in the file."""
    sources: frozenset[str]
    """All sources of the file."""


class _Claim:
    """The claim of this command, without which a slow move could write copies after another move has finished."""

    def __init__(self, claims: MoveClaims, clock: Clock, claim: MoveClaim, tag: str) -> None:
        self._claims = claims
        self._clock = clock
        self._claim = claim
        self._tag = tag

    @classmethod
    async def take(cls, claims: MoveClaims, clock: Clock, sleep: Callable[[float], Awaitable[None]]) -> _Claim:
        """Claim the move, if necessary after waiting once for the end of an existing claim.

        Raises ``SearchMoveClaimed`` if another command has renewed or taken its claim meanwhile.
        """
        present, tag = await claims.read()
        remaining_seconds = present.until - clock.now().timestamp() if present is not None else 0.0
        if remaining_seconds > 0:
            await sleep(remaining_seconds)
        claim = MoveClaim(clock.new_id(), clock.now().timestamp() + CLAIM_SECONDS)
        new_tag = await claims.write(claim, tag)
        if new_tag is None:
            raise SearchMoveClaimed
        return cls(claims, clock, claim, new_tag)

    async def hold(self) -> None:
        """Renew the claim if it could end during the next request. Raises ``SearchMoveClaimed`` if it was lost."""
        now = self._clock.now().timestamp()
        if self._claim.until - now < RENEWAL_SECONDS:
            await self._write(now + CLAIM_SECONDS)

    async def release(self) -> None:
        """End the claim, so that the next command can begin at once. A claim that was lost stays as it is."""
        with suppress(SearchUnavailable):  # the claim ends without the write too, after ``CLAIM_SECONDS``
            await self._write(0.0)

    async def _write(self, until: float) -> None:
        claim = replace(self._claim, until=until)
        tag = await self._claims.write(claim, self._tag)
        if tag is None:
            raise SearchMoveClaimed
        self._claim, self._tag = claim, tag
