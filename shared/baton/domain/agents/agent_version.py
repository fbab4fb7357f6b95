"""A tenant's own agents: every change is a version, and one list says which version of each agent is in force."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import yaml

WIDTH = 120
"""Characters of a line of the YAML."""
_BREAKS = "\x85\u2028\u2029"
"""Line breaks of YAML that would be read back as spaces. They are written as escapes."""


def write_agent_yaml(agent_id: str, values: Mapping[str, Any]) -> str:
    """Return an agent's fields as YAML, which ``read_yaml`` reads back to the same values; the id comes first.

    Texts of several lines are written as blocks where YAML can keep their characters so.
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
    """From 1. A deletion has a number too, and numbers continue when a deleted agent is made again."""
    values: Mapping[str, Any] | None
    """The definition's fields, as an agent's file has them; None: the agent was deleted."""
    created_by: str
    created_at: datetime
    comment: str | None = None
    restores: int | None = None
    """The number of the older version whose definition this version repeats."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A version that a share of new sessions uses instead of the version in force."""

    number: int
    size: int
    """Characters of its definition as JSON."""
    share: int
    """The percentage of new sessions, 0 to 100."""


MAX_RANGES = 20
"""Ranges of versions of one agent in its entry. The two oldest become one when there are more."""
Ranges = tuple[tuple[int, int], ...]
"""The first and last number of each range of versions, in order."""


@dataclass(frozen=True, slots=True)
class EntryChange:
    """The last change of an entry that made no version. A repeated request audits it once more, under the same key."""

    at: datetime
    by: str
    outcome: str
    """``shared``, ``promoted`` or ``withdrawn``."""


@dataclass(frozen=True, slots=True)
class AgentEntry:
    """The version of one agent that is in force, and its candidate."""

    number: int
    size: int
    """Characters of its definition as JSON; 0 if it is deleted."""
    candidate: Candidate | None = None
    last: int = 0
    """The highest number of its versions, if that version is neither in force nor the candidate; otherwise 0."""
    withdrawn: Ranges = ()
    """Versions that running sessions may no longer use."""
    deleted: int | None = None
    """The version that was in force before the deletion; None if the agent is not deleted."""
    never_in_force: Ranges = ()
    """Former candidates that were not promoted. Where ranges were joined, versions between them too."""
    changed: EntryChange | None = field(default=None, compare=False)
    """None if the last change made a version."""

    @property
    def is_deleted(self) -> bool:
        """Whether the agent no longer exists. Its versions are kept."""
        return self.size == 0

    @property
    def newest(self) -> int:
        """The highest number of its versions."""
        return max(self.number, self.last, self.candidate.number if self.candidate is not None else 0)

    @property
    def total_size(self) -> int:
        """Characters of the definitions that a worker has in memory."""
        return self.size + (self.candidate.size if self.candidate is not None else 0)

    def choose(self, pinned: int | None, draw: int) -> int:
        """Return the version that a session uses. ``draw``: the session's number from 0 to 99.

        A session keeps the version that it is pinned to, unless that was withdrawn.
        """
        if pinned is not None and not self.is_withdrawn(pinned):
            return pinned
        if self.candidate is not None and draw < self.candidate.share:
            return self.candidate.number
        return self.number

    def is_withdrawn(self, number: int) -> bool:
        """Return whether sessions that are pinned to a version must leave it; False for the version in force."""
        return number != self.number and any(first <= number <= last for first, last in self.withdrawn)

    def was_in_force(self, number: int) -> bool:
        """Return whether a version is in force or was; False for every version in a range of ``never_in_force``."""
        return not any(first <= number <= last for first, last in self._without_candidate(self.number).never_in_force)

    def put(self, number: int, size: int) -> AgentEntry:
        """Return the entry with another version in force. The candidate ends; sessions that use it keep it."""
        entry = replace(self._without_candidate(number), number=number, size=size, deleted=None, changed=None)
        return entry._with_last(self.newest)

    def delete(self, number: int) -> AgentEntry:
        """Return the entry after a deletion with this number. No session may use an earlier version any more."""
        never_in_force = self._without_candidate(number).never_in_force
        return AgentEntry(number, 0, withdrawn=((1, number),), deleted=self.number, never_in_force=never_in_force)

    def with_candidate(self, candidate: Candidate) -> AgentEntry:
        """Return the entry with this candidate. Sessions that use the former candidate keep it."""
        entry = replace(self._without_candidate(candidate.number), candidate=candidate, changed=None)
        return entry._with_last(self.newest)

    def promote(self) -> AgentEntry:
        """Return the entry with the candidate in force. Sessions that use the former version keep it."""
        assert self.candidate is not None  # noqa: S101 - the caller has checked
        return self.put(self.candidate.number, self.candidate.size)

    def withdraw(self, above: int) -> AgentEntry:
        """Return the entry without a candidate, with every version later than ``above`` withdrawn.

        The version in force is not withdrawn, even if it is later than ``above``.
        """
        newest = self.newest
        withdrawn = self.withdrawn
        for first, last in ((above + 1, min(self.number - 1, newest)), (max(above, self.number) + 1, newest)):
            if first <= last:
                withdrawn = _add_range(withdrawn, first, last)
        return replace(self._without_candidate(self.number), withdrawn=withdrawn)._with_last(newest)

    def _without_candidate(self, next_number: int) -> AgentEntry:
        """Return the entry without its candidate, which was never in force unless it is ``next_number`` itself."""
        if self.candidate is None:
            return self
        number = self.candidate.number
        ranges = self.never_in_force if number == next_number else _add_range(self.never_in_force, number, number)
        return replace(self, candidate=None, never_in_force=ranges)

    def _with_last(self, newest: int) -> AgentEntry:
        """Return the entry with ``newest`` as its highest number, unless it has that number or a higher one."""
        entry = replace(self, last=0)
        return replace(entry, last=newest) if newest > entry.newest else entry


def _add_range(ranges: Ranges, first: int, last: int) -> Ranges:
    """Return the ranges with another range, joined with those that it touches; at most ``MAX_RANGES``."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted((*ranges, (first, last))):
        if merged and start <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    if len(merged) > MAX_RANGES:
        merged[:2] = [(merged[0][0], merged[1][1])]
    return tuple(merged)


@dataclass(frozen=True, slots=True)
class AgentList:
    """The entries of a tenant's agents, at one moment."""

    revision: int = 0
    """A number that grows with every change; 0 before the first."""
    entries: Mapping[str, AgentEntry] = field(default_factory=dict)
    """By the agent's id, deleted agents included."""

    @property
    def present(self) -> Mapping[str, AgentEntry]:
        """The agents that are not deleted."""
        return {agent_id: entry for agent_id, entry in self.entries.items() if not entry.is_deleted}

    def with_entry(self, agent_id: str, entry: AgentEntry) -> AgentList:
        """Return the next list, in which the agent has this entry."""
        return AgentList(self.revision + 1, {**self.entries, agent_id: entry})


def draw_percent(*names: str) -> int:
    """Return a number from 0 to 99 that depends on the names only, so that every worker draws the same."""
    return int.from_bytes(hashlib.sha256("\0".join(names).encode()).digest()[:8]) % 100
