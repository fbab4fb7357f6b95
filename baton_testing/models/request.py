"""A request to a model in the form of cassettes: only the parts that the model reads, equal in every run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from baton.domain.threads.content import content_as_json
from baton.ports.agents.chat_model import ModelSettings, Prompt, ToolSpec


@dataclass(frozen=True)
class RenderedRequest:
    """A request as plain JSON values."""

    values: Mapping[str, Any]

    @classmethod
    def of(cls, settings: ModelSettings, prompts: Sequence[Prompt], tools: Sequence[ToolSpec]) -> RenderedRequest:
        """Return a request with numbers for the ids of calls, and without time limits and hints for caches."""
        numbers: dict[str, str] = {}

        def number_of(call_id: str) -> str:
            return numbers.setdefault(call_id, f"call {len(numbers) + 1}")

        messages = [_render_message(prompt, number_of) for prompt in prompts]
        chosen = {
            "model": settings.model,
            "temperature": settings.temperature,
            "max_output_tokens": settings.max_output_tokens,
            "answer_schema": settings.answer_schema,
        }
        offered = [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
            for tool in sorted(tools, key=lambda tool: tool.name)
        ]
        return cls({"settings": chosen, "tools": offered, "messages": messages})

    @cached_property
    def key(self) -> str:
        """A hash of the values, so that equal requests have equal keys."""
        body = json.dumps(self.values, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(body.encode()).hexdigest()[:32]

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The request as lines of text, for people who compare two requests."""
        return tuple(_list_lines(self.values))


def _render_message(prompt: Prompt, number_of: Callable[[str], str]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": prompt.role.value, "content": content_as_json(prompt.content)}
    if prompt.tool_calls:
        message["tool_calls"] = [
            {"id": number_of(call.id), "name": call.name, "arguments": call.arguments} for call in prompt.tool_calls
        ]
    if prompt.tool_call_id is not None:
        message["tool_call_id"] = number_of(prompt.tool_call_id)
    return message


def _list_lines(values: Mapping[str, Any]) -> Iterator[str]:
    for name, value in values["settings"].items():
        if value is not None:
            yield f"{name}: {_to_text(value)}"
    for tool in values["tools"]:
        yield f"tool {tool['name']}: {tool['description']}"
        yield f"  {_to_text(tool['parameters'])}"
    for message in values["messages"]:
        about = f", tool_call_id: {message['tool_call_id']}" if "tool_call_id" in message else ""
        yield f"[{message['role']}{about}]"
        content = message["content"]
        yield from content.splitlines() if isinstance(content, str) else map(_to_text, content)
        yield from (f"  calls {call['name']} {call['arguments']}" for call in message.get("tool_calls", ()))


def _to_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
