"""Every thread store keeps its contract."""

from __future__ import annotations

from tests.contracts.leases import CommitContract, FenceContract, LeaseContract, TurnContract
from tests.contracts.messages import MessageContract
from tests.contracts.threads import ListContract, OwnershipContract


class TestLeases(LeaseContract):
    pass


class TestCommits(CommitContract):
    pass


class TestFences(FenceContract):
    pass


class TestTurns(TurnContract):
    pass


class TestMessages(MessageContract):
    pass


class TestOwnership(OwnershipContract):
    pass


class TestLists(ListContract):
    pass
