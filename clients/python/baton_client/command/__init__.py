"""The command ``baton``: conversations and administration from a terminal.

Other distributions add commands by entry points of the group ``baton.commands``: the name is the command's, the object
a function with typer's annotations or a ``typer.Typer``.
"""

from importlib.metadata import entry_points

import typer

app = typer.Typer(name="baton", no_args_is_help=True, help="Talk to Baton, and run it.")


@app.callback()
def _options() -> None:
    """Talk to Baton, and run it."""


def main() -> None:
    """Run the command line with the commands of every installed distribution."""
    for found in entry_points(group="baton.commands"):
        command = found.load()
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=found.name)
        else:
            app.command(found.name)(command)
    app()
