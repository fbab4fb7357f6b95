"""The Context Inspector's records: for every store."""

from __future__ import annotations

import json

import pytest

from baton.domain.identity import Scope
from baton.ports.run_records import ContextRecords

ADA = Scope("acme", "ada")
THREAD = "0d1f6a5e-93a5-4b52-8a0e-2f6f1f8a7b11"


class ContextRecordsContract:
    """Records by tenant, thread and run."""

    async def test_a_record_is_read_as_it_was_written(self, contexts: ContextRecords) -> None:
        record = json.dumps({"texts": ["Grüße \u2028 \U0001f600"] * 20_000}, ensure_ascii=False).encode()
        await contexts.put(ADA, THREAD, "run-1", record)
        assert await contexts.get(ADA, THREAD, "run-1") == record

    async def test_a_later_record_of_a_run_replaces_the_earlier_one(self, contexts: ContextRecords) -> None:
        for body in (b'{"attempt":1}', b'{"attempt":2}'):
            await contexts.put(ADA, THREAD, "run-1", body)
        assert await contexts.get(ADA, THREAD, "run-1") == b'{"attempt":2}'

    @pytest.mark.parametrize("run_id", ["../../other/run", "a/b", "ü" * 64, " ", "\U0001f600", "%2e%2e"])
    async def test_a_run_may_have_any_id(self, contexts: ContextRecords, run_id: str) -> None:
        await contexts.put(ADA, THREAD, run_id, b"{}")
        assert await contexts.get(ADA, THREAD, run_id) == b"{}"
        assert await contexts.get(ADA, THREAD, run_id + "x") is None

    async def test_tenants_and_threads_have_their_own(self, contexts: ContextRecords) -> None:
        await contexts.put(ADA, THREAD, "run-1", b"{}")
        assert await contexts.get(Scope("rival", "ada"), THREAD, "run-1") is None
        assert await contexts.get(ADA, THREAD.replace("0d1f", "0d1e"), "run-1") is None
        assert await contexts.get(Scope("acme", "auditor"), THREAD, "run-1") == b"{}"
