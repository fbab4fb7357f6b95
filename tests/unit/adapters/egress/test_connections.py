"""Both clients connect to the address that was checked, and refuse answers above the limits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import httpx
import httpx2
import pytest

from baton.adapters import egress
from baton.adapters.egress import EgressPolicy, EgressRefused, ResponseTooLarge
from tests.unit.adapters.egress.serving import Names, reply, serving

AT_HOME = EgressPolicy(("*",), allow_local=True)


@pytest.fixture(params=[egress.make_http_client, egress.make_http2_client], ids=["httpx", "httpx2"])
def make(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """A maker of clients; both libraries are the same to their callers."""
    maker: Callable[..., Any] = request.param
    return maker


async def test_the_resolved_address_is_connected_to_and_the_host_keeps_its_name(make: Any) -> None:
    seen: list[bytes] = []

    async def answer_hello(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(b"called")
        writer.write(reply(b"hello"))

    async with serving(answer_hello) as port, make(AT_HOME, resolve=Names(["127.0.0.1"])) as client:
        answer = await client.get(f"http://api.example.com:{port}/")

    assert (answer.text, seen) == ("hello", [b"called"])
    assert answer.request.headers["host"] == f"api.example.com:{port}"


async def test_a_name_that_resolves_to_a_private_address_is_refused(make: Any) -> None:
    for address in ("10.0.0.1", "169.254.169.254", "::ffff:169.254.169.254", "fd00:ec2::254"):
        async with make(AT_HOME, resolve=Names([address])) as client:
            with pytest.raises(EgressRefused, match="not a public address"):
                await client.get("http://api.example.com/")


async def test_one_private_address_among_public_ones_refuses_the_name(make: Any) -> None:
    async with make(EgressPolicy(("*",)), resolve=Names(["8.8.8.8", "10.0.0.1"])) as client:
        with pytest.raises(EgressRefused):
            await client.get("https://api.example.com/")


async def test_a_name_that_changes_its_address_is_asked_and_checked_once_per_connection(make: Any) -> None:
    names = Names(["127.0.0.1"], ["169.254.169.254"])
    async with serving(reply(b"first")) as port:
        url = f"http://rebinding.example.com:{port}/"
        async with make(AT_HOME, resolve=names) as client:
            assert (await client.get(url)).text == "first"
            assert names.resolved_hosts == ["rebinding.example.com"]
            with pytest.raises(EgressRefused):
                await client.get(url)


async def test_loopback_is_refused_in_a_deployment_however_it_is_written(make: Any) -> None:
    async with make(EgressPolicy(("*",))) as client:
        for host in ("127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001", "[::1]", "[::ffff:127.0.0.1]"):
            with pytest.raises(EgressRefused):
                await client.get(f"https://{host}/")


async def test_a_host_that_is_not_listed_is_not_even_resolved(make: Any) -> None:
    names = Names(["8.8.8.8"])
    async with make(EgressPolicy(("api.example.com",)), resolve=names) as client:
        with pytest.raises(EgressRefused, match="not among the hosts"):
            await client.get("https://evil.example.net/")
    assert names.resolved_hosts == []


async def test_plain_http_is_refused_in_a_deployment(make: Any) -> None:
    async with make(EgressPolicy(("*",)), resolve=Names(["8.8.8.8"])) as client:
        with pytest.raises(EgressRefused, match="https"):
            await client.get("http://api.example.com/")


@pytest.mark.parametrize("user", ["ann:secret", "ann", ":secret"])
async def test_an_address_with_a_user_name_or_password_is_refused(make: Any, user: str) -> None:
    async with make(EgressPolicy(("*",)), resolve=Names(["8.8.8.8"])) as client:
        with pytest.raises(EgressRefused, match="without a user name or password"):
            await client.get(f"https://{user}@api.example.com/")
    moved = reply(b"", f"Location: http://{user}@127.0.0.1/", status="302 Found")
    async with serving(moved) as port, make(AT_HOME) as client:
        with pytest.raises(EgressRefused, match="without a user name or password"):
            await client.get(f"http://127.0.0.1:{port}/", follow_redirects=True)


async def test_redirects_are_not_followed_unless_asked_for(make: Any) -> None:
    async with serving(reply(b"", "Location: /next", status="302 Found")) as port, make(AT_HOME) as client:
        assert (await client.get(f"http://127.0.0.1:{port}/")).status_code == 302


async def test_a_redirect_to_a_private_address_is_refused(make: Any) -> None:
    for location in ("http://169.254.169.254/latest/meta-data", "http://10.0.0.1/", "http://[fd00:ec2::254]/"):
        moved = reply(b"", f"Location: {location}", status="302 Found")
        async with serving(moved) as port, make(AT_HOME) as client:
            with pytest.raises(EgressRefused):
                await client.get(f"http://127.0.0.1:{port}/", follow_redirects=True)


async def test_proxies_of_the_environment_are_not_used(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://169.254.169.254:3128")
    async with serving(reply(b"direct")) as port, make(AT_HOME) as client:
        assert (await client.get(f"http://127.0.0.1:{port}/")).text == "direct"


async def test_an_answer_is_read_up_to_the_limit(make: Any) -> None:
    async with serving(reply(b"x" * 1000)) as port, make(AT_HOME, max_response_bytes=1000) as client:
        assert len((await client.get(f"http://127.0.0.1:{port}/")).content) == 1000
    async with serving(reply(b"x" * 1001)) as port, make(AT_HOME, max_response_bytes=1000) as client:
        with pytest.raises(ResponseTooLarge, match="1000 bytes"):
            await client.get(f"http://127.0.0.1:{port}/")


async def test_an_endless_answer_ends_at_the_limit(make: Any) -> None:
    async def send_without_end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        while True:
            writer.write(b"data: again\n\n" * 1000)
            await writer.drain()

    async with serving(send_without_end) as port, make(AT_HOME) as client:
        with pytest.raises(ResponseTooLarge):
            await client.get(f"http://127.0.0.1:{port}/")


async def test_a_compressed_answer_is_refused_before_it_is_unpacked(make: Any) -> None:
    async with serving(reply(b"\x1f\x8b", "Content-Encoding: gzip")) as port, make(AT_HOME) as client:
        with pytest.raises(EgressRefused, match="compressed"):
            await client.get(f"http://127.0.0.1:{port}/")


async def test_a_silent_server_is_a_read_timeout(make: Any) -> None:
    async def stay_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with serving(stay_silent) as port, make(AT_HOME, timeout_seconds=0.05) as client:
        with pytest.raises((httpx.ReadTimeout, httpx2.ReadTimeout)):
            await client.get(f"http://127.0.0.1:{port}/")


async def test_the_next_address_is_tried_when_one_does_not_answer(make: Any) -> None:
    names = Names(["127.0.0.2", "127.0.0.1"])
    async with serving(reply(b"second")) as port, make(AT_HOME, resolve=names) as client:
        assert (await client.get(f"http://api.example.com:{port}/")).text == "second"


async def test_a_host_that_cannot_be_resolved_or_reached_is_a_connect_error(make: Any) -> None:
    async def fail_to_resolve(host: str, port: int) -> Sequence[str]:
        raise OSError("no such host")

    for resolve in (fail_to_resolve, Names([])):
        async with make(AT_HOME, resolve=resolve) as client:
            with pytest.raises((httpx.ConnectError, httpx2.ConnectError)):
                await client.get("http://api.example.com/")


async def test_a_refusal_is_a_connect_error_to_libraries_that_know_only_those() -> None:
    async with egress.make_http_client(EgressPolicy()) as one, egress.make_http2_client(EgressPolicy()) as other:
        with pytest.raises(httpx.ConnectError):
            await one.get("https://api.example.com/")
        with pytest.raises(httpx2.ConnectError):
            await other.get("https://api.example.com/")


LIST = b"[" + b"[]," * 200_000 + b"[]]"
"""Some 400,000 values in 600 KB."""


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/json", LIST),
        ("Application/JSON; charset=utf-8", LIST),
        ("application/problem+json", LIST),
        ("text/event-stream", b"data: " + LIST + b"\n\n"),
    ],
)
async def test_an_answer_with_too_many_values_is_not_read_to_its_end(make: Any, content_type: str, body: bytes) -> None:
    async with serving(reply(body, f"Content-Type: {content_type}")) as port, make(AT_HOME) as client:
        with pytest.raises(ResponseTooLarge, match="250000 JSON values"):
            await client.get(f"http://127.0.0.1:{port}/")


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("text/html", LIST),
        ("application/json", b'"' + b"[]," * 200_000 + b'"'),
        ("text/event-stream", (b'data: "' + b"[" * 1_000 + b"\n\n" + b"data: [1,2,3]\n\n") * 1_000),
    ],
)
async def test_other_texts_and_events_are_not_counted_together(make: Any, content_type: str, body: bytes) -> None:
    async with serving(reply(body, f"Content-Type: {content_type}")) as port, make(AT_HOME) as client:
        assert (await client.get(f"http://127.0.0.1:{port}/")).content == body
