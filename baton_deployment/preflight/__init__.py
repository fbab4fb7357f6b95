"""Checks before a deployment: each reports a problem that would otherwise appear late, or without an error."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError, NoCredentialsError

from baton.adapters.agents.agent_files import AgentFileError
from baton.domain.tenants.egress_policy import EgressPolicy
from baton.settings.document import InvalidDocument, SettingsDocument, read_document
from baton_deployment.account import AWS_ERRORS, NO_CREDENTIALS, SIGN_IN, Account, explain, read_code
from baton_deployment.checks import Check, Outcome, fails, format_row, run_remote_check, summarise, unknown
from baton_deployment.contents import Contents
from baton_deployment.deployed_stack import read_outputs
from baton_deployment.errors import DeploymentError
from baton_deployment.preflight.caller import PERMISSIONS, check_account, check_permissions
from baton_deployment.preflight.limits import (
    CONCURRENCY,
    LOGGING_ROLE,
    check_alarms,
    check_concurrency,
    check_logging_role,
)
from baton_deployment.preflight.model import NAME as MODEL
from baton_deployment.preflight.model import check_model
from baton_deployment.preflight.packages import check_python, check_requirements, check_sizes
from baton_deployment.preflight.parameters import check_parameters
from baton_deployment.preflight.policies import check_policies
from baton_deployment.preflight.project import (
    check_addresses,
    check_documents,
    check_models,
    check_search,
    check_secret_names,
    check_stage_addresses,
    check_variables_read,
)
from baton_deployment.preflight.secrets import NAME as SECRET
from baton_deployment.preflight.secrets import check_references, check_secrets
from baton_deployment.preflight.stack import STATE, check_name, check_state
from baton_deployment.preflight.tokens import TOKENS, check_tokens
from baton_deployment.regions import advise_on_region
from baton_deployment.sam import check_programs
from baton_deployment.settings_file import check_settings_file, find_settings_file, read_settings_file
from baton_deployment.settings_put import read_deployed
from baton_deployment.stage_home import advise, find_home_problem
from baton_deployment.stages import Stage
from baton_deployment.template import DeployedTemplate
from baton_local.root import ROOT

REFUSED = frozenset({"ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId", "SignatureDoesNotMatch"})
NAMES_WIDTH = 17
"""The characters of the column of the checks' names."""


@dataclass(frozen=True)
class Preflight:
    """The checks of one stage."""

    stage: Stage
    build: Path
    """SAM's ``.aws-sam/build``."""
    asks_model: bool = False
    """Whether the provider of models may be called."""
    read_contents: Callable[[], Contents] | None = None
    """Reads the contents other than the product, or raises ``AgentFileError``. None: they are not checked."""
    allowed_hosts: tuple[str, ...] = ()
    """Hosts that the project allows, unless the settings file has ``allowedHosts``."""

    def run_checks(self) -> Iterator[Check]:
        """Yield the result of each check as soon as it is known."""
        account = region = None
        try:
            account = Account.of(self.stage)
            region = account.region
        except DeploymentError as problem:
            yield fails("account", str(problem))
        template = DeployedTemplate.read(
            ROOT / "template.yaml", self.stage.parameters, self.stage.stack, region or "eu-central-1"
        )
        contents = None
        try:
            contents = self.read_contents() if self.read_contents is not None else None
        except AgentFileError as problem:
            for line in str(problem).splitlines():
                yield fails("agents", line)
        who = (yield from _check_identity(account)) if account is not None else None
        if account is not None and who is not None:
            yield from _check_home(account, self.stage, who)
            yield from self._check_account(account, template, who, contents)
        else:
            account = None
            for name in (PERMISSIONS, STATE, CONCURRENCY, LOGGING_ROLE, SECRET):
                yield unknown(name, "the account cannot be asked: see the row account")
        yield from check_name(template)
        yield from check_parameters(template)
        yield from check_policies(template)
        yield from check_alarms(self.stage.name, template)
        yield from check_settings_file(self.stage)
        yield from check_stage_addresses(template, self._read_settings())
        if contents is not None:
            yield from self._check_project(contents, template, account)
        yield from check_programs()
        yield from check_python()
        yield from check_sizes(template, self.build)
        if self.asks_model:
            yield from run_remote_check(MODEL, partial(check_model, account, template))

    def _check_project(
        self, contents: Contents, template: DeployedTemplate, account: Account | None
    ) -> Iterator[Check]:
        """Yield the checks of the project's contents, by the rules of its deployment."""
        yield from check_addresses(contents, EgressPolicy.of(self._find_hosts(account)))
        yield from check_models(contents, self._read_settings(), template)
        yield from check_secret_names(contents, template)
        yield from check_variables_read(contents, template)
        yield from check_documents(contents)
        yield from check_search(contents, template)
        yield from check_requirements(contents.requirements)

    def _find_hosts(self, account: Account | None) -> tuple[str, ...]:
        """Return the hosts that may be called after the deployment, which also deploys the settings."""
        settings = self._read_settings()
        if "allowed_hosts" in settings.model_fields_set:
            return settings.allowed_hosts
        if self.allowed_hosts or account is None or find_settings_file(self.stage).is_file():
            return self.allowed_hosts
        try:
            deployed = read_deployed(account, read_outputs(account, self.stage.stack)["BucketName"])
            return read_document(deployed.text).allowed_hosts if deployed is not None else ()
        except (DeploymentError, InvalidDocument, *AWS_ERRORS):
            return ()  # there is no stack yet, or its settings are to be replaced

    def _find_provider_secrets(self) -> dict[str, str]:
        """Return the names of secrets with keys of model providers, by provider."""
        providers = self._read_settings().model_providers
        return {name: provider.key_secret for name, provider in providers.items() if provider.key_secret is not None}

    def _read_settings(self) -> SettingsDocument:
        """Return the content of the settings file, or the defaults."""
        try:
            settings_file = read_settings_file(find_settings_file(self.stage))
        except DeploymentError:
            return SettingsDocument()  # the check of the file reports it
        return settings_file.document if settings_file is not None else SettingsDocument()

    def _check_account(
        self, account: Account, template: DeployedTemplate, who: dict[str, Any], contents: Contents | None
    ) -> Iterator[Check]:
        """Yield the checks that call AWS."""
        stack = self.stage.stack
        checks: list[tuple[str, Callable[[], Iterator[Check]]]] = [
            (PERMISSIONS, partial(check_permissions, account, who, stack, template.values["PermissionsBoundary"])),
            (STATE, partial(check_state, account, stack)),
            (CONCURRENCY, partial(check_concurrency, account, template)),
            (LOGGING_ROLE, partial(check_logging_role, account)),
            (SECRET, partial(check_secrets, account, template, self._find_provider_secrets())),
            (TOKENS, partial(check_tokens, account, template, has_issuers=bool(self._read_settings().token_issuers))),
        ]
        if contents is not None:
            checks.append((SECRET, partial(check_references, account, template, contents)))
        for name, check in checks:
            yield from run_remote_check(name, check)


def run_preflight(
    preflight: Preflight, write: Callable[[str], None], *, consequence: str = "", accepts_unchecked: bool = False
) -> None:
    """Print the table of checks.

    Raises ``DeploymentError`` with the ``consequence`` if one fails, or cannot be made unless ``accepts_unchecked``.
    """
    write(f"Checks of the stage {preflight.stage.name}, stack {preflight.stage.stack}:\n")
    checks = []
    for check in preflight.run_checks():
        checks.append(check)
        for line in format_row(check, NAMES_WIDTH):
            write(line)
    write(f"\n{summarise(checks)}")
    failed = [check for check in checks if check.outcome is Outcome.FAILS]
    if failed:
        raise DeploymentError(f"{len(failed)} of {len(checks)} checks failed{consequence}.")
    unchecked = list(dict.fromkeys(check.name for check in checks if check.outcome is Outcome.UNKNOWN))
    if unchecked and not accepts_unchecked:
        raise DeploymentError(
            f"{', '.join(unchecked)}: not checked{consequence}. Grant what the rows name, or accept that with "
            "--unchecked."
        )


def _check_home(account: Account, stage: Stage, who: dict[str, Any]) -> Iterator[Check]:
    """Yield a failure if the stage belongs to another account or region, or if the record of that is wrong."""
    try:
        problem = find_home_problem(stage, str(who["Account"]), account.region)
    except DeploymentError as unreadable:
        yield fails("account", str(unreadable))
        return
    if problem:
        yield fails("account", problem, advise(stage))


def _check_identity(account: Account) -> Generator[Check, None, dict[str, Any] | None]:
    """Yield the row about the caller, and return the caller's identity; None if AWS does not return it."""
    try:
        who, check = check_account(account)
    except ClientError as problem:
        what = "AWS refuses the credentials" if read_code(problem) in REFUSED else "AWS does not identify the caller"
        yield fails("account", f"{what}: {explain(problem)}", f"Renew them: {SIGN_IN}.")
        return None
    except NoCredentialsError:
        yield fails("account", NO_CREDENTIALS)
        return None
    except AWS_ERRORS as problem:
        yield fails("account", f"in {account.region}: {explain(problem)}", advise_on_region(account.region))
        return None
    yield check
    return who
