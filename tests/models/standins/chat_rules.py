"""Rules for the messages and tools of a Chat Completions request.

A rule returns what it found wrong, as the values for the gaps of its wording, or None.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from tests.models.standins.dialects import Wording
from tests.models.standins.question import Json

Found = Mapping[str, object] | None
Rule = Callable[[Json], Found]

NAME = re.compile(r"[^\s<|\\/>]{1,64}")
NINE = re.compile(r"[a-zA-Z0-9]{9}")
CONTROL = re.compile(r"<\|(im_start|im_end|endoftext|eot_id|start_header_id)\|>|<start_of_turn>|<end_of_turn>")
NEXT = {
    None: {"system", "user"},
    "system": {"system", "user", "assistant"},
    "user": {"system", "user", "assistant"},
    "assistant": {"assistant", "user", "tool"},
    "tool": {"assistant", "tool"},
}
"""The roles that may follow each role at Mistral."""
OTHERS = ("name", "reasoning_content", "reasoning", "reasoning_details", "thinking_blocks", "extra_content")
"""Fields of messages that only some endpoints take."""


def calls_of(message: Json) -> list[Json]:
    """Return the tool calls of a message."""
    return list(message.get("tool_calls") or ())


def current_turn(messages: list[Json]) -> list[Json]:
    """Return the messages behind the last one of a user."""
    last = max((at for at, message in enumerate(messages) if message["role"] == "user"), default=-1)
    return messages[last + 1 :]


def text_of(message: Json) -> str:
    """Return the text of a message, from each form of content."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part.get("type") == "text")


def pairs(body: Json) -> Found:
    """Each call has its result directly behind it, and each result its call."""
    open_ids: list[str] = []
    for at, message in enumerate(body["messages"]):
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_ids:
                return {"at": at, "orphan": message["tool_call_id"]}
            open_ids.remove(message["tool_call_id"])
        elif open_ids:
            return {"at": at, "missing": ", ".join(open_ids)}
        open_ids = open_ids if message["role"] == "tool" else [call["id"] for call in calls_of(message)]
        if len(set(open_ids)) < len(open_ids):
            return {"at": at, "missing": "ids that differ"}
    return {"at": len(body["messages"]), "missing": ", ".join(open_ids)} if open_ids else None


def names(body: Json) -> Found:
    """Names of messages have no blanks."""
    for at, message in enumerate(body["messages"]):
        if "name" in message and not NAME.fullmatch(message["name"]):
            return {"at": at}
    return None


def contents(body: Json) -> Found:
    """An assistant message has a text or calls."""
    for at, message in enumerate(body["messages"]):
        if message["role"] == "assistant" and message.get("content") is None and not calls_of(message):
            return {"at": at}
    return None


def one_system(body: Json) -> Found:
    """Only the first message may be of the system."""
    late = [at for at, message in enumerate(body["messages"]) if at and message["role"] in ("system", "developer")]
    return {"at": late[0]} if late else None


def no_system(body: Json) -> Found:
    """There is no system role."""
    return {} if any(message["role"] in ("system", "developer") for message in body["messages"]) else None


def no_developer(body: Json) -> Found:
    """There is no developer role."""
    return {} if any(message["role"] == "developer" for message in body["messages"]) else None


def alternation(body: Json) -> Found:
    """Users and the assistant take turns; results of tools stand within the assistant's turn."""
    roles = [message["role"] for message in body["messages"] if message["role"] not in ("system", "developer")]
    return {} if any(one == other != "tool" for one, other in pairwise(roles)) else None


def user_first(body: Json) -> Found:
    """The conversation begins with a user's message."""
    roles = [message["role"] for message in body["messages"] if message["role"] not in ("system", "developer")]
    return {} if roles[:1] != ["user"] else None


def mistral_alternation(body: Json) -> Found:
    """Users and the assistant take turns, as Mistral's template counts: without calls and their results."""
    spoken = [m for m in body["messages"] if m["role"] == "user" or (m["role"] == "assistant" and not calls_of(m))]
    return {} if any((m["role"] == "user") == bool(at % 2) for at, m in enumerate(spoken)) else None


def role_order(body: Json) -> Found:
    """Mistral's order of roles; the last message is a user's or a tool's."""
    before: str | None = None
    for message in body["messages"]:
        if message["role"] not in NEXT[before]:
            return {"role": message["role"], "before": before}
        before = message["role"]
    return None if before in ("user", "tool") else {"role": "the end", "before": before}


def nine_characters(body: Json) -> Found:
    """Ids of calls are nine letters and digits."""
    ids = [call["id"] for message in body["messages"] for call in calls_of(message)]
    wrong = [item for item in ids if not NINE.fullmatch(item)]
    return {"id": wrong[0]} if wrong else None


def tools_with_history(body: Json) -> Found:
    """Tools are declared if the history has calls."""
    return {} if not body.get("tools") and any(calls_of(message) for message in body["messages"]) else None


def _part_types(body: Json, *allowed: str) -> Found:
    contents = [m["content"] for m in body["messages"] if m["role"] == "user" and isinstance(m.get("content"), list)]
    wrong = [part["type"] for content in contents for part in content if part["type"] not in allowed]
    return {"kind": wrong[0]} if wrong else None


def text_only(body: Json) -> Found:
    """Messages are text."""
    return _part_types(body, "text")


def no_files(body: Json) -> Found:
    """Messages are text and images."""
    return _part_types(body, "text", "image_url")


def object_arguments(body: Json) -> Found:
    """Arguments in the history are JSON objects."""
    for call in (call for message in body["messages"] for call in calls_of(message)):
        try:
            fits = isinstance(json.loads(call["function"]["arguments"]), dict)
        except ValueError:
            fits = False
        if not fits:
            return {"arguments": call["function"]["arguments"]}
    return None


def no_blank_text(body: Json) -> Found:
    """No text is blank, but beside calls and in results."""
    for at, message in enumerate(body["messages"]):
        content = message.get("content")
        texts = [part["text"] for part in content if "text" in part] if isinstance(content, list) else [content or ""]
        if message["role"] != "tool" and not calls_of(message) and any(not text.strip() for text in texts):
            return {"at": at}
    return None


def message_fields(body: Json) -> Found:
    """Messages have no fields but OpenAI's, and no names."""
    for at, message in enumerate(body["messages"]):
        for field in OTHERS:
            if field in message:
                return {"at": at, "role": message["role"], "field": field}
    return None


def reasoning_content(body: Json) -> Found:
    """Each assistant message has its reasoning, if need be an empty one, in a conversation with tools."""
    messages = body["messages"]
    if not body.get("tools") and not any(calls_of(message) for message in messages):
        return None
    missing = [m for m in messages if m["role"] == "assistant" and not isinstance(m.get("reasoning_content"), str)]
    return {} if missing else None


def control_tokens(body: Json) -> list[str]:
    """Return where a text would become a separate message, because the server reads the template's words in it."""
    messages = enumerate(body["messages"])
    return [f"control token in messages[{at}]" for at, message in messages if CONTROL.search(text_of(message))]


def _wording(message: str, **more: Any) -> Wording:
    return Wording(message=message, type="invalid_request_error", **more)


ALWAYS: Mapping[str, Wording] = {
    "pairs": _wording(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each"
        " 'tool_call_id'. The"
        " following tool_call_ids did not have response messages: {missing}",
        param="messages.[{at}].role",
    ),
    "tool_names": _wording(
        "Invalid 'tools[{at}].function.name': string does not match pattern. Expected a string that matches the pattern"
        " '^[a-zA-Z0-9_-]+$'.",
        code="invalid_value",
        param="tools[{at}].function.name",
    ),
    "tool_count": _wording(
        "Invalid 'tools': array has {count} items. Expected an array with at least 1 and at most 128 items.",
        param="tools",
    ),
    "contents": _wording("Invalid value for 'content': expected a string, got null.", param="messages.[{at}].content"),
}
"""The rules of every endpoint, with OpenAI's words."""
