"""Counts of turns add up to the same, however the turns are divided into pages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import reduce
from itertools import groupby

from hypothesis import given
from hypothesis import strategies as st

from baton.domain.runs.usage import Usage
from baton.domain.tenants.overview import FIRST_TOKEN_BOUNDS_MS, TOP, CountedTurn, Overview, ThreadCost

MIDNIGHT = datetime(2026, 3, 14, tzinfo=UTC)

turns = st.builds(
    CountedTurn,
    thread_id=st.integers(0, 14).map(lambda number: f"t{number}"),
    run_id=st.uuids().map(str),
    agent_id=st.sampled_from(["", "assistant", "librarian"]),
    started_at=st.integers(0, 3 * 24).map(lambda hours: MIDNIGHT + timedelta(hours=hours)),
    duration_ms=st.integers(0, 200_000),
    usage=st.builds(Usage, st.integers(0, 10_000), st.integers(0, 10_000), st.integers(0, 10_000)),
    cost=st.none() | st.floats(0, 100),
    error_code=st.none() | st.sampled_from(["model_error", "interrupted"]),
    first_token_ms=st.none() | st.integers(0, 100_000),
)


def portion(portions: Sequence[CountedTurn], used: dict[str, ThreadCost], *, first: bool) -> Overview:
    """The counts of some turns of one thread."""
    return Overview.of_thread(used[portions[0].thread_id], portions, is_first=first)


@given(st.lists(turns, max_size=40), st.randoms())
def test_pages_in_any_division_and_order_add_up_to_the_same(given_turns: list[CountedTurn], random: object) -> None:
    by_thread = {
        name: list(item)
        for name, item in groupby(sorted(given_turns, key=lambda t: t.thread_id), lambda t: t.thread_id)
    }
    used = {
        name: ThreadCost.of(name, None if len(name) > 2 else len(item) / 7, Usage(len(item), 0))
        for name, item in by_thread.items()
    }
    whole = reduce(Overview.merge, (portion(item, used, first=True) for item in by_thread.values()), Overview())
    portions: list[Overview] = []
    for item in by_thread.values():
        random.shuffle(item)  # type: ignore[attr-defined]
        cut = random.randint(0, len(item))  # type: ignore[attr-defined]
        parts = [part for part in (item[:cut], item[cut:]) if part]
        portions += [portion(part, used, first=number == 0) for number, part in enumerate(parts)]
    random.shuffle(portions)  # type: ignore[attr-defined]
    middle = random.randint(0, len(portions))  # type: ignore[attr-defined]
    pages = [reduce(Overview.merge, part, Overview()) for part in (portions[:middle], portions[middle:])]
    assert pages[0].merge(pages[1]) == whole
    assert whole.threads == len(by_thread)
    assert sum(day.turns for day in whole.days.values()) == len(given_turns)
    assert sum(whole.first_tokens) == sum(given_turn.first_token_ms is not None for given_turn in given_turns)
    assert len(whole.slowest) == min(TOP, len(by_thread))
    assert [item.duration_ms for item in whole.slowest] == sorted(
        (max(turn.duration_ms for turn in item) for item in by_thread.values()), reverse=True
    )[:TOP]


def test_a_time_to_the_first_word_counts_up_to_its_bound() -> None:
    used = ThreadCost.of("t", None, Usage())
    for bound in FIRST_TOKEN_BOUNDS_MS:
        turn = CountedTurn("t", "r", "a", MIDNIGHT, 1, Usage(), first_token_ms=bound)
        counted = Overview.of_thread(used, [turn])
        assert counted.first_tokens[FIRST_TOKEN_BOUNDS_MS.index(bound)] == 1


def test_costs_that_are_not_known_are_counted_apart() -> None:
    used = ThreadCost.of("t", None, Usage())
    existing = CountedTurn("t", "r1", "a", MIDNIGHT, 1, Usage(), cost=0.25)
    unknown = CountedTurn("t", "r2", "a", MIDNIGHT, 1, Usage())
    [day] = Overview.of_thread(used, [existing, unknown]).days.values()
    assert (day.cost, day.unpriced, day.turns) == (0.25, 1, 2)
    [day] = Overview.of_thread(used, [unknown]).days.values()
    assert day.cost is None
