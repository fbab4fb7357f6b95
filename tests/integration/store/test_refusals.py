"""A refusal takes the same requests whatever its reason: its time does not distinguish a foreign thread from none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from baton.domain.errors import ThreadUnavailable
from tests.contracts.stores import new_thread_id
from tests.harness.harness import Harness
from tests.integration.store.conftest import Engine
from tests.unit.api.served import Served


@contextmanager
def requests_to(engine: Engine) -> Iterator[list[str]]:
    """The requests to the table meanwhile, by operation, in order."""
    requests: list[str] = []

    def note(model: Any, **_: Any) -> None:
        requests.append(model.name)

    events = engine.table.client.meta.events
    events.register("before-call.dynamodb", note)
    yield requests
    events.unregister("before-call.dynamodb", note)


async def test_the_store_refuses_foreign_and_unused_threads_alike(on_dynamodb_local: Engine) -> None:
    stores = on_dynamodb_local.stores()
    thread_id = (await stores.turn(new_thread_id())).thread_id
    operations = []
    for scope, expected in ((stores.bob, thread_id), (stores.stranger, thread_id), (stores.ada, new_thread_id())):
        with requests_to(on_dynamodb_local) as requests, pytest.raises(ThreadUnavailable):
            await stores.store.get_thread(scope, expected)
        operations.append(requests)
    assert operations == [["GetItem", "GetItem"]] * 3


@pytest.mark.parametrize(
    "what", ["", "/messages", "/events", "/tool-calls", "/tasks", "/tasks/t-1", "/handoffs", "/audit"]
)
async def test_a_request_is_refused_alike(on_dynamodb_local: Engine, what: str) -> None:
    harness = Harness(stores=on_dynamodb_local.stores())
    served = Served(harness)
    await harness.say()
    await served.get(f"/threads/{new_thread_id()}{what}", user="eve")  # reads the tenant's limits, which are kept
    operations = []
    for thread_id in (harness.thread_id, new_thread_id(), "never-begun"):
        with requests_to(on_dynamodb_local) as requests:
            refused = await served.get(f"/threads/{thread_id}{what}", user="eve")
        assert refused.json()["code"] == "thread_unavailable"
        operations.append(requests)
    assert operations == [["GetItem", "GetItem", "PutItem"]] * 3
