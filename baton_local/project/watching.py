"""Watches the files of folders, also of folders that do not exist yet or are replaced."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG

from watchfiles import Change, watch

GATHER_MS = 150
"""Milliseconds in which changes count as one, because editors write a file in several steps."""
STEP_MS = 50
"""Milliseconds between two looks for changes."""
LOOK_MS = 1000
"""Milliseconds until a new folder is noticed."""


Snapshot = Mapping[Path, tuple[int, int]]
"""The developer's files, with the time of their last change in nanoseconds since the epoch and their size in bytes."""


def take_snapshot(folders: Sequence[Path]) -> Snapshot:
    """Return the files of the folders as they are now."""
    files: dict[Path, tuple[int, int]] = {}
    for path in (path for folder in folders for path in folder.rglob("*") if _is_source(None, str(path))):
        with suppress(OSError):  # the file was just removed
            state = path.stat()
            if S_ISREG(state.st_mode):
                files[path] = state.st_mtime_ns, state.st_size
    return files


def watch_changes(
    folders: Sequence[Path], stopped: threading.Event, snapshot: Snapshot | None = None
) -> Iterator[set[Path]]:
    """Yield the paths that change, until ``stopped`` is set; first those that have changed since ``snapshot``.

    If a folder is created, removed or replaced, the folder itself is yielded.
    """
    return _watch_folders(folders, {folder for folder in folders if folder.is_dir()}, stopped, snapshot)


def _watch_folders(
    folders: Sequence[Path], watched: set[Path], stopped: threading.Event, stored: Snapshot | None
) -> Iterator[set[Path]]:
    """Do as ``watch_changes``; ``watched`` are those of the folders that exist."""
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
            if stored is not None:  # the watch has begun, so that no change is missed
                unseen |= {path for path, _ in stored.items() ^ take_snapshot(folders).items()}
                stored = None
            # A folder that has changed before it was watched is yielded once it is watched.
            if paths := {Path(path) for _, path in changes} | unseen:
                unseen = set()
                yield paths
            existing = {folder for folder in folders if folder.is_dir()}
            gone = {Path(path) for change, path in changes if change is Change.deleted} & watched
            if existing != watched or gone:
                unseen, watched = (existing ^ watched) | gone, existing
                break


def _is_source(_: object, path: str) -> bool:
    """Return whether the developer wrote the file, and not an editor for itself or Python."""
    name = Path(path).name
    return "__pycache__" not in path and not name.startswith(".") and not name.endswith(("~", ".tmp", ".pyc"))
