"""Every thread store keeps its contract."""

from __future__ import annotations

import pytest

from baton.domain.errors import ThreadUnavailable
from tests.contracts.floors import ChangeContract, FloorContract
from tests.contracts.house import new_thread_id
from tests.contracts.leases import CommitContract, FenceContract, LeaseContract, TurnContract
from tests.contracts.messages import MessageContract
from tests.contracts.threads import ForkContract, ListContract, OwnershipContract, fork_request
from tests.integration.store.conftest import Engine


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


class TestForks(ForkContract):
    pass


class TestFloors(FloorContract):
    pass


class TestChanges(ChangeContract):
    pass


@pytest.mark.parametrize("engine", ["on_moto", "on_dynamodb_local"])
async def test_an_existing_thread_becomes_nobodys_fork(request: pytest.FixtureRequest, engine: str) -> None:
    at: Engine = request.getfixturevalue(engine)
    house = at.house()
    parent, other = [(await house.turn(new_thread_id())).thread_id for _ in range(2)]
    with pytest.raises(ThreadUnavailable):
        await house.store.acquire(house.ada, fork_request(other, parent))
    assert (await house.store.get_thread(house.ada, other)).parent_thread_id is None
