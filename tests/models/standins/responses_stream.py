"""The events of an answer of the Responses API."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

from tests.models.standins.question import Answer, Call, Finish, Json, pieces_of, tokens_of
from tests.models.standins.responses_rules import encrypt

SIZE = 7
"""Characters of each piece of a call's arguments."""


class ResponseStream:
    """The events of one answer, and its output items."""

    def __init__(self, host: str, body: Json, input_tokens: int) -> None:
        self._host = host
        self._body = body
        self._input_tokens = input_tokens
        self._id = f"resp_{uuid.uuid4().hex}"
        self._number = -1
        self._output: list[Json] = []

    def events(self, answer: Answer) -> Iterator[Json]:
        """Yield all events."""
        yield self._event("response.created", response=self._response("in_progress"))
        yield self._event("response.in_progress", response=self._response("in_progress"))
        if answer.thinking:
            yield from self._reasoning(answer.thinking)
        if answer.text:
            yield from self._message(answer)
        for call in answer.calls:
            yield from self._call(call)
        yield self._end(answer)

    def error(self, code: str, message: str) -> Json:
        """Return an event that says that the answer has failed."""
        return self._event("error", code=code, message=message, param=None)

    def _end(self, answer: Answer) -> Json:
        reason = {Finish.LENGTH: "max_output_tokens", Finish.FILTERED: "content_filter",
                  Finish.FILTERED_LATE: "content_filter"}.get(answer.finish)  # fmt: skip
        usage = self._usage(answer)
        if reason:
            response = self._response("incomplete", usage=usage, incomplete_details={"reason": reason})
            return self._event("response.incomplete", response=response)
        return self._event("response.completed", response=self._response("completed", usage=usage))

    def _reasoning(self, thinking: str) -> Iterator[Json]:
        item_id, index = f"rs_{uuid.uuid4().hex}", len(self._output)
        secret = encrypt(self._host, item_id, thinking if self._shows_summary() else "")
        included = "reasoning.encrypted_content" in (self._body.get("include") or ())
        item: Json = {"id": item_id, "type": "reasoning", "summary": []}
        # What comes with the item's beginning is only a part of what comes with its end.
        early = item | ({"encrypted_content": secret[:10]} if included else {})
        yield self._event("response.output_item.added", output_index=index, item=early)
        if self._shows_summary():
            where = {"item_id": item_id, "output_index": index, "summary_index": 0}
            part = {"type": "summary_text", "text": thinking}
            yield self._event("response.reasoning_summary_part.added", **where, part=part | {"text": ""})
            for piece in pieces_of(thinking):
                yield self._event("response.reasoning_summary_text.delta", **where, delta=piece)
            yield self._event("response.reasoning_summary_text.done", **where, text=thinking)
            yield self._event("response.reasoning_summary_part.done", **where, part=part)
            item["summary"] = [part]
        yield self._finish_item(item | ({"encrypted_content": secret} if included else {}))

    def _shows_summary(self) -> bool:
        return bool((self._body.get("reasoning") or {}).get("summary"))

    def _message(self, answer: Answer) -> Iterator[Json]:
        item_id, index = f"msg_{uuid.uuid4().hex}", len(self._output)
        item: Json = {"id": item_id, "type": "message", "role": "assistant", "status": "in_progress", "content": []}
        item["phase"] = "final_answer"
        where: Json = {"item_id": item_id, "output_index": index, "content_index": 0}
        is_refusal = answer.finish is Finish.REFUSED
        empty: Json = (
            {"type": "refusal", "refusal": ""} if is_refusal else {"type": "output_text", "text": "", "annotations": []}
        )
        yield self._event("response.output_item.added", output_index=index, item=item)
        yield self._event("response.content_part.added", **where, part=empty)
        for piece in pieces_of(answer.text):
            if is_refusal:
                yield self._event("response.refusal.delta", **where, delta=piece)
            else:
                yield self._event("response.output_text.delta", **where, delta=piece, logprobs=[])
        part = empty | {"refusal" if is_refusal else "text": answer.text}
        if is_refusal:
            yield self._event("response.refusal.done", **where, refusal=answer.text)
        else:
            yield self._event("response.output_text.done", **where, text=answer.text, logprobs=[])
        yield self._event("response.content_part.done", **where, part=part)
        yield self._finish_item(item | {"status": "completed", "content": [part]})

    def _call(self, call: Call) -> Iterator[Json]:
        # Bedrock's Mantle counts the calls of each response from nought.
        number = sum(item["type"] == "function_call" for item in self._output)
        call_id = f"call_{number}" if self._host == "mantle" else f"call_{uuid.uuid4().hex}"
        item_id, index = f"fc_{uuid.uuid4().hex}", len(self._output)
        item: Json = {"id": item_id, "type": "function_call", "call_id": call_id, "name": call.name}
        started = item | {"arguments": "", "status": "in_progress"}
        yield self._event("response.output_item.added", output_index=index, item=started)
        where = {"item_id": item_id, "output_index": index}
        for start in range(0, len(call.arguments), SIZE):
            piece = call.arguments[start : start + SIZE]
            yield self._event("response.function_call_arguments.delta", **where, delta=piece)
        done = {"name": call.name, "arguments": call.arguments}
        yield self._event("response.function_call_arguments.done", **where, **done)
        yield self._finish_item(item | {"arguments": call.arguments, "status": "completed"})

    def _finish_item(self, item: Json) -> Json:
        index = len(self._output)
        self._output.append(item)
        return self._event("response.output_item.done", output_index=index, item=item)

    def _usage(self, answer: Answer) -> Json:
        thought = tokens_of(answer.thinking) if answer.thinking else 0
        tokens = tokens_of(answer.text) + sum(tokens_of(call.key) for call in answer.calls) + thought
        return {
            "input_tokens": self._input_tokens,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": tokens,
            "output_tokens_details": {"reasoning_tokens": thought},
            "total_tokens": self._input_tokens + tokens,
        }

    def _response(self, status: str, **more: Any) -> Json:
        return {
            "id": self._id,
            "object": "response",
            "created_at": 1,
            "status": status,
            "model": self._body["model"],
            "output": list(self._output),
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "error": None,
            "incomplete_details": None,
            "usage": None,
        } | more

    def _event(self, kind: str, **fields: Any) -> Json:
        self._number += 1
        return {"type": kind, "sequence_number": self._number} | fields
