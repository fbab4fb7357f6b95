"""A deployment from end to end: checks, build, change set, deployment, front ends, smoke test, addresses."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from baton.adapters.agents.agent_files import AgentFiles
from baton_deployment.account import AWS_ERRORS, Account, problems_explained
from baton_deployment.checks import Outcome, format_row
from baton_deployment.contents import Contents
from baton_deployment.deployed_stack import (
    describe_stack,
    find_parameter_changes,
    is_first,
    is_new,
    list_addresses,
    read_outputs,
)
from baton_deployment.errors import DeploymentError
from baton_deployment.libraries import ProjectDocuments, bring_libraries
from baton_deployment.preflight import NAMES_WIDTH, Preflight, run_preflight
from baton_deployment.preflight.limits import QUOTA, read_logging_role, read_quota
from baton_deployment.preflight.packages import check_sizes
from baton_deployment.publishing import publish_front_ends
from baton_deployment.sam import find_sam, in_region, make_sam_variables, make_variables_without_build, run_sam
from baton_deployment.settings_file import find_settings_file
from baton_deployment.settings_put import SettingsPlan, plan_settings, put_settings
from baton_deployment.smoke import try_deployed_stage
from baton_deployment.stage_home import record_home
from baton_deployment.stages import Stage
from baton_deployment.template import DeployedTemplate
from baton_local.project.project_tools import importable
from baton_local.root import ROOT

Write = Callable[[str], None]
PROTECTION = "DeletionProtection"
"""The parameter that protects the table from deletion."""
ACCOUNT_STACK = "baton-account"
"""The stack with API Gateway's logging role, one in each account and region."""


@dataclass(frozen=True)
class Deployment:
    """The commands that build and deploy one stage. They run in ``folder``.

    ``deploy`` lacks the stage's parameters, which ``make_deploy_command`` adds.
    """

    stage: Stage
    folder: Path
    build: tuple[str, ...]
    deploy: tuple[str, ...]
    allowed_hosts: tuple[str, ...] = ()
    """Hosts that the project may call, unless the stage's settings file has ``allowedHosts``."""
    read_contents: Callable[[], Contents] | None = None
    """Reads the contents other than the product, or raises ``AgentFileError``. None: they are not checked."""
    project: ProjectDocuments | None = None
    """The documents of a project; None for this repository, which has no libraries."""

    @classmethod
    def of_checkout(cls, stage: Stage) -> Deployment:
        """Return the deployment of this repository."""
        config = ("--config-file", str(stage.file), "--config-env", stage.name)
        return cls(
            stage,
            ROOT,
            ("sam", "build", *config),
            ("sam", "deploy", *config),
            read_contents=lambda: _read_checkout(stage),
        )

    def make_deploy_command(self, quota: int | None = None, *, protects_table: bool = True) -> tuple[str, ...]:
        """Return the command that deploys with the stage's parameters, and with the ``quota`` unless they name one.

        Unless ``protects_table``, the table may be deleted, whatever the stage's parameters say.
        """
        overrides = self.stage.overrides
        if quota is not None and QUOTA not in self.stage.parameters:
            overrides = (*overrides, f"{QUOTA}={quota}")
        if not protects_table:
            overrides = (*overrides, f"{PROTECTION}=false")
        return (*self.deploy, "--parameter-overrides", *overrides) if overrides else self.deploy

    @property
    def build_folder(self) -> Path:
        """The folder of SAM's build."""
        return self.folder / ".aws-sam" / "build"

    def make_preflight(self, *, asks_model: bool = False) -> Preflight:
        """Return the checks of this deployment."""
        return Preflight(self.stage, self.build_folder, asks_model, self.read_contents, self.allowed_hosts)

    def _describe_libraries(self) -> list[str]:
        """Return the step for the project's documents as comments; nothing for this repository."""
        if self.project is None:
            return []
        head = "# Bring the libraries, delete what was removed from them, and wait until their documents can be found"
        return [head, *(f"#   {line}" for line in self.project.describe())]

    def _describe_first_deployment(self) -> list[str]:
        """Return a comment about the two deployments of a new stack; nothing if its table is not protected."""
        if not is_protected(self.stage):
            return []
        return [f"#   the first time with {PROTECTION}=false, and once more without it when the stack exists"]

    def describe_steps(self) -> str:
        """Return the steps of ``deploy``: SAM's commands for a shell, and the other steps as comments."""
        within = f"cd {shlex.quote(str(self.folder))} &&"
        writes = "" if self.folder == ROOT else f", and write {self.folder}"
        return "\n".join(
            (
                f"# Check what the stage {self.stage.name} needs{writes}",
                f"{within} {shlex.join(self.build)}",
                "# Check the sizes of the packages",
                f"{within} {shlex.join(self.make_deploy_command())}",
                *self._describe_first_deployment(),
                f"# Put the settings of {find_settings_file(self.stage)}, if there is such a file",
                "# Publish the chat widget and the console, if the stack serves them",
                *self._describe_libraries(),
                "# Try the stage as a user, and print its addresses",
            )
        )


def deploy(
    deployment: Deployment,
    write: Write,
    *,
    prepare: Callable[[], None] = lambda: None,
    confirm: Callable[[str], bool] = lambda question: True,
    accepts_unchecked: bool = False,
) -> None:
    """Check, build, deploy, publish and test a stage, and print its addresses. ``prepare`` runs before the build.

    ``confirm`` answers whether deployed parameters and settings may change as printed before. Checks that cannot be
    made stop the deployment unless ``accepts_unchecked``. SAM prints the change set before it applies it, and asks
    first if samconfig.toml has ``confirm_changeset``.

    Raises ``DeploymentError``, and ``LocalCloudError`` if the front ends cannot be built.
    """
    program = find_sam()
    if deployment.project is not None:
        deployment.project.check_sizes()
    run_preflight(
        deployment.make_preflight(), write, consequence=": nothing was deployed", accepts_unchecked=accepts_unchecked
    )
    account = Account.of(deployment.stage)
    agreed = _agree(deployment, account, write, confirm)
    variables = make_sam_variables(account.region)
    prepare()
    _run(deployment, deployment.build, program, variables, write)
    _check_sizes(deployment, account.region, write)
    _deploy_stack(deployment, account, program, variables, write)
    if line := record_home(account, deployment.stage):
        write(line)
    put_settings(account, deployment.stage, write, allowed_hosts=deployment.allowed_hosts, agreed=agreed)
    write(publish_front_ends(account, deployment.stage))
    outputs = read_outputs(account, deployment.stage.stack)
    problems = []
    if deployment.project is not None:
        problems = bring_libraries(account, outputs["IngestionFunctionName"], deployment.project, write)
    try_deployed_stage(account, deployment.stage, write)
    write("\n" + "\n".join(list_addresses(outputs)))
    if problems:
        count = f"{len(problems)} document{'s' if len(problems) != 1 else ''}"
        raise DeploymentError(f"The stage is deployed, but {count} of the libraries cannot be found: see above.")


def _agree(
    deployment: Deployment, account: Account, write: Write, confirm: Callable[[str], bool]
) -> SettingsPlan | None:
    """Print how deployed parameters and settings would change, and ask for agreement. Return the agreed settings.

    Return None if the stack is new, so that nothing changes. Raises ``DeploymentError`` without agreement.
    """
    stage = deployment.stage
    with problems_explained(f"{stage.stack} cannot be read"):
        description = describe_stack(account, stage.stack)
    if description is None or is_new(description):
        return None
    settings = plan_settings(account, stage, deployment.allowed_hosts)
    changes = find_parameter_changes(description, stage.parameters)
    if changes:
        write("\n".join((f"\nParameters of {stage.stack} that change:", *changes)))
    if settings.replaces:
        write("\n".join((f"\nSettings of {stage.stack} that change:", *settings.difference)))
    if (changes or settings.replaces) and not confirm(f"\nDeploy {stage.stack} with these changes?"):
        raise DeploymentError("Nothing was deployed.")
    return settings


def _deploy_stack(
    deployment: Deployment, account: Account, program: str, variables: dict[str, str], write: Write
) -> None:
    """Deploy the stack. The table of a new stack is protected when the stack is complete.

    If a first deployment fails, CloudFormation deletes the new resources. It cannot delete a protected table: the
    rollback would fail, and leave the table and a stack that accepts no further deployment.
    """
    quota = _find_quota(account)
    command = in_region(deployment.make_deploy_command(quota), account.region)
    if is_protected(deployment.stage) and is_first(account, deployment.stage.stack):
        unprotected = in_region(deployment.make_deploy_command(quota, protects_table=False), account.region)
        _run(deployment, unprotected, program, variables, write)
        write(f"\nThe stack is complete. Protect its table from deletion ({PROTECTION}=true):")
        command = (*command[:2], "--no-confirm-changeset", *command[2:])  # it was confirmed, with another parameter
    _run(deployment, command, program, variables, write)


def build(deployment: Deployment, write: Write, *, prepare: Callable[[], None] = lambda: None) -> None:
    """Build without deploying, which needs no account. Raises ``DeploymentError``."""
    program, variables = find_sam(), make_sam_variables(None)
    prepare()
    _run(deployment, deployment.build, program, variables, write)


def deploy_account(write: Write, *, asks: bool = True) -> None:
    """Set API Gateway's logging role, once in each account and region. SAM shows the change, and asks if ``asks``.

    A role that another stack or team has set is kept. Raises ``DeploymentError``.
    """
    account = Account.of_environment()
    role = _find_logging_role(account)
    with problems_explained(f"The stack {ACCOUNT_STACK} cannot be read"):
        if role and describe_stack(account, ACCOUNT_STACK) is None:
            write(f"There is nothing to do: API Gateway writes access logs in {account.region} as {role}.")
            return
    config = ("--config-file", str(ROOT / "samconfig.toml"), "--config-env", "account")
    command = in_region(("sam", "deploy", *config), account.region)
    if not asks:
        command = (*command, "--no-confirm-changeset")
    write(f"$ {shlex.join(command)}")
    run_sam(find_sam(), command, ROOT, make_variables_without_build(account.region))
    if role := _find_logging_role(account):  # SAM ends with success, too, if nobody agrees to the change
        write(f"API Gateway writes access logs in {account.region} as {role}.")
    else:
        raise DeploymentError(
            f"Nothing was changed: API Gateway has no logging role in {account.region}, so no stage can be deployed."
        )


def _find_logging_role(account: Account) -> str | None:
    """Return the role as which API Gateway writes access logs; None if it has none. Raises ``DeploymentError``."""
    with problems_explained("API Gateway's logging role cannot be read"):
        return read_logging_role(account)


def is_protected(stage: Stage) -> bool:
    """Return whether a stage's table is protected from deletion, which is the default."""
    return stage.parameters.get(PROTECTION, "true") == "true"


def _read_checkout(stage: Stage) -> Contents:
    """Return the agents and tools of this repository. Raises ``AgentFileError``."""
    with importable(ROOT / "tools"):
        return Contents(ROOT, AgentFiles.load(ROOT / "agents", stage.parameters.get("DefaultAgent")))


def _find_quota(account: Account) -> int | None:
    """Return the account's quota of concurrent executions, for the alarm; None if it cannot be read."""
    try:
        return read_quota(account)
    except AWS_ERRORS:
        return None  # the preflight has reported it


def _run(
    deployment: Deployment, command: tuple[str, ...], program: str, variables: dict[str, str], write: Write
) -> None:
    """Print a command of SAM, and run it. Raises ``DeploymentError`` if it fails."""
    write(f"$ {shlex.join(command)}")
    run_sam(program, command, deployment.folder, variables)


def _check_sizes(deployment: Deployment, region: str, write: Write) -> None:
    """Print the check of the built packages. Raises ``DeploymentError`` if they are too large."""
    stage = deployment.stage
    template = DeployedTemplate.read(ROOT / "template.yaml", stage.parameters, stage.stack, region)
    for check in check_sizes(template, deployment.build_folder):
        for line in format_row(check, NAMES_WIDTH):
            write(line)
        if check.outcome is Outcome.FAILS:
            raise DeploymentError("The packages are too large: nothing was deployed.")
