"""The operation of a project's deployed stages. Every function raises ``ProjectProblem`` and ``DeploymentError``."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path

from baton_deployment.errors import DeploymentError
from baton_deployment.publishing import publish_front_ends
from baton_deployment.restoring.command import RestoreRequest, restore
from baton_deployment.search import SearchRequest, administer_stage, is_sound
from baton_deployment.settings_file import write_from_parameters
from baton_deployment.settings_put import compare_settings, put_settings, show_settings
from baton_deployment.smoke import require_success, run_smoke
from baton_deployment.smoke.target import find_target, make_target, read_token
from baton_deployment.stage_home import open_account
from baton_deployment.stages import Stage
from baton_deployment.teardown import Teardown, tear_down
from baton_deployment.template import DeployedTemplate
from baton_deployment.terminal import agree, ask
from baton_local.root import ROOT
from baton_project.deploy import plan
from baton_project.project import STATE, Project

Write = Callable[[str], None]


def check_settings(folder: Path, stage: str, write: Write) -> None:
    """Check a stage's settings file, and print its difference from the deployed settings."""
    planned = plan(Project.find(folder), stage)
    compare_settings(planned.stage, write, allowed_hosts=planned.allowed_hosts)


def show_deployed_settings(folder: Path, stage: str, write: Write) -> None:
    """Print the deployed settings of a stage."""
    declared = _read_stage(folder, stage)
    write(show_settings(open_account(declared), declared))


def write_settings_file(folder: Path, stage: str, write: Write) -> None:
    """Write a stage's settings file from parameters of earlier releases."""
    write(f"Wrote {write_from_parameters(_read_stage(folder, stage))}")


def change_settings(folder: Path, stage: str, write: Write, *, asks: bool) -> None:
    """Put a stage's settings after printing the difference. If ``asks``, ask before."""
    planned = plan(Project.find(folder), stage)
    account = open_account(planned.stage)
    put_settings(
        account,
        planned.stage,
        write,
        allowed_hosts=planned.allowed_hosts,
        confirm=_make_confirmation("so nothing was put.", asks=asks),
    )


def publish_stage(folder: Path, stage: str, write: Write) -> None:
    """Publish the front ends of a stage. Raises ``LocalCloudError`` too if they cannot be built."""
    declared = _read_stage(folder, stage)
    write(publish_front_ends(open_account(declared), declared))


def try_stage(folder: Path, stage: str, write: Write) -> None:
    """Run the smoke test of a stage."""
    declared = _read_stage(folder, stage)
    require_success(run_smoke(find_target(open_account(declared), declared, read_token()), write))


def try_server(url: str, socket_url: str, write: Write, *, has_search: bool) -> None:
    """Run the smoke test of the server at ``url``. If ``socket_url`` is empty, the local cloud's path is used."""
    require_success(run_smoke(make_target(url, socket_url or None, read_token(), has_search=has_search), write))


def administer_search(
    folder: Path, stage: str, request: SearchRequest, write: Write, *, report: Callable[[str], None]
) -> None:
    """Carry out a command on a stage's indices, and print its result as JSON. ``report`` gets lines of progress."""
    declared = _read_stage(folder, stage)
    result = administer_stage(open_account(declared), declared, request, report=report)
    write(json.dumps(result, indent=2))
    if not is_sound(result):
        raise DeploymentError("The indices differ from what is stored: see above.")


def restore_stage(folder: Path, stage: str, request: RestoreRequest, write: Write, *, asks: bool) -> None:
    """Restore the chosen data into a stage. If ``asks``, ask before."""
    project = Project.find(folder)
    declared = plan(project, stage).stage
    confirm = _make_confirmation("so nothing was written.", asks=asks)
    restore(open_account(declared), declared, request, project.folder / STATE, confirm=confirm, write=write)


def remove_stage(folder: Path, stage: str, parts: Collection[str], write: Write, *, answer: str) -> None:
    """Print the parts of a stage, and delete the named ones. ``answer`` is the stack's name; if empty, ask for it."""
    declared = _read_stage(folder, stage)
    account = open_account(declared)
    template = DeployedTemplate.read(ROOT / "template.yaml", declared.parameters, declared.stack, account.region)
    otherwise = f"so nothing was deleted. `--confirm {declared.stack}` answers."
    teardown = Teardown.of(account, declared, template)
    tear_down(teardown, parts, lambda question: answer or ask(question, otherwise), write)


def _read_stage(folder: Path, stage: str) -> Stage:
    """Return a stage of the project of ``folder``, with the project's parameters."""
    return plan(Project.find(folder), stage).stage


def _make_confirmation(otherwise: str, *, asks: bool) -> Callable[[str], bool]:
    """Return a function that answers a question: by asking at the terminal, or always yes unless ``asks``."""
    return partial(agree, otherwise=f"{otherwise} --yes answers.") if asks else lambda question: True
