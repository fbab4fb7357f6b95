"""A WebSocket client for these tests."""

import asyncio
import json
from collections.abc import Callable
from typing import Any, TypeVar

from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from baton_local.cloud import LocalCloud
from baton_local.engines.clients import client


def open_socket(cloud: LocalCloud, word: str = "good", query: str = "") -> connect:
    """Connect as the product's clients do: the token is the second subprotocol."""
    protocols = [Subprotocol("baton.v1"), Subprotocol(word)]
    return connect(cloud.socket_url + query, subprotocols=protocols, compression=None)


async def receive(socket: ClientConnection) -> Any:
    """Return the next frame's JSON."""
    return json.loads(await socket.recv())


async def exchange(socket: ClientConnection, text: str) -> Any:
    """Send a frame and return the worker's answer to it."""
    await socket.send(text)
    return await receive(socket)


T = TypeVar("T")


async def poll(look: Callable[[], T | None]) -> T:
    """Call ``look`` in a thread until it returns a result, at most 10 s, for effects after a client has left."""
    async with asyncio.timeout(10):
        while not (thread := await asyncio.to_thread(look)):  # noqa: ASYNC110  another thread or process makes it true
            await asyncio.sleep(0.02)
        return thread


def management(cloud: LocalCloud) -> Any:
    """Return boto3's client of the ``@connections`` API. It retries nothing."""
    import boto3
    from botocore.config import Config

    session = boto3.session.Session("key", "secret", region_name="us-east-1")
    url = cloud.environment["BATON_CONNECTIONS_URL"]
    return session.client("apigatewaymanagementapi", endpoint_url=url, config=Config(retries={"total_max_attempts": 1}))


def find_recorded(cloud: LocalCloud, connection_id: str, event_type: str) -> dict[str, Any] | None:
    """Return the event of this type that the sockets function recorded."""
    dynamodb = client("dynamodb", cloud.environment["AWS_ENDPOINT_URL_DYNAMODB"])
    item = dynamodb.get_item(
        TableName=cloud.environment["BATON_TABLE"],
        Key={"PK": {"S": connection_id}, "SK": {"S": event_type}},
        ConsistentRead=True,
    ).get("Item")
    dynamodb.close()
    return json.loads(item["event"]["S"]) if item else None
