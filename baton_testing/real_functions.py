"""Functions of agents in tests: they are really called, and what they wait for takes real time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from baton.authoring.functions import Filled, Functions
from baton.ports.tools import TurnContext
from baton_testing.virtual_time import real_time


class RealTimeFunctions(Functions):
    """``Functions`` whose time limits are those of the wall: a socket may take as long as outside of tests."""

    async def call(
        self,
        function: Callable[..., Any],
        context: TurnContext,
        arguments: Mapping[str, Any],
        filled: Filled | None = None,
    ) -> Any:
        """See ``Functions``."""
        async with real_time():
            return await super().call(function, context, arguments, filled)
