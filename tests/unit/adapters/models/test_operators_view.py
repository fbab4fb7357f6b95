"""Operators see the reason of a model's error, what was dropped, and what was learned."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx2 as httpx
import pytest

from baton.adapters.models.openai import OpenAIChatModel
from baton.adapters.models.profiles.known_profiles import Profiles, list_learned_facts, with_facts
from baton.adapters.models.profiles.profile import AnswerForm, Api, ModelProfile, read_profile_overrides
from baton.domain.errors import ModelMisconfigured, ModelRefused
from baton.domain.threads.content import Content
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import Finished, LearningModel, ModelSettings, Prompt
from tests.fakes.thread_files import MemoryThreadFiles
from tests.fault_model import chunk, usage_chunk
from tests.unit.adapters.models.parts import document, image

KEY = "sk-secret-0123456789"
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
Rule = Callable[[dict[str, Any]], str | None]


class Endpoint(httpx.AsyncBaseTransport):
    """An endpoint that answers with "Yes.", unless its rule names what it refuses in a request."""

    def __init__(self, rule: Rule, status: int = 400) -> None:
        self._rule = rule
        self._status = status

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        refusal = self._rule(json.loads(await request.aread()))
        if refusal is not None:
            return httpx.Response(self._status, json={"error": {"message": refusal}})
        lines = [chunk({"content": "Yes."}), chunk({}, "stop"), usage_chunk(1, 1)]
        body = "".join(f"data: {json.dumps(line)}\n\n" for line in lines) + "data: [DONE]\n\n"
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, text=body)


@asynccontextmanager
async def serve_rule(rule: Rule, status: int = 400) -> AsyncIterator[OpenAIChatModel]:
    model = OpenAIChatModel(
        api_key=KEY, base_url="http://model.test/v1", transport=Endpoint(rule, status), max_retries=0
    )
    try:
        yield model
    finally:
        await model.aclose()


async def ask(model: OpenAIChatModel, content: Content = "Hello", **settings: Any) -> Finished:
    stream = model.stream(
        ModelSettings(model="m", **settings), [Prompt(Role.USER, content)], thread_files=MemoryThreadFiles()
    )
    [end] = [item async for item in stream if isinstance(item, Finished)]
    return end


def refuse_field(name: str) -> Rule:
    return lambda body: f"{name} is not supported by this model" if name in body else None


def refuse_parts(body: dict[str, Any]) -> str | None:
    kinds = {
        part["type"]
        for message in body["messages"]
        if isinstance(message["content"], list)
        for part in message["content"]
    }
    return f"Unsupported content part type: {min(kinds - {'text'})}" if kinds - {"text"} else None


async def test_an_error_has_the_providers_reason_and_not_its_key_and_users_do_not_read_it() -> None:
    async with serve_rule(lambda _: f"The key {KEY} is wrong for project 7", status=401) as model:
        with pytest.raises(ModelMisconfigured) as raised:
            await ask(model)
    assert raised.value.reason == "The key *** is wrong for project 7"
    assert "project 7" not in str(raised.value) + raised.value.detail


async def test_a_setting_that_was_learned_to_be_refused_is_dropped_and_can_be_declared() -> None:
    async with serve_rule(refuse_field("temperature")) as model:
        assert isinstance(model, LearningModel)
        assert (await ask(model)).dropped == ()
        assert model.list_learned_facts("m") == {}
        assert (await ask(model, temperature=0.5)).dropped == ("temperature",)
        assert model.list_learned_facts("m") == {"dropped": ["temperature"]}


async def test_images_that_the_model_does_not_get_are_dropped() -> None:
    async with serve_rule(refuse_parts) as model:
        end = await ask(model, (image(b"\x89PNG\r\n\x1a\n and so on"),))
        assert end.dropped == ("images",)
        assert model.list_learned_facts("m")["images"] is False
        assert (await ask(model)).dropped == ()


async def test_a_document_whose_text_the_model_gets_is_dropped() -> None:
    async with serve_rule(refuse_parts) as model:
        end = await ask(model, (document(b"%PDF-1.7\n1 0 obj\n<<>>\nendobj\n", "application/pdf", "a.pdf"),))
        assert end.dropped == ("documents",)


async def test_a_schema_that_stands_in_the_prompt_only_is_dropped() -> None:
    async with serve_rule(
        lambda body: "response_format is not supported" if "response_format" in body else None
    ) as model:
        assert (await ask(model, answer_schema=SCHEMA)).dropped == ("answer_schema",)
        assert (await ask(model)).dropped == ()


async def test_a_refusal_that_names_nothing_has_its_reason_too() -> None:
    async with serve_rule(lambda _: "Computer says no") as model:
        with pytest.raises(ModelRefused) as raised:
            await ask(model)
    assert raised.value.reason == "Computer says no"


def test_declaring_what_was_learned_gives_the_learned_profile() -> None:
    declared = ModelProfile(dropped=frozenset({"verbosity"}), further={"a": "b"})
    existing = with_facts(
        declared,
        {
            "dropped": ["temperature"],
            "dropped_keywords": ["format"],
            "api": Api.RESPONSES,
            "answer_form": AnswerForm.PROMPT,
            "images": False,
            "documents": frozenset(),
            "replayed_fields": ("reasoning",),
            "further": {"streams_tools": "no"},
        },
    )
    facts = list_learned_facts(declared, existing)
    assert facts["dropped"] == ["temperature"]
    assert facts["documents"] == []
    assert with_facts(declared, read_profile_overrides(json.loads(json.dumps({"m": facts})))["m"]) == existing


def test_requests_that_learn_at_the_same_time_keep_what_each_has_learned() -> None:
    profiles = Profiles("model.test")
    start = profiles.of("m")
    profiles.learn("m", replace(start, images=False, dropped=frozenset({"top_p"})), start)
    profiles.learn("m", replace(start, answer_form=AnswerForm.PROMPT, dropped=frozenset({"verbosity"})), start)
    assert profiles.of("m") == replace(
        start, images=False, answer_form=AnswerForm.PROMPT, dropped=frozenset({"top_p", "verbosity"})
    )


def test_what_nobody_can_declare_is_left_out() -> None:
    assert list_learned_facts(ModelProfile(), ModelProfile(thinks_first=True)) == {}
