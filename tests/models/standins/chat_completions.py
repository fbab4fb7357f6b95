"""Stand-ins for endpoints that speak Chat Completions, at ``/{dialect}/v1/chat/completions``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.models.standins import chat_replay, chat_rules, chat_tool_rules
from tests.models.standins.chat_question import question_of
from tests.models.standins.chat_rules import ALWAYS, control_tokens
from tests.models.standins.chat_stream import ChatStream
from tests.models.standins.dialects import Complaint, Dialect, Wording, dialects, refusal
from tests.models.standins.journal import Fault, Journal, Received, Refusal
from tests.models.standins.memory import Memory
from tests.models.standins.openai_types import CHAT, unknown_keys, wrong_type
from tests.models.standins.question import Answer, Finish, Json, tokens_of
from tests.models.standins.sending import EventStream, read_json, refuse, server_sent, with_fault
from tests.models.standins.steering import answer as answer_to

NO_KEY = Wording(status=401, message="You didn't provide an API key.", type="invalid_request_error")
WRONG_KEY = Wording(
    status=401, message="Incorrect API key provided: wrong.", type="invalid_request_error", code="invalid_api_key"
)
NO_MODEL = Wording(
    status=404,
    message="The model `{model}` does not exist or you do not have access to it.",
    type="invalid_request_error",
    code="model_not_found",
)
WRONG_TYPE = Wording(message="Invalid type for '{path}': {reason}.", type="invalid_request_error", code="invalid_type")


class ChatCompletions:
    """All dialects, sharing a journal. ``contexts`` and ``changes`` replace a dialect's facts, by its name."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._memories: dict[str, Memory] = {}
        self.contexts: dict[str, int] = {}
        """Tokens."""
        self.changes: dict[str, Mapping[str, Any]] = {}
        """Facts of ``Dialect.stream``."""
        self.routes = [
            Route("/{dialect}/v1/chat/completions", self._complete, methods=["POST"]),
            Route("/{dialect}/v1/models", self._models),
        ]

    def reset(self) -> None:
        """Go back to what the data files say, and forget all answers."""
        self._memories.clear()
        self.contexts.clear()
        self.changes.clear()

    def forget(self) -> None:
        """Forget all answers, as a gateway does that sends later requests elsewhere."""
        self._memories.clear()

    async def _models(self, request: Request) -> Response:
        name = request.path_params["dialect"]
        existing = [{"id": name, "object": "model", "created": 1, "owned_by": "stand-in"}] if name in dialects() else []
        return JSONResponse({"object": "list", "data": existing}, 200 if existing else 404)

    async def _complete(self, request: Request) -> Response:
        name = request.path_params["dialect"]
        body = await read_json(request)
        received = self._journal.add(Received(name, request.url.path, dict(request.headers), body))
        if name not in dialects():
            error = {"message": f"There is no dialect {name}: {', '.join(dialects())}"}
            return refuse(received, Refusal(404, {"error": error}))
        dialect = dialects()[name]
        memory = self._memories.setdefault(name, Memory())
        complaint = _unauthorized(received) or _complaint(dialect, body, memory, received)
        if complaint:
            return refuse(received, refusal(dialect, complaint))
        fault = self._journal.fault(name)
        if fault and fault.status:
            return refuse(received, Refusal(fault.status, fault.body, fault.headers), ruled=False)
        return self._answer(name, dialect, body, memory, received, fault)

    def _answer(
        self, name: str, dialect: Dialect, body: Json, memory: Memory, received: Received, fault: Fault | None
    ) -> Response:
        limit = self.contexts.get(name, dialect.context)
        size = tokens_of(body["messages"]) + tokens_of(body.get("tools") or [])
        if size > limit and dialect.overflow:
            return refuse(received, refusal(dialect, Complaint(dialect.overflow, {"limit": limit, "tokens": size})))
        if size > limit and not dialect.empty_on_overflow:
            body, size = _drop_oldest(body, limit), limit
        style = dialect.stream.model_copy(update=dict(self.changes.get(name, {})))
        if size > limit:
            answer, size = Answer(), 0
        else:
            answer = answer_to(question_of(body))
        if style.always_reasons and not answer.thinking and answer.text + str(answer.calls):
            answer = replace(answer, thinking="The answer is easy.")
        if answer.finish is Finish.FILTERED and dialect.filter:
            return refuse(received, refusal(dialect, Complaint(dialect.filter, {})))
        if answer.calls and dialect.clumsy_once and not memory.was_clumsy:
            memory.was_clumsy = True
            return refuse(received, refusal(dialect, Complaint(dialect.clumsy_once, {"call": answer.calls[0].key})))
        memory.keep(answer.calls, answer.thinking)
        counts = bool((body.get("stream_options") or {}).get("include_usage"))
        stream = ChatStream(style, body["model"], size, counts_usage=counts)
        if not body.get("stream"):
            return JSONResponse(_whole(list(stream.chunks(answer))))
        events = _events(stream, answer, style.comments, done=style.done)
        return EventStream(with_fault(events, fault, server_sent), "text/event-stream", self._journal, received)


def _unauthorized(received: Received) -> Complaint | None:
    key = received.headers.get("authorization", received.headers.get("api-key", "")).removeprefix("Bearer ").strip()
    if not key:
        return Complaint(NO_KEY, {})
    return Complaint(WRONG_KEY, {}) if key == "wrong" else None


def _complaint(dialect: Dialect, body: Any, memory: Memory, received: Received) -> Complaint | None:
    """Return the first reason to refuse ``body``."""
    if not isinstance(body, dict):
        return Complaint(WRONG_TYPE, {"path": "body", "reason": "it is no JSON object"})
    # What the endpoint refuses or drops comes first, because it may be unknown to OpenAI too.
    for path, refused in dialect.refuses.items():
        values = [value for value in values_at(body, path) if value not in refused.allow]
        excused = bool(refused.unless) and all(body.get(key) == value for key, value in refused.unless.items())
        if values and not excused:
            result = {"path": path, "field": path.rpartition(".")[2], "value": values[0], "model": body.get("model")}
            wording = refused if refused.param else refused.model_copy(update={"param": path})
            return Complaint(wording, result)
    unknown = unknown_keys(CHAT, body, dialect.also_takes)
    received.ignored = [*unknown, *(path for path in dialect.ignores if [*values_at(body, path)])]
    if unknown and dialect.unknown == "refuse":
        return Complaint(dialect.unknown_field, {"path": unknown[0], "field": unknown[0].rpartition(".")[2]})
    # The stream is optional here, so that the endpoint can be tried without one. Thoughts in the content of assistant
    # messages are Mistral's own.
    plain = _without_thoughts(body) if dialect.stream.reasoning == "list" else body
    if wrong := wrong_type(CHAT, {"stream": True, **plain}):
        return Complaint(WRONG_TYPE, {"path": wrong[0], "reason": wrong[1]})
    if body["model"] == "missing-model":
        return Complaint(NO_MODEL, {"model": body["model"]})
    received.ignored += control_tokens(body)
    for name, wording in (ALWAYS | dialect.rules).items():
        rule = getattr(chat_rules, name, None) or getattr(chat_tool_rules, name, None)
        result = rule(body) if rule else getattr(chat_replay, name)(body, memory)
        if result is not None:
            return Complaint(wording, {"model": body["model"], **result})
    return None


def values_at(body: Any, path: str) -> Iterator[Any]:
    """Yield the values at a path without indexes, such as ``messages.name``."""
    name, _, rest = path.partition(".")
    for entry in body if isinstance(body, list) else [body]:
        if isinstance(entry, dict) and entry.get(name) is not None:
            if rest:
                yield from values_at(entry[name], rest)
            else:
                yield entry[name]


def _without_thoughts(body: Json) -> Json:
    messages = [message if isinstance(message, dict) else {} for message in body.get("messages") or ()]
    return body | {
        "messages": [
            message | {"content": [part for part in message["content"] if part.get("type") != "thinking"]}
            if message.get("role") == "assistant" and isinstance(message.get("content"), list)
            else message
            for message in messages
        ]
    }


def _drop_oldest(body: Json, limit: int) -> Json:
    """Return the request as a server reads it that drops what does not fit: the oldest messages, but not the first."""
    messages = list(body["messages"])
    while len(messages) > 2 and tokens_of(messages) > limit:
        del messages[1]
    return body | {"messages": messages}


def _events(stream: ChatStream, answer: Answer, comments: str, *, done: bool) -> Iterator[bytes]:
    for chunk in stream.chunks(answer):
        yield (f": {comments}\n\n".encode() if comments else b"") + server_sent(chunk)
    if done:
        yield server_sent("[DONE]")


def _whole(chunks: list[Json]) -> Json:
    """Return the answer in one piece, for tries by hand."""
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"] if choice["delta"]]
    texts = [delta["content"] for delta in deltas if isinstance(delta.get("content"), str)]
    message = {"role": "assistant", "content": "".join(texts), "refusal": None}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    return chunks[0] | {"object": "chat.completion", "choices": [choice]}
