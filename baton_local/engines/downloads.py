"""Folders that are filled once, by one of several processes that need them at the same time."""

import fcntl
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def assemble_once(name: str, cache_dir: Path, assemble: Callable[[Path], None]) -> Path:
    """Return the folder ``name`` in ``cache_dir``, which ``assemble`` fills if it does not exist.

    Several processes may ask at the same time: a lock lets one of them fill the folder. An incomplete folder is never
    returned. Raises the errors of ``assemble``.
    """
    cache_dir = cache_dir.resolve()
    cache_dir.mkdir(parents=True, exist_ok=True)
    folder = cache_dir / name
    with locked(folder.with_name(f"{folder.name}.lock")):
        if not folder.exists():
            unfinished = folder.with_name(f"{folder.name}.unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            assemble(unfinished)
            unfinished.rename(folder)
    return folder


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Wait for the lock of the file ``path``, which is created if absent, and hold it within the block."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
