"""SAM CLI, run for one region and with layers that contain bytecode."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from baton_deployment.checks import Check, fails, fine
from baton_deployment.errors import DeploymentError
from baton_deployment.regions import with_region
from baton_local.root import ROOT

PROGRAMS = "programs"


def find_sam() -> str:
    """Return the path of the program ``sam``. Raises ``DeploymentError`` with advice if it is missing."""
    environment_folder = Path(sys.executable).parent
    program = shutil.which("sam", path=os.pathsep.join([os.environ.get("PATH", ""), str(environment_folder)]))
    if program is None:
        raise DeploymentError(
            "A deployment needs AWS SAM, and `sam` is not on PATH. Install it: `uv tool install aws-sam-cli`, or "
            "`pipx install aws-sam-cli`."
        )
    return program


def check_programs() -> Iterator[Check]:
    """Yield whether the programs of a build are found."""
    try:
        find_sam()
        make_sam_variables(None)
    except DeploymentError as problem:
        yield fails(PROGRAMS, str(problem))
        return
    if shutil.which("make") is None:
        yield fails(PROGRAMS, "SAM packs the layers with make, and `make` is not on PATH. Install it.")
    else:
        yield fine(PROGRAMS, "sam, uv and make are found")


def make_sam_variables(region: str | None) -> dict[str, str]:
    """Return the environment of SAM. A build needs no ``region``. Raises ``DeploymentError`` if ``uv`` is missing."""
    private_uv = ROOT / ".baton" / "tools" / "bin" / "uv"  # a checkout's, by `make setup`
    uv = os.environ.get("UV") or shutil.which("uv") or (str(private_uv) if private_uv.exists() else None)
    if uv is None:
        raise DeploymentError(
            "A deployment packs the layers with uv, and `uv` is not on PATH. Install it: https://docs.astral.sh/uv/."
        )
    # Without bytecode a cold start takes twice as long, so a build that cannot compile fails.
    variables = {**os.environ, "UV": uv, "SAM_CLI_TELEMETRY": "0", "BATON_REQUIRE_BYTECODE": "1"}
    return variables if region is None else with_region(variables, region)


def make_variables_without_build(region: str) -> dict[str, str]:
    """Return the environment of SAM for a ``region`` and a template that needs no build."""
    return with_region({**os.environ, "SAM_CLI_TELEMETRY": "0"}, region)


def in_region(command: tuple[str, ...], region: str) -> tuple[str, ...]:
    """Return the command ``sam deploy ...`` with its region, which SAM then shows."""
    return (*command[:2], "--region", region, *command[2:])


def run_sam(program: str, command: tuple[str, ...], folder: Path, variables: Mapping[str, str]) -> None:
    """Run ``sam ...`` in a folder, with this program's output. Raises ``DeploymentError`` if it fails."""
    code = subprocess.run([program, *command[1:]], cwd=folder, env=variables, check=False).returncode
    if code != 0:
        raise DeploymentError(f"`{' '.join(command[:2])}` failed with exit code {code}; what it says is above.")
