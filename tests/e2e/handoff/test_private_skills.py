"""Private skills as users meet them: one who may only make skills changes nothing for others, until one is shared."""

from __future__ import annotations

import pytest

from tests.e2e.fixtures import NewUser
from tests.e2e.handoff.made_skills import PROCEDURES, Json, approve_procedure, make_skill
from tests.e2e.sockets import new_id
from tests.e2e.users import User


@pytest.fixture
def boss(new_demo_user: NewUser) -> User:
    """An administrator who approves procedures, and reads what models were sent."""
    return new_demo_user("boss", "procedure:approve", "context:inspect", "thread:read_all", "audit:read")


@pytest.fixture
def mallory(new_demo_user: NewUser) -> User:
    """A user whose only permission is to make skills."""
    return new_demo_user("mallory", "skill:create")


@pytest.fixture
def victim(new_demo_user: NewUser) -> User:
    return new_demo_user("victim")


ACCEPT = {"Accept": "application/json, text/event-stream"}


def send_over_protocols(text: str) -> dict[str, Json]:
    """The same message over A2A and as a call of a tool of the MCP server, by path."""
    message = {"kind": "message", "role": "user", "messageId": new_id(), "parts": [{"kind": "text", "text": text}]}
    stream = {"jsonrpc": "2.0", "id": 1, "method": "message/stream", "params": {"message": message}}
    tool = {"name": "assistant", "arguments": {"message": text}}
    return {"/a2a": stream, "/mcp": {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": tool}}


async def prompt_of(boss: User, user: User, text: str) -> str:
    """The requests to models for a user's message."""
    body = await user.ask(text, sessionId=new_id())
    answer = await boss.get(f"/threads/{body['sessionId']}/turns/{body['runId']}/context")
    assert answer.status_code == 200, answer.text
    return body["messages"][-1]["content"] + answer.text


async def test_a_maker_of_skills_replaces_nothing_and_reaches_nobody_else(
    boss: User, mallory: User, victim: User
) -> None:
    procedure_id = await approve_procedure(boss)

    reported = await make_skill(mallory, "call it Refund Policy", "call it Refunds")
    assert "is taken by an approved procedure" in reported[1]
    assert reported[-1] == "Great, your 'Refunds' skill is now active."
    assert any("Only you can use it until it is shared." in event for event in reported)

    versions = (await boss.read(f"{PROCEDURES}/{procedure_id}"))["versions"]
    assert [(version["version"], version["status"], version["decidedBy"]) for version in versions] == [
        (1, "approved", "boss")
    ]
    for user in (victim, boss):
        prompt = await prompt_of(boss, user, "please refund my order")
        assert "Refund only with a receipt." in prompt
        assert "PWNED" not in prompt
        assert "PWNED" not in await prompt_of(boss, user, "Handles refunds")  # by its meaning
        for path in ("/skills", PROCEDURES):
            assert "PWNED" not in (await user.get(path)).text
        matched = await user.post(f"{PROCEDURES}/match", {"query": "refund my order"})
        assert [item["id"] for item in matched.json()["items"]] == [procedure_id]
        assert (await user.get(f"{PROCEDURES}/user.refunds")).status_code == 404
    for path in ("/procedures?status=offered", "/procedures?status=pending", "/procedures?status=approved"):
        assert "PWNED" not in (await boss.get(path)).text
    assert (await boss.get(f"{PROCEDURES}/user.refunds", userId="mallory")).status_code == 404
    assert "PWNED" not in (await victim.client.get("/.well-known/agent-card.json")).text

    for path, call in send_over_protocols("please refund my order").items():
        answer = await victim.client.post(path, json=call, headers={**victim.headers, **ACCEPT})
        assert "Refund only with a receipt." in answer.text, answer.text
        assert "PWNED" not in answer.text

    # For its maker the approved one still comes first, and what is theirs is theirs to read and to take along.
    prompt = await prompt_of(boss, mallory, "please refund my order")
    assert "Refund only with a receipt." in prompt
    assert [item["id"] for item in (await mallory.read("/skills"))["items"]] == [procedure_id, "user.refunds"]
    assert "PWNED" in (await mallory.get("/users/me/export")).text
    assert "PWNED" not in (await victim.get("/users/me/export")).text


@pytest.mark.nightly
async def test_a_skill_is_followed_by_others_once_it_is_shared(boss: User, mallory: User, victim: User) -> None:
    await make_skill(mallory, "call it Refunds")
    private = await prompt_of(boss, mallory, "please refund my order")
    assert "I am following the skill **Refunds**" in private
    assert "PWNED" not in await prompt_of(boss, victim, "please refund my order")

    share = {"userId": "mallory", "version": 1}
    assert (await boss.post(f"{PROCEDURES}/user.refunds/share", share)).status_code == 404  # nobody has asked for it
    assert (await mallory.post(f"{PROCEDURES}/user.refunds/share", share)).status_code == 403
    assert (await mallory.post(f"{PROCEDURES}/user.refunds/offer", {})).json()["status"] == "offered"
    assert "PWNED" not in await prompt_of(boss, victim, "please refund my order")
    [offered] = (await boss.read("/procedures", status="offered"))["items"]
    assert (offered["id"], offered["createdBy"], offered["scope"]) == ("user.refunds", "mallory", "user")

    shared = (await boss.post(f"{PROCEDURES}/user.refunds/share", share)).json()
    assert (shared["id"], shared["status"], shared["createdBy"], shared["scope"]) == (
        "refunds",
        "approved",
        "boss",
        "agent",
    )
    followed = await prompt_of(boss, victim, "please refund my order")
    assert "I am following the skill **Refunds**" in followed
    acts = (await boss.read("/audit", limit=100))["items"][::-1]
    results = [(act["action"], act["outcome"], act["userId"]) for act in acts if "efunds" in str(act["detail"])]
    assert results == [
        ("skill.activate", "active", "mallory"),
        ("skill.offer", "offered", "mallory"),
        ("procedure.share", "approved", "boss"),
    ]
    [record] = [act for act in acts if act["action"] == "procedure.share" and act["outcome"] == "approved"]
    assert record["detail"]["userId"] == "mallory"
