"""Faults before the answer."""

from __future__ import annotations

import json

from tests.fault_model.chunks import Json
from tests.fault_model.exchange import Behaviour, Broken, Exchange
from tests.fault_model.healthy import answers


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
