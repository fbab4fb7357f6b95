"""The deployment of a project as a stack of the product's template, by SAM."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from baton_deployment.deployment import Deployment, build, deploy
from baton_deployment.errors import DeploymentError
from baton_deployment.libraries import ProjectDocuments
from baton_deployment.policies import render_policy
from baton_deployment.preflight import run_preflight
from baton_deployment.stages import Stage, read_stage
from baton_deployment.terminal import agree_to_deploy
from baton_local.project.project_tools import find_packages
from baton_local.root import ROOT
from baton_project.building import assemble
from baton_project.check import find_unreadable, read_contents
from baton_project.errors import ProjectProblem
from baton_project.project import STATE, Project

PARAMETERS = "samconfig.toml"
Write = Callable[[str], None]


def describe_steps(folder: Path, stage: str) -> str:
    """Return the steps of a deployment, with the commands for a shell. Raises ``ProjectProblem``."""
    return plan(Project.find(folder), stage).describe_steps()


def find_policy(folder: Path, stage: str, name: str) -> str:
    """Return an IAM policy with the names of a stage, as JSON. Raises ``ProjectProblem`` and ``DeploymentError``."""
    return render_policy(name, plan(Project.find(folder), stage).stage)


def check_stage(folder: Path, stage: str, write: Write, *, asks_model: bool, accepts_unchecked: bool) -> None:
    """Run the checks before a deployment of the stage. Raises ``ProjectProblem`` and ``DeploymentError``."""
    run_preflight(
        plan(Project.find(folder), stage).make_preflight(asks_model=asks_model),
        write,
        accepts_unchecked=accepts_unchecked,
    )


def carry_out(folder: Path, stage: str, write: Write, *, build_only: bool, asks: bool, accepts_unchecked: bool) -> None:
    """Build the stage, and deploy it unless ``build_only``. If ``asks``, ask before deployed values change.

    Raises ``ProjectProblem``, ``DeploymentError`` and ``LocalCloudError``.
    """
    project = Project.find(folder)
    planned = plan(project, stage)
    if problems := find_unreadable(project):
        raise DeploymentError("\n".join(map(str, problems)))

    def prepare() -> None:
        if _is_checkout(project):
            return
        try:
            assemble(project, planned.folder)
        except OSError as problem:
            raise DeploymentError(f"{planned.folder} cannot be written: {problem}") from problem

    if build_only:
        build(planned, write, prepare=prepare)
    else:
        confirm = agree_to_deploy if asks else lambda question: True
        deploy(planned, write, prepare=prepare, confirm=confirm, accepts_unchecked=accepts_unchecked)


def plan(project: Project, stage: str) -> Deployment:
    """Return the deployment of ``stage``. Raises ``ProjectProblem`` for a missing or wrong stage."""
    file = project.folder / PARAMETERS
    try:
        declared = read_stage(file, stage)
    except DeploymentError as problem:
        raise ProjectProblem(str(problem)) from problem
    if _is_checkout(project):
        return Deployment.of_checkout(declared)
    config = ("--config-file", str(file), "--config-env", stage)
    return Deployment(
        stage=declared.with_overrides(_add_project_parameters(project, declared)),
        folder=project.folder / STATE / "build" / stage,
        build=("sam", "build", "--build-in-source", *config),
        deploy=("sam", "deploy", *config),
        allowed_hosts=project.settings.allowed_hosts,
        read_contents=partial(read_contents, project, stage),
        project=ProjectDocuments(project.libraries, project.settings.library_permissions, project.documents),
    )


def _is_checkout(project: Project) -> bool:
    """Return whether a project is the product's repository, which is built in its own tree."""
    return project.folder == ROOT


def _add_project_parameters(project: Project, stage: Stage) -> list[str]:
    """Return the stage's parameters, and those of the project that the stage does not set."""
    project_parameters = {
        "DefaultAgent": project.settings.default_agent,
        "ToolPackages": ",".join(find_packages(project.tools)),
    }
    added = [f"{name}={value}" for name, value in project_parameters.items() if value and name not in stage.parameters]
    return [*stage.overrides, *added]
