"""Functions of agents in tests: they are really called, and what they wait for takes real time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from baton.adapters.code_problems import describe_code_problem
from baton.authoring.functions import Filled, Functions
from baton.ports.tools import ToolFailed, TurnContext
from baton_testing.virtual_time import real_time

MAX_NOTES = 10
"""Different faults of one conversation that are named."""


class RealTimeFunctions(Functions):
    """``Functions`` whose time limits are those of the wall: a socket may take as long as outside of tests."""

    def __init__(
        self, packages: Callable[[], Sequence[str]] = tuple, *, logs_messages: Callable[[], bool] = bool
    ) -> None:
        super().__init__(packages, logs_messages=logs_messages)
        self.notes: list[str] = []
        """The faults of functions, with file and line."""

    async def call(
        self,
        function: Callable[..., Any],
        context: TurnContext,
        arguments: Mapping[str, Any],
        filled: Filled | None = None,
    ) -> Any:
        """See ``Functions``."""
        async with real_time():
            try:
                return await super().call(function, context, arguments, filled)
            except ToolFailed:
                raise
            except Exception as problem:
                self._note(problem)
                raise

    def _note(self, problem: Exception) -> None:
        text = describe_code_problem(problem)
        if len(self.notes) < MAX_NOTES and text not in self.notes:
            self.notes.append(text)
