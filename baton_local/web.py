"""``python -m baton_local.web``: build the web clients (clients/web), with this environment's Node or the machine's.

Unchanged sources are not built again. ``python -m baton_local.web lint|types|test|format`` runs
the script of that name in ``package.json`` instead.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from baton_local.engines.downloads import locked
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
"""The file beside a result with the checksum of its sources."""
INSTALL = ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")


def build() -> Path:
    """Build the web clients if their sources have changed, and return the folder of the result.

    Several processes may call this at the same time. A distribution has the built files, but no sources. Raises
    ``LocalCloudError`` if a program is missing or fails.
    """
    if not (SOURCES / LOCK).is_file():
        return BUILT
    with locked(SOURCES / ".build.lock"):
        checksum = _hash_files(_find_sources())
        if not _has_text(BUILT / BUILT_OF, checksum):
            _install()
            _run("npm", "run", "--silent", "build")
            (BUILT / BUILT_OF).write_text(checksum)
    return BUILT


def is_built() -> bool:
    """Return whether there are built files, which may be outdated."""
    return (BUILT / WIDGET).is_file()


def run_script(name: str) -> str:
    """Run a script of ``package.json`` and return its output.

    Raises ``LocalCloudError``, with the output if the script fails.
    """
    with locked(SOURCES / ".build.lock"):
        _install()
    return _run("npm", "run", "--silent", name)


def _install() -> None:
    """Install the packages of the lock file, unless they are installed."""
    modules = SOURCES / "node_modules"
    checksum = _hash_files([SOURCES / LOCK])
    if not _has_text(modules / BUILT_OF, checksum):
        _run(*INSTALL)
        (modules / BUILT_OF).write_text(checksum)


def _find_sources() -> Iterator[Path]:
    for folder, folders, files in os.walk(SOURCES):
        folders[:] = sorted(set(folders) - NOT_SOURCES)
        yield from (Path(folder) / name for name in sorted(files) if not name.startswith("."))


def _hash_files(files: Iterator[Path] | list[Path]) -> str:
    """Return the hash of files with their names below ``SOURCES``."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.relative_to(SOURCES)}\n{file.stat().st_size}\n".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _has_text(file: Path, text: str) -> bool:
    return file.is_file() and file.read_text() == text


def _run(program: str, *arguments: str) -> str:
    """Return the standard output of a program. Raises ``LocalCloudError`` if it is missing or fails."""
    environment_folder = str(Path(sys.executable).parent)
    path = os.pathsep.join([environment_folder, os.environ.get("PATH", "")])
    executable = shutil.which(program, path=path)
    if executable is None:
        raise LocalCloudError(f"{program} is neither in this environment nor on PATH: run `make setup`.")
    completed = subprocess.run(
        [executable, *arguments],
        cwd=SOURCES,
        env={**os.environ, "PATH": path, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if completed.returncode != 0:
        output = f"{completed.stdout}\n{completed.stderr}".strip()
        raise LocalCloudError(f"`{program} {' '.join(arguments)}` failed in {SOURCES}:\n{output}")
    return completed.stdout


def main(names: list[str]) -> None:
    """Run the scripts of ``package.json`` with these names; without names, build the web clients."""
    if not names:
        build()
    for name in names:
        print(run_script(name).strip())


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except LocalCloudError as problem:
        sys.exit(str(problem))
