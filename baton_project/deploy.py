"""A project as a stack of the product's template, by SAM."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from baton_local.errors import LocalCloudError
from baton_local.project_tools import packages_in
from baton_project.building import assemble
from baton_project.check import unreadable
from baton_project.errors import ProjectProblem
from baton_project.project import STATE, Project

PARAMETERS = "samconfig.toml"


@dataclass(frozen=True)
class Deployment:
    """The commands that build and deploy one stage. They run in ``folder``."""

    folder: Path
    build: tuple[str, ...]
    deploy: tuple[str, ...]


def shown(folder: Path, stage: str) -> str:
    """Return the commands as a shell takes them. Raises ``ProjectProblem``."""
    planned = plan(Project.found(folder), stage)
    within = f"cd {shlex.quote(str(planned.folder))} &&"
    return "\n".join(f"{within} {shlex.join(command)}" for command in (planned.build, planned.deploy))


def carry_out(folder: Path, stage: str, write: Callable[[str], None], *, build_only: bool) -> None:
    """Build the stage, and deploy it unless ``build_only``. Raises ``ProjectProblem`` and ``LocalCloudError``."""
    project = Project.found(folder)
    planned = plan(project, stage)
    if problems := unreadable(project):
        raise LocalCloudError("\n".join(map(str, problems)))
    program, variables = sam(), _variables()
    assemble(project, planned.folder)
    for command in (planned.build,) if build_only else (planned.build, planned.deploy):
        write(f"$ {shlex.join(command)}")
        _run(program, command, planned.folder, variables)
    if not build_only:
        from baton_local import publishing

        write(publishing.main(stage, project.folder / PARAMETERS))


def plan(project: Project, stage: str) -> Deployment:
    """Return what is run for ``stage``. Raises ``ProjectProblem`` if the project has no such stage."""
    parameters = project.folder / PARAMETERS
    try:
        stages = tomllib.loads(parameters.read_text())
    except (OSError, tomllib.TOMLDecodeError) as problem:
        raise ProjectProblem(f"{parameters} cannot be read: {problem}") from problem
    if "deploy" not in stages.get(stage, {}):
        known = ", ".join(name for name, found in stages.items() if isinstance(found, dict) and "deploy" in found)
        raise ProjectProblem(f"{parameters} has no stage {stage!r}. There are: {known or 'none'}.")
    config = ("--config-file", str(parameters), "--config-env", stage)
    return Deployment(
        folder=project.folder / STATE / "build" / stage,
        build=("sam", "build", "--build-in-source", *config),
        deploy=("sam", "deploy", *config, "--parameter-overrides", *_overrides(project, stages[stage])),
    )


def _overrides(project: Project, stage: Mapping[str, Mapping[str, Mapping[str, object]]]) -> list[str]:
    """Return the stage's parameters, and after them what the project says, unless the stage says otherwise."""
    given = stage["deploy"].get("parameters", {}).get("parameter_overrides", [])
    chosen = [given] if isinstance(given, str) else [str(each) for each in given] if isinstance(given, list) else []
    ours = {
        "DefaultAgent": project.settings.default_agent,
        "AllowedHosts": ",".join(project.settings.allowed_hosts),
        "ToolPackages": ",".join(packages_in(project.tools)),
    }
    names = {each.partition("=")[0] for each in chosen}
    return [*chosen, *(f"{name}={value}" for name, value in ours.items() if value and name not in names)]


def sam() -> str:
    """Return the path of the program ``sam``. Raises ``LocalCloudError`` that says how to get it."""
    beside = Path(sys.executable).parent
    found = shutil.which("sam", path=os.pathsep.join([os.environ.get("PATH", ""), str(beside)]))
    if found is None:
        raise LocalCloudError(
            "`baton deploy` needs AWS SAM, and `sam` is not on PATH. Install it: `uv tool install aws-sam-cli`, or "
            "`pipx install aws-sam-cli`."
        )
    return found


def _variables() -> dict[str, str]:
    uv = os.environ.get("UV") or shutil.which("uv")
    if uv is None:
        raise LocalCloudError("`baton deploy` packs the layers with uv, and `uv` is not on PATH. Install it.")
    return {**os.environ, "UV": uv, "SAM_CLI_TELEMETRY": "0"}


def _run(program: str, command: tuple[str, ...], folder: Path, variables: Mapping[str, str]) -> None:
    code = subprocess.run([program, *command[1:]], cwd=folder, env=variables, check=False).returncode
    if code != 0:
        raise LocalCloudError(f"`{' '.join(command[:2])}` failed with exit code {code}; what it says is above.")
