"""The cost of the benchmark's conversation, in which nothing is left to chance."""

from __future__ import annotations

import pytest

from benchmarks.instruments.cache_rules import ANTHROPIC, OPENAI, Call, Piece, PromptCache
from benchmarks.prompt_cache import COUNTED, measure


def test_a_history_that_stays_is_paid_once() -> None:
    before, *settings = {result.name: result for result in measure(COUNTED)}.items()
    named = dict(settings)
    message = named["before_message"]
    assert message.repeated_share >= 0.85
    assert 0 < message.strides <= 10, "of these turns only"
    for provider, cost in message.costs.items():
        assert cost <= 0.3 * before[1].costs[provider], provider
        assert named["before_history"].costs[provider] < before[1].costs[provider]


def call(at: float, *pieces: tuple[str, int], marks: tuple[int, ...] = ()) -> Call:
    made_pieces = tuple(Piece(text, tokens, index in marks) for index, (text, tokens) in enumerate(pieces))
    return Call(at, made_pieces, turn=1)


def test_an_automatic_cache_reads_the_longest_prefix_that_it_keeps() -> None:
    cache = PromptCache(OPENAI)
    assert cache.charge(call(0, ("a", 1_280), ("b", 100)))[0] == pytest.approx(1.25 * 1_380)
    assert cache.charge(call(60, ("a", 1_280), ("c", 100))) == (pytest.approx(128 + 125), 1_280)
    assert cache.charge(call(4_000, ("a", 1_280), ("c", 100)))[1] == 0, "half an hour is over"


def test_short_prefixes_are_not_cached() -> None:
    cache = PromptCache(OPENAI)
    assert [cache.charge(call(at, ("a", 1_000)))[0] for at in (0, 1)] == [1_000, 1_000]


def test_breakpoints_keep_what_they_mark_for_five_minutes() -> None:
    cache = PromptCache(ANTHROPIC)
    texts = (("a", 2_000), ("b", 100), ("c", 10))
    assert cache.charge(call(0, *texts, marks=(1,)))[0] == pytest.approx(1.25 * 2_100 + 10)
    assert cache.charge(call(200, *texts, ("d", 10), marks=(2,))) == (pytest.approx(210 + 12.5 + 10), 2_100)
    assert cache.charge(call(450, *texts[:2], marks=(1,)))[1] == 2_100, "each read keeps it longer"
    assert cache.charge(call(900, *texts[:2], marks=(1,)))[1] == 0
