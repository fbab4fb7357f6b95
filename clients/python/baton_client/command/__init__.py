"""The command ``baton``: conversations and administration from a terminal.

Other distributions add commands by entry points of the group ``baton.commands``: the name is the command's, the object
a function with typer's annotations or a ``typer.Typer``.
"""

import baton_client.command.process_start  # noqa: F401 - the first
from baton_client.command.application import app, main

__all__ = ["app", "main"]
