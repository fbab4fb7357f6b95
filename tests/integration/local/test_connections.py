"""The @connections management API, as boto3 sees it."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from botocore.exceptions import ClientError
from websockets.exceptions import ConnectionClosed

from baton.adapters.aws.api_gateway import ApiGatewayConnections
from baton.ports.threads.connections import ConnectionBusy, ConnectionGone, FrameRefused
from baton_local.cloud import LocalCloud
from baton_local.gateway.identifiers import make_connection_id
from tests.driven_cloud import DrivenCloud
from tests.integration.local.sockets import exchange, management, open_socket, poll


async def test_posts_arrive_in_the_order_made(cloud: LocalCloud) -> None:
    api = management(cloud)
    async with open_socket(cloud) as socket:
        target = (await exchange(socket, "fail"))["connectionId"]
        for number in range(50):
            await asyncio.to_thread(api.post_to_connection, ConnectionId=target, Data=str(number).encode())
        assert [await socket.recv() for _ in range(50)] == [str(number) for number in range(50)]


async def test_concurrent_posts_all_arrive_whole(cloud: LocalCloud) -> None:
    api = management(cloud)
    texts = [str(number) * 1000 for number in range(10, 40)]
    async with open_socket(cloud) as socket:
        target = (await exchange(socket, "fail"))["connectionId"]
        with ThreadPoolExecutor(8) as pool:
            posts = [pool.submit(api.post_to_connection, ConnectionId=target, Data=text.encode()) for text in texts]
            received = [await socket.recv() for _ in texts]
        for post in posts:
            post.result()
    assert sorted(map(str, received)) == texts


async def test_a_connection_that_left_is_gone(cloud: LocalCloud) -> None:
    api = management(cloud)
    async with open_socket(cloud) as socket:
        target = (await exchange(socket, "fail"))["connectionId"]
        await asyncio.to_thread(api.post_to_connection, ConnectionId=target, Data=b"x")
    await poll(lambda: cloud.connections.find(target) is None)
    for call in (
        lambda: api.post_to_connection(ConnectionId=target, Data=b"x"),
        lambda: api.get_connection(ConnectionId=target),
        lambda: api.delete_connection(ConnectionId=target),
    ):
        with pytest.raises(api.exceptions.GoneException):
            await asyncio.to_thread(call)


def test_an_id_never_given_is_gone_and_nonsense_is_refused(cloud: LocalCloud) -> None:
    api = management(cloud)
    with pytest.raises(api.exceptions.GoneException):
        api.post_to_connection(ConnectionId=make_connection_id(), Data=b"x")
    with pytest.raises(ClientError, match="BadRequestException"):
        api.post_to_connection(ConnectionId="nonsense/../x", Data=b"x")


async def test_a_post_over_128_kilobytes_is_refused(cloud: LocalCloud) -> None:
    api = management(cloud)
    async with open_socket(cloud) as socket:
        target = (await exchange(socket, "fail"))["connectionId"]
        with pytest.raises(api.exceptions.PayloadTooLargeException):
            await asyncio.to_thread(api.post_to_connection, ConnectionId=target, Data=b"x" * (128 * 1024 + 1))
        await asyncio.to_thread(api.post_to_connection, ConnectionId=target, Data=b"x" * 128 * 1024)
        assert len(await socket.recv()) == 128 * 1024


async def test_a_throttled_post_is_a_limit_exceeded(cloud: DrivenCloud) -> None:
    api = management(cloud)
    async with open_socket(cloud) as socket:
        target = (await exchange(socket, "fail"))["connectionId"]
        cloud.throttle_posts(1)
        with pytest.raises(api.exceptions.LimitExceededException):
            await asyncio.to_thread(api.post_to_connection, ConnectionId=target, Data=b"x")
        await asyncio.to_thread(api.post_to_connection, ConnectionId=target, Data=b"again")
        assert await socket.recv() == "again"


@pytest.mark.parametrize(
    ("status", "kind", "meaning"),
    [
        (403, "ForbiddenException", FrameRefused),
        (403, "ExpiredTokenException", FrameRefused),
        (400, "BadRequestException", FrameRefused),
        (413, "PayloadTooLargeException", FrameRefused),
        (429, "LimitExceededException", ConnectionBusy),
        (500, "InternalServerErrorException", ConnectionBusy),
        (503, "ServiceUnavailableException", ConnectionBusy),
        (410, "GoneException", ConnectionGone),
    ],
)
async def test_only_gone_means_that_the_client_has_gone(
    cloud: DrivenCloud, status: int, kind: str, meaning: type[Exception]
) -> None:
    connections = ApiGatewayConnections(management(cloud))
    async with open_socket(cloud) as socket:
        target = (await exchange(socket, "fail"))["connectionId"]
        cloud.refuse_posts(1, status, kind)
        with pytest.raises(meaning):
            await connections.post(target, "x")
        await connections.post(target, "again")
        assert await socket.recv() == "again"


async def test_a_frame_over_the_limit_is_refused_and_a_client_that_left_has_gone(cloud: DrivenCloud) -> None:
    connections = ApiGatewayConnections(management(cloud))
    async with open_socket(cloud) as socket:
        target = (await exchange(socket, "fail"))["connectionId"]
        with pytest.raises(FrameRefused) as refused:
            await connections.post(target, "x" * (128 * 1024 + 1))
        assert not refused.value.may_pass_later
    await poll(lambda: cloud.connections.find(target) is None)
    with pytest.raises(ConnectionGone):
        await connections.post(target, "x")


async def test_a_connection_can_be_described_and_deleted(cloud: LocalCloud) -> None:
    api = management(cloud)
    async with open_socket(cloud) as socket:
        target = (await exchange(socket, "fail"))["connectionId"]
        thread = await asyncio.to_thread(api.get_connection, ConnectionId=target)
        assert thread["Identity"]["SourceIp"] == "127.0.0.1"
        assert datetime.now(UTC) - timedelta(minutes=1) < thread["ConnectedAt"] <= thread["LastActiveAt"]
        await asyncio.to_thread(api.delete_connection, ConnectionId=target)
        with pytest.raises(ConnectionClosed) as closed:
            await socket.recv()
        assert closed.value.rcvd
        assert closed.value.rcvd.code == 1000
        with pytest.raises(api.exceptions.GoneException):
            await asyncio.to_thread(api.post_to_connection, ConnectionId=target, Data=b"x")


def test_an_unsigned_request_is_forbidden(cloud: LocalCloud) -> None:
    response = httpx.post(f"{cloud.url}/local/gateway/@connections/{make_connection_id()}", content=b"x")
    assert response.status_code == 403
