"""Raw requests to the stand-ins, and what their answers say."""

from __future__ import annotations

import json
import ssl
from functools import cache
from typing import Any
from urllib.parse import quote

import httpx
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.eventstream import EventStreamBuffer

from tests.models.standins import StandIns
from tests.models.standins.signed import ACCESS_KEY, SECRET_KEY

Json = dict[str, Any]
CREDENTIALS = Credentials(ACCESS_KEY, SECRET_KEY)
CLAUDE = "us.anthropic.claude-opus-5-5"


def tool(name: str = "add", **schema: Any) -> Json:
    """Return a tool of Chat Completions; ``schema`` replaces parts of its parameters."""
    parameters = {"type": "object", "properties": {"x": {"type": "integer"}}} | schema
    return {"type": "function", "function": {"name": name, "description": "Adds.", "parameters": parameters}}


def user(content: Any = "Hello", **more: Any) -> Json:
    """Return a user message."""
    return {"role": "user", "content": content} | more


def make_call(
    arguments: str = '{"x": 1}', call_id: str = "call00001", call: Json | None = None, **more: Any
) -> list[Json]:
    """Return an assistant message with a call of ``add`` and the tool's result; ``call`` and ``more`` add fields."""
    function = {"name": "add", "arguments": arguments}
    calls = [{"id": call_id, "type": "function", "function": function} | (call or {})]
    return [
        {"role": "assistant", "content": None, "tool_calls": calls} | more,
        {"role": "tool", "tool_call_id": call_id, "content": "2"},
    ]


def chat(stand_ins: StandIns, name: str, messages: list[Json], **fields: Any) -> httpx.Response:
    """Ask a dialect of Chat Completions."""
    body = {"model": "m", "messages": messages, "stream": True} | fields
    headers = {"authorization": "Bearer any"}
    return _post(f"{stand_ins.base_url(name)}/chat/completions", json=body, headers=headers)


def respond(stand_ins: StandIns, name: str, items: Any = "Hello", **fields: Any) -> httpx.Response:
    """Ask a host of the Responses API."""
    body = {"model": "m", "input": items, "stream": True, "store": False} | fields
    headers = {"authorization": "Bearer any"}
    return _post(f"{stand_ins.base_url(name)}/responses", json=body, headers=headers)


def events(response: httpx.Response) -> list[Json]:
    """Return the JSON of all server-sent events but the end mark."""
    assert response.status_code == 200, response.text
    lines = [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def deltas(response: httpx.Response) -> list[Json]:
    """Return the deltas of a stream of Chat Completions."""
    return [choice["delta"] for event in events(response) for choice in event["choices"]]


def text_of(response: httpx.Response) -> str:
    """Return the text of a stream of Chat Completions."""
    return "".join(delta["content"] for delta in deltas(response) if delta and isinstance(delta.get("content"), str))


def call_in(response: httpx.Response) -> Json:
    """Return the first fragment of the first call of a stream of Chat Completions."""
    return next(delta["tool_calls"][0] for delta in deltas(response) if delta and delta.get("tool_calls"))


def send_signed(
    stand_ins: StandIns,
    model: str,
    action: str,
    body: Json,
    credentials: Credentials = CREDENTIALS,
    service: str = "bedrock",
) -> httpx.Response:
    """Send a signed request to Bedrock."""
    url = f"{stand_ins.url}/model/{quote(model, safe='')}/{action}"
    data = json.dumps(body).encode()
    request = AWSRequest("POST", url, headers={"content-type": "application/json"}, data=data)
    SigV4Auth(credentials, service, "us-east-1").add_auth(request)
    return _post(url, content=data, headers=dict(request.headers))


def converse(stand_ins: StandIns, messages: list[Json], model: str = CLAUDE, **fields: Any) -> httpx.Response:
    """Ask a model on Bedrock."""
    return send_signed(stand_ins, model, "converse-stream", {"messages": messages} | fields)


def make_message(text: str = "Hello", *blocks: Json, role: str = "user") -> Json:
    """Return a message of Converse."""
    return {"role": role, "content": [*([{"text": text}] if text else []), *blocks]}


def frames(data: bytes) -> list[tuple[str, Json]]:
    """Return the events and exceptions of an event stream, by botocore's decoder."""
    buffer = EventStreamBuffer()
    buffer.add_data(data)
    return [
        (message.headers.get(":event-type") or message.headers[":exception-type"], json.loads(message.payload))
        for message in buffer
    ]


def tool_config(*names: str, **more: Any) -> Json:
    """Return Converse's configuration of tools."""
    schema = {"json": {"type": "object", "properties": {"x": {"type": "integer"}}}}
    specs = [{"toolSpec": {"name": name, "description": "Adds.", "inputSchema": schema}} for name in names or ("add",)]
    return {"tools": specs} | more


def blocks(response: httpx.Response) -> list[Json]:
    """Return the content of an answer as it is to be sent back."""
    assert response.status_code == 200, response.text
    calls: dict[int, Json] = {}
    for kind, event in frames(response.content):
        block = calls.setdefault(event["contentBlockIndex"], {}) if "contentBlockIndex" in event else {}
        block |= event.get("start", {})
        for name, piece in event.get("delta", {}).items():
            if name == "reasoningContent":
                held = block.setdefault("reasoningContent", {})
                if "redactedContent" in piece:
                    held |= piece
                else:
                    text = held.setdefault("reasoningText", {"text": ""})
                    text["text"] += piece.get("text", "")
                    text |= {"signature": piece["signature"]} if "signature" in piece else {}
            elif name == "toolUse":
                block["toolUse"]["input"] = block["toolUse"].get("input", "") + piece["input"]
            else:
                block[name] = block.get(name, "") + piece
        assert kind != "exception"
    for block in calls.values():
        if "toolUse" in block:
            block["toolUse"]["input"] = {"x": 1}
    return list(calls.values())


def _post(url: str, **request: Any) -> httpx.Response:
    return httpx.post(url, verify=_certificates(), **request)


@cache
def _certificates() -> ssl.SSLContext:
    """Return the certificates that no request needs: each would read all of them again, which takes longer than it."""
    return ssl.create_default_context()
