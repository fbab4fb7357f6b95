"""Patterns that need many states: how much of a message is searched for them is bounded by their size."""

from __future__ import annotations

from typing import Any

import pytest

from baton.domain.handoffs import triggers
from baton.domain.handoffs.triggers import MATCHING_WORK, MAX_TEXT, matches
from baton.domain.memory import procedure_set
from baton.domain.memory.procedure_set import INDEX_WORK, TriggerIndex
from baton.domain.patterns import compile_pattern

HEAVY = "[ab]*a[ab]{900}c"
"""A pattern for which re2 runs out of states, so that it follows all of its instructions with each character."""


class Counted:
    """A compiled pattern that adds up the instructions, times characters, of its searches."""

    def __init__(self, compiled: Any, work: list[int]) -> None:
        self._compiled = compiled
        self._work = work
        self.programsize = compiled.programsize

    def search(self, text: str) -> Any:
        self._work.append(len(text) * self.programsize)
        return self._compiled.search(text)


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The work of each search."""
    done: list[int] = []

    def compile_counted(pattern: str, **options: Any) -> Counted:
        return Counted(compile_pattern(pattern, **options), done)

    monkeypatch.setattr(triggers, "compile_cached", compile_counted)
    monkeypatch.setattr(procedure_set, "compile_pattern", compile_counted)
    triggers._get_matcher.cache_clear()
    return done


def test_a_message_is_searched_for_a_large_pattern_up_to_some_work(work: list[int]) -> None:
    assert not matches(HEAVY, "ab" * (MAX_TEXT // 2))
    [done] = work  # by a program that has the borders of words too
    assert done < 10 * MATCHING_WORK


def test_a_message_is_searched_for_many_large_patterns_up_to_some_work(work: list[int]) -> None:
    index = TriggerIndex(f"{HEAVY}{number}" for number in range(2_000))
    assert index.find("ab" * (MAX_TEXT // 2)) == {}
    assert sum(work) <= INDEX_WORK


def test_the_beginning_of_a_long_message_is_searched_for_large_patterns() -> None:
    result = "ab" * 460 + "ac"
    assert matches(HEAVY, result + " x" * 9_000)
    assert not matches(HEAVY, "x " * 9_000 + result)
    index = TriggerIndex([HEAVY, *(f"{HEAVY}{number}" for number in range(300))])
    assert [*index.find(result + " x" * 9_000)] == [HEAVY]


def test_the_longest_message_is_searched_for_usual_patterns() -> None:
    usual = [f"(create|make) (a|the) report{number}?" for number in range(200)]
    assert TriggerIndex(usual).searched == MAX_TEXT
    assert matches(usual[0], "x " * (MAX_TEXT // 2 - 20) + "make a report0")
