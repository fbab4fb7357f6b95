"""The time for which copies of remote data are trusted."""

from __future__ import annotations

import pytest

from baton.adapters.cached_value import CachedValue
from baton.domain.errors import NotFound, StoreUnavailable
from tests.unit.identity.signing import Monotonic


class Source:
    """A source that counts how often it is read; it fails while ``error`` is set."""

    def __init__(self) -> None:
        self.reads = 0
        self.error: type[StoreUnavailable | NotFound] | None = None

    def __call__(self) -> int:
        self.reads += 1
        if self.error is not None:
            raise self.error("gone")
        return self.reads


@pytest.fixture
def time() -> Monotonic:
    return Monotonic()


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
def cached(source: Source, time: Monotonic) -> CachedValue[int]:
    return CachedValue(source, monotonic=time)


def test_a_value_serves_five_minutes(cached: CachedValue[int], time: Monotonic) -> None:
    assert cached.get() == 1
    time.pass_(299)
    assert cached.get() == 1
    time.pass_(1)
    assert cached.get() == 2


def test_a_fresh_value_is_read_every_thirty_seconds_at_most(cached: CachedValue[int], time: Monotonic) -> None:
    assert cached.renew() == 1
    time.pass_(29)
    assert cached.renew() == 1
    time.pass_(1)
    assert cached.renew() == 2
    assert cached.get() == 2


def test_an_outage_leaves_the_last_value_for_an_hour(cached: CachedValue[int], source: Source, time: Monotonic) -> None:
    assert cached.get() == 1
    source.error = StoreUnavailable
    time.pass_(3599)
    assert cached.get() == 1
    assert cached.renew() == 1
    time.pass_(1)
    with pytest.raises(StoreUnavailable, match="gone"):
        cached.get()


def test_a_failing_source_is_read_every_five_seconds_at_most(
    cached: CachedValue[int], source: Source, time: Monotonic
) -> None:
    source.error = NotFound
    for _ in range(10):
        with pytest.raises(NotFound, match="gone"):
            cached.get()
        time.pass_(1)
    assert source.reads == 2
    source.error = None
    assert cached.get() == 3


def test_a_bug_is_not_an_outage(cached: CachedValue[int], time: Monotonic) -> None:
    def fail() -> int:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        CachedValue(fail, monotonic=time).get()
