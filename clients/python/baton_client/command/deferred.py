"""Commands that are imported when they are called, since most starts of ``baton`` need one of them at most."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import typer
from typer.core import TyperCommand
from typer.main import get_command, get_group

Load = Callable[[], Any]
"""A function that returns a function with typer's annotations, a ``typer.Typer`` or a command."""


class DeferredCommand(TyperCommand):
    """A command or group of commands: its name and purpose, and a function that loads the rest."""

    def __init__(self, name: str, purpose: str, load: Load) -> None:
        super().__init__(name, help=purpose, rich_markup_mode=None)
        self._load = load

    @cached_property
    def whole(self) -> Any:
        """The command itself, with its options."""
        loaded = self._load()
        if isinstance(loaded, TyperCommand):
            return loaded
        if isinstance(loaded, typer.Typer):
            # Help without frames and colours: the library that draws them takes longer to load than most commands.
            loaded.rich_markup_mode = None
            return hide_types_of_flags(get_group(loaded))
        single = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
        single.command(self.name)(loaded)
        return hide_types_of_flags(get_command(single))

    def get_short_help_str(self, limit: int = 0) -> str:
        """Return the purpose for the list of commands, whole."""
        return self.help or ""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Return the context of the command itself."""
        return self.whole.make_context(*arguments, **options)


def hide_types_of_flags(command: Any) -> Any:
    """Return the command. Its help shows no types of options that take no value."""
    for parameter in (*command.params, command.get_help_option(command.context_class(command))):
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    for parameter in getattr(command, "commands", {}).values():
        hide_types_of_flags(parameter)
    return command
