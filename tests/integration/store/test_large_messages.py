"""Places of messages: in the item up to 300 KB, beyond that in the bucket."""

from __future__ import annotations

import base64
import random

import pytest

from baton.adapters.aws.s3_records import S3Bodies
from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.threads.thread_store import DynamoThreadStore
from baton.domain.errors import StoreUnavailable
from tests.contracts.stores import Stores, make_question, new_thread_id, texts
from tests.integration.store.conftest import BUCKET, Engine, NotedTable

LARGE = "".join(chr(0x4E00 + n * 7919 % 20_000) for n in range(250_000))


@pytest.fixture
def engine(on_dynamodb_local: Engine) -> Engine:
    """The table itself only refuses what is over 400 KB."""
    return on_dynamodb_local


@pytest.fixture
def stores(engine: Engine) -> Stores:
    return engine.stores()


async def test_only_large_messages_go_to_the_bucket(engine: Engine, stores: Stores) -> None:
    lease = await stores.acquire(new_thread_id())
    await stores.commit(lease, make_question(lease, "small"), make_question(lease, "word " * 200_000, index=1))
    assert list_bodies(engine, stores, lease.thread_id) == []

    lease = await stores.acquire(lease.thread_id, message_id="m2", run_id="r2")
    await stores.commit(lease, make_question(lease, LARGE))
    [name] = list_bodies(engine, stores, lease.thread_id)
    item = await engine.table.get(keys.message(stores.ada, lease.thread_id, 2))
    assert item is not None
    assert item["body_sha256"] == name
    assert "body" not in item


async def test_the_same_large_message_is_stored_once(engine: Engine, stores: Stores) -> None:
    lease = await stores.acquire(new_thread_id())
    for _ in range(2):
        await stores.store.put_message(lease, make_question(lease, LARGE))
    assert len(list_bodies(engine, stores, lease.thread_id)) == 1


async def test_a_damaged_body_is_never_shown(engine: Engine, stores: Stores) -> None:
    lease = await stores.acquire(new_thread_id())
    await stores.commit(lease, make_question(lease, LARGE))
    [name] = list_bodies(engine, stores, lease.thread_id)
    engine.s3.put_object(Bucket=BUCKET, Key=f"{stores.tenant}/{lease.thread_id}/bodies/{name}", Body=b"else")
    with pytest.raises(StoreUnavailable):
        await stores.store.run_messages(stores.ada, lease.thread_id, first_ordinal=0, below=None)


async def test_a_thread_whose_large_messages_lie_between_small_ones_is_read_in_order(stores: Stores) -> None:
    lease = await stores.acquire(new_thread_id())
    contents = ["a", LARGE, "b", LARGE[::-1], "c"]
    await stores.commit(lease, *(make_question(lease, text, index=n) for n, text in enumerate(contents)))
    messages = await stores.store.run_messages(stores.ada, lease.thread_id, first_ordinal=0, below=5)
    assert texts(messages) == contents


@pytest.mark.parametrize(
    "text",
    [base64.b64encode(random.Random(1).randbytes(220_000)).decode(), LARGE[:130_000]],  # noqa: S311 - noise
    ids=["of one byte a character", "of three bytes a character"],
)
async def test_no_more_is_read_than_a_page_of_messages_holds(engine: Engine, stores: Stores, text: str) -> None:
    lease = await stores.acquire(new_thread_id())
    await stores.commit(lease, *(make_question(lease, text, index=number) for number in range(16)))
    thread = await stores.store.get_thread(stores.ada, lease.thread_id)
    table = NotedTable(engine.table.client, engine.table.name)
    store = DynamoThreadStore(table, S3Bodies(engine.s3, BUCKET), stores.clock)
    page = await store.read_messages(stores.ada, thread, limit=100, before=None)

    assert len(page.messages) in (4, 5)
    assert page.next_before == 16 - len(page.messages)
    assert len(table.read) <= 8  # the table gives three or four of them at a time


def list_bodies(engine: Engine, stores: Stores, thread_id: str) -> list[str]:
    """The names of the thread's bodies in the bucket."""
    prefix = f"{stores.tenant}/{thread_id}/bodies/"
    answer = engine.s3.list_objects_v2(Bucket=BUCKET, Prefix=prefix)
    return [entry["Key"].removeprefix(prefix) for entry in answer.get("Contents", [])]
