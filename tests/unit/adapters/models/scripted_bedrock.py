"""A Bedrock of which each answer is written down, behind the HTTP client."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import unquote

import httpx2
from botocore.credentials import Credentials

from baton.adapters.models.bedrock.chat_model import BedrockChatModel
from baton.adapters.models.bedrock.connection import BedrockConnection
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import Finished, ModelChunk, ModelSettings, Prompt, TextDelta, ToolSpec
from tests.fakes.thread_files import MemoryThreadFiles
from tests.fault_model.event_frames import event_frame

CLAUDE = "eu.anthropic.claude-sonnet-4-6"
HELLO = (Prompt(Role.USER, "Hello"),)
ADD = ToolSpec("add", "Adds numbers.", {"type": "object", "properties": {"x": {"type": "number"}}})
USAGE = {"inputTokens": 7, "outputTokens": 3, "totalTokens": 10}


def text(*pieces: str, index: int = 0) -> list[bytes]:
    """Return the frames of a block of text."""
    deltas = [event_frame("contentBlockDelta", _at(index, delta={"text": piece})) for piece in pieces]
    return [*deltas, event_frame("contentBlockStop", _at(index))]


def call(name: str, *pieces: str, call_id: str = "tooluse_1", index: int = 0) -> list[bytes]:
    """Return the frames of a call, whose arguments come in pieces."""
    start = {"toolUse": {"toolUseId": call_id, "name": name}}
    deltas = [event_frame("contentBlockDelta", _at(index, delta={"toolUse": {"input": piece}})) for piece in pieces]
    return [
        event_frame("contentBlockStart", _at(index, start=start)),
        *deltas,
        event_frame("contentBlockStop", _at(index)),
    ]


def reasoning(*pieces: dict[str, str], index: int = 0) -> list[bytes]:
    """Return the frames of a block of reasoning."""
    deltas = [event_frame("contentBlockDelta", _at(index, delta={"reasoningContent": piece})) for piece in pieces]
    return [*deltas, event_frame("contentBlockStop", _at(index))]


def end(reason: str = "end_turn", **usage: int) -> list[bytes]:
    """Return the frames that end an answer."""
    return [
        event_frame("messageStop", {"stopReason": reason}),
        event_frame("metadata", {"usage": {**USAGE, **usage}, "metrics": {"latencyMs": 1}}),
    ]


def _at(index: int, **fields: Any) -> dict[str, Any]:
    return {"contentBlockIndex": index, **fields, "p": "abcdefghijkl"}


SAYS_HELLO = [event_frame("messageStart", {"role": "assistant"}), *text("Hello", " you"), *end()]

WHOLE_HELLO = {
    "output": {"message": {"role": "assistant", "content": [{"text": "Hello you"}]}},
    "stopReason": "end_turn",
    "usage": USAGE,
}
"""The same, for models that do not stream it."""

Answer = Sequence[bytes] | httpx2.Response | Exception | Callable[[], httpx2.Response]


@dataclass
class ScriptedBedrock(httpx2.AsyncBaseTransport):
    """A transport that gives its answers one after the other, the last one again and again."""

    answers: list[Answer] = field(default_factory=lambda: [SAYS_HELLO])
    requests: list[httpx2.Request] = field(default_factory=list)
    closed: int = 0
    """Bodies that were closed."""

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(request.content) for request in self.requests]

    @property
    def body(self) -> dict[str, Any]:
        return self.bodies[-1]

    @property
    def paths(self) -> list[str]:
        """The paths of the requests, decoded once."""
        return [unquote(request.url.raw_path.decode()) for request in self.requests]

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await request.aread()
        self.requests.append(request)
        answer = self.answers[min(len(self.requests), len(self.answers)) - 1]
        if answer is SAYS_HELLO and self.paths[-1].endswith("/converse"):
            answer = [json.dumps(WHOLE_HELLO).encode()]
        if isinstance(answer, Exception):
            raise answer
        if callable(answer):
            return answer()
        if isinstance(answer, httpx2.Response):
            return answer
        return httpx2.Response(200, stream=Body(answer, self._note_closed))

    def _note_closed(self) -> None:
        self.closed += 1


class Body(httpx2.AsyncByteStream):
    """A body in pieces. ``note_closed`` is called when it is closed."""

    def __init__(self, pieces: Sequence[bytes], note_closed: Callable[[], object] = lambda: None) -> None:
        self._pieces = pieces
        self._note_closed = note_closed

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece

    async def aclose(self) -> None:
        self._note_closed()


class Keys:
    """A session with the keys of AWS's documentation."""

    def get_credentials(self) -> Credentials:
        return Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI")


def make_refusal(status: int, name: str, message: str) -> Callable[[], httpx2.Response]:
    """Return what answers with an error."""
    headers = {"x-amzn-errortype": f"{name}:http://internal.amazon.com/coral/", "x-amzn-requestid": "request-1"}
    body = [json.dumps({"message": message}).encode()]
    return lambda: httpx2.Response(status, headers=headers, stream=Body(body))


def model_over(bedrock: ScriptedBedrock, **options: Any) -> BedrockChatModel:
    """Return the product's model, which asks ``bedrock`` and does not wait between attempts."""
    return BedrockChatModel(
        BedrockConnection("eu-west-1", Keys, transport=bedrock), **{"backoff_seconds": 0.0} | options
    )


async def ask(
    bedrock: ScriptedBedrock,
    *prompts: Prompt,
    tools: Sequence[ToolSpec] = (),
    model: BedrockChatModel | None = None,
    model_id: str = CLAUDE,
    files: MemoryThreadFiles | None = None,
    **settings: Any,
) -> list[ModelChunk]:
    """Return the chunks of an answer."""
    request = replace(ModelSettings(model_id, timeout_seconds=30.0), **settings)
    stream = (model or model_over(bedrock)).stream(
        request, prompts or HELLO, thread_files=files or MemoryThreadFiles(), tools=tools
    )
    return [chunk async for chunk in stream]


def text_of(chunks: Sequence[ModelChunk]) -> str:
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta))


def get_finished(chunks: Sequence[ModelChunk]) -> Finished:
    last = chunks[-1]
    assert isinstance(last, Finished)
    return last
