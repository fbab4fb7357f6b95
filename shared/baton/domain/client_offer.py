"""What the user's application offers with a request: tools that run there, and context about what it shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from baton.domain.interrupt import InterruptAnswer


@dataclass(frozen=True, slots=True)
class ClientTool:
    """A tool that runs in the user's application (AG-UI: ``tools`` of the run input). All of it is untrusted."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON Schema of the arguments, of type object, with references within itself only."""


@dataclass(frozen=True, slots=True)
class ContextItem:
    """Something that the application shows or knows (AG-UI: ``context`` of the run input). It is untrusted."""

    description: str
    value: str


@dataclass(frozen=True, slots=True)
class ClientOffer:
    """The tools and the context of one request. It is kept with the turn, so that a takeover offers the same."""

    tools: tuple[ClientTool, ...] = ()
    """Names are unique, and none is that of a built-in tool."""
    context: tuple[ContextItem, ...] = ()
    results: tuple[InterruptAnswer, ...] = ()
    """Results of calls that the run before waits for, where the user has sent a message instead of waiting for it."""
