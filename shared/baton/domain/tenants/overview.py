"""Counts of the turns in a tenant's conversations. Counts of different turns can be added in any order."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from heapq import nlargest
from typing import TypeVar

from baton.domain.runs.usage import ModelUsage, Usage

FIRST_TOKEN_BOUNDS_MS = (
    50, 100, 150, 200, 250, 300, 400, 500, 600, 800, 1_000, 1_250, 1_500, 2_000, 2_500,
    3_000, 4_000, 5_000, 7_500, 10_000, 15_000, 20_000, 30_000, 60_000,
)  # fmt: skip
"""Upper bounds of the histogram of times to the first word, in milliseconds. One more count has longer times."""
NANO = 1_000_000_000
"""Costs are counted in whole billionths of the currency's unit, so that the order of adding does not matter."""
TOP = 10
"""Conversations in each list of the slowest and of the costliest."""


@dataclass(frozen=True, slots=True)
class CountedTurn:
    """The counted values of an ended turn."""

    thread_id: str
    run_id: str
    agent_id: str
    """The agent that spoke last; empty if none did."""
    started_at: datetime
    duration_ms: int
    usage: Usage
    cost: float | None = None
    """The cost in the currency's unit; None if it is not known."""
    error_code: str | None = None
    first_token_ms: int | None = None
    began_itself: bool = False
    """Whether it began by itself, without a message of the user."""
    spent: tuple[ModelUsage, ...] = ()
    """The usage of each model whose name is known."""
    versions: Mapping[str, int] = field(default_factory=dict)
    """The versions of agents for which it counts, by agent."""
    ups: int = 0
    """The number of its answers that are rated up."""
    downs: int = 0


@dataclass(frozen=True, slots=True)
class DayCounts:
    """The turns of an agent on a day."""

    turns: int = 0
    failures: int = 0
    usage: Usage = field(default_factory=Usage)
    nano_cost: int = 0
    """The costs that are known, in parts of ``NANO``."""
    unpriced: int = 0
    """Turns whose cost is not known."""
    ups: int = 0
    """The number of answers that are rated up; 0 where ratings are not counted."""
    downs: int = 0

    def __add__(self, other: DayCounts) -> DayCounts:
        return DayCounts(
            self.turns + other.turns,
            self.failures + other.failures,
            self.usage + other.usage,
            self.nano_cost + other.nano_cost,
            self.unpriced + other.unpriced,
            self.ups + other.ups,
            self.downs + other.downs,
        )

    @property
    def cost(self) -> float | None:
        """The sum of the costs that are known; None if no turn's cost is known."""
        return self.nano_cost / NANO if self.unpriced < self.turns else None


@dataclass(frozen=True, slots=True, order=True)
class SlowTurn:
    """The slowest turn of a conversation."""

    duration_ms: int
    thread_id: str
    run_id: str
    title: str | None = field(default=None, compare=False)
    """The conversation's title."""


@dataclass(frozen=True, slots=True, order=True)
class ThreadCost:
    """The usage of a conversation since it began."""

    nano_cost: int
    """The cost in parts of ``NANO``; -1 if it is not known, so that conversations are compared by tokens."""
    total_tokens: int
    thread_id: str
    title: str | None = field(default=None, compare=False)
    """The conversation's title."""

    @classmethod
    def of(cls, thread_id: str, cost: float | None, usage: Usage, title: str | None = None) -> ThreadCost:
        """Return the usage of a thread; ``cost`` is in the currency's unit, None if it is not known."""
        return cls(-1 if cost is None else to_nano(cost), usage.total_tokens, thread_id, title)

    @property
    def cost(self) -> float | None:
        """The cost in the currency's unit; None if it is not known."""
        return None if self.nano_cost < 0 else self.nano_cost / NANO


Entry = TypeVar("Entry", SlowTurn, ThreadCost)


@dataclass(frozen=True, slots=True)
class Overview:
    """Counts of some turns. ``merge`` adds the counts of other turns, in any order and any portions."""

    threads: int = 0
    days: Mapping[tuple[str, str], DayCounts] = field(default_factory=dict)
    """The counts by day (``2026-03-14``, UTC) and agent."""
    errors: Mapping[str, int] = field(default_factory=dict)
    """Failed turns by the code of their error."""
    first_tokens: tuple[int, ...] = (0,) * (len(FIRST_TOKEN_BOUNDS_MS) + 1)
    """Turns by the time to the first word: up to each bound of ``FIRST_TOKEN_BOUNDS_MS``, and longer."""
    slowest: tuple[SlowTurn, ...] = ()
    costliest: tuple[ThreadCost, ...] = ()
    self_started: DayCounts = DayCounts()
    """The counts of the turns that began by themselves."""
    models: Mapping[str, Usage] = field(default_factory=dict)
    """The tokens of each model whose name is known."""
    versions: Mapping[tuple[str, int], DayCounts] = field(default_factory=dict)
    """The counts by agent and version, of agents that have versions."""

    @classmethod
    def of_thread(cls, used: ThreadCost, turns: Iterable[CountedTurn], *, is_first: bool = True) -> Overview:
        """Return the counts of some turns of one thread. ``is_first``: no turns of the thread were counted before."""
        days: dict[tuple[str, str], DayCounts] = {}
        errors: dict[str, int] = {}
        first_tokens = [0] * (len(FIRST_TOKEN_BOUNDS_MS) + 1)
        slowest: list[SlowTurn] = []
        self_started = DayCounts()
        models: dict[str, Usage] = {}
        versions: dict[tuple[str, int], DayCounts] = {}
        for turn in turns:
            for version in turn.versions.items():
                versions[version] = versions.get(version, DayCounts()) + _count(turn)
            key = (turn.started_at.strftime("%Y-%m-%d"), turn.agent_id)
            days[key] = days.get(key, DayCounts()) + _count(turn)
            if turn.began_itself:
                self_started += _count(turn)
            if turn.error_code is not None:
                errors[turn.error_code] = errors.get(turn.error_code, 0) + 1
            if turn.first_token_ms is not None:
                first_tokens[bisect_left(FIRST_TOKEN_BOUNDS_MS, turn.first_token_ms)] += 1
            for part in turn.spent:
                models[part.model] = models.get(part.model, Usage()) + part.usage
            slowest.append(SlowTurn(turn.duration_ms, turn.thread_id, turn.run_id, used.title))
        costliest = (used,) if days else ()
        return cls(
            int(is_first),
            days,
            errors,
            tuple(first_tokens),
            _select_top(slowest),
            costliest,
            self_started,
            models,
            versions,
        )

    def merge(self, other: Overview) -> Overview:
        """Return the counts of both. They must not have turns in common."""
        days, errors = dict(self.days), dict(Counter(self.errors) + Counter(other.errors))
        for key, counts in other.days.items():
            days[key] = days.get(key, DayCounts()) + counts
        models = dict(self.models)
        for model, usage in other.models.items():
            models[model] = models.get(model, Usage()) + usage
        versions = dict(self.versions)
        for version, counts in other.versions.items():
            versions[version] = versions.get(version, DayCounts()) + counts
        return Overview(
            self.threads + other.threads,
            days,
            errors,
            tuple(own + others for own, others in zip(self.first_tokens, other.first_tokens, strict=True)),
            _select_top((*self.slowest, *other.slowest)),
            _select_top((*self.costliest, *other.costliest)),
            self.self_started + other.self_started,
            models,
            versions,
        )


def to_nano(cost: float) -> int:
    """Return a cost in billionths of the currency's unit, rounded."""
    return round(cost * NANO)


def _count(turn: CountedTurn) -> DayCounts:
    """Return the counts of one turn."""
    cost = 0 if turn.cost is None else to_nano(turn.cost)
    return DayCounts(
        1, int(turn.error_code is not None), turn.usage, cost, int(turn.cost is None), turn.ups, turn.downs
    )


def _select_top(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Return the largest entry of each conversation, of the ``TOP`` conversations with the largest entries."""
    of_threads: dict[str, Entry] = {}
    for entry in entries:
        of_threads[entry.thread_id] = max(entry, of_threads.get(entry.thread_id, entry))
    return tuple(nlargest(TOP, of_threads.values()))
