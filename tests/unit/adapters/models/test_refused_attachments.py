"""Attachments in a conversation with a model that reads text only, and refuses requests with anything else."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import httpx2 as httpx
import pytest

from baton.adapters.documents.document_reader import ChildProcessReader
from baton.adapters.models.openai import OpenAIChatModel
from baton.domain.threads.content import Content, parse_content
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import ModelSettings, Prompt, TextDelta
from tests import documents
from tests.fakes.thread_files import MemoryThreadFiles
from tests.fault_model import chunk, usage_chunk
from tests.unit.adapters.models.parts import document, image

CASE = [
    {"type": "text", "text": "What is in the file?"},
    {
        "type": "document",
        "source": {"type": "data", "value": "YTtiCjE7Mgo=", "mimeType": "application/vnd.ms-excel"},
        "metadata": {"name": "data.csv"},
    },
]
"""The media type that the widget sends for a CSV file on a Windows computer with Excel."""


@dataclass
class TextOnlyEndpoint(httpx.AsyncBaseTransport):
    """An endpoint that refuses parts that are not text, as vLLM and llama.cpp do with most models.

    It answers with the last message.
    """

    refused: int = 0
    taken: list[list[dict[str, Any]]] = field(default_factory=list)
    """The messages of each request that was answered."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        messages = json.loads(await request.aread())["messages"]
        kinds = {
            part["type"] for message in messages if isinstance(message["content"], list) for part in message["content"]
        }
        if kinds - {"text"}:
            self.refused += 1
            message = f"Unsupported chat content part type: {min(kinds - {'text'})}"
            return httpx.Response(400, json={"error": {"message": message, "type": "invalid_request_error"}})
        self.taken.append(messages)
        lines = [chunk({"content": messages[-1]["content"]}), chunk({}, "stop"), usage_chunk(1, 1)]
        body = "".join(f"data: {json.dumps(line)}\n\n" for line in lines) + "data: [DONE]\n\n"
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, text=body)


async def answer(model: OpenAIChatModel, *contents: Content) -> str:
    """The answer to the last of the user's messages."""
    prompts = [Prompt(Role.USER, content) for content in contents]
    stream = model.stream(ModelSettings(model="m"), prompts, thread_files=MemoryThreadFiles())
    return "".join([item.text async for item in stream if isinstance(item, TextDelta)])


@pytest.fixture
def endpoint() -> TextOnlyEndpoint:
    return TextOnlyEndpoint()


@pytest.fixture
def model(endpoint: TextOnlyEndpoint) -> OpenAIChatModel:
    return OpenAIChatModel(
        api_key="none", base_url="http://model.test/v1", transport=endpoint, reader=ChildProcessReader()
    )


async def test_text_that_is_called_a_workbook_is_answered_at_once(
    model: OpenAIChatModel, endpoint: TextOnlyEndpoint
) -> None:
    received = await answer(model, parse_content(CASE))
    assert received.startswith(
        'What is in the file?\n\n<document name="data.csv" type="text/csv" bytes="8">\na;b\n1;2\n'
    )
    assert endpoint.refused == 0


async def test_the_text_of_a_document_is_given_after_a_refusal_and_from_then_on(
    model: OpenAIChatModel, endpoint: TextOnlyEndpoint
) -> None:
    report = (document(documents.pdf([("Spring", ["Sow peas."])]), "application/pdf", "garden.pdf"),)
    assert "[page 1]\n\n# Spring\n\nSow peas." in await answer(model, report)
    assert await answer(model, report, "Never mind. What is 2+2?") == "Never mind. What is 2+2?"
    assert (endpoint.refused, len(endpoint.taken)) == (1, 2)


async def test_an_image_is_named_after_a_refusal_and_from_then_on(
    model: OpenAIChatModel, endpoint: TextOnlyEndpoint
) -> None:
    cat = (image(b"\x89PNG\r\n\x1a\n and so on", name="cat.png"),)
    assert await answer(model, cat) == "[The image cat.png was not given to the model, because it reads no images.]"
    assert await answer(model, cat, "Never mind.") == "Never mind."
    assert (endpoint.refused, len(endpoint.taken)) == (1, 2)
