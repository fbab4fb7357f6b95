"""The price of tokens that a provider's prompt cache holds."""

from baton.domain.runs.usage import Price, Usage

USAGE = Usage(1_000_000, 100_000, cached_input_tokens=400_000, cache_write_tokens=200_000)


def test_tokens_read_from_the_cache_and_written_to_it_have_prices_of_their_own() -> None:
    price = Price(input=3, output=15, cached_input=0.3, cache_write=3.75)
    assert round(price.compute_cost(USAGE), 9) == 3.57


def test_without_prices_of_their_own_they_cost_as_much_as_others() -> None:
    assert Price(input=3, output=15).compute_cost(USAGE) == 3 + 0.1 * 15


def test_counts_that_contradict_each_other_never_cost_less_than_nothing() -> None:
    odd = Usage(100, 0, cached_input_tokens=500, cache_write_tokens=500)
    assert Price(input=3, output=15, cached_input=0.3, cache_write=3.75).compute_cost(odd) >= 0
