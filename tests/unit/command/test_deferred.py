"""Commands are imported when they are called."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import EntryPoint, entry_points

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

import baton_client
from baton_client.command.application import COMMANDS, GROUP, SERVER_COMMANDS, make_command_line
from baton_client.command.deferred import DeferredCommand

START = """
import json, sys
from baton_client.command import main
sys.argv = ["baton", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    print(json.dumps({"code": end.code, "modules": sorted(sys.modules)}), file=sys.stderr)
"""
NEEDED_BY_COMMANDS = {
    "ag_ui",
    "asyncio",
    "baton",
    "baton_client.asynchronous",
    "baton_client.command.session",
    "baton_local",
    "baton_project.project",
    "httpx",
    "keyring",
    "prompt_toolkit",
    "pydantic",
    "rich",
}


def modules_after(*arguments: str, code: int = 0, **variables: str) -> set[str]:
    """The modules that a process of the command has loaded."""
    command = [sys.executable, "-c", START, *arguments]
    process = subprocess.run(command, capture_output=True, check=True, text=True, env={**os.environ, **variables})
    end = json.loads(process.stderr.splitlines()[-1])
    assert end["code"] == code, process.stderr
    return set(end["modules"])


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_version_and_help_load_no_command_and_no_library_that_only_commands_need(option: str) -> None:
    assert NEEDED_BY_COMMANDS.isdisjoint(modules_after(option))


def test_a_message_loads_no_prompt_no_keyring_and_no_models_of_other_answers() -> None:
    modules = modules_after("chat", "-m", "Hello", code=5, BATON_TOKEN="secret", BATON_URL="http://127.0.0.1:9")
    assert {"httpx", "baton_client.asynchronous.events"} <= modules
    unused = {"baton_client._generated.served", "click", "keyring", "prompt_toolkit", "pygments", "rich.progress"}
    assert unused.isdisjoint(modules)


def test_signing_in_loads_no_events() -> None:
    modules = modules_after("login", "--local", "--token-file", code=5, BATON_URL="http://127.0.0.1:9")
    assert {"ag_ui", "baton_client._generated.served", "keyring", "prompt_toolkit"}.isdisjoint(modules)


def read_own_help(command: DeferredCommand) -> str:
    """Return the help of the loaded command on one line."""
    return " ".join((command.whole.help or "").split())


def test_the_list_of_commands_says_what_the_commands_say() -> None:
    commands = get_command(make_command_line(lambda: entry_points(group=GROUP)))
    listed = {name: commands.get_command(None, name) for name in commands.list_commands(None)}
    assert list(listed) == [*COMMANDS, *SERVER_COMMANDS]
    assert {name: command.help for name, command in listed.items()} == {
        name: read_own_help(command) for name, command in listed.items()
    }


def test_commands_of_other_distributions_are_listed_with_their_purpose() -> None:
    point = EntryPoint("greet", f"{__name__}:greet", GROUP)
    application = make_command_line(lambda: [point])
    assert "Greet somebody." in CliRunner().invoke(application, ["--help"]).stdout
    assert CliRunner().invoke(application, ["greet", "Ada"]).stdout == "Hello Ada\n"


def greet(name: str) -> None:
    """Greet somebody."""
    typer.echo(f"Hello {name}")


def test_a_command_that_cannot_be_loaded_says_so_and_leaves_the_others() -> None:
    application = make_command_line(lambda: [EntryPoint("broken", "no_such_module:run", GROUP)])
    process = CliRunner().invoke(application, ["broken", "--anything"])
    assert process.exit_code == 2
    assert "Install its package again" in process.stderr
    assert CliRunner().invoke(application, ["version"]).exit_code == 0


def test_a_misspelt_command_is_recognised() -> None:
    process = CliRunner().invoke(make_command_line(list), ["chta"])
    assert "Did you mean 'chat'?" in process.stderr


def test_the_client_offers_all_its_names_and_modules() -> None:
    script = """
import baton_client
for name in baton_client.__all__:
    getattr(baton_client, name)
baton_client.errors.BatonError, baton_client.models.Thread
"""
    subprocess.run([sys.executable, "-c", script], check=True)
    assert set(baton_client.__all__) <= set(dir(baton_client))
    with pytest.raises(AttributeError, match="no_such_name"):
        baton_client.no_such_name  # noqa: B018


def test_durations_count_from_the_start_of_the_process() -> None:
    """The module that has the start is loaded before all that take long."""
    script = "import sys, baton_client.command; print(*sys.modules, sep='\\n')"
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    modules = process.stdout.splitlines()
    assert modules.index("baton_client.command.process_start") < modules.index("typer")
