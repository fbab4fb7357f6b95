"""The command line: which commands there are."""

from __future__ import annotations

import signal
import sys
from importlib.metadata import EntryPoint, entry_points, version
from typing import Annotated, Any

import typer
from typer.main import get_command

from baton_client.command.agents import app as agents
from baton_client.command.apply import apply
from baton_client.command.audit import app as audit
from baton_client.command.chat import chat
from baton_client.command.doctor import doctor
from baton_client.command.documents import app as documents
from baton_client.command.exits import ExitCode
from baton_client.command.output import Output
from baton_client.command.procedures import app as procedures
from baton_client.command.session import environment_of, with_options
from baton_client.command.sign_in import login, logout
from baton_client.command.tail import tail
from baton_client.command.threads import app as threads
from baton_client.command.users import app as users

SERVER_COMMANDS = {
    "new": "Make a project of your own.",
    "dev": "Run a project on this machine.",
    "check": "Check a project's agents.",
    "test": "Run a project's conversation tests.",
    "eval": "Evaluate a project's agents by data sets.",
    "deploy": "Build a project and deploy it.",
}
"""Commands that the server's distribution adds."""


def _show_version(is_requested: bool) -> None:
    if is_requested:
        typer.echo(version("baton-client"))
        raise typer.Exit


def _print_version() -> None:
    """Print the version of this command."""
    _show_version(is_requested=True)


def _options(
    context: typer.Context,
    profile: Annotated[str | None, typer.Option(help="Of the configuration file; also BATON_PROFILE.")] = None,
    url: Annotated[str | None, typer.Option(help="The server's address; also BATON_URL.")] = None,
    no_color: Annotated[bool, typer.Option("--no-color", help="Print without colours; also NO_COLOR.")] = False,
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version, and end.")
    ] = False,
) -> None:
    """Talk to Baton, and run it."""
    context.obj = with_options(environment_of(context), profile=profile, url=url, no_color=no_color)


def command_line() -> typer.Typer:
    """Return the command line without the commands of other distributions."""
    application = typer.Typer(name="baton", no_args_is_help=True, pretty_exceptions_enable=False)
    application.callback()(_options)
    for function in (login, logout, chat, tail, apply, doctor):
        application.command(function.__name__)(function)
    application.command("version")(_print_version)
    for name, group in {
        "agents": agents,
        "threads": threads,
        "documents": documents,
        "procedures": procedures,
        "users": users,
        "audit": audit,
    }.items():
        application.add_typer(group, name=name)
    return application


def add_installed(application: typer.Typer, points: list[EntryPoint]) -> None:
    """Add commands of other distributions. One that cannot be loaded says so when it is called."""
    names = {point.name for point in points}
    for point in points:
        try:
            command = point.load()
        except Exception as problem:  # noqa: BLE001 - a broken distribution must not take the other commands along
            _add_absent(
                application, point.name, f"`baton {point.name}` cannot be loaded: {problem}. Install its package again."
            )
            continue
        if isinstance(command, typer.Typer):
            application.add_typer(command, name=point.name)
        else:
            application.command(point.name)(command)
    for name, purpose in SERVER_COMMANDS.items():
        if name not in names:
            extra = "test" if name in {"test", "eval"} else "local"
            advice = (
                f"`baton {name}` comes with the server. Install it by `pip install 'baton-conversations[{extra}]'`."
            )
            _add_absent(application, name, advice, purpose)


def _add_absent(application: typer.Typer, name: str, advice: str, purpose: str = "") -> None:
    @application.command(
        name,
        help=f"{purpose} (Not installed.)".strip(),
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )
    def absent() -> None:
        Output().error(advice)
        raise typer.Exit(ExitCode.USAGE)


def without_types_of_flags(command: Any) -> Any:
    """Return the command, whose help shows no type of options that take no value."""
    for parameter in (*command.params, command.get_help_option(command.context_class(command))):
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    for parameter in getattr(command, "commands", {}).values():
        without_types_of_flags(parameter)
    return command


app = command_line()


def main() -> None:
    """Run the command line with the commands of every installed distribution."""
    try:
        add_installed(app, list(entry_points(group="baton.commands")))
        without_types_of_flags(get_command(app))()
    except KeyboardInterrupt:
        # A second Ctrl-C while the first one is being dealt with.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        sys.exit(ExitCode.INTERRUPTED)
