"""Requests to a demo script, without a server."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from baton_local.demo_model.app import SCRIPT
from baton_local.demo_model.engine import Call, Engine, Reply
from baton_local.demo_model.script import Script
from baton_local.demo_model.situation import Situation
from baton_local.demo_model.wire import ChatRequest

Json = dict[str, Any]
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


@cache
def get_shipped_engine() -> Engine:
    """The script that ships. It keeps nothing of what it was asked, and takes long to read."""
    return Engine(Script.read(SCRIPT))


def engine(folder: Path, script: str) -> Engine:
    """A script written for a test."""
    path = folder / "script.yaml"
    path.write_text(script, encoding="utf-8")
    return Engine(Script.read(path))


def ask(
    engine: Engine, *messages_in_turn: str | Json, tools: Mapping[str, Json] | Sequence[str] = (), **metadata: str
) -> Reply:
    """The answer to what was said: texts of user and assistant in turn, the user's last; or whole messages.

    ``metadata`` has ``__`` for a dot.
    """
    messages = [
        text if isinstance(text, dict) else {"role": ("user", "assistant")[number % 2], "content": text}
        for number, text in enumerate(messages_in_turn)
    ]
    schemas = tools if isinstance(tools, Mapping) else dict.fromkeys(tools, TEXT)
    offered = [
        {"type": "function", "function": {"name": name, "parameters": schema}} for name, schema in schemas.items()
    ]
    request = {
        "model": "baton-demo",
        "messages": messages,
        "tools": offered or None,
        "metadata": {name.replace("__", "."): value for name, value in metadata.items()},
    }
    return engine.reply(Situation.of(ChatRequest.model_validate(request)))


def make_calls(*calls: Call) -> Json:
    """The message of an assistant that has made these calls."""
    return {
        "role": "assistant",
        "tool_calls": [
            {
                "id": f"c{number}",
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
            }
            for number, call in enumerate(calls)
        ],
    }


def make_results(*texts: str) -> list[Json]:
    """The results of such calls."""
    return [{"role": "tool", "tool_call_id": f"c{number}", "content": text} for number, text in enumerate(texts)]
