"""A write whose answer was lost is repeated by the SDK, and must find its own earlier success."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from baton.domain.errors import LeaseLost, StoreUnavailable, ThreadUnavailable
from baton.domain.runs.usage import Usage
from baton.domain.tenants.spending import SpendingPeriod
from baton.domain.threads.thread import Run
from baton.ports.threads.leases import FENCE_STEP, LeaseBusy
from baton.ports.threads.stream_log import LogPiece
from tests.contracts.spending import Spender
from tests.contracts.stores import Stores, make_answer, make_question, new_thread_id, texts, turn
from tests.integration.store.conftest import Engine
from tests.integration.store.lost_answers import lose_answers


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK's pauses between its attempts, of up to eight seconds together, take no time."""
    monkeypatch.setattr("botocore.endpoint.time", SimpleNamespace(sleep=lambda seconds: None))


@pytest.fixture
def engine(on_dynamodb_local: Engine) -> Engine:
    """These tests concern the SDK and DynamoDB's conditions; one engine shows them."""
    return on_dynamodb_local


@pytest.fixture
def stores(engine: Engine) -> Stores:
    return engine.stores()


async def test_a_lease_is_taken_once(engine: Engine, stores: Stores) -> None:
    with lose_answers(engine.table.client, "UpdateItem") as losses:
        lease = await stores.acquire(new_thread_id())

    assert losses.count == 1
    assert (lease.fence, lease.first_seq) == (FENCE_STEP, 1)
    assert lease.thread.run == Run("r1", "m1", attempt=1)
    await stores.commit(lease, make_question(lease), make_answer(lease))


async def test_a_thread_id_is_claimed_once(engine: Engine, stores: Stores) -> None:
    thread_id = new_thread_id()
    with lose_answers(engine.table.client, "PutItem") as losses:
        await stores.acquire(thread_id)
    assert losses.count == 1
    with pytest.raises(ThreadUnavailable):
        await stores.acquire(thread_id, scope=stores.stranger)


async def test_a_claim_that_failed_is_undone_once(engine: Engine, stores: Stores) -> None:
    thread_id = (await stores.turn(new_thread_id())).thread_id
    with lose_answers(engine.table.client, "DeleteItem") as losses, pytest.raises(ThreadUnavailable):
        await stores.acquire(thread_id, scope=stores.stranger)
    assert losses.count == 1
    with pytest.raises(ThreadUnavailable):
        await stores.store.get_thread(stores.stranger, thread_id)


async def test_a_turn_is_opened_once(engine: Engine, stores: Stores) -> None:
    lease = await stores.acquire(new_thread_id())
    with lose_answers(engine.table.client, "PutItem") as losses:
        assert await stores.store.open_turn(lease, turn(lease)) is None
    assert losses.count == 1


async def test_a_message_and_a_piece_of_the_log_are_written_once(engine: Engine, stores: Stores) -> None:
    lease = await stores.acquire(new_thread_id())
    with lose_answers(engine.table.client, "PutItem") as losses:
        await stores.store.put_message(lease, make_question(lease, "once"))
    assert losses.count == 1
    with lose_answers(engine.table.client, "PutItem") as losses:
        await stores.log.append(lease, LogPiece("r1", 1, 1, ({"type": "X"},)))
    assert losses.count == 1
    await stores.commit(lease)
    messages = await stores.store.run_messages(stores.ada, lease.thread_id, first_ordinal=0, below=None)
    assert texts(messages) == ["once"]
    assert len((await stores.log.read(stores.ada, lease.thread_id, after=0)).pieces) == 1


async def test_a_large_message_is_written_once(engine: Engine, stores: Stores) -> None:
    lease = await stores.acquire(new_thread_id())
    text = "".join(chr(0x4E00 + n * 7919 % 20_000) for n in range(250_000))
    with lose_answers(engine.table.client, "PutItem") as losses:
        await stores.store.put_message(lease, make_question(lease, text))
    assert losses.count == 1
    assert texts(await stores.store.run_messages(stores.ada, lease.thread_id, first_ordinal=0, below=None)) == [text]


async def test_a_run_is_committed_once(engine: Engine, stores: Stores) -> None:
    lease = await stores.acquire(new_thread_id())
    with lose_answers(engine.table.client, "UpdateItem") as losses:
        await stores.commit(lease, make_question(lease), make_answer(lease), spent=Usage(100, 20))
    assert losses.count == 1

    thread = await stores.store.get_thread(stores.ada, lease.thread_id)
    assert (thread.usage, thread.next_ordinal, thread.stored_tokens, thread.run) == (Usage(100, 20), 2, 20, None)


async def test_the_lease_is_renewed_and_given_back(engine: Engine, stores: Stores) -> None:
    lease = await stores.acquire(new_thread_id())
    with lose_answers(engine.table.client, "UpdateItem") as losses:
        lease = await stores.store.renew(lease, used_seq=lease.end_seq - 1)
    with lose_answers(engine.table.client, "UpdateItem"):
        await stores.store.release(lease)
    assert losses.count == 1
    assert (await stores.acquire(lease.thread_id)).first_seq == 1


async def test_an_answer_lost_for_good_is_an_outage_that_a_takeover_heals(engine: Engine, stores: Stores) -> None:
    lease = await stores.acquire(new_thread_id())
    with lose_answers(engine.table.client, "UpdateItem", every=True) as losses, pytest.raises(StoreUnavailable):
        await stores.commit(lease, make_question(lease), make_answer(lease), spent=Usage(100, 20))
    assert losses.count > 1

    await stores.store.abandon(lease)
    following = await stores.acquire(lease.thread_id, message_id="m2", run_id="r2")
    assert following.thread.run == Run("r2", "m2", attempt=1)
    assert (following.thread.usage, following.thread.next_ordinal) == (Usage(100, 20), 2)


async def test_a_lease_whose_answer_is_lost_for_good_ends_by_itself(engine: Engine, stores: Stores) -> None:
    thread_id = new_thread_id()
    with lose_answers(engine.table.client, "UpdateItem", every=True), pytest.raises(StoreUnavailable):
        await stores.acquire(thread_id)
    with pytest.raises(LeaseBusy):
        await stores.acquire(thread_id)
    stores.clock.advance(31)
    lease = await stores.acquire(thread_id)
    await stores.commit(lease, make_question(lease), make_answer(lease))


async def test_a_zombies_retry_does_not_look_like_its_own_success(engine: Engine, stores: Stores) -> None:
    zombie = await stores.acquire(new_thread_id())
    await stores.store.abandon(zombie)
    lease = await stores.acquire(zombie.thread_id)
    await stores.commit(lease, make_question(lease))
    with lose_answers(engine.table.client, "UpdateItem"), pytest.raises(LeaseLost):
        await stores.commit(zombie)


async def test_a_cost_is_reserved_and_settled_once(engine: Engine, stores: Stores) -> None:
    spender = Spender(stores, {SpendingPeriod.DAY: 1_000})
    await spender.reserve()
    with lose_answers(engine.table.client, "UpdateItem") as losses:
        await spender.reserve("c1")
    assert losses.count == 1
    assert (await spender.counts()).taken[SpendingPeriod.DAY] == 2 * spender.amount
    with lose_answers(engine.table.client, "UpdateItem"):
        await spender.settle("c1", 40)
    assert (await spender.counts()).compute_spent(SpendingPeriod.DAY) == 40
