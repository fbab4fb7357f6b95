"""Operation of a project's deployed stages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from baton_deployment.account import Account
from baton_deployment.restoring.command import RestoreRequest, restore
from baton_project.deploy import plan
from baton_project.project import STATE, Project

Write = Callable[[str], None]


def restore_stage(
    folder: Path, stage: str, request: RestoreRequest, confirm: Callable[[str], bool], write: Write
) -> None:
    """Restore what is chosen into a stage. Raises ``ProjectProblem`` and ``DeploymentError``."""
    project = Project.found(folder)
    declared = plan(project, stage).stage
    restore(Account.of(declared), declared, request, project.folder / STATE, confirm=confirm, write=write)
