"""Every store ends and takes over as its contract says."""

from __future__ import annotations

from tests.contracts.endings import CancelContract, CloseContract, IdleContract
from tests.contracts.episodes import EpisodeContract
from tests.contracts.optimistic_leases import OptimisticLeaseContract
from tests.contracts.takeovers import TakeoverContract


class TestTakeovers(TakeoverContract):
    pass


class TestOptimisticLeases(OptimisticLeaseContract):
    pass


class TestClosing(CloseContract):
    pass


class TestIdle(IdleContract):
    pass


class TestEpisodes(EpisodeContract):
    pass


class TestCancels(CancelContract):
    pass
