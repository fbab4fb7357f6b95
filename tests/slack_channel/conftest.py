"""A Baton with a desk, the channel, and the stand-in for Slack, for the tests of the channel."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from starlette.types import ASGIApp

from baton_slack import Channel, Configuration, Doors, SqliteStorage, make_app
from tests.e2e.cloud import RunningCloud
from tests.e2e.fixtures import EMBED_GUIDE
from tests.fault_model import FaultModel
from tests.slack_channel.slack_requests import event, press, sign
from tests.slack_channel.stand_in import SIGNING_SECRET, TEAM, TOKEN, SlackStandIn
from tests.unit.docs.pages import block

WEBHOOK_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
PATIENCE_SECONDS = 30.0
Json = dict[str, Any]

SHOP = """
id: shop
name: Shop
description: Sells lamps.
main: true
system_prompt: You are the shop.
handoffs:
  - to: support
tools:
  - type: http
    name: delete_page
    description: Delete a page for good.
    method: DELETE
    url: http://127.0.0.1:9/pages/{page}
    parameters: {type: object, properties: {page: {type: string}}, required: [page]}
    requires_approval: true
    asks: Delete the page {page}?
"""
SUPPORT = """
id: support
kind: desk
name: Support team
description: People.
triggers: ["talk to a human"]
desk:
  permission: desk:support
"""


def configuration(url: str = "http://127.0.0.1:9", **fields: Any) -> Configuration:
    """The configuration of the channel."""
    key = json.loads(block(EMBED_GUIDE, "embed_keys"))["acme-1"]["key"]
    values = {
        "url": url,
        "tenant": "acme",
        "team": TEAM,
        "keyId": "acme-1",
        "desks": {"support": {"channel": "C0DESK", "permissions": ["desk:support", "pii:read"]}},
        "approvals": {"channel": "C0APPROVE"},
        "users": {"agentId": "shop"},
        "botToken": TOKEN,
        "signingSecret": SIGNING_SECRET,
        "webhookSecret": WEBHOOK_SECRET,
        "embedKey": key,
    }
    return Configuration.model_validate(values | fields)


@asynccontextmanager
async def serving(app: ASGIApp, listening: socket.socket | None = None) -> AsyncIterator[str]:
    """Serve an app in this event loop; yield its address."""
    bound = listening or socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, ws="none", log_level="critical", timeout_graceful_shutdown=1))
    task = asyncio.create_task(server.serve(sockets=[bound]))
    try:
        while not server.started and not task.done():  # noqa: ASYNC110 - the server has no event
            await asyncio.sleep(0.01)
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
    finally:
        server.should_exit = True
        await task
        bound.close()


@dataclass
class Playing:
    """Slack and Baton, as their users see them."""

    slack: SlackStandIn
    url: str
    http: httpx.AsyncClient
    baton: str
    token: Callable[..., str]
    storage: SqliteStorage

    async def send(self, body: bytes) -> None:
        """Send a request of Slack's."""
        response = await self.http.post(f"{self.url}/slack", content=body, headers=sign(body))
        assert response.status_code == 200, response.text

    async def write(self, member: str, text: str, channel: str, thread_ts: str | None = None, **fields: Any) -> str:
        """Have a member write a message; return its ts."""
        ts = self.slack.next_ts()
        about = {"type": "message", "channel": channel, "user": member, "text": text, "ts": ts, "thread_ts": thread_ts}
        await self.send(event(about | fields))
        return ts

    async def press(self, message: Json, user: str, action_id: str, note: str | None = None) -> None:
        """Have a member press a button of a message."""
        await self.send(press(message, user, action_id, note))

    async def ask(self, message: str | list[Json], user: str = "ada", **fields: Any) -> Json:
        """Have a user of the host send a message."""
        headers = {"Authorization": f"Bearer {self.token('acme', user)}"}
        body = {"message": message, "agentId": "shop", **fields}
        response = await self.http.post(f"{self.baton}/v1/messages", json=body, headers=headers)
        assert response.status_code == 200, response.text
        answer: Json = response.json()
        return answer

    async def messages(self, thread_id: str, user: str = "ada") -> list[Json]:
        """Return a user's messages as the API has them."""
        headers = {"Authorization": f"Bearer {self.token('acme', user)}"}
        response = await self.http.get(f"{self.baton}/v1/threads/{thread_id}/messages", headers=headers)
        items: list[Json] = response.json()["items"]
        return items

    async def wait_until(self, condition: Callable[[], Any]) -> Any:
        """Wait until ``condition`` returns a true value, and return that value."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not (value := condition()):  # noqa: ASYNC110 - it looks at what another process shows
                await asyncio.sleep(0.05)
        return value

    async def settle(self) -> None:
        """Wait until the channel has carried out what it has taken."""
        await self.wait_until(lambda: not self.storage.waits())


@pytest.fixture(scope="session")
def receiver() -> Iterator[socket.socket]:
    """The socket of the channel, whose address Baton knows before it starts."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


@pytest.fixture(scope="session")
def desk_cloud(
    fault_model_server: FaultModel, receiver: socket.socket, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningCloud]:
    """A Baton with a shop, its desk, and a webhook to the channel."""
    folder = tmp_path_factory.mktemp("shop")
    for name, text in {"shop": SHOP, "support": SUPPORT}.items():
        (folder / f"{name}.yaml").write_text(text)
    hook = {
        "id": "slack",
        "url": f"http://127.0.0.1:{receiver.getsockname()[1]}/baton",
        "events": [
            *("desk.waiting", "desk.taken", "desk.returned", "message.created", "approval.requested", "run.failed")
        ],
        "secret": WEBHOOK_SECRET,
        "tenants": ["acme"],
    }
    settings = Path(tmp_path_factory.mktemp("settings")) / "settings.json"
    settings.write_text(json.dumps({"version": 1, "webhooks": [hook]}))
    options = {"BATON_EMBED_KEYS": block(EMBED_GUIDE, "embed_keys"), "BATON_LOCAL_SETTINGS": str(settings)}
    with RunningCloud(fault_model_server.base_url, settings=options, agents=folder) as running:
        yield running


@pytest.fixture(scope="session")
async def channel_storage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[SqliteStorage]:
    """The channel's file."""
    storage = SqliteStorage(tmp_path_factory.mktemp("channel") / "slack.sqlite")
    yield storage
    storage.close()


@pytest.fixture(scope="session")
async def playing(
    desk_cloud: RunningCloud, receiver: socket.socket, channel_storage: SqliteStorage
) -> AsyncIterator[Playing]:
    """The channel between the stand-in and Baton."""
    slack = SlackStandIn()
    for user, name in (("U0ANNA", "Anna"), ("U0BEN", "Ben"), ("U0CARL", "Carl")):
        slack.add_member(user, name)
    slack.add_member("U0GUEST", "Guest", is_restricted=True)
    async with serving(slack.app) as slack_url, httpx.AsyncClient(timeout=60, trust_env=False) as http:
        slack.url = slack_url
        channel = Channel(
            configuration(desk_cloud.url),
            channel_storage,
            channel_storage,
            slack_url=f"{slack_url}/api/",
            file_hosts=[slack_url.removeprefix("http://")],
        )
        async with serving(make_app(channel, channel_storage), receiver) as url:
            yield Playing(slack, url, http, desk_cloud.url, desk_cloud.token, channel_storage)


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[SqliteStorage]:
    """An empty file of the channel."""
    opened = SqliteStorage(tmp_path / "slack.sqlite")
    yield opened
    opened.close()


@pytest.fixture
def doors(storage: SqliteStorage) -> Doors:
    """Doors that keep jobs in the file."""
    return Doors(configuration(), storage)
