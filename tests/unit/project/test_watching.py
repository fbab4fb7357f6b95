"""Folders that are watched, in the file system."""

from __future__ import annotations

import queue
import shutil
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from baton_local.project.watching import take_snapshot, watch_changes

PATIENCE_SECONDS = 20.0
MAX_EDITS = 40


class Watched:
    """Two folders, of which one is not there yet."""

    def __init__(self, folder: Path) -> None:
        self.tools, self.documents = folder / "tools", folder / "documents"
        self.tools.mkdir()
        self._stopped = threading.Event()
        self._reported: queue.SimpleQueue[Path] = queue.SimpleQueue()
        self._changes = watch_changes([self.tools, self.documents], self._stopped)
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def wait_for_report(self, path: Path) -> bool:
        """Wait until ``path`` is reported."""
        while self._reported.get(timeout=PATIENCE_SECONDS) != path:
            pass
        return True

    def edit_until_reported(self, path: Path) -> bool:
        """Save a file until an edit is reported, because a replaced folder is watched only after a moment."""
        for number in range(MAX_EDITS):
            path.write_text(f"# Page {number}")
            with suppress(queue.Empty):
                while self._reported.get(timeout=PATIENCE_SECONDS / MAX_EDITS) != path:
                    pass
                return True
        return False

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _watch(self) -> None:
        for changed in self._changes:
            for path in sorted(changed):
                self._reported.put(path)


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    result = Watched(tmp_path)
    yield result
    result.stop()


def test_a_folder_that_comes_later_or_is_replaced_is_watched_as_well(watched: Watched) -> None:
    watched.documents.mkdir()
    assert watched.wait_for_report(watched.documents)
    page = watched.documents / "page.md"
    page.write_text("# Page")
    assert watched.wait_for_report(page)
    shutil.rmtree(watched.documents)
    assert watched.wait_for_report(watched.documents)
    watched.documents.mkdir()
    assert watched.edit_until_reported(page)


def test_what_has_changed_before_the_watch_stands_is_reported(tmp_path: Path) -> None:
    edited, removed, added, stored = (tmp_path / f"{name}.py" for name in ("edited", "removed", "added", "kept"))
    for file in (edited, removed, stored):
        file.write_text("x = 1")
    existing = take_snapshot([tmp_path])
    edited.write_text("x = 22")
    removed.unlink()
    added.write_text("x = 1")
    stopped = threading.Event()
    assert next(watch_changes([tmp_path], stopped, existing)) == {edited, removed, added}
    stopped.set()
