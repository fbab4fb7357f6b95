"""Requests of boto3's clients that are sent without urllib3, against a server on a local port."""

from __future__ import annotations

import contextlib
import io
import socket
import socketserver
import ssl
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    EndpointConnectionError,
    ReadTimeoutError,
    SSLError,
)
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from baton.adapters.aws import http_sender as aws_http
from baton.adapters.aws.http_sender import send_directly

ITEM = b'{"Item":{"PK":{"S":"a"},"size":{"N":"7"}}}'

SESSION: Any = boto3.session.Session("id", "secret", region_name="eu-west-1")
"""One for all clients: each session reads the descriptions of services again."""


def answer(body: bytes = ITEM, status: str = "200 OK", *headers: str, length: int | None = None) -> bytes:
    lines = [
        f"HTTP/1.1 {status}",
        "Content-Type: application/x-amz-json-1.0",
        f"Content-Length: {len(body) if length is None else length}",
        "x-amzn-RequestId: R1",
        *headers,
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


@dataclass
class Server:
    """A server that gives each request the next of ``answers``.

    It closes the connection after those of ``closed_after``.
    """

    url: str = ""
    answers: list[bytes] = field(default_factory=list)
    closed_after: set[int] = field(default_factory=set)
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0
    closed: threading.Event = field(default_factory=threading.Event)


@contextmanager
def serving(tls: ssl.SSLContext | None = None) -> Iterator[Server]:
    server = Server()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            server.connections += 1
            while (head := _head(self.rfile)) is not None:
                lengths = [int(line[15:]) for line in head.lower().splitlines() if line.startswith(b"content-length:")]
                server.requests.append(head + self.rfile.read(sum(lengths)))
                number = len(server.requests)
                self.wfile.write(server.answers.pop(0) if server.answers else answer())
                if number in server.closed_after:
                    break
            # Closing it has no effect before its files are closed, after this method.
            with contextlib.suppress(OSError):  # the client was faster
                self.connection.shutdown(socket.SHUT_RDWR)
            server.closed.set()

    class Listener(socketserver.ThreadingTCPServer):
        daemon_threads = True

        def get_request(self) -> Any:
            connection, address = super().get_request()
            return (tls.wrap_socket(connection, server_side=True) if tls is not None else connection), address

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Say nothing: clients that trust nobody close their connections."""

    with Listener(("127.0.0.1", 0), Handler) as listener:
        scheme = "http" if tls is None else "https"
        server.url = f"{scheme}://127.0.0.1:{listener.server_address[1]}"
        thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            listener.shutdown()
            thread.join()


def _head(stream: io.BufferedIOBase) -> bytes | None:
    lines = b""
    while not lines.endswith(b"\r\n\r\n"):
        line = stream.readline()
        if not line:
            return None
        lines += line
    return lines


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """botocore's pauses between its attempts take no time."""
    monkeypatch.setattr("botocore.endpoint.time", SimpleNamespace(sleep=lambda seconds: None))


def client(url: str, service: str = "dynamodb", *, attempts: int = 1, direct: bool = True, **options: Any) -> Any:
    config = Config(retries={"mode": "standard", "total_max_attempts": attempts}, **options)
    made = SESSION.client(service, endpoint_url=url, config=config)
    if direct:
        send_directly(made)
        # What it could not send would go this way.
        made._endpoint.http_session = mock.Mock(send=mock.Mock(side_effect=AssertionError("botocore was to send it")))
    return made


def read(client: Any) -> Any:
    return client.get_item(TableName="t", Key={"PK": {"S": "a"}})


def test_botocore_gets_the_same_as_from_its_own_transport(server: Server) -> None:
    crc = f"x-amz-crc32: {zlib.crc32(ITEM)}"
    server.answers = [answer(ITEM, "200 OK", crc), answer(ITEM, "200 OK", crc)]
    directly, usually = read(client(server.url)), read(client(server.url, direct=False))
    assert directly == usually
    assert directly["Item"] == {"PK": {"S": "a"}, "size": {"N": "7"}}

    sent, expected = [_fields(request) for request in server.requests]
    assert sent.keys() == expected.keys()
    changing = {b"authorization", b"x-amz-date", b"amz-sdk-invocation-id"}
    assert {name: sent[name] for name in sent.keys() - changing} == {
        name: expected[name] for name in sent.keys() - changing
    }


def test_an_error_of_the_service_is_botocores(server: Server) -> None:
    server.answers = [answer(b'{"__type":"com.amazonaws#ResourceNotFoundException","message":"m"}', "400 Bad Request")]
    with pytest.raises(ClientError) as failed:
        read(client(server.url))
    assert failed.value.response["Error"]["Code"] == "ResourceNotFoundException"
    assert failed.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400


def test_a_connection_is_used_again(server: Server) -> None:
    table = client(server.url)
    for _ in range(3):
        read(table)
    assert (len(server.requests), server.connections) == (3, 1)


def test_a_connection_that_the_server_has_closed_is_replaced_without_an_attempt(server: Server) -> None:
    table = client(server.url)
    server.closed_after = {1}
    read(table)
    assert server.closed.wait(10)
    read(table)
    assert (len(server.requests), server.connections) == (2, 2)


def test_a_connection_is_not_used_again_when_the_server_says_so(server: Server) -> None:
    server.answers = [answer(ITEM, "200 OK", "Connection: close")]
    table = client(server.url)
    read(table)
    read(table)
    assert server.connections == 2


def test_an_answer_in_chunks_is_read_whole(server: Server) -> None:
    head, tail = ITEM[:10], ITEM[10:]
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (head, tail, b""))
    server.answers = [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks]
    assert read(client(server.url))["Item"]["size"] == {"N": "7"}


@pytest.mark.parametrize(
    "broken", [answer(length=len(ITEM) + 1), b"", b"HTTP/1.1 200 O", b"No HTTP at all\r\n\r\n"], ids=repr
)
def test_an_answer_that_breaks_off_is_a_closed_connection_that_botocore_retries(server: Server, broken: bytes) -> None:
    server.answers, server.closed_after = [broken, broken], {1, 2}
    with pytest.raises(ConnectionClosedError):
        read(client(server.url))
    assert read(client(server.url, attempts=2))["Item"]["size"] == {"N": "7"}
    assert (len(server.requests), server.connections) == (3, 3)


def test_a_damaged_answer_is_asked_for_again(server: Server) -> None:
    server.answers = [answer(ITEM, "200 OK", f"x-amz-crc32: {zlib.crc32(ITEM) ^ 1}")]
    assert read(client(server.url, attempts=2))["ResponseMetadata"]["RetryAttempts"] == 1


def test_a_server_that_does_not_answer_is_a_timeout(server: Server) -> None:
    server.answers = [answer(b"", length=1)]
    with pytest.raises(ReadTimeoutError):
        read(client(server.url, read_timeout=0.05))


def test_a_server_that_is_not_there_cannot_be_connected_to() -> None:
    with serving() as server:
        pass
    with pytest.raises(EndpointConnectionError):
        read(client(server.url))


def test_a_streamed_answer_is_left_to_botocore(server: Server) -> None:
    objects = client(server.url, "s3", s3={"addressing_style": "path"})
    with pytest.raises(Exception, match="botocore was to send it"):
        objects.get_object(Bucket="b", Key="k")
    objects.head_object(Bucket="b", Key="k")
    assert server.requests[0].startswith(b"HEAD /b/k HTTP/1.1\r\n")


@pytest.mark.parametrize("bypassed", [True, False])
def test_what_goes_through_a_proxy_is_left_to_botocore(
    server: Server, monkeypatch: pytest.MonkeyPatch, bypassed: bool
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1" if bypassed else "example.com")
    table = client(server.url)
    if bypassed:
        read(table)
    else:
        with pytest.raises(Exception, match="botocore was to send it"):
            read(table)


class TestTls:
    @pytest.fixture(autouse=True)
    def _certificate(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        key = ec.generate_private_key(ec.SECP256R1())
        name, now = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")]), datetime.now(UTC)
        made = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(1)
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(key, hashes.SHA256())
        )
        self.certificate, self.key = tmp_path / "certificate.pem", tmp_path / "key.pem"
        self.certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
        self.key.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        aws_http.verification.cache_clear()
        yield
        aws_http.verification.cache_clear()

    @pytest.fixture
    def secure(self) -> Iterator[Server]:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(self.certificate, self.key)
        with serving(tls) as server:
            yield server

    def test_a_trusted_server_is_asked(self, secure: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AWS_CA_BUNDLE", str(self.certificate))
        table = client(secure.url)
        assert read(table)["Item"]["size"] == {"N": "7"}
        read(table)
        assert secure.connections == 1

    def test_any_other_server_is_not(self, secure: Server) -> None:
        with pytest.raises(SSLError):
            read(client(secure.url))
        assert secure.requests == []

    def test_nor_one_with_a_certificate_for_another_name(self, secure: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AWS_CA_BUNDLE", str(self.certificate))
        with pytest.raises(SSLError):
            read(client(secure.url.replace("127.0.0.1", "localhost")))
        assert secure.requests == []


def _fields(request: bytes) -> dict[bytes, bytes]:
    first, *lines = request.partition(b"\r\n\r\n")[0].split(b"\r\n")
    pairs = (line.partition(b": ") for line in lines)
    return {b"first": first, b"body": request.partition(b"\r\n\r\n")[2]} | {n.lower(): value for n, _, value in pairs}
