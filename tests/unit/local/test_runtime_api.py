"""The Runtime API and the Extensions API, as a runtime and its extensions see them."""

from __future__ import annotations

import asyncio
import base64
import http.client
import json
import queue
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from baton_local.lambda_runtime.invocations import MAX_RESPONSE, FunctionFailed, Invocation, StreamedAnswer, WholeAnswer
from baton_local.lambda_runtime.runtime_api import EXTENSION, RUNTIME, RuntimeApi

PATIENCE_SECONDS = 30.0
ARN = "arn:aws:lambda:us-east-1:000000000000:function:TurnsFunction"


class Environment:
    """The API of one environment, and what it reports."""

    def __init__(self) -> None:
        self.idle: queue.SimpleQueue[None] = queue.SimpleQueue()
        self.init_errors: queue.SimpleQueue[FunctionFailed] = queue.SimpleQueue()
        self.api = RuntimeApi(lambda _: None, lambda: self.idle.put(None), self.init_errors.put)
        self._waiting: list[http.client.HTTPConnection] = []

    def put(self, event: Any) -> WholeAnswer:
        """An event on its way, and its answer."""
        answer = WholeAnswer()
        self.api.put(Invocation(json.dumps(event).encode(), answer, ARN, timeout=60.0))
        return answer

    def request(
        self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        """Send a request and return the response."""
        connection = http.client.HTTPConnection(self.api.address, timeout=PATIENCE_SECONDS)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
        finally:
            connection.close()

    def next(self) -> tuple[str, dict[str, str], Any]:
        """Take the next event: its id, its headers and what it is."""
        status, headers, body = self.request("GET", f"{RUNTIME}/invocation/next")
        assert status == 200
        return headers["lambda-runtime-aws-request-id"], headers, json.loads(body)

    def wait(self, path: str = f"{RUNTIME}/invocation/next", headers: dict[str, str] | None = None) -> None:
        """Ask for an event that does not come."""
        connection = http.client.HTTPConnection(self.api.address)
        connection.request("GET", path, headers=headers or {})
        self._waiting.append(connection)

    def close(self) -> None:
        for connection in self._waiting:
            connection.close()
        self.api.close()


@pytest.fixture
def environment() -> Iterator[Environment]:
    instance = Environment()
    yield instance
    instance.close()


def test_a_runtime_gets_an_event_with_its_deadline_and_answers_it(environment: Environment) -> None:
    answer = environment.put({"hello": "world"})
    before = time.time()
    request_id, headers, event = environment.next()
    assert event == {"hello": "world"}
    assert headers["lambda-runtime-invoked-function-arn"] == ARN
    assert int(headers["lambda-runtime-deadline-ms"]) >= (before + 59) * 1000
    status, _, _ = environment.request("POST", f"{RUNTIME}/invocation/{request_id}/response", b'{"done": true}')
    assert status == 202
    environment.wait()
    assert answer.future.result(PATIENCE_SECONDS) == {"done": True}


def test_an_answer_is_delivered_when_the_runtime_asks_for_the_next_event(environment: Environment) -> None:
    answer = environment.put({})
    request_id, _, _ = environment.next()
    environment.request("POST", f"{RUNTIME}/invocation/{request_id}/response", b"1")
    assert not answer.future.done()
    environment.wait()
    assert answer.future.result(PATIENCE_SECONDS) == 1
    assert not environment.idle.empty()


def test_an_error_of_the_function_has_its_type_and_message(environment: Environment) -> None:
    answer = environment.put({})
    request_id, _, _ = environment.next()
    body = json.dumps({"errorType": "Exception", "errorMessage": "Unauthorized", "stackTrace": []}).encode()
    assert environment.request("POST", f"{RUNTIME}/invocation/{request_id}/error", body)[0] == 202
    environment.wait()
    with pytest.raises(FunctionFailed, match=r"^Unauthorized$") as failed:
        answer.future.result(PATIENCE_SECONDS)
    assert failed.value.error_type == "Exception"


def test_an_error_of_the_start_is_reported(environment: Environment) -> None:
    body = json.dumps({"errorType": "Runtime.ImportModuleError", "errorMessage": "No module named 'app'"}).encode()
    assert environment.request("POST", f"{RUNTIME}/init/error", body)[0] == 202
    assert environment.init_errors.get(timeout=PATIENCE_SECONDS).error_type == "Runtime.ImportModuleError"


@pytest.mark.parametrize(
    ("body", "error_type"),
    [
        (json.dumps("x" * MAX_RESPONSE).encode(), "Function.ResponseSizeTooLarge"),
        (b"{", "Runtime.MalformedResponse"),
        (b"[" * 100_000, "Runtime.MalformedResponse"),
    ],
    ids=["large", "incomplete", "nested"],
)
def test_an_answer_that_lambda_does_not_take_fails(environment: Environment, body: bytes, error_type: str) -> None:
    answer = environment.put({})
    request_id, _, _ = environment.next()
    environment.request("POST", f"{RUNTIME}/invocation/{request_id}/response", body)
    environment.wait()
    with pytest.raises(FunctionFailed) as failed:
        answer.future.result(PATIENCE_SECONDS)
    assert failed.value.error_type == error_type


@pytest.mark.parametrize("outcome", ["response", "error"])
def test_an_answer_to_another_event_is_refused(environment: Environment, outcome: str) -> None:
    answer = environment.put({})
    request_id, _, _ = environment.next()
    assert environment.request("POST", f"{RUNTIME}/invocation/{request_id[::-1]}/{outcome}", b"1")[0] == 400
    environment.api.fail_all(FunctionFailed("Runtime.ExitError", "It ended."))
    with pytest.raises(FunctionFailed, match="It ended"):
        answer.future.result(PATIENCE_SECONDS)


def test_events_that_come_when_the_environment_has_ended_fail(environment: Environment) -> None:
    waiting = environment.put({})
    environment.api.fail_all(FunctionFailed("Runtime.ExitError", "It ended."))
    for answer in (waiting, environment.put({})):
        with pytest.raises(FunctionFailed, match="It ended"):
            answer.future.result(PATIENCE_SECONDS)


def test_an_environment_is_idle_when_its_extensions_wait_too(environment: Environment) -> None:
    status, headers, _ = environment.request("POST", f"{EXTENSION}/register", b'{"events": []}')
    assert status == 200
    environment.wait()
    environment.wait(f"{EXTENSION}/event/next", {"Lambda-Extension-Identifier": headers["lambda-extension-identifier"]})
    environment.idle.get(timeout=PATIENCE_SECONDS)
    assert environment.idle.empty()


def test_an_extension_that_has_not_registered_gets_nothing(environment: Environment) -> None:
    assert environment.request("GET", f"{EXTENSION}/event/next")[0] == 403


async def test_a_streamed_answer_is_delivered_while_it_comes(environment: Environment) -> None:
    answer = StreamedAnswer()
    pieces = answer.read_pieces()
    stream = await asyncio.to_thread(_Stream, environment, answer)
    await asyncio.to_thread(stream.send, b"first")
    assert await anext(pieces) == b"first"
    await asyncio.to_thread(stream.send, b"second")
    assert await anext(pieces) == b"second"
    await asyncio.to_thread(stream.end)
    environment.wait()
    assert [piece async for piece in pieces] == []


async def test_an_error_in_the_middle_of_a_stream_comes_in_its_trailers(environment: Environment) -> None:
    answer = StreamedAnswer()
    pieces = answer.read_pieces()
    stream = await asyncio.to_thread(_Stream, environment, answer)
    await asyncio.to_thread(stream.send, b"first")
    assert await anext(pieces) == b"first"
    body = base64.b64encode(json.dumps({"errorMessage": "It broke", "errorType": "Broken"}).encode()).decode()
    trailers = f"Lambda-Runtime-Function-Error-Type: Broken\r\nLambda-Runtime-Function-Error-Body: {body}\r\n"
    await asyncio.to_thread(stream.end, trailers)
    environment.wait()
    with pytest.raises(FunctionFailed, match="It broke"):
        await anext(pieces)


class _Stream:
    """A runtime's streamed response to the next event."""

    def __init__(self, environment: Environment, answer: StreamedAnswer) -> None:
        environment.api.put(Invocation(b"{}", answer, ARN, timeout=60.0))
        request_id, _, _ = environment.next()
        host, _, port = environment.api.address.partition(":")
        self._socket = socket.create_connection((host, int(port)), timeout=PATIENCE_SECONDS)
        self._socket.sendall(
            f"POST {RUNTIME}/invocation/{request_id}/response HTTP/1.1\r\nHost: {host}\r\n"
            "Lambda-Runtime-Function-Response-Mode: streaming\r\nTransfer-Encoding: chunked\r\n"
            "Trailer: Lambda-Runtime-Function-Error-Type, Lambda-Runtime-Function-Error-Body\r\n\r\n".encode()
        )

    def send(self, data: bytes) -> None:
        """Send one chunk."""
        self._socket.sendall(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def end(self, trailers: str = "") -> None:
        """Send the end, and wait until it is taken."""
        self._socket.sendall(f"0\r\n{trailers}\r\n".encode())
        assert self._socket.recv(1024).startswith(b"HTTP/1.1 202")
        self._socket.close()
