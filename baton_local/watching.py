"""Watches the files of folders, also of folders that do not exist yet or are replaced."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from watchfiles import Change, watch

GATHER_MS = 150
"""Milliseconds in which changes count as one: editors write a file in several steps."""
STEP_MS = 50
LOOK_MS = 1000
"""Milliseconds until a folder that was not there is noticed."""


def changes_in(folders: Sequence[Path], stopped: threading.Event) -> Iterator[set[Path]]:
    """Yield what changes from now on until ``stopped`` is set.

    For a folder that comes, goes or is replaced, the folder itself is yielded.
    """
    return _changes(folders, {folder for folder in folders if folder.is_dir()}, stopped)


def _changes(folders: Sequence[Path], watched: set[Path], stopped: threading.Event) -> Iterator[set[Path]]:
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
            # Changes of a folder before it is watched are not seen: they are yielded once it is.
            if found := {Path(path) for _, path in changes} | unseen:
                unseen = set()
                yield found
            there = {folder for folder in folders if folder.is_dir()}
            gone = {Path(path) for change, path in changes if change is Change.deleted} & watched
            if there != watched or gone:
                unseen, watched = (there ^ watched) | gone, there
                break


def _is_source(_: object, path: str) -> bool:
    """Return whether the file is one of the developer's: editors and Python write other ones."""
    name = Path(path).name
    return "__pycache__" not in path and not name.startswith(".") and not name.endswith(("~", ".tmp", ".pyc"))
