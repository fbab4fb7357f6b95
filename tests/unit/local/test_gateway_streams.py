"""Streamed answers of functions, as API Gateway passes them on."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from baton_local.gateway.rest_events import MalformedAnswer
from baton_local.gateway.streams import MAX_HEAD, SEPARATOR, pass_on
from baton_local.lambda_runtime.invocations import FunctionFailed

HEAD: dict[str, Any] = {
    "statusCode": 201,
    "headers": {"Content-Type": "text/event-stream", "x-one": "single", "Transfer-Encoding": "chunked"},
    "multiValueHeaders": {"X-One": ["1", "2"]},
    "cookies": ["a=b"],
}


async def answer(*pieces: bytes | Exception) -> AsyncIterator[bytes]:
    for piece in pieces:
        if isinstance(piece, Exception):
            raise piece
        yield piece


class Client:
    """A client that keeps its messages."""

    def __init__(self) -> None:
        self.messages: list[Any] = []

    async def send(self, message: Any) -> None:
        self.messages.append(message)

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.messages)


@pytest.mark.parametrize("size", [1, 7, 10_000])
async def test_head_and_body_are_parted_however_the_answer_is_cut(size: int) -> None:
    whole = json.dumps(HEAD).encode() + SEPARATOR + b"data: one\n\n" + SEPARATOR + b"data: two\n\n"
    client = Client()
    await pass_on(answer(*(whole[at : at + size] for at in range(0, len(whole), size))), "request-1", client.send)
    start = client.messages[0]
    assert start["status"] == 201
    assert sorted(start["headers"]) == [
        (b"content-type", b"text/event-stream"),
        (b"set-cookie", b"a=b"),
        (b"x-amzn-requestid", b"request-1"),
        (b"x-one", b"1"),
        (b"x-one", b"2"),
    ]
    assert client.body == b"data: one\n\n" + SEPARATOR + b"data: two\n\n"
    assert client.messages[-1] == {"type": "http.response.body", "body": b""}


@pytest.mark.parametrize(
    "pieces",
    [
        (),
        (b"no head",),
        (b"{}" + SEPARATOR,),
        (b"no JSON" + SEPARATOR,),
        (b"[]" + SEPARATOR,),
        (b" " * MAX_HEAD, b" ", b"{}" + SEPARATOR),
    ],
)
async def test_an_answer_without_a_head_is_malformed_and_nothing_is_sent(pieces: tuple[bytes, ...]) -> None:
    client = Client()
    with pytest.raises(MalformedAnswer):
        await pass_on(answer(*pieces), "request-1", client.send)
    assert client.messages == []


async def test_an_error_in_the_middle_ends_the_answer_without_its_end() -> None:
    client = Client()
    started = json.dumps(HEAD).encode() + SEPARATOR + b"first"
    with pytest.raises(FunctionFailed, match="It broke"):
        await pass_on(answer(started, FunctionFailed("Broken", "It broke")), "request-1", client.send)
    assert client.body == b"first"
    assert client.messages[-1].get("more_body")
