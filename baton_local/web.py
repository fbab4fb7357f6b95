"""``python -m baton_local.web``: build what browsers load (clients/web), with this environment's Node or the machine's.

Nothing is done while the sources are those of the last build. ``python -m baton_local.web lint|types|test|format`` runs
the script of that name in ``package.json`` instead.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from baton_local.errors import LocalCloudError
from baton_local.root import ROOT

SOURCES = ROOT / "clients" / "web"
BUILT = SOURCES / "dist"
LOCK = "package-lock.json"
NOT_SOURCES = {"node_modules", "dist", "test"}
CONSOLE_BUILT = SOURCES / "console" / "dist"
WIDGET = "baton-chat.js"
CONSOLE_PAGE = "index.html"
BUILT_OF = ".built-of"
INSTALL = ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")


def build() -> Path:
    """Return the folder of what was built, after having built what has changed.

    Several processes may ask at the same time. A distribution has what was built, and no sources. Raises
    ``LocalCloudError`` that says what is missing.
    """
    if not (SOURCES / LOCK).is_file():
        return BUILT
    with locked(SOURCES / ".build.lock"):
        checksum = _hash_of(_sources())
        if not _is(BUILT / BUILT_OF, checksum):
            _install()
            _run("npm", "run", "--silent", "build")
            (BUILT / BUILT_OF).write_text(checksum)
    return BUILT


def is_built() -> bool:
    """Whether there is something to serve, of whatever age."""
    return (BUILT / WIDGET).is_file()


def script(name: str) -> str:
    """Run a script of ``package.json`` and return what it prints. Raises ``LocalCloudError`` with that if it fails."""
    with locked(SOURCES / ".build.lock"):
        _install()
    return _run("npm", "run", "--silent", name)


def _install() -> None:
    modules = SOURCES / "node_modules"
    locked = _hash_of([SOURCES / LOCK])
    if not _is(modules / BUILT_OF, locked):
        _run(*INSTALL)
        (modules / BUILT_OF).write_text(locked)


def _sources() -> Iterator[Path]:
    for folder, folders, files in os.walk(SOURCES):
        folders[:] = sorted(set(folders) - NOT_SOURCES)
        yield from (Path(folder) / name for name in sorted(files) if not name.startswith("."))


def _hash_of(files: Iterator[Path] | list[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.relative_to(SOURCES)}\n{file.stat().st_size}\n".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _is(file: Path, text: str) -> bool:
    return file.is_file() and file.read_text() == text


def _run(program: str, *arguments: str) -> str:
    here = str(Path(sys.executable).parent)
    path = os.pathsep.join([here, os.environ.get("PATH", "")])
    executable = shutil.which(program, path=path)
    if executable is None:
        raise LocalCloudError(f"{program} is neither in this environment nor on PATH: run `make setup`.")
    done = subprocess.run(
        [executable, *arguments],
        cwd=SOURCES,
        env={**os.environ, "PATH": path, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        output = f"{done.stdout}\n{done.stderr}".strip()
        raise LocalCloudError(f"`{program} {' '.join(arguments)}` failed in {SOURCES}:\n{output}")
    return done.stdout


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Wait until no other process holds the file ``path``, and hold it."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main(names: list[str]) -> None:
    """Build, or run the scripts that are named."""
    if not names:
        build()
    for name in names:
        print(script(name).strip())


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except LocalCloudError as problem:
        sys.exit(str(problem))
