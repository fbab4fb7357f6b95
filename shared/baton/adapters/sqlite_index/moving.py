"""The files of the embedded index, for a move to OpenSearch."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import asdict
from functools import partial
from typing import TypeVar

from baton.adapters.sqlite_index.blocking_work import run_in_thread
from baton.adapters.sqlite_index.objects import NoFile, ObjectChanged
from baton.adapters.sqlite_index.owner_file import OwnerFile
from baton.adapters.sqlite_index.owner_files import OwnerFiles, report_damage
from baton.adapters.sqlite_index.owners import make_owner_key
from baton.domain.documents.search import IndexDocument, IndexName, SearchFilter
from baton.ports.documents.index_files import IndexFile, IndexOwner, MoveClaim, OwnerState

T = TypeVar("T")

PAGE = 200
"""The number of documents on a page of a listing."""
CLAIM = "~move.json"
"""The key of the claim. Ids of tenants do not begin with ``~``."""


class SqliteFile:
    """``ports.documents.index_files.IndexFile`` over a copy of an owner's file."""

    def __init__(self, key: str, file: OwnerFile, tag: str) -> None:
        """Read the owner, which blocks. Raises ``SearchIndexDamaged`` and ``apsw.Error``."""
        tenant_id, index, _ = key.split("/", 2)
        with report_damage(key):
            self.owner = IndexOwner(IndexName(index), tenant_id, file.read_owner())
        self.tag = tag
        self._key = key
        self._file = file

    async def list(self) -> AsyncIterator[IndexDocument]:
        """See ``IndexFile``."""
        after = ""
        while page := await self._read(partial(self._file.read_page, SearchFilter(), after, PAGE)):
            for document in page:
                yield document
            after = page[-1].id

    async def get(self, ids: Collection[str]) -> Sequence[IndexDocument]:
        """See ``IndexFile``."""
        return await self._read(partial(self._file.read_with_vectors, ids))

    async def _read(self, read: Callable[[], T]) -> T:
        """Return the result of ``read``, which runs in a thread. Raises as the methods of ``IndexFile`` do."""

        def read_or_report() -> T:
            with report_damage(self._key):
                return read()

        return await run_in_thread(read_or_report)


class SqliteFiles:
    """``ports.documents.index_files.IndexFiles`` and ``MoveClaims``, in the bucket of the index."""

    def __init__(self, files: OwnerFiles) -> None:
        self._files = files

    def key(self, owner: IndexOwner) -> str:
        """See ``IndexFiles``."""
        return make_owner_key(owner.scope, owner.index, owner.name or None)

    async def keys(self, tenant_id: str | None = None) -> AsyncIterator[str]:
        """See ``IndexFiles``."""
        prefix = f"{tenant_id}/" if tenant_id is not None else ""
        for key in await run_in_thread(lambda: list(self._files.objects.list_keys(prefix))):
            yield key

    async def state(self, key: str) -> OwnerState:
        """See ``IndexFiles``."""
        with ExitStack() as stack:
            try:
                state = await run_in_thread(lambda: stack.enter_context(self._files.open_with_tag(key)))
            except NoFile:
                return OwnerState.MOVED
            return OwnerState.FILE if state is not None else OwnerState.NONE

    @asynccontextmanager
    async def open(self, key: str) -> AsyncIterator[IndexFile | None]:
        """See ``IndexFiles``."""
        with ExitStack() as stack:
            yield await run_in_thread(lambda: self._open(key, stack))

    def _open(self, key: str, stack: ExitStack) -> SqliteFile | None:
        """Open a file until the end of ``stack``; None without a file."""
        try:
            state = stack.enter_context(self._files.open_with_tag(key))
        except NoFile:
            return None
        return SqliteFile(key, *state) if state is not None else None

    async def mark_moved(self, key: str, tag: str | None) -> bool:
        """See ``IndexFiles``."""
        try:
            await run_in_thread(lambda: self._files.mark(key, tag))
        except ObjectChanged:
            return False
        return True

    async def remove_marks(self, tenant_id: str | None = None) -> int:
        """See ``IndexFiles``."""
        prefix = f"{tenant_id}/" if tenant_id is not None else ""
        objects = self._files.objects
        keys = await run_in_thread(lambda: list(objects.list_keys(prefix, marks=True)))
        return sum([await run_in_thread(partial(objects.remove_mark, key)) for key in keys])

    async def read(self) -> tuple[MoveClaim | None, str | None]:
        """See ``MoveClaims``."""
        note = await run_in_thread(lambda: self._files.objects.read_note(CLAIM))
        return (MoveClaim(**json.loads(note.body)), note.tag) if note is not None else (None, None)

    async def write(self, claim: MoveClaim, tag: str | None) -> str | None:
        """See ``MoveClaims``."""
        body = json.dumps(asdict(claim)).encode()
        try:
            return await run_in_thread(lambda: self._files.objects.write_note(CLAIM, body, tag))
        except ObjectChanged:
            note = await run_in_thread(lambda: self._files.objects.read_note(CLAIM))
            return note.tag if note is not None and note.body == body else None  # only the answer was lost
