"""The functions that an agent has when it is written in Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class AgentCode:
    """The functions of one agent. They are set while its module is imported, and never afterwards."""

    prompt: Callable[..., Any] | None = None
    """Computes a part of the prompt for each turn: takes a ``TurnContext`` and returns text."""
