"""A conversation's title and the feedback on its answers: made, given, sent, searched, in the running product."""

from __future__ import annotations

import uuid

import httpx

from tests.e2e.cloud import RunningCloud
from tests.e2e.sockets import PATIENCE_SECONDS, new_id
from tests.e2e.users import User


async def test_a_conversation_is_named_renamed_and_found_and_its_answer_rated(demo_cloud: RunningCloud) -> None:
    tenant, thread_id = f"t-{uuid.uuid4().hex}", new_id()
    path = f"/threads/{thread_id}"
    async with httpx.AsyncClient(base_url=demo_cloud.url, timeout=PATIENCE_SECONDS, trust_env=False) as http_client:
        ada = User(demo_cloud, http_client, tenant, "ada", demo_cloud.token(tenant, "ada"))
        async with ada.connect() as socket:
            await socket.say("I would like to see Porto in spring", thread_id=thread_id)
            [*_, named] = await socket.receive_until(lambda event: event.get("name") == "thread_title")
            assert named["value"] == {"title": "I would like to see Porto in spring"}
            assert (await ada.read(path))["title"] == named["value"]["title"]

            renamed = await ada.request("PATCH", path, body={"title": "Ausflug an die Küste"})
            assert renamed.status_code == 200, renamed.text
            [*_, reported] = await socket.receive_until(lambda event: event.get("name") == "thread_title")
            assert reported["value"] == {"title": "Ausflug an die Küste"}
            assert "seq" not in reported["metadata"]
        for q in ("kuste", "PORTO"):
            assert [thread["id"] for thread in (await ada.read("/threads", q=q))["items"]] == [thread_id]

        [_, answer] = await ada.messages(thread_id)
        rated = await ada.post(f"{path}/messages/{answer['id']}/feedback", {"rating": "down", "comment": "Too short."})
        assert rated.status_code == 200, rated.text
        assert (await ada.messages(thread_id))[1]["feedback"] == rated.json()["feedback"]
        audited = (await ada.read(f"{path}/audit"))["items"]
        assert {("thread.rename", "renamed"), ("message.feedback", "down")} <= {
            (record["action"], record["outcome"]) for record in audited
        }
