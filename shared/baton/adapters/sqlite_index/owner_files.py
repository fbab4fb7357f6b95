"""Reading and changing the files of owners in the bucket. Methods block."""

from __future__ import annotations

import random
import shutil
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Generic, TypeVar

import apsw

from baton.adapters.sqlite_index.bounds import MAX_ATTEMPTS, MAX_PAUSE_SECONDS, fill_percent
from baton.adapters.sqlite_index.copies import LOCKS, LocalCopies, LocalCopy
from baton.adapters.sqlite_index.objects import IndexObjects, NoFile, ObjectChanged
from baton.adapters.sqlite_index.owner_file import OwnerFile, is_sound
from baton.domain.documents.search import SearchFilter
from baton.domain.errors import SearchIndexDamaged, SearchIndexFull, SearchMoved, SearchUnavailable, StoreUnavailable

T = TypeVar("T")

MAX_OUTAGES = 2
"""Failures of S3 after which a write is given up. Its client has tried each request three times."""
_FIRST_PAUSE_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Change(Generic[T]):
    """The result of a change."""

    result: T
    fill_percent: int
    """The used part of what an owner may have, after the change."""


class _Waiting:
    """A change that waits for those of the same file in this process, to be written together with others."""

    def __init__(self, change: Callable[[OwnerFile], Any]) -> None:
        self.change = change
        self.outcome: Change[Any] | None = None
        self.failure: BaseException | None = None


class OwnerFiles:
    """The files of one bucket, by their keys.

    A change is applied to a copy of the file, which then replaces it on the condition that it is still the same. If it
    is not, the change is applied to the other one. So every change is in the file or none of it, whenever a process
    ends, and nobody's change is lost.
    """

    def __init__(self, objects: IndexObjects, copies: LocalCopies | None = None, *, is_alone: bool = True) -> None:
        """``is_alone``: False if owners without a file are served by OpenSearch. ``NoFile`` is raised then."""
        self.objects = objects
        self._is_alone = is_alone
        self._copies = copies or LocalCopies(objects)
        self._changing = [Lock() for _ in range(LOCKS)]
        self._waiting: dict[str, list[_Waiting]] = {}
        self._lock = Lock()

    @contextmanager
    def reading(self, key: str) -> Iterator[OwnerFile | None]:
        """Return the file as it is now, open until the end of the block; None if its owner has none.

        Raises ``SearchIndexDamaged``, ``StoreUnavailable``, ``apsw.Error`` and ``OSError``.
        """
        with self._latest(key) as copy:
            if copy is None:
                yield None
                return
            with _damage_reported(), OwnerFile.open(copy.path) as file:
                if not file.is_outdated:
                    yield file
                    return
        self.change(key, lambda _: None)  # makes its words again
        with self._latest(key) as copy:
            if copy is None:
                yield None
                return
            with _damage_reported(), OwnerFile.open(copy.path) as file:
                yield file

    @contextmanager
    def state(self, key: str) -> Iterator[tuple[OwnerFile, str] | None]:
        """Return the file as it is now, and its tag, until the end of the block. Raises ``NoFile`` for a mark."""
        with self._copies.latest(key) as copy:
            if copy is None:
                yield None
                return
            with _damage_reported(), OwnerFile.open(copy.path) as file:
                yield file, copy.stored.tag

    def mark(self, key: str, tag: str | None) -> None:
        """Put the mark in place of the file with this tag, or of none. Raises ``ObjectChanged``."""
        self.objects.mark(key, tag)
        self._copies.drop(key)

    def change(self, key: str, change: Callable[[OwnerFile], T]) -> Change[T]:
        """Change a file, or make it. ``change`` may be called several times, each time with another state.

        Raises ``SearchIndexFull`` if the file is larger than an owner's may be and has grown, ``SearchUnavailable`` if
        others change it all the time, and as ``reading`` does.
        """
        waiting = _Waiting(change)
        with self._lock:
            self._waiting.setdefault(key, []).append(waiting)
        # Changes that arrive during a write of this process are the next write, all together.
        with self._changing[hash(key) % LOCKS]:
            with self._lock:
                group = self._waiting.pop(key, ()) if waiting.outcome is None and waiting.failure is None else ()
            if group:
                self._write_together(key, group)
        if waiting.outcome is None:
            raise waiting.failure or SearchUnavailable
        return waiting.outcome

    def _write_together(self, key: str, group: Sequence[_Waiting]) -> None:
        """Write several changes at once, or one by one if there is no room for all."""
        try:
            done = self._write(key, lambda file: [waiting.change(file) for waiting in group])
        except SearchIndexFull as failure:
            if len(group) == 1:
                group[0].failure = failure
            else:
                for waiting in group:
                    self._write_together(key, [waiting])
        except BaseException as failure:  # noqa: BLE001 - each caller raises it
            for waiting in group:
                waiting.failure = failure
        else:
            for waiting, result in zip(group, done.result, strict=True):
                waiting.outcome = Change(result, done.fill_percent)

    def _write(self, key: str, change: Callable[[OwnerFile], T]) -> Change[T]:
        write_id = uuid.uuid4().hex
        outages = 0
        outcome: Change[T] | None = None
        for attempt in range(MAX_ATTEMPTS):
            if attempt:
                time.sleep(random.uniform(0, min(MAX_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2**attempt)))  # noqa: S311
            try:
                with self._latest(key) as copy:
                    if outcome is not None and copy is not None and copy.stored.write_id == write_id:
                        return outcome  # only the answer was lost
                    with self._copies.draft() as draft:
                        outcome, is_deleted, is_changed = _apply(change, copy, draft)
                        if is_deleted and copy is not None:
                            self._delete(key, copy)
                        elif is_changed and not is_deleted:
                            stored = self.objects.write(key, draft, copy.stored if copy else None, write_id)
                            self._copies.keep(key, draft, stored)
                        return outcome
            except ObjectChanged:
                continue
            except StoreUnavailable:
                outages += 1
                if outages >= MAX_OUTAGES:
                    raise
        raise SearchUnavailable

    def discard_damaged(self, key: str) -> bool:
        """Delete a file that cannot be read, and return whether it was one. Raises as ``change`` does."""
        with self._latest(key) as copy:
            if copy is None or is_sound(copy.path):
                return False
            try:
                self._delete(key, copy)
            except ObjectChanged as changed:
                raise SearchUnavailable from changed
        return True

    @contextmanager
    def _latest(self, key: str) -> Iterator[LocalCopy | None]:
        with ExitStack() as stack:
            try:
                copy = stack.enter_context(self._copies.latest(key))
            except NoFile as mark:
                if self._is_alone:
                    raise SearchMoved from mark
                raise
            if copy is None and not self._is_alone:
                raise NoFile(is_moved=False)
            yield copy

    def _delete(self, key: str, copy: LocalCopy) -> None:
        """Delete the object of a copy, so that nothing is left of an owner without documents."""
        self.objects.delete(key, copy.stored)
        self._copies.drop(key)


def _apply(change: Callable[[OwnerFile], T], copy: LocalCopy | None, draft: Path) -> tuple[Change[T], bool, bool]:
    """Write the changed file, and return what a change has done, whether no document is left, and whether it differs.

    Raises ``SearchIndexFull`` and what ``change`` raises.
    """
    if copy is not None:
        shutil.copyfile(copy.path, draft)
    with _damage_reported(), OwnerFile.open_draft(draft) as file:
        before = file.count(SearchFilter())
        result = change(file)
        is_changed, documents = file.is_changed, file.count(SearchFilter())
    size = draft.stat().st_size
    fill = fill_percent(size, documents)
    if fill > 100 and (documents > before or copy is None or size > copy.size):
        raise SearchIndexFull
    return Change(result, fill), not documents, is_changed


@contextmanager
def _damage_reported() -> Iterator[None]:
    try:
        yield
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise SearchIndexDamaged from error
