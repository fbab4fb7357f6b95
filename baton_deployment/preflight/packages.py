"""Packages for Lambda: the Python that compiles layers, and the sizes of functions with their layers."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from baton_deployment.checks import Check, fails, fine, note, unknown
from baton_deployment.template import DeployedTemplate
from baton_local.root import ROOT

MEGABYTE = 1024 * 1024
MOST = 250 * MEGABYTE
"""Lambda's limit of a function with its layers, unzipped."""
CLOSE = 240 * MEGABYTE
"""The web adapter's layer, which is not built here, has some megabytes too."""
PYTHON = "Python for Lambda"
SIZES = "package sizes"


def check_python(version: str = "3.13") -> Iterator[Check]:
    """Yield whether a Python compiles the layers, as their makefiles look for it."""
    script = ROOT / "layers" / "compile.sh"
    if not script.is_file():
        yield unknown(PYTHON, f"{script} is not there")
        return
    done = subprocess.run(
        ["sh", str(script), "--which"],  # noqa: S607  the system's shell, as make uses it
        env={**os.environ, "PYTHON_VERSION": version},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0 and (python_version := done.stdout.strip()):
        yield fine(PYTHON, f"{python_version} compiles the layers")
    else:
        yield fails(
            PYTHON,
            f"no Python {version} is found: cold starts would take twice as long, so the build refuses",
            f"uv python install {version}\nor name one: LAYER_PYTHON=/path/to/python{version}",
        )


def check_sizes(template: DeployedTemplate, build: Path) -> Iterator[Check]:
    """Yield whether what SAM has built fits into Lambda; ``build`` is its folder ``.aws-sam/build``."""
    if not build.is_dir():
        yield unknown(SIZES, "nothing is built yet: a deployment checks them after its build")
        return
    common = template.source["Globals"]["Function"]["Layers"]
    sizes = {
        name: sum(_size(build / folder) for folder in (name, *_built([*common, *function.get("Layers", [])])))
        for name, function in template.resources("AWS::Serverless::Function")
    }
    largest = max(sizes, key=lambda name: sizes[name])
    detail = (
        f"{largest} is the largest: {sizes[largest] // MEGABYTE} of {MOST // MEGABYTE} MB with its layers, unzipped"
    )
    advice = "Remove packages that your tools do not need from the project's dependencies."
    if sizes[largest] > MOST:
        names = ", ".join(name for name, size in sizes.items() if size > MOST)
        yield fails(SIZES, f"{detail}. Lambda refuses {names}", advice)
    elif sizes[largest] > CLOSE:
        yield note(SIZES, detail, advice)
    else:
        yield fine(SIZES, detail)


def _built(layers: list[object]) -> list[str]:
    return [str(layer["Ref"]) for layer in layers if isinstance(layer, dict) and "Ref" in layer]


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
