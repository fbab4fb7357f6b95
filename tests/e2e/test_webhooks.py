"""Webhooks of the running product, at servers on this machine that verify with the library of Standard Webhooks."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from standardwebhooks import Webhook

from tests.e2e.a2a.receiver import FLOOD, HANG, Notification, Receiver
from tests.e2e.cloud import RunningCloud
from tests.e2e.sockets import PATIENCE_SECONDS, new_id
from tests.e2e.users import User
from tests.fault_model import FaultModel, answers

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
Json = dict[str, Any]


@dataclass
class Hooked:
    """A local cloud with three webhooks, and their receivers."""

    cloud: RunningCloud
    http: httpx.AsyncClient
    crm: Receiver
    """It gets events of all tenants."""
    other: Receiver
    """It gets those of one tenant."""
    slow: Receiver
    """It gets the same, and never answers."""

    def user(self, tenant: str, *permissions: str) -> User:
        return User(self.cloud, self.http, tenant, "ada", self.cloud.token(tenant, "ada", *permissions))


@pytest.fixture(scope="module")
async def running(fault_model_server: FaultModel, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Hooked]:
    """The settings are in a file, as users of the local cloud write them."""
    async with Receiver() as crm, Receiver() as other, Receiver([HANG] * 100) as slow:
        of_other = {"events": ["message.created"], "secret": SECRET, "tenants": ["other"]}
        webhooks = [
            {"id": "crm", "url": crm.url, "events": ["message.created", "thread.closed"], "secret": SECRET},
            {"id": "slow", "url": slow.url, **of_other},
            {"id": "other", "url": other.url, **of_other},
        ]
        file = tmp_path_factory.mktemp("settings") / "settings.local.yaml"
        file.write_text(json.dumps({"version": 1, "webhooks": webhooks}))
        settings = {
            "BATON_LOCAL_SETTINGS": str(file),
            "BATON_LOCAL_WORKER_PROCESSES": "2",
            "BATON_LOCAL_VISIBILITY_SECONDS": "4",
        }
        with RunningCloud(fault_model_server.base_url, settings) as cloud:
            async with httpx.AsyncClient(base_url=cloud.url, timeout=PATIENCE_SECONDS, trust_env=False) as http:
                yield Hooked(cloud, http, crm, other, slow)


def verify(notification: Notification) -> Json:
    """The event of a request, verified as receivers do it."""
    event: Json = Webhook(SECRET).verify(notification.body, notification.headers)
    assert event["id"] == notification.headers["webhook-id"]
    return event


async def next_events(receiver: Receiver, number: int) -> list[Json]:
    """The next events that a receiver is sent."""
    return [verify(await receiver.receive()) for _ in range(number)]


def contents(events: list[Json]) -> list[str]:
    return [event["data"]["message"]["content"] for event in events]


async def test_a_receiver_gets_verified_events_in_the_order_of_a_conversation(
    running: Hooked, tenant: str, model: FaultModel
) -> None:
    ada, thread_id = running.user(tenant), new_id()
    model.script(answers("One."), answers("Two."))
    for text in ("First", "Second"):
        await ada.ask(text, sessionId=thread_id)
    await ada.post(f"/threads/{thread_id}/close", {})
    events = await next_events(running.crm, 5)
    assert contents(events[:4]) == ["First", "One.", "Second", "Two."]
    assert events[4]["type"] == "thread.closed"
    assert {(event["tenantId"], event["data"]["threadId"]) for event in events} == {(tenant, thread_id)}
    assert running.other.notifications.empty()  # it gets another tenant's


@pytest.mark.nightly
@pytest.mark.parametrize("answer", [301, FLOOD], ids=str)
async def test_redirects_are_not_followed_and_bodies_not_read(running: Hooked, tenant: str, answer: int | str) -> None:
    """A redirect is a failure, and the event comes again."""
    running.crm.answers = [answer]
    await running.user(tenant).ask("Hello")
    requests = [await running.crm.receive() for _ in range(3 if answer == 301 else 2)]
    first, second, *_ = (verify(request)["id"] for request in requests)
    assert (first == second) is (answer == 301)
    assert {request.path for request in requests} == {"/hook"}


@pytest.mark.nightly
async def test_a_receiver_that_hangs_keeps_no_other_one_waiting(running: Hooked, model: FaultModel) -> None:
    model.script(answers("One."))
    await running.user("other").ask("Hello")
    assert contents(await next_events(running.other, 2)) == ["Hello", "One."]
    assert contents(await next_events(running.crm, 2)) == ["Hello", "One."]
    assert contents(await next_events(running.slow, 1)) == ["Hello"]
    assert running.slow.notifications.empty()


@pytest.mark.nightly
async def test_a_killed_sender_repeats_the_event_with_its_id(running: Hooked, tenant: str) -> None:
    running.crm.answers = [HANG]
    await running.user(tenant).ask("Hello")
    first = verify(await running.crm.receive())
    assert running.cloud.kill_workers() > 0
    repeated, reply = await next_events(running.crm, 2)
    assert repeated == first
    assert reply["data"]["message"]["role"] == "assistant"


@pytest.mark.nightly
async def test_an_event_that_was_refused_for_good_is_listed_and_sent_again(running: Hooked, tenant: str) -> None:
    running.crm.answers = [410]
    manager = running.user(tenant, "tenant:manage")
    await manager.ask("Hello")
    refused, _ = await next_events(running.crm, 2)
    [dead] = (await manager.read("/webhooks/deliveries", status="dead"))["items"]
    assert (dead["eventId"], dead["webhookId"], dead["reason"]) == (refused["id"], "crm", "status 410")
    answer = await manager.post(f"/webhooks/deliveries/{dead['id']}/redeliver", None)
    assert (answer.status_code, answer.json()["status"]) == (202, "waiting")
    assert await next_events(running.crm, 1) == [refused]
    assert (await manager.read("/webhooks/deliveries", status="dead"))["items"] == []
