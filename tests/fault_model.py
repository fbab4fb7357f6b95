"""A model endpoint that misbehaves on purpose: a real HTTP server whose behaviour is scripted request by request.

```python
with FaultModel() as model:
    model.script(rate_limited(retry_after="0"), answers("Hello there."))
    ...  # talk to model.base_url
    assert model.bodies[0]["messages"][0]["content"] == "Hi"
```

Requests take the script's behaviours in order of arrival; when it is empty, ``model.otherwise`` (an echo of the last
user message) answers. Everything received is kept in ``requests``; ``hangups`` counts the streams that clients left.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import pytest
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Received:
    """One request as it came in."""

    path: str
    headers: dict[str, str]
    body: Json

    @property
    def prompts(self) -> list[tuple[str, Any]]:
        """Role and content of each message."""
        return [(message["role"], message["content"]) for message in self.body["messages"]]

    @property
    def tools(self) -> list[Json]:
        """The functions that were offered."""
        return [tool["function"] for tool in self.body.get("tools", ())]

    @property
    def tool_results(self) -> dict[str, Any]:
        """The content of each tool message, by the id of its call."""
        return {m["tool_call_id"]: m["content"] for m in self.body["messages"] if m["role"] == "tool"}


class Exchange:
    """One request and the means to answer it; what a behaviour works with."""

    def __init__(self, received: Received, receive: Receive, send: Send, hung_up: Callable[[], None]) -> None:
        self.received = received
        self._receive = receive
        self._send = send
        self._hung_up = hung_up

    async def respond(self, status: int, body: bytes, content_type: str, headers: dict[str, str] | None = None) -> None:
        """A whole answer."""
        await self._start(status, content_type, headers or {})
        await self._send({"type": "http.response.body", "body": body})

    async def open_stream(self) -> None:
        """The head of an event stream."""
        await self._start(200, "text/event-stream", {})

    async def event(self, data: Json | str) -> None:
        """One server-sent event."""
        text = data if isinstance(data, str) else json.dumps(data)
        await self.raw(f"data: {text}\n\n".encode())

    async def raw(self, data: bytes) -> None:
        """Bytes of the stream, as they are."""
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def close_stream(self) -> None:
        """The orderly end of the stream."""
        await self._send({"type": "http.response.body", "body": b""})

    async def words(self, words: Sequence[str], delay: float = 0.0) -> None:
        """Text, one chunk a word."""
        for word in words:
            await asyncio.sleep(delay)
            await self.event(chunk({"content": word}))

    async def until_hangup(self) -> None:
        """Wait until the client goes away, and count it."""
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._hung_up()

    async def _start(self, status: int, content_type: str, headers: dict[str, str]) -> None:
        raw = [(b"content-type", content_type.encode()), *((k.encode(), v.encode()) for k, v in headers.items())]
        await self._send({"type": "http.response.start", "status": status, "headers": raw})


Behaviour = Callable[[Exchange], Awaitable[None]]


class Broken(Exception):
    """Ends a stream in the middle: the server drops the connection."""


# How a healthy endpoint answers


def answers(text: str = "Hello there.", *, delay: float = 0.0, usage: bool = True, finish: str = "stop") -> Behaviour:
    """Streams ``text`` word by word (``delay`` seconds a word) and ends as it should."""

    async def behave(exchange: Exchange) -> None:
        await _stream(exchange, words_of(text), delay=delay, usage=usage, finish=finish)

    return behave


def tokens(count: int, *, delay: float = 0.0) -> Behaviour:
    """Streams ``count`` numbered tokens, ``delay`` seconds apart."""
    return answers(" ".join(f"t{n}" for n in range(count)), delay=delay)


def echo() -> Behaviour:
    """Answers with the text of the last user message."""

    async def behave(exchange: Exchange) -> None:
        content = next((content for role, content in reversed(exchange.received.prompts) if role == "user"), "")
        text = content if isinstance(content, str) else json.dumps(content)
        await _stream(exchange, words_of(text or "(nothing)"))

    return behave


def calls_tools(*calls: tuple[str, Json | str], text: str = "", finish: str = "tool_calls") -> Behaviour:
    """Streams ``text`` and then tool calls as OpenAI does: head by head, the arguments in pieces.

    A call is the tool's name, which need not exist, and its arguments; a string goes as it is, malformed or not. The
    calls' ids are ``call_0``, ``call_1``, ...
    """

    async def behave(exchange: Exchange) -> None:
        await _open(exchange, words_of(text) if text else ())
        for index, (name, arguments) in enumerate(calls):
            written = arguments if isinstance(arguments, str) else json.dumps(arguments)
            await exchange.event(chunk(tool_delta(index, id=f"call_{index}", name=name, arguments="")))
            for start in range(0, len(written), 8):
                await exchange.event(chunk(tool_delta(index, arguments=written[start : start + 8])))
        await _finish(exchange, finish, usage_tokens=len(calls))

    return behave


# What goes wrong before the answer


def status(code: int, error: Json | None = None, *, headers: dict[str, str] | None = None) -> Behaviour:
    """Answers with an HTTP status and an OpenAI error object, which quotes what must never reach a user."""

    async def behave(exchange: Exchange) -> None:
        key = exchange.received.headers.get("authorization", "")
        body = {"message": f"provider says no to {key} at http://internal.example", "type": "some_error", "code": None}
        await exchange.respond(code, json.dumps({"error": body | (error or {})}).encode(), "application/json", headers)

    return behave


def rate_limited(retry_after: str | None = None) -> Behaviour:
    """HTTP 429."""
    headers = {} if retry_after is None else {"retry-after": retry_after}
    return status(429, {"type": "rate_limit_error", "code": "rate_limit_exceeded"}, headers=headers)


def unavailable() -> Behaviour:
    """HTTP 503."""
    return status(503, {"type": "server_error"})


def unauthorized() -> Behaviour:
    """HTTP 401."""
    return status(401, {"type": "invalid_request_error", "code": "invalid_api_key"})


def filtered_prompt() -> Behaviour:
    """Azure's HTTP 400 for a prompt that its content filter stopped."""
    return status(400, {"code": "content_filter", "innererror": {"code": "ResponsibleAIPolicyViolation"}})


def refuses_parameter(name: str, hint: str = "") -> Behaviour:
    """HTTP 400 if the request has parameter ``name``; else a normal answer."""

    async def behave(exchange: Exchange) -> None:
        if name in exchange.received.body:
            message = f"Unsupported parameter: '{name}' is not supported with this model. {hint}"
            await status(400, {"message": message, "param": name, "code": "unsupported_parameter"})(exchange)
        else:
            await answers()(exchange)

    return behave


def silence() -> Behaviour:
    """Never answers; waits until the client gives up."""

    async def behave(exchange: Exchange) -> None:
        await exchange.until_hangup()

    return behave


def refused_connection() -> Behaviour:
    """Drops the connection without a byte."""

    async def behave(exchange: Exchange) -> None:
        raise Broken

    return behave


def html(code: int = 200) -> Behaviour:
    """A web page instead of an answer, as proxies send."""

    async def behave(exchange: Exchange) -> None:
        await exchange.respond(code, b"<!doctype html><html><body>Gateway login</body></html>", "text/html")

    return behave


def invalid_json() -> Behaviour:
    """An event stream whose first event is not JSON."""

    async def behave(exchange: Exchange) -> None:
        await exchange.open_stream()
        await exchange.event('{"choices": [{"delta": {"content": "He')
        await exchange.close_stream()

    return behave


# What goes wrong in the middle of the answer


def hangs_after(*words: str) -> Behaviour:
    """Streams ``words`` and then nothing more, with the connection open."""

    async def behave(exchange: Exchange) -> None:
        await _open(exchange, words)
        await exchange.until_hangup()

    return behave


def breaks_after(*words: str) -> Behaviour:
    """Streams ``words`` and drops the connection."""

    async def behave(exchange: Exchange) -> None:
        await _open(exchange, words)
        raise Broken

    return behave


def ends_after(*words: str) -> Behaviour:
    """Streams ``words`` and ends in order, but without saying that the answer is finished."""

    async def behave(exchange: Exchange) -> None:
        await _open(exchange, words)
        await exchange.event("[DONE]")
        await exchange.close_stream()

    return behave


def breaks_in_a_call(name: str, arguments: str, *words: str) -> Behaviour:
    """Streams ``words`` and the beginning of a tool call, and drops the connection."""

    async def behave(exchange: Exchange) -> None:
        await _open(exchange, words)
        await exchange.event(chunk(tool_delta(0, id="call_0", name=name, arguments=arguments)))
        raise Broken

    return behave


def sends(*events: Json | str) -> Behaviour:
    """Streams exactly these events."""

    async def behave(exchange: Exchange) -> None:
        await exchange.open_stream()
        for event in events:
            await exchange.event(event)
        await exchange.close_stream()

    return behave


def error_after(*words: str, error: Json | str) -> Behaviour:
    """Streams ``words`` and then an error object, as gateways do whose upstream fails late."""
    return sends(*(chunk({"content": word}) for word in words), {"error": error})


def filtered_answer(*words: str) -> Behaviour:
    """Streams ``words`` and stops for the content filter."""
    return sends(*(chunk({"content": word}) for word in words), chunk({}, "content_filter"))


def endless(delay: float = 0.01) -> Behaviour:
    """Streams a word every ``delay`` seconds until the client goes away."""

    async def behave(exchange: Exchange) -> None:
        await exchange.open_stream()
        gone = asyncio.create_task(exchange.until_hangup())
        while not gone.done():
            await exchange.words(["on "], delay)
        await gone

    return behave


def chunk(delta: Json, finish: str | None = None, **more: object) -> Json:
    """One chunk of a completion."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion.chunk", "created": 0, "model": "fault-1", "choices": [choice]} | more


def tool_delta(index: int | None, *, id: str | None = None, name: str | None = None, arguments: Any = None) -> Json:  # noqa: A002
    """The delta with one fragment of a tool call; what is None is left out, as some endpoints do."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    head = {key: value for key, value in (("index", index), ("id", id)) if value is not None}
    return {"tool_calls": [head | {"type": "function", "function": function}]}


def usage_chunk(prompt: int, completion: int) -> Json:
    """The chunk that carries the token counts."""
    counts = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return chunk({}, usage=counts) | {"choices": []}


def words_of(text: str) -> list[str]:
    """``text`` in pieces that make it up again."""
    words = text.split(" ")
    return [word if last else f"{word} " for last, word in ((i == len(words) - 1, w) for i, w in enumerate(words))]


async def _open(exchange: Exchange, words: Sequence[str], delay: float = 0.0) -> None:
    await exchange.open_stream()
    await exchange.event(chunk({"role": "assistant", "content": ""}))
    await exchange.words(words, delay)


async def _stream(
    exchange: Exchange, words: Sequence[str], *, delay: float = 0.0, usage: bool = True, finish: str = "stop"
) -> None:
    await _open(exchange, words, delay)
    await _finish(exchange, finish, usage_tokens=len(words) if usage else None)


async def _finish(exchange: Exchange, finish: str, *, usage_tokens: int | None) -> None:
    await exchange.event(chunk({}, finish))
    asked = (exchange.received.body.get("stream_options") or {}).get("include_usage")
    if usage_tokens is not None and asked:
        prompt_tokens = len(json.dumps(exchange.received.body["messages"]).split())
        await exchange.event(usage_chunk(prompt_tokens, usage_tokens))
    await exchange.event("[DONE]")
    await exchange.close_stream()


class ThreadedServer:
    """Serves an ASGI app on a free local port from a thread of its own."""

    def __init__(self, app: ASGIApp) -> None:
        config = uvicorn.Config(
            app, interface="asgi3", lifespan="off", ws="none", log_level="critical", timeout_graceful_shutdown=1
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, name="test-server", daemon=True)
        self._listener: socket.socket | None = None

    def start(self) -> int:
        """Start; returns the port."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread.start()
        port: int = self._listener.getsockname()[1]
        return port

    def stop(self) -> None:
        """Stop and wait for the end."""
        self._server.should_exit = True
        self._thread.join()

    def _run(self) -> None:
        self._server.run([self._listener] if self._listener else None)


@dataclass
class FaultModel:
    """The server. Use it as a context manager, or ``start`` and ``stop`` it; it listens on a free local port."""

    otherwise: Behaviour = field(default_factory=echo)
    """What a request gets when the script is empty."""
    requests: list[Received] = field(default_factory=list)
    hangups: int = 0
    port: int = 0

    def __post_init__(self) -> None:
        self._script: deque[Behaviour] = deque()
        self._changed = threading.Condition()
        self._serving = ThreadedServer(self._app)

    @property
    def base_url(self) -> str:
        """What a client takes as the base URL."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def bodies(self) -> list[Json]:
        """The bodies of all requests."""
        return [received.body for received in self.requests]

    def script(self, *behaviours: Behaviour) -> None:
        """Behaviours for the next requests, after those scripted before."""
        self._script.extend(behaviours)

    def reset(self) -> None:
        """Forget script, requests and hang-ups."""
        self._script.clear()
        self.requests.clear()
        self.hangups = 0
        self.otherwise = echo()

    async def wait_until(self, condition: Callable[[FaultModel], bool]) -> None:
        """Wait for a request or hang-up after which ``condition(self)`` holds. Raises ``TimeoutError`` after 10 s."""

        def wait() -> bool:
            with self._changed:
                return self._changed.wait_for(lambda: condition(self), timeout=10)

        if not await asyncio.to_thread(wait):
            raise TimeoutError("The fault model did not see what was waited for.")

    def start(self) -> None:
        """Serve from a thread of its own."""
        self.port = self._serving.start()

    def stop(self) -> None:
        """Stop serving; open streams are cut."""
        self._serving.stop()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.stop()

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = b"".join([data async for data in _body(receive)])
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        received = Received(scope["path"], headers, json.loads(body or b"{}"))
        with self._changed:
            self.requests.append(received)
            self._changed.notify_all()
        behaviour = self._script.popleft() if self._script else self.otherwise
        await behaviour(Exchange(received, receive, send, self._count_hangup))

    def _count_hangup(self) -> None:
        with self._changed:
            self.hangups += 1
            self._changed.notify_all()


async def _body(receive: Receive) -> AsyncIterator[bytes]:
    more = True
    while more:
        message: Message = await receive()
        more = message.get("more_body", False)
        yield message.get("body", b"")


@pytest.fixture(scope="session")
def fault_model_server() -> Iterator[FaultModel]:
    """One server for the whole session."""
    with FaultModel() as model:
        yield model


@pytest.fixture
def fault_model(fault_model_server: FaultModel) -> FaultModel:
    """The server with an empty script."""
    fault_model_server.reset()
    return fault_model_server
