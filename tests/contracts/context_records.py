"""The Context Inspector's records: for every store."""

from __future__ import annotations

import random
import uuid
from dataclasses import replace

import pytest

from baton.ports.threads.run_records import ContextRecord
from tests.contracts.stores import Stores

EMPTY = ContextRecord({})


class ContextRecordsContract:
    """Records by tenant, thread and run."""

    @pytest.mark.parametrize("characters", [0, 20_000, 400_000])
    async def test_a_record_is_read_as_it_was_written(self, stores: Stores, characters: int) -> None:
        """Records that do not fit an item are kept elsewhere."""
        noise = "".join(random.Random(7).choices("Grüße \u2028 \U0001f600 abcdefghijklmnopqrstuvwxyz", k=characters))  # noqa: S311 - hardly compresses
        record = ContextRecord({"texts": [noise], "calls": []}, {"digest": "Be kind. " * 500})
        thread_id = str(uuid.uuid4())
        for _ in range(2):  # the prompt is known the second time
            await stores.context_records.put(stores.ada, thread_id, "run-1", record)
            assert await stores.context_records.get(stores.ada, thread_id, "run-1") == record

    async def test_a_later_record_of_a_run_replaces_the_earlier_one(self, stores: Stores) -> None:
        thread_id = str(uuid.uuid4())
        for attempt in (1, 2):
            await stores.context_records.put(stores.ada, thread_id, "run-1", ContextRecord({"attempt": attempt}))
        assert await stores.context_records.get(stores.ada, thread_id, "run-1") == ContextRecord({"attempt": 2})

    @pytest.mark.parametrize("run_id", ["../../other/run", "a/b", "ü" * 64, " ", "\U0001f600", "%2e%2e"])
    async def test_a_run_may_have_any_id(self, stores: Stores, run_id: str) -> None:
        thread_id = str(uuid.uuid4())
        await stores.context_records.put(stores.ada, thread_id, run_id, EMPTY)
        assert await stores.context_records.get(stores.ada, thread_id, run_id) == EMPTY
        assert await stores.context_records.get(stores.ada, thread_id, run_id + "x") is None

    async def test_tenants_and_threads_have_their_own(self, stores: Stores) -> None:
        thread_id, other_id = str(uuid.uuid4()), str(uuid.uuid4())
        rival = replace(stores.ada, tenant_id=f"{stores.ada.tenant_id}-rival")
        mine = ContextRecord({"who": "mine"}, {"digest": "The prompt of one tenant."})
        theirs = ContextRecord({"who": "theirs"}, {"digest": "The prompt of another."})
        await stores.context_records.put(stores.ada, thread_id, "run-1", mine)
        assert await stores.context_records.get(rival, thread_id, "run-1") is None
        assert await stores.context_records.get(stores.ada, other_id, "run-1") is None
        await stores.context_records.put(rival, thread_id, "run-1", theirs)
        assert await stores.context_records.get(replace(stores.ada, user_id="auditor"), thread_id, "run-1") == mine
        assert await stores.context_records.get(rival, thread_id, "run-1") == theirs
