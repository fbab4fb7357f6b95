"""Checks of packages for Lambda: the Python that compiles layers, and the sizes of functions with their layers."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from baton_deployment.checks import Check, fails, fine, note, unknown
from baton_deployment.template import DeployedTemplate
from baton_local.lambda_runtime.host import find_uv
from baton_local.root import ROOT

MEGABYTE = 1024 * 1024
MOST = 250 * MEGABYTE
"""Bytes: Lambda's limit of a function with its layers, unzipped."""
CLOSE = 240 * MEGABYTE
"""Bytes from which the web adapter's layer, which is not in the build, may exceed the limit."""
VERSION = "3.13"
"""The Python of the functions."""
PYTHON = "Python for Lambda"
SIZES = "package sizes"
WHEELS = "packages"
PLATFORM = "aarch64-manylinux_2_28"
"""The platform of Lambda's functions, as in the layers' makefile."""
ROOM = 30
"""Megabytes that Baton's functions with their layers leave for tools, approximately."""
SECONDS = 60
"""The time limit of the package registry's answer."""
ADVICE = "Remove packages that your tools do not need from the project's dependencies."


def check_python(version: str = VERSION) -> Iterator[Check]:
    """Yield whether there is a Python that compiles the layers, found as in their makefiles."""
    script = ROOT / "layers" / "compile.sh"
    if not script.is_file():
        yield unknown(PYTHON, f"{script} is not there")
        return
    completed = subprocess.run(
        ["sh", str(script), "--which"],  # noqa: S607  the system's shell, as make uses it
        env={**os.environ, "PYTHON_VERSION": version},
        capture_output=True,
        text=True,
        check=False,
    )
    if completed.returncode == 0 and (python_version := completed.stdout.strip()):
        yield fine(PYTHON, f"{python_version} compiles the layers")
    else:
        yield fails(
            PYTHON,
            f"no Python {version} is found: cold starts would take twice as long, so the build refuses",
            f"uv python install {version}\nor name one: LAYER_PYTHON=/path/to/python{version}",
        )


def check_sizes(template: DeployedTemplate, build: Path) -> Iterator[Check]:
    """Yield whether SAM's build fits into Lambda. ``build`` is its folder ``.aws-sam/build``."""
    if not build.is_dir():
        yield note(SIZES, "nothing is built yet: a deployment checks them after its build")
        return
    common = template.source["Globals"]["Function"]["Layers"]
    sizes = {
        name: sum(
            _measure(build / folder) for folder in (name, *_list_built_layers([*common, *function.get("Layers", [])]))
        )
        for name, function in template.list_resources("AWS::Serverless::Function")
    }
    largest = max(sizes, key=lambda name: sizes[name])
    detail = (
        f"{largest} is the largest: {sizes[largest] // MEGABYTE} of {MOST // MEGABYTE} MB with its layers, unzipped"
    )
    if sizes[largest] > MOST:
        names = ", ".join(name for name, size in sizes.items() if size > MOST)
        yield fails(SIZES, f"{detail}. Lambda refuses {names}", ADVICE)
    elif sizes[largest] > CLOSE:
        yield note(SIZES, detail, ADVICE)
    else:
        yield fine(SIZES, detail)


def _list_built_layers(layers: list[object]) -> list[str]:
    """Return the layers of the template, which are in the build; others are named by ARNs."""
    return [str(layer["Ref"]) for layer in layers if isinstance(layer, dict) and "Ref" in layer]


def _measure(folder: Path) -> int:
    """Return the bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def check_requirements(requirements: Sequence[str]) -> Iterator[Check]:
    """Yield whether all packages of a project's tools have wheels for Lambda, and whether they may be too large.

    ``uv`` resolves them with the package registry. Without requirements there is nothing to check.
    """
    if not requirements:
        return
    resolve = [find_uv(), "pip", "compile", "-", "--quiet", "--no-header", "--no-annotate", "--only-binary", ":all:"]
    try:
        completed = subprocess.run(
            [*resolve, "--python-version", VERSION, "--python-platform", PLATFORM],
            input="\n".join(requirements),
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        yield unknown(WHEELS, f"uv does not answer: {problem}")
        return
    if completed.returncode != 0:
        reason = " ".join(completed.stderr.split())
        judged = fails if "unsatisfiable" in reason and "network" not in reason else unknown
        yield judged(WHEELS, reason, "Choose packages that have wheels for Linux on arm64 and this Python.")
        return
    packages = [line.partition("==")[0] for line in completed.stdout.splitlines() if "==" in line]
    size = sum(map(_measure_installed, packages)) // MEGABYTE
    detail = f"{len(packages)} for tools, all for Lambda; about {size} MB as they are installed here"
    if size > ROOM:
        yield note(WHEELS, f"{detail}, and Lambda has room for about {ROOM} MB beside Baton's", ADVICE)
    else:
        yield fine(WHEELS, detail)


def _measure_installed(package: str) -> int:
    """Return the bytes of a package in this environment; 0 if it is not installed."""
    try:
        files = distribution(package).files or ()
    except PackageNotFoundError:
        return 0
    return sum(path.stat().st_size for file in files if (path := Path(str(file.locate()))).is_file())
