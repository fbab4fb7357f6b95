"""Exports of the tenant's audit: everything that matches, as lines, and a record of the export itself."""

from __future__ import annotations

import json
from typing import Any

from tests.unit.api.served import Served


async def lines(served: Served, *permissions: str, **params: Any) -> list[dict[str, Any]]:
    answer = await served.get("/audit/export", *permissions, user="boss", **params)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("application/jsonl")
    return [json.loads(line) for line in answer.text.splitlines()]


async def test_an_export_has_every_record_that_matches_and_an_end() -> None:
    served = Served()
    scope = served.harness.ada
    for number in range(250):
        await served.harness.audit.record(scope, "x.y", thread_id=None, outcome="done", detail={"number": number})
        await served.harness.audit.record(scope, "x.z", thread_id=None, outcome="done", detail={})
    *records, end = await lines(served, "audit:read", action="x.y")
    assert [record["detail"]["number"] for record in records] == list(range(250))[::-1]
    assert end == {"type": "end", "records": 250, "nextCursor": None}
    [own, *_] = (await served.items("/audit", "audit:read", action="audit.export"))[0]
    assert (own["userId"], own["detail"]) == ("boss", {"action": "x.y"})


async def test_reading_the_audit_is_audited_once_in_a_while() -> None:
    served = Served()
    for _ in range(3):
        await served.items("/audit", "audit:read", userId="eve")
    [record] = (await served.items("/audit", "audit:read", action="audit.read"))[0]
    assert record["detail"] == {"user_id": "eve"}


async def test_an_export_needs_its_permission() -> None:
    served = Served()
    assert (await served.get("/audit/export", "thread:read_all", user="boss")).status_code == 403
