"""The question in a ConverseStream request, and the frames of its answer."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

from tests.models.standins.event_stream import error, event, exception
from tests.models.standins.question import (
    Answer,
    Attachment,
    Finish,
    Json,
    Message,
    Question,
    Role,
    pieces_of,
    tokens_of,
)

SIZE = 7
"""Characters of each piece of a call's input."""
STOPS = {
    Finish.STOP: "end_turn",
    Finish.LENGTH: "max_tokens",
    Finish.CALLS: "tool_use",
    Finish.REFUSED: "content_filtered",
    Finish.FILTERED: "content_filtered",
    Finish.FILTERED_LATE: "content_filtered",
}
BLOCKED = "Sorry, the model cannot answer this question."
"""Text that a guardrail puts into the place of an answer."""
PADDING = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def question_of(body: Json) -> Question:
    """Return what a request asks."""
    config = body.get("toolConfig") or {}
    specs = [tool["toolSpec"] for tool in config.get("tools") or () if "toolSpec" in tool]
    choice = config.get("toolChoice") or {"auto": {}}
    extra = (body.get("additionalModelRequestFields") or {}).get("tool_choice") or {}
    named = choice.get("tool", {}).get("name") or ("required" if "any" in choice else "auto")
    expected = ((body.get("outputConfig") or {}).get("textFormat") or {}).get("structure", {}).get("jsonSchema")
    system = [Message(Role.SYSTEM, block["text"]) for block in body.get("system") or () if "text" in block]
    return Question(
        (*system, *(item for message in body["messages"] for item in _messages(message))),
        {spec["name"]: spec["inputSchema"]["json"] for spec in specs},
        json.loads(expected["schema"]) if expected else None,
        (body.get("inferenceConfig") or {}).get("maxTokens"),
        "none" if extra.get("type") == "none" else named,
    )


def _messages(message: Json) -> Iterator[Message]:
    blocks = message["content"]
    for block in blocks:
        if "toolResult" in block:
            content = block["toolResult"]["content"]
            yield Message(
                Role.TOOL, "\n".join(item.get("text") or json.dumps(item.get("json", item)) for item in content)
            )
    rest = [block for block in blocks if "toolResult" not in block]
    calls = sum("toolUse" in block for block in rest)
    attachments = [_attachment(block) for block in rest if set(block) & {"image", "document"}]
    text = "\n".join(block["text"] for block in rest if "text" in block)
    if text or attachments or calls:
        yield Message(Role(message["role"]), text, tuple(attachments), calls)


def _attachment(block: Json) -> Attachment:
    kind = "image" if "image" in block else "document"
    options = block[kind]
    data = base64.b64decode(options["source"].get("bytes", ""))
    extension = options.get("format", "")
    text = (
        data.decode(errors="replace")
        if extension in ("csv", "html", "txt", "md")
        else options["source"].get("text", "")
    )
    return Attachment(kind, options.get("name", ""), extension, len(data), text)


class ConverseStream:
    """The frames of one answer."""

    def __init__(self, input_tokens: int, cached: tuple[int, int], *, guarded: bool) -> None:
        self._input_tokens = input_tokens
        self._cached = cached
        self._guarded = guarded
        self._block = 0

    def frames(
        self, answer: Answer, signature: str, redacted: str, ids: list[str], *, thoughts: bool
    ) -> Iterator[bytes]:
        """Yield all frames; ``redacted`` is encrypted thinking, and ``thoughts`` says whether thinking has text."""
        blocked = self._guarded and answer.finish in (Finish.FILTERED, Finish.FILTERED_LATE)
        yield event("messageStart", {"role": "assistant", "p": PADDING[:9]})
        if redacted and not blocked:
            yield self._delta({"reasoningContent": {"redactedContent": redacted}})
            yield self._stop()
        elif answer.thinking and not blocked:
            for piece in pieces_of(answer.thinking) if thoughts else ():
                yield self._delta({"reasoningContent": {"text": piece}})
            if signature:
                yield self._delta({"reasoningContent": {"signature": signature}})
            yield self._stop()
        text = BLOCKED if blocked else answer.text
        for piece in pieces_of(text):
            yield self._delta({"text": piece})
        if text:
            yield self._stop()
        for call, call_id in zip(answer.calls, ids, strict=True):
            start = {"toolUse": {"toolUseId": call_id, "name": call.name}}
            yield event("contentBlockStart", {"start": start, "contentBlockIndex": self._block})
            for begin in range(0, len(call.arguments), SIZE):
                yield self._delta({"toolUse": {"input": call.arguments[begin : begin + SIZE]}})
            yield self._stop()
        stop = "guardrail_intervened" if blocked else STOPS[answer.finish]
        yield event("messageStop", {"stopReason": stop, "p": PADDING[:20]})
        yield event("metadata", {"usage": self._usage(answer), "metrics": {"latencyMs": 1}, "p": PADDING})

    def whole(self, answer: Answer, signature: str, redacted: str, ids: list[str], *, thoughts: bool) -> Json:
        """Return the answer of Converse, which has everything that ``frames`` have."""
        blocked = self._guarded and answer.finish in (Finish.FILTERED, Finish.FILTERED_LATE)
        content: list[Json] = []
        if redacted and not blocked:
            content.append({"reasoningContent": {"redactedContent": redacted}})
        elif answer.thinking and not blocked:
            reported = {"text": answer.thinking if thoughts else ""} | ({"signature": signature} if signature else {})
            content.append({"reasoningContent": {"reasoningText": reported}})
        text = BLOCKED if blocked else answer.text
        content += [{"text": text}] if text else []
        for call, call_id in zip(answer.calls, ids, strict=True):
            content.append(
                {"toolUse": {"toolUseId": call_id, "name": call.name, "input": _parse_arguments(call.arguments)}}
            )
        return {
            "output": {"message": {"role": "assistant", "content": content}},
            "stopReason": "guardrail_intervened" if blocked else STOPS[answer.finish],
            "usage": self._usage(answer),
            "metrics": {"latencyMs": 1},
        }

    def _usage(self, answer: Answer) -> Json:
        tokens = tokens_of(answer.text) + tokens_of(answer.thinking) + sum(tokens_of(call.key) for call in answer.calls)
        read, written = self._cached
        fresh = self._input_tokens - read - written
        return {
            "inputTokens": fresh,
            "outputTokens": tokens,
            "totalTokens": self._input_tokens + tokens,
            "cacheReadInputTokens": read,
            "cacheWriteInputTokens": written,
        }

    def _delta(self, delta: Json) -> bytes:
        return event("contentBlockDelta", {"contentBlockIndex": self._block, "delta": delta, "p": PADDING[:7]})

    def _stop(self) -> bytes:
        self._block += 1
        return event("contentBlockStop", {"contentBlockIndex": self._block - 1, "p": PADDING[:3]})


def _parse_arguments(arguments: str) -> Any:
    """Return the arguments of a call; text that is not JSON stays text."""
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


def other_frame(value: Any) -> bytes:
    """Return the frame that a fault asks for: ``{"exception": name}``, ``{"error": code}`` or ``{"event": name}``."""
    if "exception" in value:
        return exception(value["exception"], {"message": "The stand-in was asked to fail.", **value.get("content", {})})
    if "error" in value:
        return error(value["error"], value.get("message", "The stand-in was asked to fail."))
    return event(value["event"], value.get("content", {}))
