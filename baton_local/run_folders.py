"""Folders of one run in the system's temporary folder, and the removal of those that killed runs have left."""

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path

PREFIX = "baton-{kind}-"
LOCK = "run.lock"
YOUNG_SECONDS = 60.0
"""The age up to which a folder may belong to a run that has not locked it yet."""
ATTEMPTS = 5
"""Attempts to remove a folder, into which an ending program may still write files."""


class RunFolder:
    """A new folder that ``remove`` removes. A folder that a killed run has left is removed by the next run.

    A lock shows that the folder's run is alive. The system releases it however the process ends.
    """

    def __init__(self, kind: str) -> None:
        """Create the folder, and remove the folders of this kind that ended runs have left."""
        remove_left(kind)
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX.format(kind=kind)))
        self._lock = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def remove(self) -> None:
        """Remove the folder and its contents. A repetition is not an error."""
        if self._lock < 0:
            return
        for _ in range(ATTEMPTS):
            shutil.rmtree(self.path, ignore_errors=True)
            if not self.path.exists():
                break
        os.close(self._lock)
        self._lock = -1


def remove_left(kind: str) -> None:
    """Remove the folders of this user's runs that have ended without removing them."""
    for folder in Path(tempfile.gettempdir()).glob(PREFIX.format(kind=kind) + "*"):
        with contextlib.suppress(OSError):  # gone, or locked: its run is alive
            status = folder.lstat()
            if status.st_uid == os.getuid() and time.time() - status.st_mtime > YOUNG_SECONDS:
                _remove_unless_locked(folder)


def _remove_unless_locked(folder: Path) -> None:
    """Remove the folder of an ended run.

    Raises ``OSError`` if the run is alive, or if the folder has files but no lock, so that the run is unknown.
    """
    try:
        lock = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        folder.rmdir()
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)
