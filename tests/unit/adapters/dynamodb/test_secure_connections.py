"""Requests that the event loop sends itself, and the servers that it trusts."""

from __future__ import annotations

import asyncio
import io
import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import EndpointConnectionError, SSLError
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from baton.adapters.aws import connections
from baton.adapters.aws.blocking_calls import Operations, ThreadedOperations
from baton.adapters.aws.direct_calls import DirectOperations, make_operations
from baton.domain.errors import StoreUnavailable

ITEM = b'{"Item":{"PK":{"S":"a"},"size":{"N":"7"}}}'
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(ITEM), ITEM)
SESSION: Any = boto3.session.Session("id", "secret", region_name="eu-west-1")
"""One for all clients: each session reads the descriptions of services again."""


@dataclass
class Server:
    """A server that gives every request the same answer."""

    url: str = ""
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0


@contextmanager
def serving(tls: ssl.SSLContext) -> Iterator[Server]:
    server = Server()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            server.connections += 1
            while (head := _head(self.rfile)) is not None:
                lengths = [int(line[15:]) for line in head.lower().splitlines() if line.startswith(b"content-length:")]
                server.requests.append(head + self.rfile.read(sum(lengths)))
                self.wfile.write(ANSWER)

    class Listener(socketserver.ThreadingTCPServer):
        daemon_threads = True

        def get_request(self) -> Any:
            connection, address = super().get_request()
            return tls.wrap_socket(connection, server_side=True), address

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Say nothing: clients that trust nobody close their connections."""

    with Listener(("127.0.0.1", 0), Handler) as listener:
        server.url = f"https://127.0.0.1:{listener.server_address[1]}"
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


def operations_at(url: str) -> Operations:
    config = Config(retries={"mode": "standard", "total_max_attempts": 1})
    return make_operations(SESSION.client("dynamodb", endpoint_url=url, config=config), SESSION)


def read(table: Operations) -> Any:
    return asyncio.run(table.call("GetItem", {"TableName": "t", "Key": {"PK": {"S": "a"}}}))


@pytest.mark.parametrize("bypassed", [True, False])
def test_what_goes_through_a_proxy_is_called_in_threads(monkeypatch: pytest.MonkeyPatch, bypassed: bool) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1" if bypassed else "example.com")
    assert isinstance(operations_at("http://127.0.0.1:2"), DirectOperations if bypassed else ThreadedOperations)


class TestTls:
    @pytest.fixture(autouse=True)
    def _certificate(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        key = ec.generate_private_key(ec.SECP256R1())
        name, now = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")]), datetime.now(UTC)
        instance = (
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
        self.certificate.write_bytes(instance.public_bytes(serialization.Encoding.PEM))
        self.key.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        connections.make_certificate_context.cache_clear()
        yield
        connections.make_certificate_context.cache_clear()

    @pytest.fixture
    def secure(self) -> Iterator[Server]:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(self.certificate, self.key)
        with serving(tls) as server:
            yield server

    def test_a_trusted_server_is_asked(self, secure: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AWS_CA_BUNDLE", str(self.certificate))
        table = operations_at(secure.url)
        assert read(table)["Item"]["size"] == {"N": "7"}
        read(table)
        assert secure.connections == 1

    def test_an_untrusted_server_is_not_asked(self, secure: Server) -> None:
        with pytest.raises(StoreUnavailable) as failed:
            read(operations_at(secure.url))
        assert isinstance(failed.value.__cause__, SSLError)
        assert secure.requests == []

    def test_a_server_with_a_certificate_for_another_name_is_not_asked(
        self, secure: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AWS_CA_BUNDLE", str(self.certificate))
        with pytest.raises(StoreUnavailable) as failed:
            read(operations_at(secure.url.replace("127.0.0.1", "localhost")))
        assert isinstance(failed.value.__cause__, SSLError)
        assert secure.requests == []


def test_without_certificates_no_connection_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[object] = []

    def find_no_certificates() -> None:
        raise FileNotFoundError

    monkeypatch.setattr(connections, "make_certificate_context", find_no_certificates)
    monkeypatch.setattr("socket.create_connection", lambda address, **_: opened.append(address))
    with pytest.raises(EndpointConnectionError):
        connections._open_connection("https://s3.test", 1.0)
    assert opened == []
