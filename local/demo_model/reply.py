"""What a rule makes of a conversation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from local.demo_model.conversation import Conversation


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool that was offered."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer; its text may be empty before and after tool calls."""

    text: str
    calls: tuple[Call, ...] = ()


Rule = Callable[[Conversation], Reply | None]
"""Gives an answer, or None if it has nothing to say."""
