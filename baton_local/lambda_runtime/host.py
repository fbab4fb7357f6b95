"""The parts of Lambda that a build does not have: Python, the runtime interface client, native code for this machine.

A build is for Lambda's processors (arm64). On another machine, each compiled module is replaced by the same version's
for this machine; everything else is used as it was built.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from functools import cache
from hashlib import sha256
from pathlib import Path

from baton_local.engines.downloads import assemble_once
from baton_local.errors import LocalCloudError
from baton_local.root import ROOT

PYTHON = "3.13"
"""The Python version of Lambda, for which layers are built."""
CLIENT = ("awslambdaric==4.2.2", "simplejson==4.3.0", "snapshot-restore-py==1.0.0")
"""AWS's runtime interface client, which is in Lambda's own Python runtimes, and its requirements."""
ADAPTER = "1.0.0-rc1"
"""The newest Lambda Web Adapter on crates.io. The public layer has 1.0.0."""
WRAPPER = '#!/bin/bash\n\nexec -- "${LAMBDA_TASK_ROOT}/${_HANDLER}"\n'
"""The file ``bootstrap`` of the Lambda Web Adapter's layer."""
QUICKLY = {
    "CARGO_PROFILE_RELEASE_LTO": "off",
    "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16",
    "CARGO_PROFILE_RELEASE_OPT_LEVEL": "0",
}
"""Build settings without optimisations. The adapter works the same and is built in a third of the time."""


class HostProblem(LocalCloudError):
    """An error because built functions cannot run on this machine. The message says what is missing."""


@cache
def find_namespace() -> tuple[str, ...]:
    """Return the command that runs another in a mount namespace with layers in /opt. Raises ``HostProblem``."""
    command = ("unshare", "--mount") if os.geteuid() == 0 else ("unshare", "--map-root-user", "--mount")
    mounted = 'mount -t overlay overlay -o "lowerdir=$0:/opt" /opt'
    with tempfile.TemporaryDirectory() as folder:
        try:
            completed = subprocess.run(
                [*command, "sh", "-c", mounted, folder], capture_output=True, text=True, check=False
            )
        except FileNotFoundError as problem:
            raise HostProblem("Built functions run on Linux alone: they need the command unshare.") from problem
    if completed.returncode != 0:
        raise HostProblem(
            "Built functions need a mount namespace and an overlay over /opt, which this machine or container does not"
            f" allow: {completed.stderr.strip()}"
        )
    return command


@cache
def find_python() -> Path:
    """Return the folder of the program ``python`` of Lambda's version. Raises ``HostProblem``."""
    home = Path.home() / ".pyenv" / "versions"
    programs = [shutil.which(f"python{PYTHON}"), *sorted(map(str, home.glob(f"{PYTHON}.*/bin/python{PYTHON}")))]
    if sys.version_info[:2] == tuple(map(int, PYTHON.split("."))):
        programs.insert(0, sys.executable)
    if tool := shutil.which(find_uv()):
        managed = subprocess.run([tool, "python", "find", PYTHON], capture_output=True, text=True, check=False)
        programs.append(managed.stdout.strip())
    for candidate in filter(None, programs):
        question = "import sys; print(sys.base_prefix, *sys.version_info[:2])"
        completed = subprocess.run([candidate, "-c", question], capture_output=True, text=True, check=False)
        prefix, *version = completed.stdout.split() or [""]
        folder = Path(prefix) / "bin"
        if ".".join(version) == PYTHON and (folder / "python").exists():
            return folder
    raise HostProblem(f"Built functions need Python {PYTHON}: `uv python install {PYTHON}` installs it.")


def find_runtime_client(cache_dir: Path) -> Path:
    """Return the folder of the runtime interface client (``LAMBDA_RUNTIME_DIR``). Raises ``HostProblem``."""
    return _make_once(cache_dir, "runtime", CLIENT, lambda folder: _install(CLIENT, folder))


def make_native_layer(layer: Path, cache_dir: Path) -> Path | None:
    """Return a layer with this machine's versions of the compiled files of ``layer``; None if it needs none.

    Raises ``HostProblem``.
    """
    packages = sorted(_find_compiled_packages(layer / "python"))
    if not packages or platform.machine() in {"aarch64", "arm64"}:
        return None

    def make(folder: Path) -> None:
        _install(packages, folder / "python")
        for path in sorted((folder / "python").rglob("*"), reverse=True):
            if path.is_dir() and not any(path.iterdir()):
                path.rmdir()
            elif path.is_file() and ".so" not in path.name:
                path.unlink()

    return _make_once(cache_dir, "natives", packages, make)


def make_adapter_layer(cache_dir: Path, progress: Callable[[str], None]) -> Path:
    """Return a layer with the Lambda Web Adapter, compiled at its first use. Raises ``HostProblem``."""

    def make(folder: Path) -> None:
        if shutil.which("cargo") is None:
            raise HostProblem("The function streams needs the Lambda Web Adapter, and there is no cargo to compile it.")
        progress("Compiling the Lambda Web Adapter (once, some minutes) ...")
        command = ["cargo", "install", "--quiet", "--locked", "--version", f"={ADAPTER}", "--root", str(folder)]
        _run([*command, "--target-dir", str(folder / "target"), "lambda_web_adapter"], QUICKLY)
        (folder / "extensions").mkdir()
        (folder / "bin" / "lambda-adapter").rename(folder / "extensions" / "lambda-adapter")
        (folder / "bootstrap").write_text(WRAPPER)
        (folder / "bootstrap").chmod(0o755)
        for leftover in ("bin", "target"):
            shutil.rmtree(folder / leftover)

    return _make_once(cache_dir, "web-adapter", [ADAPTER, *QUICKLY.values()], make)


def find_uv() -> str:
    """Return uv's command: the one that ``UV`` names, that of the clone, or ``uv``."""
    private = ROOT / ".baton" / "tools" / "bin" / "uv"
    return os.environ.get("UV") or (str(private) if private.exists() else "uv")


def _find_compiled_packages(folder: Path) -> Iterable[str]:
    """Yield the installed packages that have compiled files, as requirements of their exact versions."""
    for record in folder.glob("*.dist-info/RECORD"):
        if re.search(r"\.so\b", record.read_text()):
            metadata = (record.parent / "METADATA").read_text()
            name, version = (re.search(rf"^{key}: (.+)$", metadata, re.MULTILINE) for key in ("Name", "Version"))
            if name and version:
                yield f"{name[1]}=={version[1]}"


def _install(packages: Iterable[str], folder: Path) -> None:
    """Install packages for Lambda's Python on this machine."""
    wheels = ("--no-deps", "--only-binary", ":all:", "--python-version", PYTHON)
    target = f"{platform.machine()}-manylinux_2_28"
    _run(
        [
            find_uv(),
            "pip",
            "install",
            "--quiet",
            *wheels,
            "--python-platform",
            target,
            "--target",
            str(folder),
            *packages,
        ]
    )


def _make_once(cache_dir: Path, kind: str, contents: Iterable[str], make: Callable[[Path], None]) -> Path:
    """Return a folder of the cache, which ``make`` fills when it is first needed. Raises the errors of ``make``.

    The folder's name has a hash of ``contents``, so that other contents get another folder.
    """
    state = "\n".join([PYTHON, platform.machine(), *contents])
    return assemble_once(f"{kind}-{sha256(state.encode()).hexdigest()[:16]}", cache_dir / "lambda", make)


def _run(command: list[str], variables: dict[str, str] | None = None) -> None:
    """Run a command with additional environment ``variables``. Raises ``HostProblem`` if it is missing or fails."""
    if shutil.which(command[0]) is None:
        raise HostProblem(f"Built functions need {command[0]}, which is not on PATH.")
    completed = subprocess.run(
        command, env={**os.environ, **(variables or {})}, capture_output=True, text=True, check=False
    )
    if completed.returncode != 0:
        raise HostProblem(f"{' '.join(command[:3])} failed: {completed.stderr.strip()[-1000:]}")
