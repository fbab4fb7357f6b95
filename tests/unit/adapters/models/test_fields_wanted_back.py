"""A field that an endpoint has sent in its answers goes back to it once it refuses a request without it."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from baton.adapters.models.openai import OpenAIChatModel
from baton.domain.errors import ModelRefused
from baton.domain.runs.tool_call import ToolCall
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import Finished, ModelCaller, ModelChunk, ModelSettings, Prompt, ToolSpec
from tests.fakes.thread_files import MemoryThreadFiles
from tests.unit.adapters.models.chat_endpoint import Endpoint, body, chunk, sse, text

ADD = ToolSpec("add", "Adds.", {"type": "object", "properties": {}})
CALL = {"index": 0, "id": "c1", "function": {"name": "add", "arguments": "{}"}}
WORDINGS = (
    "The `{name}` in the thinking mode must be passed back to the API.",
    "messages[1].{name}: Field required",
    "Invalid assistant message: no {name} was given.",
    "El campo '{name}' del mensaje anterior no puede faltar.",
    "Earlier thinking must be preserved in multi-turn conversations.",
    "Bad Request",
    "-20115",
)


class Wanting(Endpoint):
    """An endpoint of an unknown model that sends a field with each answer, and wants it back with its value."""

    def __init__(self, name: str, value: Any, wording: str, **error: Any) -> None:
        super().__init__(self._decide)
        self._field = {name: value}
        self._refusal = {"error": {"message": wording.format(name=name), **error}}
        self.refused = 0

    def _decide(self, request: dict[str, Any]) -> httpx2.Response:
        answers = [message for message in request["messages"] if message["role"] == "assistant"]
        if not all(self._field.items() <= answer.items() for answer in answers):
            self.refused += 1
            return body(self._refusal, 400)
        if request["messages"][-1]["role"] == "tool" or "tools" not in request:
            return sse(chunk(self._field), chunk({"content": "It is 3."}), chunk({}, "stop"))
        return sse(chunk(self._field), chunk({"tool_calls": [CALL]}), chunk({}, "tool_calls"))


def model_at(endpoint: Endpoint) -> OpenAIChatModel:
    return OpenAIChatModel(
        api_key="k", base_url="http://gateway.test/v1", transport=endpoint, backoff_seconds=0.0, max_retries=0
    )


async def ask(model: OpenAIChatModel, prompts: list[Prompt], *tools: ToolSpec) -> list[ModelChunk]:
    settings = ModelSettings("acme-chat-1", caller=ModelCaller("acme", "ada", "t1"))
    chunks = [item async for item in model.stream(settings, prompts, thread_files=MemoryThreadFiles(), tools=tools)]
    [end] = [item for item in chunks if isinstance(item, Finished)]
    calls = tuple(item for item in chunks if isinstance(item, ToolCall))
    prompts.append(Prompt(Role.ASSISTANT, text(chunks), tool_calls=calls, provider_parts=end.provider_parts))
    return chunks


@pytest.mark.parametrize("wording", WORDINGS)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("reasoning_content", "Hm."),
        ("thought_token", "c2ln"),
        ("vendor_state", {"signature": "c2ln", "step": 2}),
        ("scratchpad", [{"type": "note", "text": "Hm."}]),
    ],
)
async def test_a_required_field_of_any_name_goes_back_after_any_refusal(wording: str, name: str, value: Any) -> None:
    endpoint = Wanting(name, value, wording)
    model = model_at(endpoint)
    prompts = [Prompt(Role.USER, "What is 1 + 2?")]
    await ask(model, prompts, ADD)
    prompts.append(Prompt(Role.TOOL, "3", tool_call_id="c1"))
    assert text(await ask(model, prompts, ADD)) == "It is 3."
    prompts.append(Prompt(Role.USER, "And 2 + 2?"))
    await ask(model, prompts, ADD)
    assert endpoint.refused == 1  # it is learned


async def test_a_required_field_of_an_earlier_turn_goes_back() -> None:
    endpoint = Wanting("thought_token", "c2ln", "thought_token is missing")
    prompts = [Prompt(Role.USER, "Hi")]
    await ask(model_at(endpoint), prompts)
    prompts.append(Prompt(Role.USER, "Thanks."))
    assert text(await ask(model_at(endpoint), prompts)) == "It is 3."
    assert endpoint.refused == 1


async def test_a_guess_that_is_refused_too_is_not_learned() -> None:
    def answer(request: dict[str, Any]) -> httpx2.Response:
        if len(request["messages"]) > 1:
            return body({"error": {"message": "No."}}, 400)
        return sse(chunk({"note": "x"}), chunk({"content": "Fine."}, "stop"))

    endpoint = Endpoint(answer)
    model = model_at(endpoint)
    prompts = [Prompt(Role.USER, "Hi")]
    await ask(model, prompts)
    prompts.append(Prompt(Role.USER, "Thanks."))
    with pytest.raises(ModelRefused):
        await ask(model, prompts)
    assert [["note" in message for message in sent["messages"]] for sent in endpoint.bodies[1:]] == [
        [False, False, False],
        [False, True, False],
    ]
    endpoint.answer = lambda request: sse(chunk({"content": "Fine."}, "stop"))
    await ask(model, prompts)
    assert not any("note" in message for message in endpoint.bodies[-1]["messages"])
