"""DynamoDB's operations without a thread have the answers, failures and retries of boto3's."""

from __future__ import annotations

import asyncio
import json
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock
from zlib import crc32

import pytest
from boto3.session import Session
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectTimeoutError
from botocore.retries.standard import ExponentialBackoff

from baton.adapters.aws import blocking_calls as aws
from baton.adapters.aws.connections import OriginConnections
from baton.adapters.dynamodb.table import Table
from baton.adapters.dynamodb.writes import ConditionFailed, Write
from baton.domain.errors import StoreUnavailable

SESSION: Any = Session("AKID", "secret", region_name="eu-central-1")
"""One for all clients: each session reads the descriptions of services again."""
ITEM = {"PK": {"S": "a"}, "SK": {"S": "b"}, "size": {"N": "7"}, "body": {"B": "AAEC"}}
KEY = {"PK": "a", "SK": "b"}
READ = {"PK": "a", "SK": "b", "size": 7, "body": b"\x00\x01\x02"}


def answer(body: object = None, status: str = "200 OK", *headers: str) -> bytes:
    content = json.dumps({"Item": ITEM} if body is None else body).encode()
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(content)}", "x-amzn-RequestId: R1", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + content


def refusal(code: str, status: str = "400 Bad Request", **fields: object) -> bytes:
    return answer({"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "no", **fields}, status)


@dataclass
class Server:
    """A server that gives each request the next of ``answers``, and closes the connection before an empty one."""

    url: str = ""
    answers: list[bytes] = field(default_factory=list)
    pieces: int = 1
    """The number of parts in which an answer is sent."""
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0
    open: list[socket.socket] = field(default_factory=list)

    def table(self, **config: Any) -> Table:
        options: dict[str, Any] = {"retries": {"mode": "standard", "total_max_attempts": 3}, **config}
        client = SESSION.client("dynamodb", endpoint_url=self.url, config=Config(**options))
        return Table.sent_directly(client, "table", SESSION)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(request.partition(b"\r\n\r\n")[2]) for request in self.requests]


@pytest.fixture(autouse=True)
def _no_pauses() -> Iterator[None]:
    with mock.patch.object(ExponentialBackoff, "delay_amount", return_value=0.0):
        yield


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as started:
        yield started


@contextmanager
def serving() -> Iterator[Server]:
    server = Server()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            server.connections += 1
            server.open.append(self.connection)
            while (head := self._head()) is not None:
                lengths = [int(line[15:]) for line in head.lower().splitlines() if line.startswith(b"content-length:")]
                server.requests.append(head + self.rfile.read(sum(lengths)))
                options = server.answers.pop(0) if server.answers else answer()
                if not options:
                    return
                size = -(-len(options) // server.pieces)
                for start in range(0, len(options), size):
                    self.wfile.write(options[start : start + size])

        def _head(self) -> bytes | None:
            lines = b""
            while not lines.endswith(b"\r\n\r\n"):
                line = self.rfile.readline()
                if not line:
                    return None
                lines += line
            return lines

    class Listener(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with Listener(("127.0.0.1", 0), Handler) as listener:
        server.url = f"http://127.0.0.1:{listener.server_address[1]}"
        thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            listener.shutdown()
            thread.join()


def test_an_item_is_read_and_the_connection_is_kept(server: Server) -> None:
    table = server.table()

    async def read() -> list[Any]:
        return [await table.get(KEY), await table.get(KEY)]

    assert asyncio.run(read()) == [READ, READ]
    assert server.connections == 1
    assert server.bodies[0] == {
        "TableName": "table",
        "Key": {"PK": {"S": "a"}, "SK": {"S": "b"}},
        "ConsistentRead": True,
    }
    assert b"X-Amz-Target: DynamoDB_20120810.GetItem" in server.requests[0]


def test_another_event_loop_uses_the_same_connection(server: Server) -> None:
    table = server.table()
    assert [asyncio.run(table.get(KEY)), asyncio.run(table.get(KEY))] == [READ, READ]
    assert server.connections == 1


@pytest.mark.parametrize("pieces", [2, 7, 100])
def test_an_answer_in_pieces_is_read_whole(server: Server, pieces: int) -> None:
    server.pieces = pieces
    assert asyncio.run(server.table().get(KEY)) == READ


def test_a_large_request_and_a_large_answer_arrive_whole(server: Server) -> None:
    text = "x" * 4_000_000
    server.answers = [answer({"Attributes": {"said": {"S": text}}})]
    written = asyncio.run(server.table().update(KEY, "SET said = :said", {":said": text}, condition="a = b"))
    assert written == {"said": text}
    assert server.bodies[0]["ExpressionAttributeValues"] == {":said": {"S": text}}


def test_a_chunked_answer_is_read_whole(server: Server) -> None:
    content = json.dumps({"Item": ITEM}).encode()
    parts = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (content[:10], content[10:]))
    server.answers = [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + parts + b"0\r\n\r\n"]
    assert asyncio.run(server.table().get(KEY)) == READ


def test_bytes_are_written_as_base64(server: Server) -> None:
    server.answers = [answer({})]
    asyncio.run(server.table().put({**KEY, "body": b"\x00\x01\x02"}))
    assert server.bodies[0]["Item"]["body"] == {"B": "AAEC"}


def test_a_connection_that_the_server_has_closed_is_not_used_again(server: Server) -> None:
    table = server.table()
    asyncio.run(table.get(KEY))
    server.open[0].shutdown(socket.SHUT_RDWR)
    assert asyncio.run(table.get(KEY)) == READ
    assert (server.connections, len(server.requests)) == (2, 2)


def test_a_failed_condition_has_the_existing_item(server: Server) -> None:
    server.answers = [refusal("ConditionalCheckFailedException", Item=ITEM)]
    with pytest.raises(ConditionFailed) as failed:
        asyncio.run(server.table().put({**KEY}, condition="attribute_not_exists(PK)"))
    assert failed.value.item == READ
    assert len(server.requests) == 1


def test_other_refusals_are_botocores_errors(server: Server) -> None:
    server.answers = [refusal("ValidationException")]
    table = server.table()
    with pytest.raises(ClientError, match="ValidationException") as refused:
        asyncio.run(table.get(KEY))
    assert refused.value.operation_name == "GetItem"
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    server.answers = [refusal("ResourceNotFoundException")]
    with pytest.raises(table.client.exceptions.ResourceNotFoundException):
        asyncio.run(table.get(KEY))


BROKEN = answer(None, "200 OK", f"x-amz-crc32: {crc32(b'something else')}")


@pytest.mark.parametrize(
    "failure",
    [
        refusal("ThrottlingException"),
        refusal("InternalServerError", "500 Internal Server Error"),
        b"",
        b"HTTP/1.1 200 OK\r\n\r\n{}",
        b"SSH-2.0-OpenSSH\r\n\r\n",
        BROKEN,
    ],
    ids=["throttled", "failed", "closed", "no length", "no HTTP", "wrong checksum"],
)
def test_what_may_pass_is_tried_again_as_often_as_by_botocore(server: Server, failure: bytes) -> None:
    table = server.table()
    server.answers = [failure, failure]
    assert asyncio.run(table.get(KEY)) == READ
    assert len(server.requests) == 3


@pytest.mark.parametrize("failure", [refusal("ThrottlingException"), refusal("InternalServerError", "500 No"), b""])
def test_an_outage_that_lasts_is_the_stores(server: Server, failure: bytes) -> None:
    server.answers = [failure] * 4
    with pytest.raises(StoreUnavailable):
        asyncio.run(server.table().get(KEY))
    assert len(server.requests) == 3


def test_a_server_that_says_nothing_is_an_outage(server: Server) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server.url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        table = server.table(read_timeout=0.05, retries={"mode": "standard", "total_max_attempts": 1})
        with pytest.raises(StoreUnavailable):
            asyncio.run(table.get(KEY))


def test_nobody_at_the_address_is_an_outage(server: Server) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        server.url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    with pytest.raises(StoreUnavailable):
        asyncio.run(server.table().get(KEY))


async def test_a_request_waits_for_a_connection_no_longer_than_for_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    connecting: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    monkeypatch.setattr(aws, "start", lambda *_: connecting)
    connections = OriginConnections("http://127.0.0.1:1", connect_seconds=1, read_seconds=1, max_idle=1)
    with pytest.raises(ConnectTimeoutError):
        await connections.send(b"", seconds=0.01)
    late = mock.Mock()
    connecting.set_result(late)
    await asyncio.sleep(0)
    late.close.assert_called_once_with()


def test_handlers_of_botocores_events_take_part(server: Server) -> None:
    """The guard of roles and the counter of capacity are such handlers."""
    table, seen = server.table(), list[object]()
    events: Any = table.client.meta.events
    events.register("provide-client-params.dynamodb", lambda params, **_: {**params, "ReturnConsumedCapacity": "TOTAL"})
    events.register("before-parameter-build", lambda model, **_: seen.append(model.name))
    events.register("before-send.dynamodb.GetItem", lambda request, **_: seen.append(request.url))
    events.register("after-call.dynamodb", lambda parsed, http_response, **_: seen.append(http_response.status_code))
    asyncio.run(table.get(KEY))
    assert seen == ["GetItem", f"{server.url}/", 200]
    assert server.bodies[0]["ReturnConsumedCapacity"] == "TOTAL"


def test_a_transaction_has_a_token_that_stays_when_it_is_repeated(server: Server) -> None:
    server.answers = [refusal("InternalServerError", "500 No"), answer({})]
    asyncio.run(server.table().transact(Write.put({**KEY}, condition="attribute_not_exists(PK)")))
    first, second = server.bodies
    assert first["ClientRequestToken"] == second["ClientRequestToken"] != ""
