"""Watches the files of folders, also of folders that do not exist yet or are replaced."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG

from watchfiles import Change, watch

GATHER_MS = 150
"""Milliseconds in which changes count as one: editors write a file in several steps."""
STEP_MS = 50
LOOK_MS = 1000
"""Milliseconds until a folder that was not there is noticed."""


Snapshot = Mapping[Path, tuple[int, int]]
"""The developer's files in folders, with the time of their last change in nanoseconds and their size."""


def snapshot(folders: Sequence[Path]) -> Snapshot:
    """Return the files of the folders as they are now."""
    files: dict[Path, tuple[int, int]] = {}
    for path in (path for folder in folders for path in folder.rglob("*") if _is_source(None, str(path))):
        with suppress(OSError):  # it is gone already
            state = path.stat()
            if S_ISREG(state.st_mode):
                files[path] = state.st_mtime_ns, state.st_size
    return files


def changes_in(folders: Sequence[Path], stopped: threading.Event, known: Snapshot | None = None) -> Iterator[set[Path]]:
    """Yield what changes from now on until ``stopped`` is set, and first what has changed since ``known``.

    For a folder that comes, goes or is replaced, the folder itself is yielded.
    """
    return _changes(folders, {folder for folder in folders if folder.is_dir()}, stopped, known)


def _changes(
    folders: Sequence[Path], watched: set[Path], stopped: threading.Event, known: Snapshot | None
) -> Iterator[set[Path]]:
    unseen: set[Path] = set()
    while not stopped.is_set():
        if not watched:
            stopped.wait(LOOK_MS / 1000)
        for changes in (
            watch(
                *watched,
                watch_filter=_is_source,
                debounce=GATHER_MS,
                step=STEP_MS,
                rust_timeout=LOOK_MS,
                yield_on_timeout=True,
                stop_event=stopped,
                raise_interrupt=False,
            )
            if watched
            else [set()]
        ):
            if known is not None:  # the watch stands by now
                unseen |= {path for path, _ in known.items() ^ snapshot(folders).items()}
                known = None
            # Changes of a folder before it is watched are not seen: they are yielded once it is.
            if paths := {Path(path) for _, path in changes} | unseen:
                unseen = set()
                yield paths
            there = {folder for folder in folders if folder.is_dir()}
            gone = {Path(path) for change, path in changes if change is Change.deleted} & watched
            if there != watched or gone:
                unseen, watched = (there ^ watched) | gone, there
                break


def _is_source(_: object, path: str) -> bool:
    """Return whether the file is one of the developer's: editors and Python write other ones."""
    name = Path(path).name
    return "__pycache__" not in path and not name.startswith(".") and not name.endswith(("~", ".tmp", ".pyc"))
