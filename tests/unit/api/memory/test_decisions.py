"""A call that waits for approval is made after an explicit yes only, whichever door the answer comes through."""

from __future__ import annotations

from typing import Any

import pytest

from baton.domain.runs.interrupt import APPROVAL_SCHEMA, DecisionStatus, InterruptDecision, PendingInterrupts
from tests.harness.harness import Harness
from tests.harness.sockets import TAB, Socketed
from tests.harness.wiki import run_until_interrupt, wiki
from tests.unit.api.a2a_client import A2AServed, Json, blocking, message
from tests.unit.api.a2a_messages import ask_for_approval
from tests.unit.api.mcp_client import McpServed, read_structured
from tests.unit.api.resuming import resume
from tests.unit.api.served import Served

MISSING = "(no payload)"
UNDECIDED = [
    MISSING,
    None,
    {},
    [],
    "",
    "yes",
    "true",
    True,
    False,
    1,
    [True],
    [{"approved": True}],
    {"Approved": False},
    {"APPROVED": True},
    {"approved ": True},
    {"aproved": False},
    {"approve": False},
    {"comment": "Whatever you think."},
    {"approved": None},
    {"approved": "true"},
    {"approved": "no"},
    {"approved": 1},
    {"approved": 0},
    {"approved": []},
    {"approved": {"value": True}},
    {"approved": True, "editedArgs": {"page": "about"}},
    {"approved": True, "Approved": False},
    {"approved": True, "comment": 1},
    {"approved": True, "reason": ["no"]},
    {"payload": {"approved": True}},
]
"""Payloads that decide nothing, or more than a call may be approved with."""


def pending(harness: Harness) -> PendingInterrupts:
    result = harness.store.rows["acme", harness.thread_id].thread.pending
    assert result is not None
    return result


async def check_still_asked(harness: Harness) -> None:
    """Check that no tool was called and that the question is still open."""
    assert harness.tools.calls == []
    assert len(pending(harness).open) == 1


@pytest.mark.parametrize("payload", UNDECIDED, ids=repr)
async def test_over_http(payload: Any) -> None:
    served = Served(wiki())
    (interrupt,) = await run_until_interrupt(served.harness)
    body = resume(served, interrupt, payload=payload)
    if payload is MISSING:
        del body["resume"][0]["payload"]
    refused = await served.post("/runs", body)
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
    await check_still_asked(served.harness)
    assert "approved" in refused.json()["detail"]
    served.harness.model.script("Done.")
    assert (await served.post("/runs", resume(served, interrupt))).status_code == 200
    assert len(served.harness.tools.calls) == 1


@pytest.mark.parametrize("payload", UNDECIDED, ids=repr)
async def test_over_websocket(payload: Any) -> None:
    socket = Socketed(wiki())
    (interrupt,) = await run_until_interrupt(socket.harness)
    sent = {} if payload is MISSING else {"payload": payload}
    refusal = await socket.expect_refusal("answer", tab=TAB, interruptId=interrupt["id"], status="resolved", **sent)
    assert refusal["code"] == "invalid_request"
    await check_still_asked(socket.harness)


@pytest.mark.parametrize("payload", UNDECIDED, ids=repr)
@pytest.mark.parametrize("is_named", [True, False])
async def test_over_a2a(payload: Any, is_named: bool) -> None:
    served = A2AServed(wiki())
    task = await ask_for_approval(served)
    served.harness.thread_id = task["contextId"]
    (interrupt,) = pending(served.harness).open
    data = payload
    if is_named:
        data = {**(payload if isinstance(payload, dict) else {}), "interruptId": interrupt.id}
    parts: list[Json] = [] if data is MISSING else [{"kind": "data", "data": data}]
    answer = message("", "m-2", taskId=task["id"]) | {"parts": parts}
    refused = await served.call("message/send", blocking(answer))
    assert refused["error"]["code"] == -32602
    await check_still_asked(served.harness)


@pytest.mark.parametrize("payload", UNDECIDED, ids=repr)
async def test_over_mcp(payload: Any) -> None:
    served = McpServed.over(wiki(mcp=True))
    await run_until_interrupt(served.harness)
    arguments = {"thread_id": served.harness.thread_id} | ({} if payload is MISSING else {"answer": payload})
    async with served.client() as client:
        refused = read_structured(await client.call_tool("assistant", arguments))
    assert refused["code"] == "invalid_request"
    await check_still_asked(served.harness)


@pytest.mark.parametrize("payload", [payload for payload in UNDECIDED if payload is not MISSING], ids=repr)
@pytest.mark.parametrize("status", DecisionStatus)
def test_what_is_stored_permits_nothing_either(status: DecisionStatus, payload: Any) -> None:
    """Answers that earlier versions have queued or stored are judged by the same rule."""
    is_yes = isinstance(payload, dict) and payload.get("approved") is True and status is DecisionStatus.RESOLVED
    assert InterruptDecision("i.1", status, payload, "ada").approves is is_yes


def test_the_schema_that_clients_get_requires_the_decision() -> None:
    assert APPROVAL_SCHEMA["required"] == ["approved"]


@pytest.mark.parametrize("payload", [MISSING, None, {"comment": "No."}, {"approved": False}, {"reason": "No."}])
async def test_a_cancelled_call_is_refused_with_any_comment(payload: Any) -> None:
    served = Served(wiki())
    (interrupt,) = await run_until_interrupt(served.harness)
    served.harness.model.script("As you wish.")
    body = resume(served, interrupt, payload=payload)
    body["resume"][0]["status"] = "cancelled"
    if payload is MISSING:
        del body["resume"][0]["payload"]
    reported = await served.post("/runs", body)
    assert "The user refused this call." in reported.text
    assert served.harness.tools.calls == []
