"""Reading and changing the files of owners in the bucket. Methods block."""

from __future__ import annotations

import random
import shutil
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any, Generic, TypeVar

import apsw

from baton.adapters.sqlite_index.bounds import MAX_ATTEMPTS, MAX_PAUSE_SECONDS, compute_fill_percent
from baton.adapters.sqlite_index.copies import LOCKS, LocalCopies, LocalCopy
from baton.adapters.sqlite_index.objects import IndexObjects, NoFile, ObjectChanged
from baton.adapters.sqlite_index.owner_file import OwnerFile, is_readable
from baton.adapters.sqlite_index.owners import make_tenant_prefix
from baton.domain.documents.search import SearchFilter
from baton.domain.errors import SearchIndexDamaged, SearchIndexFull, SearchMoved, SearchUnavailable, StoreUnavailable
from baton.failures.reports import report_failure

T = TypeVar("T")

MAX_OUTAGES = 2
"""The number of failures of S3 after which a write fails. S3's client tries each request three times."""
_FIRST_PAUSE_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Change(Generic[T]):
    """The result of a change."""

    result: T
    fill_percent: int
    """The used share of an owner's limits after the change, in per cent."""


class _PendingChange:
    """A change that waits for others of the same file in this process, to be written together with them."""

    def __init__(self, change: Callable[[OwnerFile], Any]) -> None:
        self.change = change
        self.outcome: Change[Any] | None = None
        self.failure: BaseException | None = None


class OwnerFiles:
    """The files of one bucket, by their keys.

    A change is applied to a copy of the file, which replaces the file on the condition that the file has not changed
    since. Otherwise the change is applied to the new file. A change is therefore applied completely or not at all, even
    if a process ends, and no change is lost.
    """

    def __init__(self, objects: IndexObjects, copies: LocalCopies | None = None, *, is_alone: bool = True) -> None:
        """``is_alone`` is False if OpenSearch serves owners without a file. ``NoFile`` is raised for such owners."""
        self.objects = objects
        self._is_alone = is_alone
        self._copies = copies or LocalCopies(objects)
        self._write_locks = [Lock() for _ in range(LOCKS)]
        self._pending: dict[str, list[_PendingChange]] = {}
        self._lock = Lock()

    @contextmanager
    def open_current(self, key: str) -> Iterator[OwnerFile | None]:
        """Yield the current file, open until the end of the block; None if its owner has none.

        Raises ``SearchMoved`` or ``NoFile`` for an owner in OpenSearch, ``SearchIndexDamaged``, ``StoreUnavailable``,
        ``apsw.Error`` and ``OSError``.
        """
        with self._open_latest(key) as copy:
            if copy is None:
                yield None
                return
            with OwnerFile.open(copy.path) as file:
                if not file.is_outdated:
                    yield file
                    return
        self.change(key, lambda _: None)  # opening the file for a change rebuilds its words
        with self._open_latest(key) as copy:
            if copy is None:
                yield None
                return
            with OwnerFile.open(copy.path) as file:
                yield file

    @contextmanager
    def open_with_tag(self, key: str) -> Iterator[tuple[OwnerFile, str] | None]:
        """Yield the current file and its tag, until the end of the block; None without a file.

        Raises ``NoFile`` for a mark.
        """
        with self._copies.open_latest(key) as copy:
            if copy is None:
                yield None
                return
            with report_damage(key), OwnerFile.open(copy.path) as file:
                yield file, copy.stored.tag

    def mark(self, key: str, tag: str | None) -> None:
        """Put the mark in place of the file with this tag; None for no file. Raises ``ObjectChanged``."""
        self.objects.mark(key, tag)
        self._copies.drop(key)

    def change(self, key: str, change: Callable[[OwnerFile], T]) -> Change[T]:
        """Change a file, or make it. ``change`` is called again if another process has changed the file meanwhile.

        Raises ``SearchIndexFull`` if the file has grown beyond an owner's limits, ``SearchUnavailable`` if others
        change it all the time, and as ``open_current`` does.
        """
        pending = _PendingChange(change)
        with self._lock:
            self._pending.setdefault(key, []).append(pending)
        # All changes that arrive during a write of this process are written together by the next one.
        with self._write_locks[hash(key) % LOCKS]:
            with self._lock:
                group = self._pending.pop(key, ()) if pending.outcome is None and pending.failure is None else ()
            if group:
                self._write_together(key, group)
        if pending.outcome is None:
            raise pending.failure or SearchUnavailable
        return pending.outcome

    def _write_together(self, key: str, group: Sequence[_PendingChange]) -> None:
        """Write several changes together, or one by one if there is no room for all."""
        try:
            outcome = self._write(key, lambda file: [pending.change(file) for pending in group])
        except SearchIndexFull as failure:
            if len(group) == 1:
                group[0].failure = failure
            else:
                for pending in group:
                    self._write_together(key, [pending])
        except BaseException as failure:  # noqa: BLE001 - each caller raises it
            for pending in group:
                pending.failure = failure
        else:
            for pending, result in zip(group, outcome.result, strict=True):
                pending.outcome = Change(result, outcome.fill_percent)

    def _write(self, key: str, change: Callable[[OwnerFile], T]) -> Change[T]:
        """Apply a change and store the file, in several attempts if others change it meanwhile."""
        write_id = uuid.uuid4().hex
        outages = 0
        outcome: Change[T] | None = None
        was_deletion = False
        """Whether the last attempt was to delete the file, because no documents were left."""
        for attempt in range(MAX_ATTEMPTS):
            if attempt:
                time.sleep(random.uniform(0, min(MAX_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2**attempt)))  # noqa: S311
            try:
                with self._open_latest(key) as copy:
                    is_stored = was_deletion if copy is None else copy.stored.write_id == write_id
                    if outcome is not None and is_stored:
                        return outcome  # this write has succeeded, and only its answer was lost
                    with self._copies.make_draft() as draft:
                        outcome, is_empty, is_changed = _apply(change, copy, draft)
                        was_deletion = is_empty and copy is not None
                        if is_empty and copy is not None:
                            self._delete(key, copy)
                        elif is_changed and not is_empty:
                            replaced = copy.stored if copy is not None else None
                            stored = self.objects.write(key, draft, replaced, write_id, outcome.fill_percent)
                            self._copies.keep(key, draft, stored)
                        return outcome
            except NoFile as absence:
                if outcome is not None and was_deletion and not absence.is_moved:
                    return outcome  # as above, beside OpenSearch
                raise
            except ObjectChanged:
                continue
            except StoreUnavailable:
                outages += 1
                if outages >= MAX_OUTAGES:
                    raise
        raise SearchUnavailable

    def list_of_tenant(self, tenant_id: str, number: int, after: str | None = None) -> list[str]:
        """Return the first ``number`` keys of objects of a tenant, those after the key ``after``."""
        return list(islice(self.objects.list_all_keys(make_tenant_prefix(tenant_id), after), number))

    def delete_of_tenant(self, tenant_id: str, number: int) -> int:
        """Delete at most ``number`` objects of a tenant, even if they change meanwhile. Return their number."""
        keys = self.list_of_tenant(tenant_id, number)
        for key in keys:
            self.objects.remove(key)
            self._copies.drop(key)
        return len(keys)

    def discard_damaged(self, key: str) -> bool:
        """Delete a file that cannot be read. Return whether there was one. Raises as ``change`` does."""
        with self._open_latest(key) as copy:
            if copy is None or is_readable(copy.path):
                return False
            try:
                self._delete(key, copy)
            except ObjectChanged as changed:
                raise SearchUnavailable from changed
        return True

    @contextmanager
    def _open_latest(self, key: str) -> Iterator[LocalCopy | None]:
        """Yield a copy of the current file, until the end of the block; None without a file.

        Raises as ``open_current`` does.
        """
        with ExitStack() as stack:
            try:
                copy = stack.enter_context(self._copies.open_latest(key))
            except NoFile as mark:
                if self._is_alone:
                    raise SearchMoved from mark
                raise
            if copy is None and not self._is_alone:
                raise NoFile(is_moved=False)
            with report_damage(key):
                yield copy

    def _delete(self, key: str, copy: LocalCopy) -> None:
        """Delete the object of a copy, and the copy."""
        self.objects.delete(key, copy.stored)
        self._copies.drop(key)


def _apply(change: Callable[[OwnerFile], T], copy: LocalCopy | None, draft: Path) -> tuple[Change[T], bool, bool]:
    """Apply ``change`` to a draft of the file.

    Return its outcome, whether the file has no documents now, and whether it has changed. Raises ``SearchIndexFull``
    and the errors of ``change``.
    """
    if copy is not None:
        shutil.copyfile(copy.path, draft)
    with OwnerFile.open_draft(draft) as file:
        documents_before = file.count(SearchFilter())
        result = change(file)
        is_changed, documents = file.is_changed, file.count(SearchFilter())
    size = draft.stat().st_size
    fill = compute_fill_percent(size, documents)
    if fill > 100 and (documents > documents_before or copy is None or size > copy.size):
        raise SearchIndexFull
    return Change(result, fill), not documents, is_changed


@contextmanager
def report_damage(key: str) -> Iterator[None]:
    """Report the damage of a file that the block finds. Raises ``SearchIndexDamaged``."""
    try:
        yield
    except (apsw.CorruptError, apsw.NotADBError) as error:
        damage = SearchIndexDamaged()
        report_failure(damage, "A search index is damaged", key=key)
        raise damage from error
