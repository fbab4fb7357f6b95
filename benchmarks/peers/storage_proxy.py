"""A proxy for DynamoDB Local and the local S3 that counts requests with their capacity, and can delay them."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from benchmarks.capacity import Request, find_requests
from benchmarks.instruments.turn_cost_tables import compute_usd

TARGET = "X-Amz-Target"
UNCHARGED = frozenset({"CreateTable", "DescribeTable", "DescribeTimeToLive", "ListTables", "UpdateTimeToLive"})
NOT_PASSED_ON = frozenset({"connection", "content-length", "date", "expect", "server", "transfer-encoding"})
"""Headers that belong to one connection."""


@dataclass
class Usage:
    """The charged requests of DynamoDB and S3."""

    requests: list[Request] = field(default_factory=list)
    s3_reads: int = 0
    s3_writes: int = 0
    """Writes and listings, which have the same price. Deletions are free."""

    @property
    def count(self) -> int:
        return sum(request.attempts for request in self.requests) + self.s3_reads + self.s3_writes

    @property
    def write_units(self) -> float:
        return sum(request.write_units for request in self.requests)

    @property
    def read_units(self) -> float:
        return sum(request.read_units for request in self.requests)

    @property
    def usd(self) -> float:
        """The list price in USD."""
        return compute_usd(self.write_units, self.read_units, self.s3_writes, self.s3_reads)


class StorageProxy:
    """Proxies of DynamoDB and S3 in threads of this process."""

    def __init__(self, dynamodb: str, s3: str) -> None:
        """``dynamodb`` and ``s3`` are the URLs of the engines."""
        self.delay = 0.0
        """The seconds by which each request is delayed."""
        self._lock = threading.Lock()
        self._usage = Usage()
        self._servers = [self._serve(dynamodb), self._serve(s3)]
        self.dynamodb, self.s3 = (f"http://127.0.0.1:{server.server_port}" for server in self._servers)

    def take(self) -> Usage:
        """Return the usage since the previous call of ``take``."""
        with self._lock:
            taken, self._usage = self._usage, Usage()
        return taken

    def take_when_quiet(self, seconds: float = 2.0) -> Usage:
        """Wait until no request arrives for ``seconds``, so that background work is counted. Return the usage."""
        count = -1
        while count != self._usage.count:
            count = self._usage.count
            time.sleep(seconds)
        return self.take()

    def stop(self) -> None:
        """End both servers."""
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def count_dynamodb(self, operation: str, params: dict[str, Any], status: int, answer: dict[str, Any]) -> None:
        """Count an answered request of DynamoDB, unless it is free, or was refused except by its condition."""
        if operation in UNCHARGED:
            return
        code = str(answer.get("__type", "")).rpartition("#")[2]
        if status >= 400 and code != "ConditionalCheckFailedException":
            return  # cancelled transactions and invalid requests are not counted; no peer sends them
        requests = find_requests(operation, params, {**answer, "Error": {"Code": code}} if code else answer)
        with self._lock:
            self._usage.requests += requests

    def count_s3(self, method: str, query: str) -> None:
        """Count a request of S3. Deletions are free."""
        with self._lock:
            if method in ("PUT", "POST") or "list-type" in query or "prefix=" in query:
                self._usage.s3_writes += 1
            elif method in ("GET", "HEAD"):
                self._usage.s3_reads += 1

    def _serve(self, engine: str) -> ThreadingHTTPServer:
        class Handler(_Handler):
            proxy, address = self, urlsplit(engine).netloc

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server


class _Handler(BaseHTTPRequestHandler):
    """One connection of a client, with its own connection to the engine."""

    proxy: StorageProxy
    address: str
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self._engine = HTTPConnection(self.address, timeout=60)

    def finish(self) -> None:
        self._engine.close()
        super().finish()

    def log_message(self, *_: Any) -> None:
        """Print nothing."""

    def _pass_on(self) -> None:
        body = self._read_body()
        service, _, operation = self.headers.get(TARGET, "").partition(".")
        counted = service == "DynamoDB_20120810"
        if counted and operation not in UNCHARGED:
            body = json.dumps({**json.loads(body), "ReturnConsumedCapacity": "INDEXES"}).encode()
        time.sleep(self.proxy.delay)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in NOT_PASSED_ON}
        try:
            response = self._ask_engine(headers, body)
        except ConnectionError:  # the engine had closed the idle connection
            self._engine.close()
            response = self._ask_engine(headers, body)
        answer = response.read()
        if counted:
            answered = json.loads(answer, object_hook=_decode)
            self.proxy.count_dynamodb(operation, json.loads(body, object_hook=_decode), response.status, answered)
        elif not service:
            self.proxy.count_s3(self.command, urlsplit(self.path).query)
        self.send_response_only(response.status)
        self._send(response.getheaders(), answer)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _pass_on  # noqa: N815 - the names of http.server

    def _ask_engine(self, headers: dict[str, str], body: bytes) -> HTTPResponse:
        self._engine.request(self.command, self.path, body or None, {**headers, "Content-Length": str(len(body))})
        return self._engine.getresponse()

    def _read_body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = []
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _send(self, headers: Iterable[tuple[str, str]], answer: bytes) -> None:
        length = str(len(answer))
        for name, value in headers:
            if name.lower() == "content-length":
                length = value  # the answer to a HEAD request names the size of a body that it lacks
            elif name.lower() not in NOT_PASSED_ON:
                self.send_header(name, value)
        self.send_header("Content-Length", length)
        self.end_headers()
        self.wfile.write(answer)


def _decode(value: dict[str, Any]) -> dict[str, Any]:
    """Return a value of DynamoDB's JSON with decoded bytes, because their decoded size is charged."""
    if value.keys() == {"B"} and isinstance(value["B"], str):
        return {"B": base64.b64decode(value["B"])}
    return value
