"""A tenant's own agent over real HTTP: made, talked to, changed, rolled back, and deleted."""

from __future__ import annotations

from tests.e2e.fixtures import NewUser
from tests.e2e.problems import check_problem
from tests.e2e.sockets import new_id
from tests.e2e.users import User
from tests.fault_model import FaultModel

TUTOR = {"name": "Tutor", "description": "Helps.", "main": True, "systemPrompt": "Ask one question."}


async def test_a_tenant_makes_an_agent_talks_to_it_and_deletes_it(
    alice: User, new_user: NewUser, model: FaultModel
) -> None:
    author = new_user("author", "agent:write")
    check_problem(await alice.request("PUT", "/agents/tutor", body=TUTOR), 403, "forbidden")
    check_problem(await author.request("PUT", "/agents/assistant", body=TUTOR), 409, "agent_id_taken")
    check_problem(await author.request("PUT", "/agents/tutor", body={**TUTOR, "main": 7}), 422, "invalid_agent")
    tried = await author.request("PUT", "/agents/tutor?dryRun=true", body=TUTOR)
    assert (tried.status_code, tried.json()["isStored"]) == (200, False)
    response = await author.request("PUT", "/agents/tutor", body=TUTOR)
    assert (response.status_code, response.headers["etag"]) == (201, '"1"')

    # The worker of the queue, and the function of the connection, find it at once.
    thread_id = new_id()
    async with alice.connect() as socket:
        await socket.say("Hello", thread_id=thread_id, agentId="tutor")
        assert model.requests[-1].prompts[0][1].startswith("Ask one question.")
        await socket.send("resume", threadId=thread_id, after=0)
        state = await socket.receive_until("STATE_SNAPSHOT")
        assert state[-1]["snapshot"]["activeAgent"]["name"] == "Tutor"
    assert (await alice.read(f"/threads/{thread_id}"))["agentId"] == "tutor"
    stranger = new_user("alice", "agent:write", tenant=f"{alice.tenant}-2")
    refused = await stranger.post("/messages", {"message": "Hello", "agentId": "tutor"})
    check_problem(refused, 404, "unknown_agent")
    check_problem(await stranger.get("/agents/tutor"), 404, "unknown_agent")

    yaml = "name: Tutor\ndescription: Helps.\nmain: true\nsystem_prompt: Ask two questions.\n"
    headers = {**author.headers, "Content-Type": "application/yaml", "If-Match": '"1"'}
    changed = await author.client.put("/v1/agents/tutor", content=yaml, headers=headers)
    assert changed.json()["changes"] == [
        {"field": "systemPrompt", "before": "Ask one question.", "after": "Ask two questions."}
    ]
    late = {**author.headers, "If-Match": '"1"'}
    refused = await author.client.put("/v1/agents/tutor", json=TUTOR | {"name": "T"}, headers=late)
    check_problem(refused, 412, "agent_version_mismatch")
    back = await author.post("/agents/tutor/rollback", {"version": 1, "comment": "One is enough"})
    assert (back.status_code, back.json()["version"]) == (200, 3)
    # The function that answers over HTTP has read no agent of the tenant before.
    await alice.ask("Hello", sessionId=new_id(), agentId="tutor")
    assert model.requests[-1].prompts[0][1].startswith("Ask one question.")

    assert (await author.request("DELETE", "/agents/tutor")).status_code == 204
    check_problem(await author.get("/agents/tutor"), 404, "unknown_agent")
    versions = (await author.read("/agents/tutor/versions"))["items"]
    assert [(version["version"], version["isDeletion"], version["restores"]) for version in versions] == [
        (4, True, None),
        (3, False, 1),
        (2, False, None),
        (1, False, None),
    ]
    records = (await new_user("auditor", "audit:read").read("/audit", action="agent.write"))["items"]
    assert [record["outcome"] for record in records] == ["deleted", "restored", "changed", "created", "denied"]
    assert "question" not in str(records)
