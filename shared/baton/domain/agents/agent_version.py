"""A tenant's own agents: every change is a version, and one list says which version of each agent is the newest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import yaml

WIDTH = 120
"""Characters of a line of the YAML."""
_BREAKS = "\x85\u2028\u2029"
"""Ends of lines in YAML, which would be read back as spaces: they are written as escapes."""


def agent_yaml(agent_id: str, values: Mapping[str, Any]) -> str:
    """Return an agent's fields as YAML, which ``read_yaml`` reads back to the same values; the id comes first.

    Texts of several lines stand as blocks, as a person would write them.
    """
    fields = {"id": agent_id, **{name: value for name, value in values.items() if name != "id"}}
    return yaml.dump(fields, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=WIDTH)


class _Dumper(yaml.SafeDumper):
    """A dumper that repeats equal values, because ``read_yaml`` refuses aliases."""

    def ignore_aliases(self, _: Any) -> bool:
        return True


def _represent_text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value else None
    if any(character in value for character in _BREAKS):
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _represent_text)


MAX_COMMENT = 300
"""Characters of the comment on a change."""


@dataclass(frozen=True, slots=True)
class AgentVersion:
    """One state of a tenant's agent. It never changes."""

    agent_id: str
    number: int
    """From 1. A deletion has a number too, and numbers continue where a deleted agent is made again."""
    values: Mapping[str, Any] | None
    """The definition's fields, as an agent's file has them; None: the agent was deleted."""
    created_by: str
    created_at: datetime
    comment: str | None = None
    restores: int | None = None
    """The older version that this one repeats."""


@dataclass(frozen=True, slots=True)
class AgentEntry:
    """The newest version of one agent."""

    number: int
    size: int
    """Characters of its definition as JSON; 0 if it is deleted."""

    @property
    def is_deleted(self) -> bool:
        """Whether the agent no longer exists. Its versions are kept."""
        return self.size == 0


@dataclass(frozen=True, slots=True)
class AgentList:
    """The newest version of each of a tenant's agents, at one moment."""

    revision: int = 0
    """A number that grows with every change; 0 before the first."""
    entries: Mapping[str, AgentEntry] = field(default_factory=dict)
    """By the agent's id, deleted agents included."""

    @property
    def present(self) -> Mapping[str, AgentEntry]:
        """The agents that are not deleted."""
        return {agent_id: entry for agent_id, entry in self.entries.items() if not entry.is_deleted}
