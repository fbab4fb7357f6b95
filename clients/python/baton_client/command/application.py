"""The command line: which commands there are."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterable
from importlib.metadata import EntryPoint, entry_points, version
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from baton_client.command.deferred import DeferredCommand, hide_types_of_flags

GROUP = "baton.commands"
"""The entry points by which distributions add commands."""
COMMANDS = {
    "login": (
        "sign_in:login",
        "Sign in with a code that you enter in a browser on any machine, and store the profile.",
    ),
    "logout": ("sign_in:logout", "Remove the stored tokens of the profile."),
    "chat": (
        "chat:chat",
        "Talk to an agent. Ctrl-C stops an answer; without a terminal each line of input is a message.",
    ),
    "tail": ("tail:tail", "Show a conversation's events as they come, until Ctrl-C. With --json, one event a line."),
    "apply": (
        "apply:apply",
        "Apply a folder to the server: show the changes, ask, and overwrite nothing that was changed in the meantime.",
    ),
    "doctor": ("doctor:doctor", "Check server, clock, token, versions, keyring and proxies, and suggest remedies."),
    "version": ("application:print_version", "Print the version of this command."),
    "agents": ("agents:app", "List agents, show one, and manage the versions of a tenant's agents."),
    "threads": (
        "threads:app",
        "List, read and close conversations, cancel their background tasks, and send them events.",
    ),
    "documents": ("documents:app", "List, upload, search and delete an agent's documents."),
    "procedures": ("procedures:app", "Read procedures and decide on them."),
    "schedules": ("schedules:app", "Make, list, change, pause and cancel schedules and reminders."),
    "users": ("users:app", "Forget users, and export what is stored of them."),
    "workflows": ("workflows:app", "List completed workflows with their data."),
    "usage": (
        "usage:usage",
        "Add up the tenant's turns, tokens, cost and storage of a month, in UTC; needs tenant:manage.",
    ),
    "tenant": ("tenant:app", "Export or remove a whole tenant."),
    "audit": ("audit:app", "Read the audit log; needs audit:read."),
}
"""The commands of this distribution: modules with their functions or groups, and their purposes in the list."""
SERVER_COMMANDS = {
    "new": "Make a project: agents, a tool, and what editors and deployments need.",
    "dev": "Run the project on this machine. Edits of agents and tools are used by the next turn.",
    "check": "Report what agents, tools, servers and remote agents lack. Exit code 1: something is missing.",
    "test": "Hold conversations with a project's agents, and check what happens.",
    "eval": "Evaluate agents by data sets of cases.",
    "deploy": "Check, build and deploy the project to AWS by SAM, publish its front ends, and try it.",
    "settings": "Check settings.STAGE.yaml, show how it differs from the deployed settings, ask, and store it.",
    "publish": "Upload the chat widget and the console to where a deployed stage serves them.",
    "smoke": "Try a deployed stage, or another server, as a user.",
    "search": "Make, rebuild, move, verify or repair the search indices of a deployed stage.",
    "restore": "Copy lost conversations, records and files back from a point in time, and overwrite nothing newer.",
    "teardown": "Show which parts of a stage exist, and delete the named parts after the stack's name is typed.",
}
"""Commands that the server's distribution adds."""

Points = Callable[[], Iterable[EntryPoint]]


class CommandLine(TyperGroup):
    """The commands of this distribution, and those that other distributions add: read when one of them is called."""

    points: Points | None = None

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        for name, (target, purpose) in COMMANDS.items():
            point = EntryPoint(name, f"baton_client.command.{target}", GROUP)
            self.add_command(DeferredCommand(name, purpose, point.load))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of that name; ``None`` if there is none."""
        if cmd_name not in self.commands:
            self._add_others()
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands."""
        self._add_others()
        return super().list_commands(ctx)

    def _add_others(self) -> None:
        points, self.points = self.points, None
        if points is None:
            return
        by_name = {point.name: point for point in points()}
        for name in [*SERVER_COMMANDS, *by_name]:
            if name not in self.commands:
                self.add_command(_make_other(name, by_name.get(name)))


def make_command_line(points: Points | None = None) -> typer.Typer:
    """Return the command line, with the commands of other distributions if there are ``points``."""

    class Commands(CommandLine):
        pass

    Commands.points = staticmethod(points) if points is not None else None
    application = typer.Typer(
        name="baton", cls=Commands, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None
    )
    application.callback()(_take_options)
    return application


def _make_other(name: str, point: EntryPoint | None) -> DeferredCommand:
    """Return the command of another distribution. A command that cannot be loaded says so when it is called."""
    purpose = SERVER_COMMANDS.get(name)
    if point is None:
        extra = "test" if name in {"test", "eval"} else "local"
        advice = f"`baton {name}` comes with the server. Install it by `pip install 'baton-conversations[{extra}]'`."
        return DeferredCommand(name, f"{purpose} (Not installed.)", lambda: _make_absent(advice))

    def load() -> Any:
        try:
            return point.load()
        except Exception as problem:  # noqa: BLE001 - a broken distribution must not take the other commands along
            return _make_absent(f"`baton {name}` cannot be loaded: {problem}. Install its package again.")

    command = DeferredCommand(name, purpose or "", load)
    if purpose is None:
        command.help = command.whole.help
    return command


def _make_absent(advice: str) -> TyperCommand:
    """Return a command that prints ``advice`` and fails."""

    def report() -> None:
        from baton_client.command.exits import ExitCode
        from baton_client.command.output import Output

        Output().print_error(advice)
        raise typer.Exit(ExitCode.USAGE)

    takes_anything = {"ignore_unknown_options": True, "allow_extra_args": True}
    return TyperCommand("absent", callback=report, context_settings=takes_anything, rich_markup_mode=None)


def _show_version(is_requested: bool) -> None:
    if is_requested:
        print_version()
        raise typer.Exit


def print_version() -> None:
    """Print the version of this command."""
    typer.echo(version("baton-client"))


def _take_options(
    context: typer.Context,
    profile: Annotated[
        str | None, typer.Option(help="The profile of the configuration file; also BATON_PROFILE.")
    ] = None,
    url: Annotated[str | None, typer.Option(help="The server's address; also BATON_URL.")] = None,
    no_color: Annotated[bool, typer.Option("--no-color", help="Print without colours; also NO_COLOR.")] = False,
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version, and end.")
    ] = False,
) -> None:
    """Talk to Baton, and run it."""
    from baton_client.command.session import get_environment, with_options

    context.obj = with_options(get_environment(context), profile=profile, url=url, no_color=no_color)


app = make_command_line()


def main() -> None:
    """Run the command line with the commands of every installed distribution."""
    # httpx has a command, too. Without this every import of httpx loads its parser, colours and lists of languages.
    sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
    try:
        hide_types_of_flags(get_command(make_command_line(lambda: entry_points(group=GROUP))))()
    except KeyboardInterrupt:
        # A second Ctrl-C while the first one is being handled.
        from baton_client.command.exits import ExitCode

        signal.signal(signal.SIGINT, signal.SIG_IGN)
        sys.exit(ExitCode.INTERRUPTED)
