"""The WebSocket API of the local cloud, over real sockets."""

import asyncio
import json
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from baton_local.cloud import LocalCloud
from baton_local.gateway.identifiers import CONNECTION_ID
from tests.integration.local.sockets import exchange, find_recorded, management, open_socket, poll, receive


async def connection_id_of(socket: Any) -> str:
    """Find the connection's id by a frame that the gateway itself answers."""
    answer = await exchange(socket, "fail")
    return str(answer["connectionId"])


async def wait_for_disconnect(cloud: LocalCloud, connection_id: str) -> dict[str, Any]:
    """Wait for the ``$disconnect`` event."""
    return await poll(lambda: find_recorded(cloud, connection_id, "DISCONNECT"))


async def test_a_frame_travels_through_the_queue_and_back(cloud: LocalCloud) -> None:
    async with open_socket(cloud) as socket:
        assert socket.subprotocol == "baton.v1"
        answer = await exchange(socket, "hello")
    assert answer["answer"] == "hello"
    attributes = answer["attributes"]
    assert attributes["MessageGroupId"]
    assert attributes["SequenceNumber"]
    assert attributes["ApproximateReceiveCount"] == "1"


async def test_frames_are_worked_on_in_the_order_sent(cloud: LocalCloud) -> None:
    async with open_socket(cloud) as socket:
        for number in range(10):
            await socket.send(str(number))
        answers = [await receive(socket) for _ in range(10)]
    assert [answer["answer"] for answer in answers] == [str(number) for number in range(10)]


async def test_the_events_have_api_gateways_shape(cloud: LocalCloud) -> None:
    async with open_socket(cloud, query="?a=1&a=2") as socket:
        connection_id = await connection_id_of(socket)
    assert CONNECTION_ID.fullmatch(connection_id)
    connect = await asyncio.to_thread(find_recorded, cloud, connection_id, "CONNECT")
    message = await asyncio.to_thread(find_recorded, cloud, connection_id, "MESSAGE")
    disconnect = await wait_for_disconnect(cloud, connection_id)
    assert connect
    assert message
    assert connect["headers"]["Sec-WebSocket-Protocol"] == "baton.v1, good"
    assert connect["queryStringParameters"] == {"a": "2"}
    assert connect["multiValueQueryStringParameters"] == {"a": ["1", "2"]}
    assert (message["body"], message["isBase64Encoded"]) == ("fail", False)
    assert "headers" not in message
    for event, route, kind in (
        (connect, "$connect", "CONNECT"),
        (message, "$default", "MESSAGE"),
        (disconnect, "$disconnect", "DISCONNECT"),
    ):
        context = event["requestContext"]
        assert (context["routeKey"], context["eventType"], context["stage"]) == (route, kind, "local")
        assert context["connectionId"] == connection_id
        assert context["connectedAt"] <= context["requestTimeEpoch"]
        assert context["domainName"] == cloud.url.removeprefix("http://")
        assert context["identity"]["sourceIp"] == "127.0.0.1"
        authorizer = dict(context["authorizer"], integrationLatency=0)
        assert authorizer == {
            "principalId": "user-1",
            "tenant": "acme",
            "expires": "17",
            "admin": "true",
            "integrationLatency": 0,
        }
    assert disconnect["requestContext"]["disconnectStatusCode"] == 1000
    assert len({event["requestContext"]["requestId"] for event in (connect, message, disconnect)}) == 3


@pytest.mark.parametrize(
    ("token", "status", "message"),
    [
        ("unauthorized", 401, "Unauthorized"),
        ("broken", 500, "Internal server error"),
        ("deny", 403, "User is not authorized to access this resource with an explicit deny"),
        ("elsewhere", 403, "User is not authorized to access this resource"),
    ],
)
async def test_the_authorizer_refuses_before_the_upgrade(
    cloud: LocalCloud, token: str, status: int, message: str
) -> None:
    with pytest.raises(InvalidStatus) as refused:
        await open_socket(cloud, token)
    assert refused.value.response.status_code == status
    assert json.loads(refused.value.response.body or b"") == {"message": message}


async def test_without_the_identity_source_the_authorizer_is_not_asked(cloud: LocalCloud) -> None:
    from websockets.asyncio.client import connect

    with pytest.raises(InvalidStatus) as refused:
        await connect(cloud.socket_url)
    assert refused.value.response.status_code == 401


@pytest.mark.parametrize(("outcome", "status"), [("refuse", 418), ("fail", 502)])
async def test_connect_refuses_before_the_upgrade(cloud: LocalCloud, outcome: str, status: int) -> None:
    with pytest.raises(InvalidStatus) as refused:
        await open_socket(cloud, query=f"?connect={outcome}")
    assert refused.value.response.status_code == status


async def test_a_failing_route_sends_an_error_frame_and_the_connection_lives(cloud: LocalCloud) -> None:
    async with open_socket(cloud) as socket:
        error = await exchange(socket, "fail")
        assert error["message"] == "Internal server error"
        assert set(error) == {"message", "connectionId", "requestId"}
        assert (await exchange(socket, "still here"))["answer"] == "still here"


async def test_a_frame_of_32_kilobytes_passes(cloud: LocalCloud) -> None:
    async with open_socket(cloud) as socket:
        text = "x" * 32 * 1024
        assert (await exchange(socket, text))["answer"] == text


@pytest.mark.parametrize("size", [32 * 1024 + 1, 1_000_000])
async def test_a_larger_frame_closes_the_connection_with_1009(cloud: LocalCloud, size: int) -> None:
    async with open_socket(cloud) as socket:
        connection_id = await connection_id_of(socket)
        with pytest.raises(ConnectionClosed) as closed:  # noqa: PT012
            await socket.send("x" * size)
            await socket.recv()
    assert closed.value.rcvd
    assert closed.value.rcvd.code == 1009
    assert (await wait_for_disconnect(cloud, connection_id))["requestContext"]["disconnectStatusCode"] == 1009


async def test_a_message_in_several_frames_may_be_larger_than_one(cloud: LocalCloud) -> None:
    async with open_socket(cloud) as socket:
        await socket.send(["x" * 30_000, "y" * 30_000])
        answer = await receive(socket)
    assert len(answer["answer"]) == 60_000


async def test_binary_frames_are_not_taken(cloud: LocalCloud) -> None:
    async with open_socket(cloud) as socket:
        await socket.send(b"bytes")
        with pytest.raises(ConnectionClosed) as closed:
            await socket.recv()
    assert closed.value.rcvd
    assert closed.value.rcvd.code == 1003


async def test_a_frame_sent_just_before_leaving_still_counts(cloud: LocalCloud) -> None:
    async with open_socket(cloud) as socket:
        connection_id = await connection_id_of(socket)
        await socket.send("goodbye")
    await wait_for_disconnect(cloud, connection_id)
    message = await asyncio.to_thread(find_recorded, cloud, connection_id, "MESSAGE")
    assert message
    assert message["body"] == "goodbye"


async def test_a_client_that_vanishes_is_disconnected_too(cloud: LocalCloud) -> None:
    async with open_socket(cloud) as socket:
        connection_id = await connection_id_of(socket)
        socket.transport.abort()
        event = await wait_for_disconnect(cloud, connection_id)
    assert event["requestContext"]["disconnectStatusCode"] == 1005


async def test_a_slow_reader_does_not_hold_up_another(cloud: LocalCloud) -> None:
    api = management(cloud)
    async with open_socket(cloud) as slow, open_socket(cloud) as quick:
        slow_id, quick_id = await connection_id_of(slow), await connection_id_of(quick)
        slow.transport.pause_reading()
        for number in range(100):
            await asyncio.to_thread(api.post_to_connection, ConnectionId=slow_id, Data=f"{number:>100000}".encode())
        await asyncio.to_thread(api.post_to_connection, ConnectionId=quick_id, Data=b'"quick"')
        assert await receive(quick) == "quick"
        slow.transport.resume_reading()
        assert [int(await slow.recv()) for _ in range(100)] == list(range(100))


async def test_idle_connections_and_old_ones_are_closed(cloud: LocalCloud) -> None:
    from baton_local.gateway.connections import Close
    from baton_local.gateway.websocket import SocketGateway, SocketLimits

    for limits in (SocketLimits(idle=0.05), SocketLimits(lifetime=0.05)):
        gateway = SocketGateway(cloud.stack.sockets, {}, cloud.connections, limits)
        async with asyncio.timeout(5):
            assert await gateway._wait_for_limit(asyncio.Event()) == Close(1001, "Going away")
