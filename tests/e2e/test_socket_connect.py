"""The right to open a WebSocket, and its duration."""

from __future__ import annotations

import asyncio
import time

import jwt
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.e2e.bad_tokens import BAD_TOKENS, TokenMaker
from tests.e2e.cloud import RunningCloud
from tests.e2e.fixtures import NewUser
from tests.e2e.sockets import SUBPROTOCOL, SocketClient, connect_with
from tests.e2e.users import User


async def refusal(connecting: connect) -> int:
    """The HTTP status by which a connection is refused before it is one."""
    with pytest.raises(InvalidStatus) as refused:
        await connecting
    return refused.value.response.status_code


@pytest.mark.parametrize("make", BAD_TOKENS)
async def test_a_token_that_cannot_be_trusted_opens_nothing(cloud: RunningCloud, make: TokenMaker) -> None:
    assert await refusal(connect_with(cloud.socket_url, [SUBPROTOCOL, make(cloud)])) in (401, 403)


async def test_a_token_in_the_query_string_does_not_count(cloud: RunningCloud) -> None:
    token = cloud.token("acme", "alice")
    assert await refusal(connect_with(f"{cloud.socket_url}?token={token}", [SUBPROTOCOL])) in (401, 403)
    assert await refusal(connect_with(f"{cloud.socket_url}?Authorization={token}", None)) in (401, 403)


async def test_our_subprotocol_must_be_offered(cloud: RunningCloud) -> None:
    token = cloud.token("acme", "alice")
    for offered in (None, [SUBPROTOCOL], [token], ["baton.v2", token], [SUBPROTOCOL, token, "extra"]):
        assert await refusal(connect_with(cloud.socket_url, offered)) in (401, 403)


async def test_the_server_answers_with_our_subprotocol_and_never_with_the_token(cloud: RunningCloud) -> None:
    token = cloud.token("acme", "alice")
    for offered in ([SUBPROTOCOL, token], [token, SUBPROTOCOL]):
        async with connect_with(cloud.socket_url, offered) as connection:
            assert connection.subprotocol == SUBPROTOCOL
            assert connection.response is not None
            assert token not in str(connection.response.headers)


async def test_a_ping_is_answered(socket: SocketClient) -> None:
    await socket.send("ping")
    assert await socket.receive() == {"type": "PONG"}


async def test_a_quiet_ping_is_not_answered(socket: SocketClient) -> None:
    for fields in ({"quiet": True}, {"quiet": False}, {"quiet": "yes"}):
        await socket.send("ping", **fields)
    assert await socket.receive() == {"type": "PONG"}
    assert (await socket.receive_refusal())["code"] == "invalid_request"


async def test_an_expired_token_ends_the_connection(new_user: NewUser) -> None:
    visitor = new_user("visitor", seconds=3)
    async with visitor.connect() as socket:
        await socket.check_no_more_events()
        await socket.send("ping")
        while (answer := await socket.receive()) == {"type": "PONG"}:
            await socket.send("ping")
        assert (answer["type"], answer["code"]) == ("RUN_ERROR", "token_expired")
        assert answer["metadata"]["retryable"] is False
        with pytest.raises(ConnectionClosed):
            await socket.receive()


async def test_an_expired_token_sends_no_message(new_user: NewUser, cloud: RunningCloud, tenant: str) -> None:
    visitor = new_user("visitor", seconds=2)
    async with visitor.connect() as socket:
        expires = jwt.decode(visitor.token, options={"verify_signature": False})["exp"]
        await asyncio.sleep(max(0.0, expires - time.time()) + 0.05)
        await socket.send("message", messageId="m-1", content="Am I still in?")
        assert (await socket.receive())["code"] == "token_expired"
        with pytest.raises(ConnectionClosed):
            await socket.receive()
    assert cloud.items(tenant) == []


async def test_permissions_and_identity_come_from_the_token_alone(socket: SocketClient, alice: User) -> None:
    run = await socket.say("Who am I?", user="mallory", tenant="other", permissions=["thread:read_all"])
    thread = await alice.read(f"/threads/{run[0]['threadId']}")
    assert thread["userId"] == "alice"
