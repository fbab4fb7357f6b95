"""Stand-ins for endpoints that speak the Responses API, at ``/{host}/v1/responses``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.models.standins.chat_question import attachment
from tests.models.standins.journal import Journal, Received, Refusal
from tests.models.standins.question import Answer, Attachment, Finish, Json, Message, Question, Role, tokens_of
from tests.models.standins.responses_rules import HOSTS, Host, complaint, items_of, make_refusal
from tests.models.standins.responses_stream import ResponseStream
from tests.models.standins.sending import EventStream, read_json, refuse, with_fault
from tests.models.standins.steering import answer as answer_to


class Responses:
    """All hosts of the Responses API, sharing a journal. ``contexts`` replaces a host's context, in tokens."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.contexts: dict[str, int] = {}
        self.routes = [Route("/{host}/v1/responses", self._respond, methods=["POST"])]

    def reset(self) -> None:
        """Go back to the contexts of the table."""
        self.contexts.clear()

    async def _respond(self, request: Request) -> Response:
        name = request.path_params["host"]
        # A Chat Completions endpoint of OpenAI has this API too: the same base URL serves both.
        host = HOSTS.get(name) or (_of_openai(name) if name.startswith("openai-") else None)
        body = await read_json(request)
        received = self._journal.add(Received(name, request.url.path, dict(request.headers), body))
        if host is None:
            return refuse(received, make_refusal(f"Invalid URL (POST {request.url.path})", status=404))
        key = received.headers.get("authorization", "").removeprefix("Bearer ").strip()
        if not key or key == "wrong":
            return refuse(received, make_refusal("Incorrect API key provided.", code="invalid_api_key", status=401))
        if wrong := complaint(host, body):
            return refuse(received, wrong)
        fault = self._journal.fault(name)
        if fault and fault.status:
            return refuse(received, Refusal(fault.status, fault.body, fault.headers), ruled=False)
        return self._answer(host, name, body, received, fault)

    def _answer(self, host: Host, name: str, body: Json, received: Received, fault: Any) -> Response:
        size = tokens_of(body["input"]) + tokens_of(body.get("instructions")) + tokens_of(body.get("tools") or [])
        if size > self.contexts.get(name, host.context):
            message = "Your input exceeds the context window of this model. Please adjust your input and try again."
            return refuse(received, make_refusal(message, "input", "context_length_exceeded"))
        answer = answer_to(question_of(body))
        if not host.reasons:
            answer = replace(answer, thinking="")
        if answer.finish is Finish.FILTERED:
            return refuse(received, _make_filtered(name))
        stream = ResponseStream(host.name, body, size)
        if not body.get("stream"):
            return JSONResponse(list(stream.events(answer))[-1]["response"])
        events = with_fault(_write(stream, answer), fault, _event)
        return EventStream(events, "text/event-stream", self._journal, received)


def _of_openai(name: str) -> Host:
    return Host("openai", efforts=HOSTS["openai-astra" if name.endswith("astra") else "openai"].efforts)


def _make_filtered(name: str) -> Refusal:
    if name != "azure":
        message = "Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try again."
        return make_refusal(message, code="invalid_prompt")
    message = "The response was filtered due to the prompt triggering Azure OpenAI's content management policy."
    return make_refusal(message, "prompt", "content_filter")


def _write(stream: ResponseStream, answer: Answer) -> Iterator[bytes]:
    yield from map(_event, stream.events(answer))


def _event(event: Any) -> bytes:
    kind = f"event: {event['type']}\n" if isinstance(event, dict) and "type" in event else ""
    return f"{kind}data: {event if isinstance(event, str) else json.dumps(event, ensure_ascii=False)}\n\n".encode()


def question_of(body: Json) -> Question:
    """Return what a request asks."""
    messages = [Message(Role.SYSTEM, body["instructions"])] if body.get("instructions") else []
    for item in items_of(body):
        messages += _messages(item)
    tools = {tool["name"]: tool["parameters"] or {} for tool in body.get("tools") or () if tool["type"] == "function"}
    choice = body.get("tool_choice", "auto")
    format_of_answer = (body.get("text") or {}).get("format") or {}
    return Question(
        tuple(messages),
        tools,
        format_of_answer.get("schema"),
        body.get("max_output_tokens"),
        choice if isinstance(choice, str) else choice.get("name", "auto"),
    )


def _messages(item: Json) -> list[Message]:
    kind = item.get("type", "message")
    if kind == "function_call":
        return [Message(Role.ASSISTANT, calls=1)]
    if kind == "function_call_output":
        return [Message(Role.TOOL, _text(item["output"]))]
    if kind != "message":
        return []
    role = Role.SYSTEM if item["role"] == "developer" else Role(item["role"])
    parts = item["content"] if isinstance(item["content"], list) else []
    attachments = [_attachment(part) for part in parts if part["type"] in ("input_image", "input_file")]
    return [Message(role, _text(item["content"]), tuple(attachments))]


def _text(content: str | list[Json]) -> str:
    return content if isinstance(content, str) else "\n".join(part["text"] for part in content if "text" in part)


def _attachment(part: Json) -> Attachment:
    if part["type"] == "input_image":
        return attachment("image", "", part.get("image_url") or "")
    return attachment("document", part.get("filename", ""), part.get("file_data") or part.get("file_url") or "")
