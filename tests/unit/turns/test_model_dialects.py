"""Answers as real servers give them, from the endpoint of a model to the clients of the API."""

from __future__ import annotations

import json
import uuid
from typing import Any

import httpx2
import pytest

from baton.adapters.models.openai import OpenAIChatModel
from tests.harness.armed import CITY, arm_assistant
from tests.harness.harness import Harness
from tests.unit.adapters.models.chat_endpoint import Endpoint, chunk, sse
from tests.unit.adapters.models.three_apis import HARMONY, cut_text
from tests.unit.api.run_inputs import run_input
from tests.unit.api.served import Served

Script = list[list[dict[str, Any]]]


def make_text_chunks(*pieces: str, **delta: Any) -> list[dict[str, Any]]:
    """Return the chunks of an answer."""
    texts = [chunk({"content": piece}) for piece in pieces]
    return [*texts, *([chunk(delta)] if delta else []), chunk({}, "stop")]


def make_call_chunks(name: str, arguments: str = '{"city": "Oslo"}') -> list[dict[str, Any]]:
    """Return the chunks of an answer that is a call."""
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}
    return [chunk({"tool_calls": [call]}), chunk({}, "tool_calls")]


class Deployment:
    """The API over a model whose endpoint plays a script; titles and memory get a short answer."""

    def __init__(self, *script: list[dict[str, Any]]) -> None:
        self.script = list(script)
        self.cities: list[str] = []
        self.endpoint = Endpoint(self._answer)
        model = OpenAIChatModel(api_key="k", base_url="http://model.test/v1", transport=self.endpoint)
        self.harness = Harness(assistant=arm_assistant(), model=model)

        async def weather(city: str) -> str:
            self.cities.append(city)
            return f"Sunny in {city}."

        self.harness.tools.add("weather", weather, parameters=CITY)
        self.served = Served(self.harness)
        self.requests: list[dict[str, Any]] = []

    def _answer(self, body: dict[str, Any]) -> httpx2.Response:
        if "tools" not in body:
            return sse(*make_text_chunks("A title."))
        self.requests.append(body)
        return sse(*self.script.pop(0))

    async def say(self) -> tuple[list[str], str]:
        """Say hello. Returns the texts of the assistant, and all events that a client has got."""
        answer = await self.served.post("/runs", run_input(self.served, runId=str(uuid.uuid4())))
        stored, _ = await self.served.items(f"/threads/{self.harness.thread_id}/messages")
        texts = [entry["content"] for entry in stored if entry["role"] == "assistant" and entry.get("content")]
        assert answer.status_code == 200
        return texts, answer.text


@pytest.mark.parametrize("size", [3, 1_000])
async def test_thoughts_in_other_marks_are_neither_shown_nor_stored_nor_sent_back(size: int) -> None:
    deployment = Deployment(make_text_chunks(*cut_text(HARMONY, size)), make_text_chunks("[THINK]SECRET[/THINK]Hello."))
    texts, events = await deployment.say()
    assert texts == ["Hello."]
    assert "SECRET" not in events
    body = {"message": "And now?", "sessionId": deployment.harness.thread_id}
    again = (await deployment.served.post("/messages", body)).raise_for_status().json()
    assert [message["content"] for message in again["messages"] if message["role"] == "assistant"] == ["Hello."]
    assert "SECRET" not in json.dumps(deployment.endpoint.bodies)


@pytest.mark.parametrize(
    "markup",
    [
        '<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>',
        "<tool_call>\n<function=weather>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>",
    ],
)
async def test_a_call_that_was_left_in_the_text_is_made_and_never_shown(markup: str) -> None:
    deployment = Deployment(make_text_chunks(*cut_text("I look.\n" + markup, 4)), make_text_chunks("Sunny."))
    texts, events = await deployment.say()
    assert (texts, deployment.cities) == (["I look.", "Sunny."], ["Oslo"])
    assert "<" not in "".join(texts)
    assert "tool_call>" not in events
    assert "<function" not in events


async def test_a_call_in_the_text_that_cannot_be_read_is_asked_for_again() -> None:
    broken = '<tool_call>{"name": "weather", "arguments": {"city": </tool_call>'
    deployment = Deployment(make_text_chunks(broken), make_call_chunks("weather"), make_text_chunks("Sunny."))
    texts, _ = await deployment.say()
    assert (texts, deployment.cities) == (["Sunny."], ["Oslo"])
    assert "not valid JSON" in deployment.requests[1]["messages"][-1]["content"]


@pytest.mark.parametrize("name", ["weather<|channel|>commentary", "functions.weather"])
async def test_a_name_with_marks_of_a_template_is_the_tools(name: str) -> None:
    deployment = Deployment(make_call_chunks(name), make_text_chunks("Sunny."))
    assert (await deployment.say())[0] == ["Sunny."]
    assert deployment.cities == ["Oslo"]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("wea\ud800ther", '{"city": "Oslo"}'),
        ("wea\x00ther", '{"city": "Oslo"}'),
        ("weather", '{"city": "Os\ud83dlo"}'),
        ("weather", '{"city": "Os\\ud83dlo"}'),
        ("weather", '{"city": "Os\\u0000lo"}'),
        ("weather", '{"city\\ud83d": "Oslo", "city": "Oslo"}'),
    ],
)
async def test_halves_of_characters_and_nul_in_a_call_end_no_turn(name: str, arguments: str) -> None:
    deployment = Deployment(make_call_chunks(name, arguments), make_text_chunks("Sunny."))
    texts, events = await deployment.say()
    assert texts == ["Sunny."]
    assert "RUN_ERROR" not in events
    result = deployment.requests[1]["messages"][-1]
    assert result["role"] == "tool"
    if name != "weather":
        assert "no tool" in result["content"]


@pytest.mark.parametrize(
    "empty",
    [
        *(
            make_text_chunks(""),
            make_text_chunks("\n"),
            make_text_chunks("<think>"),
            make_text_chunks("<think>I think.</think>"),
        ),
        make_text_chunks(reasoning_content="I think."),
    ],
)
async def test_an_answer_without_words_after_a_tool_is_asked_for_once_more(empty: list[dict[str, Any]]) -> None:
    deployment = Deployment(make_call_chunks("weather"), empty, make_text_chunks("Sunny."))
    texts, events = await deployment.say()
    assert texts == ["Sunny."]
    assert events.count("TEXT_MESSAGE_START") == events.count("TEXT_MESSAGE_END") == 1
    assert "had no words" in deployment.requests[2]["messages"][-1]["content"]


async def test_it_is_asked_for_once() -> None:
    deployment = Deployment(make_text_chunks(""), make_text_chunks(""))
    _, events = await deployment.say()
    assert "The model gave an empty answer" in events
    assert len(deployment.requests) == 2
