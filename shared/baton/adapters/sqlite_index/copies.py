"""Copies of the bucket's files on the disk of this process. The least recently used ones are removed first."""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile
import uuid
import weakref
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock

from baton.adapters.sqlite_index.bounds import MAX_COPIES_BYTES
from baton.adapters.sqlite_index.objects import IndexObjects, StoredFile

LOCKS = 64
"""The number of locks, which files share by the hash of their keys. Two requests for one file fetch it once."""
_PREFIX = "baton-index-"


@dataclass(eq=False, slots=True)
class LocalCopy:
    """A complete copy of an object, which does not change."""

    path: Path
    stored: StoredFile
    size: int
    readers: int = 0
    """The number of current readers of the file. An unregistered copy is removed after the last reader."""
    is_registered: bool = True
    """Whether the next reader gets this copy."""


class LocalCopies:
    """The copies of the objects of one bucket. Methods block.

    A file is registered when it is complete, so that nobody reads an incomplete file.
    """

    def __init__(self, objects: IndexObjects, max_bytes: int = MAX_COPIES_BYTES) -> None:
        self._objects = objects
        self._max_bytes = max_bytes
        self._copies: OrderedDict[str, LocalCopy] = OrderedDict()
        self._drafts: set[Path] = set()
        self._lock = Lock()
        self._fetch_locks = [Lock() for _ in range(LOCKS)]

    @contextmanager
    def open_latest(self, key: str) -> Iterator[LocalCopy | None]:
        """Yield a copy of the object's current content, which stays until the end of the block; None without an object.

        Raises ``StoreUnavailable`` and ``OSError``.
        """
        copy = self._fetch(key)
        try:
            yield copy
        finally:
            if copy is not None:
                self._release(copy)

    def keep(self, key: str, draft: Path, stored: StoredFile) -> None:
        """Register a complete draft as the copy of an object."""
        self._release(self._register(key, draft, stored))

    def drop(self, key: str) -> None:
        """Remove the copy of an object if it exists."""
        with self._lock:
            copy = self._copies.pop(key, None)
            if copy is not None:
                self._unregister(copy)

    @contextmanager
    def make_draft(self) -> Iterator[Path]:
        """Yield the path of a new file, which is removed at the end of the block unless ``keep`` was called with it."""
        path = self._folder / f"{uuid.uuid4().hex}.sqlite"
        self._drafts.add(path)
        try:
            yield path
        finally:
            if path in self._drafts:
                self._drafts.remove(path)
                path.unlink(missing_ok=True)

    @property
    def size(self) -> int:
        """The size of all registered copies, in bytes."""
        with self._lock:
            return sum(copy.size for copy in self._copies.values())

    def _fetch(self, key: str) -> LocalCopy | None:
        """Return a copy of the object's current content, with one more reader; None without an object.

        Other copies are removed if the disk is full.
        """
        with self._fetch_locks[hash(key) % LOCKS]:
            try:
                return self._fetch_once(key)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                self._shrink(0)
                return self._fetch_once(key)

    def _fetch_once(self, key: str) -> LocalCopy | None:
        """Return a copy as ``_fetch`` does. Raises ``OSError`` for a full disk."""
        with self._lock:
            copy = self._copies.get(key)
            if copy is not None:
                copy.readers += 1
        is_current = False
        try:
            with self.make_draft() as draft:
                stored = self._objects.read(key, copy.stored if copy is not None else None, draft)
                is_current = copy is not None and stored is copy.stored
                if stored is None:
                    self.drop(key)
                elif not is_current:
                    return self._register(key, draft, stored)
        finally:
            if copy is not None and not is_current:
                self._release(copy)
        if not is_current:
            return None
        with self._lock:
            if key in self._copies:
                self._copies.move_to_end(key)
        return copy

    def _register(self, key: str, path: Path, stored: StoredFile) -> LocalCopy:
        """Register a draft in place of the previous copy. Return the new copy, with one reader."""
        copy = LocalCopy(path, stored, path.stat().st_size, readers=1)
        with self._lock:
            self._drafts.remove(path)
            previous = self._copies.pop(key, None)
            self._copies[key] = copy
            if previous is not None:
                self._unregister(previous)
        self._shrink(self._max_bytes)
        return copy

    def _release(self, copy: LocalCopy) -> None:
        """Count one reader less, and remove an unregistered copy after its last reader."""
        with self._lock:
            copy.readers -= 1
            if not copy.readers and not copy.is_registered:
                copy.path.unlink(missing_ok=True)

    def _shrink(self, max_bytes: int) -> None:
        """Remove the least recently used copies without readers until the others have at most ``max_bytes``."""
        with self._lock:
            size = sum(copy.size for copy in self._copies.values())
            for key, copy in list(self._copies.items()):
                if size <= max_bytes:
                    return
                if not copy.readers:
                    del self._copies[key]
                    self._unregister(copy)
                    size -= copy.size

    def _unregister(self, copy: LocalCopy) -> None:
        copy.is_registered = False
        if not copy.readers:
            copy.path.unlink(missing_ok=True)

    @cached_property
    def _folder(self) -> Path:
        """The folder of this process. Folders of ended processes are removed, because Lambda's disk outlives them."""
        for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
            match = re.fullmatch(rf"{_PREFIX}(\d+)-.*", folder.name)
            if match and folder not in _own_folders and not _is_running(int(match[1])):
                shutil.rmtree(folder, ignore_errors=True)
        folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
        _own_folders.add(folder)
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return folder


_own_folders: set[Path] = set()


def _is_running(process: int) -> bool:
    """Return whether another process with this id runs."""
    if process == os.getpid():
        return False
    with suppress(OSError):
        os.kill(process, 0)
        return True
    return False
