"""One text as the answer of a model, over each of the APIs that adapters speak."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from baton.ports.agents.chat_model import ModelChunk, ToolSpec
from tests.fault_model.event_frames import event_frame
from tests.unit.adapters.models import chat_endpoint, responses_endpoint, scripted_bedrock

LOOKUP = ToolSpec(
    "lookup",
    "Looks up.",
    {"type": "object", "properties": {"key": {"type": "string"}, "count": {"type": "integer"}}, "required": ["key"]},
)
Asking = Callable[..., Coroutine[Any, Any, list[ModelChunk]]]


def cut_text(text: str, size: int) -> list[str]:
    """Return the text in pieces."""
    return [text[at : at + size] for at in range(0, len(text), size)]


async def ask_over_chat(pieces: Sequence[str], *, finish: str = "stop", **settings: Any) -> list[ModelChunk]:
    """Ask Chat Completions, which answers with the pieces."""
    events = [*(chat_endpoint.chunk({"content": piece}) for piece in pieces), chat_endpoint.chunk({}, finish)]
    return await chat_endpoint.ask(chat_endpoint.Endpoint(lambda _: chat_endpoint.sse(*events)), **settings)


async def ask_over_responses(pieces: Sequence[str], *, finish: str = "stop", **settings: Any) -> list[ModelChunk]:
    """Ask Responses, which answers with the pieces."""
    message = responses_endpoint.message("".join(pieces))
    location = {"output_index": 0, "item_id": message["id"], "content_index": 0}
    deltas = [{"type": "response.output_text.delta", **location, "delta": piece} for piece in pieces]
    status = "completed" if finish == "stop" else "incomplete"
    events = [*deltas, responses_endpoint.make_end(message, status=status)]
    return await responses_endpoint.ask(responses_endpoint.Endpoint(events).model(), **settings)


async def ask_over_converse(pieces: Sequence[str], *, finish: str = "stop", **settings: Any) -> list[ModelChunk]:
    """Ask Converse of Amazon Bedrock, which answers with the pieces."""
    begin = event_frame("messageStart", {"role": "assistant"})
    ending = scripted_bedrock.end("end_turn" if finish == "stop" else "max_tokens")
    bedrock = scripted_bedrock.ScriptedBedrock([[begin, *scripted_bedrock.text(*pieces), *ending]])
    return await scripted_bedrock.ask(bedrock, **settings)


APIS: dict[str, Asking] = {"chat": ask_over_chat, "responses": ask_over_responses, "converse": ask_over_converse}

HARMONY = "<|channel|>analysis<|message|>SECRET plan.<|end|><|start|>assistant<|channel|>final<|message|>Hello."
"""An answer of gpt-oss through a server that does not read its channels."""
