"""``python -m baton_deployment COMMAND STAGE``: the commands behind ``make`` (`--help` lists them).

Exit codes: 0; 1, a check or a step fails, or nothing could be done; 2, wrong usage.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from baton_deployment.account import Account, problems_explained
from baton_deployment.deployed_stack import read_outputs
from baton_deployment.deployment import Deployment, deploy, deploy_account
from baton_deployment.errors import DeploymentError
from baton_deployment.preflight import run_preflight
from baton_deployment.publishing import publish_front_ends
from baton_deployment.restoring.choice import DEFAULT_RATE, Choice
from baton_deployment.restoring.command import RestoreRequest, restore
from baton_deployment.restoring.due_items import PastDue
from baton_deployment.restoring.restored_table import parse_time
from baton_deployment.search import COMMANDS, FUNCTION_SECONDS, administer, is_sound
from baton_deployment.settings_file import from_parameters
from baton_deployment.settings_put import compare_settings, put_settings, show_settings
from baton_deployment.smoke import run_smoke
from baton_deployment.smoke.target import given_token, target_at, target_of
from baton_deployment.stage_home import require_home
from baton_deployment.stages import Stage, read_stage
from baton_deployment.teardown import Teardown, tear_down
from baton_deployment.template import DeployedTemplate
from baton_deployment.terminal import agree_to_deploy, ask, is_yes
from baton_local.errors import LocalCloudError
from baton_local.root import ROOT

PARAMETERS = ROOT / "samconfig.toml"


def main(arguments: Sequence[str]) -> None:
    """Run a command. Raises ``DeploymentError`` and ``LocalCloudError``."""
    chosen = _parser().parse_args(arguments)
    match chosen.command:
        case "preflight":
            preflight = Deployment.of_checkout(_stage(chosen)).preflight(asks_model=chosen.model)
            run_preflight(preflight, print, accepts_unchecked=chosen.unchecked)
        case "deploy":
            deploy(
                Deployment.of_checkout(_stage(chosen)),
                print,
                confirm=(lambda question: True) if chosen.yes else agree_to_deploy,
                accepts_unchecked=chosen.unchecked,
            )
        case "account":
            deploy_account(print, asks=not chosen.yes)
        case "publish":
            stage = _stage(chosen)
            print(publish_front_ends(Account.of(stage), stage))
        case "settings":
            _settings(chosen)
        case "smoke":
            _smoke(chosen)
        case "teardown":
            _tear_down(chosen)
        case "restore":
            _restore(chosen)
        case "search":
            _search(chosen)


def _settings(chosen: argparse.Namespace) -> None:
    stage = _stage(chosen)
    if chosen.from_parameters:
        print(from_parameters(stage.parameters), end="")
    elif chosen.show:
        print(show_settings(Account.of(stage), stage))
    elif chosen.check:
        compare_settings(stage, print)
    else:
        account = Account.of(stage)
        require_home(account, stage)
        put_settings(account, stage, print, confirm=(lambda: True) if chosen.yes else _agrees)


def _agrees() -> bool:
    return is_yes(ask("Put these settings? [y/N] ", "so nothing was put. ARGS=--yes answers."))


def _smoke(chosen: argparse.Namespace) -> None:
    if chosen.url:
        target = target_at(chosen.url, chosen.socket_url, given_token(), has_search=chosen.document)
    else:
        stage = _stage(chosen)
        target = target_of(Account.of(stage), stage, given_token())
    trial = run_smoke(target, print)
    if trial.has_failed:
        raise DeploymentError("A step fails.")
    if not trial.has_talked:
        raise DeploymentError("No conversation was tried.")


def _tear_down(chosen: argparse.Namespace) -> None:
    stage = _stage(chosen)
    account = Account.of(stage)
    require_home(account, stage)
    template = DeployedTemplate.read(ROOT / "template.yaml", stage.parameters, stage.stack, account.region)
    teardown = Teardown.of(account, stage, template)
    otherwise = f"so nothing was deleted. CONFIRM={stage.stack} answers."
    tear_down(teardown, chosen.delete, lambda question: chosen.confirm or ask(question, otherwise), print)


def _restore(chosen: argparse.Namespace) -> None:
    stage = _stage(chosen)
    request = RestoreRequest(
        Choice(
            chosen.tenant, chosen.conversation, chosen.replace, chosen.removed, PastDue(chosen.past_due), chosen.rate
        ),
        parse_time(chosen.at) if chosen.at else None,
        chosen.table,
        chosen.files_from,
        not chosen.no_files,
        chosen.plan,
        chosen.from_start,
    )
    otherwise = "so nothing was written. ARGS=--yes answers."
    confirm = (lambda question: True) if chosen.yes else lambda question: is_yes(ask(f"{question} [y/N] ", otherwise))
    restore(Account.of(stage), stage, request, ROOT / ".baton", confirm=confirm, write=print)


def _search(chosen: argparse.Namespace) -> None:
    stage = _stage(chosen)
    account = Account.of(stage)
    outputs = read_outputs(account, stage.stack)
    client = account.client("lambda", wait_seconds=FUNCTION_SECONDS)
    with problems_explained("The search cannot be administered"):
        result = administer(
            client,
            outputs,
            chosen.action,
            tenants=chosen.tenant,
            agents=chosen.agent,
            users=chosen.user,
            grant=chosen.grant,
            report=lambda line: print(line, file=sys.stderr),
        )
    print(json.dumps(result, indent=2))
    if not is_sound(result):
        raise DeploymentError("The indices differ from what is stored: see above.")


def _stage(chosen: argparse.Namespace) -> Stage:
    return read_stage(chosen.config_file, chosen.stage)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m baton_deployment")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (
        ("preflight", "check what a deployment needs"),
        ("deploy", "check, build, deploy, publish and try a stage"),
        ("publish", "put widget and console where a stage serves them"),
        ("settings", "check settings.STAGE.yaml, show how it differs from what is deployed, and put it"),
        ("smoke", "try a deployed stage, or a server at --url"),
        ("teardown", "show what there is of a stage, and delete what is named"),
    ):
        command = commands.add_parser(name, help=text)
        command.add_argument("stage", help="a stage of samconfig.toml: dev, prod")
        command.add_argument("--config-file", type=Path, default=PARAMETERS, help="another samconfig.toml")
        if name in {"preflight", "deploy"}:
            command.add_argument("--unchecked", action="store_true", help="accept checks that cannot be made")
        if name == "deploy":
            command.add_argument("--yes", action="store_true", help="change parameters and settings without a question")
        if name == "preflight":
            command.add_argument("--model", action="store_true", help="ask the provider of models, too")
        if name == "settings":
            modes = command.add_mutually_exclusive_group()
            modes.add_argument("--check", action="store_true", help="put nothing")
            modes.add_argument("--yes", action="store_true", help="put it without a question")
            modes.add_argument("--show", action="store_true", help="print the deployed settings")
            modes.add_argument(
                "--from-parameters", action="store_true", help="print a file with what were parameters before"
            )
        if name == "teardown":
            command.add_argument("--delete", nargs="*", default=[], help="stack, table, bucket, widget-bucket, ...")
            command.add_argument("--confirm", help="the stack's name, where nobody can be asked")
        if name == "smoke":
            command.add_argument("--url", help="the base of /v1/... of any server; the token is in TOKEN")
            command.add_argument("--socket-url", help="its WebSocket's address")
            command.add_argument("--document", action="store_true", help="try a document there too: search is on")
    restoring = commands.add_parser("restore", help="copy lost conversations and records back from a restored table")
    restoring.add_argument("stage", help="a stage of samconfig.toml: dev, prod")
    restoring.add_argument("--config-file", type=Path, default=PARAMETERS, help="another samconfig.toml")
    restoring.add_argument("--at", help="the time to restore, at least five minutes ago: 2026-11-26T09:30:00Z")
    restoring.add_argument("--from", dest="table", help="a restored table that exists; without it, one is made")
    restoring.add_argument("--tenant", help="only this tenant")
    restoring.add_argument("--conversation", help="only this conversation of the tenant, with its forks")
    restoring.add_argument("--replace", action="store_true", help="replace what has changed since")
    restoring.add_argument("--removed", action="store_true", help="put back what may have been removed on purpose")
    restoring.add_argument("--past-due", choices=[choice.value for choice in PastDue], default=PastDue.RUN.value)
    restoring.add_argument("--rate", type=float, default=DEFAULT_RATE, help="write units a second (%(default)s)")
    restoring.add_argument("--files-from", help="another bucket with the files of that time")
    restoring.add_argument("--no-files", action="store_true", help="leave files out")
    restoring.add_argument("--plan", action="store_true", help="show what would change, and write nothing")
    restoring.add_argument("--from-start", action="store_true", help="do not go on where an earlier one stopped")
    restoring.add_argument("--yes", action="store_true", help="carry it out without a question")
    search = commands.add_parser("search", help="administer the search of a deployed stage")
    search.add_argument("stage", help="a stage of samconfig.toml: dev, prod")
    search.add_argument("action", choices=COMMANDS)
    search.add_argument("--config-file", type=Path, default=PARAMETERS, help="another samconfig.toml")
    search.add_argument("--tenant", action="append", default=[], help="a tenant to look at (repeatable)")
    search.add_argument("--agent", action="append", default=[], help="with move: this agent's documents (repeatable)")
    search.add_argument("--user", action="append", default=[], help="with move: this user's conversations (repeatable)")
    search.add_argument("--grant", action="store_true", help="with migrate: let the functions in")
    account = commands.add_parser("account", help="set API Gateway's logging role, once in an account and region")
    account.add_argument("--yes", action="store_true", help="deploy it without a question")
    return parser


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # SAM writes to the same terminal
    try:
        main(sys.argv[1:])
    except (DeploymentError, LocalCloudError) as problem:
        sys.exit(f"\n{problem}")
    except KeyboardInterrupt:
        sys.exit(130)
