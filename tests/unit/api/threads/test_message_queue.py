"""Messages that wait while a run is in progress, over HTTP: sent, listed, withdrawn, steering the run."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from baton.domain.errors import ThreadBusy
from baton.domain.tenants.identity import Permission, Scope
from baton.domain.tenants.tenant_limits import DeploymentLimits
from baton.domain.threads.queued import RecordDelivery, WaitingMessage
from tests.harness.busy import BusyAgent, script_search
from tests.unit.api.served import Served


@pytest.fixture
def busy() -> BusyAgent:
    return BusyAgent()


def path(busy: BusyAgent, message_id: str = "") -> str:
    return f"/threads/{busy.thread_id}/queue" + (f"/{message_id}" if message_id else "")


async def test_waiting_messages_are_listed_and_withdrawn_once(busy: BusyAgent) -> None:
    served = Served(busy)
    busy.model.script(*script_search("Done."))
    async with busy.at_work():
        await busy.write("m 2", "To Graz, please.")
        [item] = (await served.get(path(busy))).raise_for_status().json()["items"]
        assert (item["messageId"], item["busy"], item["content"]) == ("m 2", "queued", "To Graz, please.")
        assert [(await served.request("DELETE", path(busy, "m%202"))).status_code for _ in range(2)] == [204, 204]
        assert (await served.get(path(busy))).json() == {"items": []}
        unknown = await served.request("DELETE", path(busy, "m3"))
        assert (unknown.status_code, unknown.json()["code"]) == (404, "not_found")
    [audited] = [record for record in busy.audit.records if record.action == "message.withdraw"]
    assert (audited.outcome, audited.detail) == ("allowed", {"messageId": "m 2"})


async def test_a_message_that_runs_cannot_be_withdrawn(busy: BusyAgent) -> None:
    served = Served(busy)
    busy.model.script(*script_search("Done."))
    async with busy.at_work():
        refused = await served.request("DELETE", path(busy, "m1"))
        assert (refused.status_code, refused.json()["code"]) == (409, "already_running")


@pytest.mark.parametrize(("user", "permissions"), [("eve", ()), ("boss", (Permission.THREAD_READ_ALL,))])
async def test_nobody_else_withdraws_a_message(busy: BusyAgent, user: str, permissions: tuple[str, ...]) -> None:
    served = Served(busy)
    busy.model.script(*script_search("Done."))
    async with busy.at_work():
        await busy.write("m2")
        refused = await served.request("DELETE", path(busy, "m2"), *permissions, user=user)
        assert (refused.status_code, refused.json()["code"]) == (404, "thread_unavailable")
        assert await busy.list_waiting() == ["m2"]
        listed = await served.get(path(busy), *permissions, user=user)
        assert listed.status_code == (200 if permissions else 404)
    outcomes = [record.outcome for record in busy.audit.records if record.action == "message.withdraw"]
    assert outcomes == ["denied"]


async def test_a_message_over_http_enters_the_run_and_gets_its_messages(busy: BusyAgent) -> None:
    served = Served(busy)
    busy.model.script(*script_search("Here are flights to Graz."))
    body = {"sessionId": busy.thread_id, "messageId": "m2", "message": "To Graz, please.", "whileBusy": "steer"}
    async with busy.at_work() as running:
        sending = asyncio.ensure_future(served.post("/messages", body))
        await busy.wait_until_waiting("m2")
    answered, turn = (await sending).raise_for_status().json(), await running
    assert turn.finished is not None
    assert answered["runId"] == turn.finished.messages[0].run_id
    assert [message["content"] for message in answered["messages"]] == [
        "Find a flight.",
        "To Graz, please.",
        "Here are flights to Graz.",
    ]
    steered = [message["metadata"].get("isSteered") for message in answered["messages"]]
    assert steered == [None, True, None]


async def test_an_ag_ui_client_follows_the_run_that_its_message_has_entered(busy: BusyAgent) -> None:
    served = Served(busy)
    busy.model.script(*script_search("Here are flights to Graz."))
    run_input = {
        "threadId": busy.thread_id,
        "runId": "r2",
        "messages": [{"id": "m2", "role": "user", "content": "To Graz, please."}],
        "forwardedProps": {"whileBusy": "steer"},
        "protocolVersion": "1.0",
    }
    async with busy.at_work():
        sending = asyncio.ensure_future(served.post("/runs", run_input))
        await busy.wait_until_waiting("m2")
    stream = (await sending).raise_for_status().text
    assert stream.count("RUN_STARTED") == stream.count("RUN_FINISHED") == 1
    assert '"name":"message_steered"' in stream
    assert "Here are flights to Graz." in stream


@pytest.mark.parametrize("mode", ["steer", "interrupt"])
async def test_nothing_is_steered_where_nothing_runs(busy: BusyAgent, mode: str) -> None:
    body = {"sessionId": busy.thread_id, "messageId": "m2", "message": "To Graz, please.", "whileBusy": mode}
    refused = await Served(busy).post("/messages", body)
    assert (refused.status_code, refused.json()["code"]) == (409, "nothing_running")


async def test_an_unknown_treatment_is_refused(busy: BusyAgent) -> None:
    body = {"sessionId": busy.thread_id, "message": "To Graz, please.", "whileBusy": "now"}
    refused = await Served(busy).post("/messages", body)
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")


async def deliver(busy: BusyAgent, *, receives: int, seconds: float) -> None:
    """Deliver the record of the first message of the queue."""
    _, queued = busy.queue.sent[0]
    delivery = RecordDelivery(queued.request_id, receives)
    await busy.app.queued_turns.run(queued.model_dump_json(by_alias=True), "", delivery, seconds=seconds)


async def list_waiting(busy: BusyAgent) -> list[tuple[str, str]]:
    items = (await Served(busy).get(path(busy))).raise_for_status().json()["items"]
    return [(item["messageId"], item["busy"]) for item in items]


@pytest.mark.parametrize("is_delivered_again", [False, True])
async def test_a_message_that_was_sent_right_before_a_run_is_listed_until_it_is_refused(
    busy: BusyAgent, is_delivered_again: bool
) -> None:
    busy.deployment_limits = DeploymentLimits(thread_tokens=1)
    busy.model.script(*script_search("Done."))
    await busy.write("m2")
    async with busy.at_work():
        working = asyncio.ensure_future(deliver(busy, receives=1, seconds=0.1 if is_delivered_again else 20))
        await busy.wait_until_waiting("m2")
        if is_delivered_again:
            with pytest.raises(ThreadBusy):
                await working
        assert await list_waiting(busy) == [("m2", "queued")]
    if is_delivered_again:
        await deliver(busy, receives=2, seconds=20)
    else:
        await working
    assert [event["code"] for event in busy.tab.take_events() if event["type"] == "RUN_ERROR"] == ["limit_reached"]
    assert await list_waiting(busy) == []


async def test_a_message_that_its_sender_repeats_while_it_is_being_listed_still_enters_the_run(
    busy: BusyAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy.model.script(*script_search("Here are flights to Graz."))
    await busy.write("m2")
    read, repeated, is_repeated = busy.live.waiting, list[str | None](), asyncio.Event()

    async def read_and_repeat(scope: Scope, thread_id: str) -> Sequence[WaitingMessage]:
        before = await read(scope, thread_id)
        monkeypatch.undo()
        repeated.append(await busy.write("m2", whileBusy="steer"))
        is_repeated.set()
        return before

    async with busy.at_work() as running:
        monkeypatch.setattr(busy.live, "waiting", read_and_repeat)
        working = asyncio.ensure_future(deliver(busy, receives=1, seconds=20))
        async with asyncio.timeout(10):
            await is_repeated.wait()
        await asyncio.sleep(0)
        assert await list_waiting(busy) == [("m2", "steered")]
    await asyncio.wait([running, working])
    await busy.tab.run_queue()
    assert repeated == ["steered"]
    assert [text for _, text in await busy.history()] == [
        "Find a flight.",
        "",
        "Three flights.",
        "To Graz, please.",
        "Here are flights to Graz.",
    ]
    assert await busy.live.waiting(busy.ada, busy.thread_id) == []
