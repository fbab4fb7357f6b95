"""Additions to a request: the application's tools, its context, and a calling agent's handoff."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from baton.domain.threads.interrupt import InterruptDecision


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
class IncomingHandoff:
    """The data that another agent sends when it hands a conversation over. All of it is untrusted."""

    source_agent_id: str = ""
    reason: str = ""
    summary: str = ""
    recent: tuple[tuple[str, str], ...] = ()
    """Roles and texts of the latest messages there, in order."""


@dataclass(frozen=True, slots=True)
class ClientOffer:
    """The parts of a request besides its message. They are kept with the turn, so that a takeover offers the same."""

    tools: tuple[ClientTool, ...] = ()
    """Names are unique, and none is that of a built-in tool."""
    context: tuple[ContextItem, ...] = ()
    results: tuple[InterruptDecision, ...] = ()
    """Results of calls that the previous run waits for, where the user has sent a message instead of waiting for it."""
    parent_task_id: str | None = None
    """The task of another agent that an A2A message serves."""
    handoff: IncomingHandoff | None = None
    """The handoff of the calling agent; None if it hands nothing over."""
