"""After POST /local/clock others still measure by the machine: connections, tokens and signatures stay valid."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from standardwebhooks import Webhook

from tests.e2e.a2a.receiver import Receiver
from tests.e2e.cloud import RunningCloud
from tests.e2e.sockets import PATIENCE_SECONDS, SocketClient, new_id
from tests.e2e.users import User
from tests.fault_model import FaultModel, answers

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
NAME = "baton/local/hooks/shop"
AGENT = """\
id: shopkeeper
name: Shopkeeper
description: Tells users about their orders.
main: true
system_prompt: Tell the user.
events:
  - type: order.shipped
    instructions: Tell the user.
"""
HOOK = {
    "id": "shop",
    "tenant": "acme",
    "type": "order.shipped",
    "secret": NAME,
    "user": "ada",
    "thread": "/order",
    "agentId": "shopkeeper",
}
DAY = 86_400

pytestmark = pytest.mark.nightly


@dataclass
class AdvancedCloud:
    """A cloud a day ahead of the machine, with a socket of before."""

    http: httpx.AsyncClient
    ada: User
    early: SocketClient
    thread_id: str
    """A conversation of ``early``, which was closed meanwhile."""
    crm: Receiver


@pytest.fixture(scope="module")
async def advanced(
    fault_model_server: FaultModel, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[AdvancedCloud]:
    folder = tmp_path_factory.mktemp("advanced")
    (folder / "agents").mkdir()
    (folder / "agents" / "shopkeeper.yaml").write_text(AGENT)
    secrets, settings = folder / "secrets.yaml", folder / "settings.yaml"
    secrets.write_text(json.dumps({NAME: SECRET}))
    async with AsyncExitStack() as stack:
        crm = await stack.enter_async_context(Receiver())
        webhook = {"id": "crm", "url": crm.url, "events": ["message.created"], "secret": SECRET}
        settings.write_text(json.dumps({"version": 1, "hooks": [HOOK], "webhooks": [webhook]}))
        variables = {"BATON_LOCAL_SETTINGS": str(settings), "BATON_LOCAL_SECRETS": str(secrets)}
        cloud = stack.enter_context(RunningCloud(fault_model_server.base_url, variables, folder / "agents"))
        http = await stack.enter_async_context(
            httpx.AsyncClient(base_url=cloud.url, timeout=2 * PATIENCE_SECONDS, trust_env=False)
        )
        ada = User(cloud, http, "acme", "ada", cloud.token("acme", "ada"))
        early = await stack.enter_async_context(ada.connect())
        fault_model_server.script(answers("Good day."))
        thread_id = (await early.say("Hello"))[0]["metadata"]["threadId"]
        (await http.post("/local/clock", json={"advanceSeconds": DAY})).raise_for_status()
        await early.receive_until(lambda event: event.get("name") == "thread_closed")
        yield AdvancedCloud(http, ada, early, thread_id, crm)


async def test_connections_of_before_and_after_stay(advanced: AdvancedCloud) -> None:
    await advanced.early.check_no_more_events()
    async with advanced.ada.connect() as late:
        await late.check_no_more_events()


async def test_an_open_conversation_gets_the_events_of_runs_that_others_begin(
    advanced: AdvancedCloud, model: FaultModel
) -> None:
    model.script(answers("Of course."))
    async with advanced.ada.connect() as late:
        await late.say("And now?", thread_id=advanced.thread_id)
    run = await advanced.early.receive_until_end()
    assert run[-1]["type"] == "RUN_FINISHED"
    for _ in range(4):  # two messages of before, and two of now
        notification = await advanced.crm.receive()
        Webhook(SECRET).verify(notification.body, notification.headers)


async def test_a_hook_takes_a_request_that_is_signed_now(advanced: AdvancedCloud, model: FaultModel) -> None:
    model.script(answers("It is on its way."))
    body, now, event_id = json.dumps({"order": f"order-{new_id()}"}), datetime.now(UTC), new_id()
    headers: dict[str, Any] = {
        "webhook-id": event_id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Webhook(SECRET).sign(event_id, now, body),
    }
    answer = await advanced.http.post("/v1/hooks/shop", content=body, headers=headers)
    assert answer.status_code == 202, answer.text
