"""Branching conversations over HTTP, against the real table."""

from __future__ import annotations

import uuid

from tests.e2e.cloud import RunningCloud
from tests.e2e.fixtures import NewUser
from tests.e2e.problems import check_problem
from tests.e2e.sockets import new_id
from tests.e2e.uploads import upload
from tests.e2e.users import User


async def test_a_fork_goes_its_own_way_and_is_listed_under_its_parent_only(alice: User, new_user: NewUser) -> None:
    parent_id = (await alice.ask("Hello"))["sessionId"]
    response = await alice.post(f"/threads/{parent_id}/fork", {"agentId": "impatient", "includeHistoryMessages": 1})
    assert response.status_code == 201
    child = response.json()
    assert (child["agentId"], child["parentThreadId"]) == ("impatient", parent_id)
    answer = await alice.ask("And here?", sessionId=child["id"])
    assert [message["metadata"]["ordinal"] for message in answer["messages"]] == [1, 2]

    assert [message["content"] for message in await alice.messages(parent_id)] == ["Hello", "Hello"]
    assert [message["content"] for message in await alice.messages(child["id"])] == ["Hello", "And here?", "And here?"]
    assert [thread["id"] for thread in (await alice.read("/threads"))["items"]] == [parent_id]
    of_it = (await alice.read("/threads", parentThreadId=parent_id))["items"]
    assert [thread["id"] for thread in of_it] == [child["id"]]
    admin = new_user("admin", "thread:read_all")
    assert (await admin.read("/threads", parentThreadId=parent_id))["items"] == of_it
    assert [thread["id"] for thread in (await admin.read("/threads", scope="tenant"))["items"]] == [parent_id]


async def test_a_fork_takes_a_message_with_an_upload_along_and_leaves_the_file_behind(alice: User) -> None:
    """The words that stand for the file are counted again."""
    parent_id = new_id()
    part = await upload(alice, parent_id, "terms.txt", "text/plain", b"No refunds.")
    await alice.ask([{"type": "text", "text": "Read this"}, part], sessionId=parent_id)
    response = await alice.post(f"/threads/{parent_id}/fork", {"agentId": "impatient"})
    assert response.status_code == 201, response.text
    [question, _] = await alice.messages(response.json()["id"])
    assert [part["type"] for part in question["content"]] == ["text", "text"]
    assert question["content"][0]["text"] == "Read this"


async def test_nobody_forks_or_lists_the_forks_of_what_is_not_theirs(
    alice: User, new_user: NewUser, cloud: RunningCloud, tenant: str
) -> None:
    parent_id = (await alice.ask("Our secret"))["sessionId"]
    elsewhere = f"t-{uuid.uuid4().hex}"
    before = cloud.list_data(tenant)
    for stranger in (
        new_user("bob"),
        new_user("admin", "thread:read_all"),
        new_user("alice", "thread:read_all", tenant=elsewhere),
    ):
        body = {"agentId": "impatient"}
        check_problem(await stranger.post(f"/threads/{parent_id}/fork", body), 404, "thread_unavailable")
    for stranger in (new_user("bob"), new_user("alice", tenant=elsewhere)):
        check_problem(await stranger.get("/threads", parentThreadId=parent_id), 404, "thread_unavailable")
    assert cloud.list_data(tenant) == before
    assert cloud.list_data(elsewhere) == []
    check_problem(await alice.post(f"/threads/{parent_id}/fork", {"agentId": "guarded"}), 404, "unknown_agent")


async def test_the_last_answer_of_a_fork_is_merged_into_its_parent_once(alice: User, new_user: NewUser) -> None:
    parent_id = (await alice.ask("Hello"))["sessionId"]
    response = await alice.post(f"/threads/{parent_id}/fork", {"agentId": "impatient"})
    fork_id = response.raise_for_status().json()["id"]
    check_problem(await alice.post(f"/threads/{fork_id}/merge", {}), 409, "nothing_to_merge")
    check_problem(await alice.post(f"/threads/{parent_id}/merge", {}), 409, "not_a_fork")
    await alice.ask("From the fork", sessionId=fork_id)
    check_problem(await new_user("bob").post(f"/threads/{fork_id}/merge", {}), 404, "thread_unavailable")

    merged = (await alice.post(f"/threads/{fork_id}/merge", {})).raise_for_status().json()
    assert (merged["sessionId"], merged["outcome"]) == (parent_id, {"type": "success"})
    [message] = merged["messages"]
    assert (message["content"], message["metadata"]["agentId"]) == ("From the fork", "impatient")
    assert (await alice.post(f"/threads/{fork_id}/merge", {})).json()["messages"] == [message]
    assert (await alice.messages(parent_id))[-1] == message
    assert [message["content"] for message in await alice.messages(parent_id)] == ["Hello", "Hello", "From the fork"]
    records = (await alice.read(f"/threads/{parent_id}/audit"))["items"]
    [record] = [record for record in records if record["action"] == "thread.merge"]
    assert (record["outcome"], record["detail"]["forkThreadId"]) == ("merged", fork_id)
