"""Every thread store keeps its contract."""

from __future__ import annotations

import pytest

from baton.domain.errors import ThreadUnavailable
from tests.contracts.branches import BranchContract
from tests.contracts.conversations import ChangeContract, ConversationContract
from tests.contracts.leases import CommitContract, FenceContract, LeaseContract, TurnContract
from tests.contracts.messages import MessageContract
from tests.contracts.stores import new_thread_id
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


class TestBranches(BranchContract):
    pass


class TestMessages(MessageContract):
    pass


class TestOwnership(OwnershipContract):
    pass


class TestLists(ListContract):
    pass


class TestForks(ForkContract):
    pass


class TestConversations(ConversationContract):
    pass


class TestChanges(ChangeContract):
    pass


async def test_an_existing_thread_becomes_nobodys_fork(on_dynamodb_local: Engine) -> None:
    stores = on_dynamodb_local.stores()
    parent, other = [(await stores.turn(new_thread_id())).thread_id for _ in range(2)]
    with pytest.raises(ThreadUnavailable):
        await stores.store.acquire(stores.ada, fork_request(other, parent))
    assert (await stores.store.get_thread(stores.ada, other)).parent_thread_id is None
