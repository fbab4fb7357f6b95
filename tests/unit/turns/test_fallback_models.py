"""A turn's record names the model that answered, when another one stood in."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from typing import Any

import pytest

from baton.adapters.models.provider_models import ProviderModels
from baton.composition.app import build
from baton.domain.agents.agent_settings import ModelChoice
from baton.domain.errors import ContentFiltered, ContextTooLong, ModelError, ModelTimeout, ModelUnavailable
from baton.domain.runs.tool_call import ToolCall
from baton.domain.runs.usage import ModelUsage, Price, Prices, Usage
from baton.domain.threads.message import StoredMessage
from tests.fakes.chat_model import Answer, ScriptedChatModel
from tests.harness.harness import ASSISTANT, Harness
from tests.unit.api.served import Served

ANSWERING = ASSISTANT.model_copy(update={"model": ModelChoice(name="gpt-6-sol", fallback=("groq/llama-4",))})
PRICES = Prices({"gpt-6-sol": Price(input=1_000, output=1_000), "llama-4": Price(input=1, output=2)})


class Deployment:
    """An agent whose model has a fallback at another provider."""

    def __init__(self) -> None:
        self.harness = Harness(assistant=ANSWERING)
        self.groq = ScriptedChatModel(otherwise=Answer(("I stand in.",)))
        self.harness.prices = PRICES
        model = ProviderModels({"default": lambda: self.harness.model, "groq": lambda: self.groq})
        self.harness.turns = build(self.harness.with_ports(model=model)).turns
        self.served = Served(self.harness)

    async def read_newest_turn(self) -> dict[str, Any]:
        """Return the newest turn as the API lists it."""
        items, _ = await self.served.items(f"/threads/{self.harness.thread_id}/turns")
        return dict(items[0])

    async def calls(self) -> list[dict[str, Any]]:
        """The calls of models in the turn's record of the Context Inspector."""
        run_id = self.harness.request().run_id
        path = f"/threads/{self.harness.thread_id}/turns/{run_id}/context"
        record = (await self.served.get(path, "context:inspect")).raise_for_status().json()
        return list(record["calls"])


async def test_a_turn_its_usage_its_cost_and_its_record_name_the_fallback_that_answered() -> None:
    deployment = Deployment()
    harness = deployment.harness
    harness.model.script(ModelUnavailable())
    exchange = await harness.say()
    assert exchange.text == "I stand in."
    assert exchange.last["usage"][0]["model"] == "llama-4"
    turn = await deployment.read_newest_turn()
    assert (turn["model"], turn["errorCode"]) == ("llama-4", None)
    assert turn["cost"] == pytest.approx((10 * 1 + 2 * 2) / 1_000_000)
    [end] = [message.end for message in await list_stored(harness) if message.end is not None]
    assert (end.model, end.by_model) == ("llama-4", (ModelUsage("llama-4", Usage(10, 2)),))
    assert [call["model"] for call in await deployment.calls()] == ["llama-4"]


async def test_a_turn_that_changed_its_model_between_two_calls_is_priced_by_both() -> None:
    deployment = Deployment()
    harness = deployment.harness
    harness.model.script(Answer.calling(ToolCall("c1", "no_such_tool", "{}")), ModelUnavailable())
    exchange = await harness.say()
    assert exchange.text == "I stand in."
    turn = await deployment.read_newest_turn()
    assert turn["model"] == "llama-4"
    assert turn["cost"] == pytest.approx((12 * 1_000 + 10 * 1 + 2 * 2) / 1_000_000)
    assert [call["model"] for call in await deployment.calls()] == ["gpt-6-sol", "llama-4"]


async def test_an_answer_of_a_fallback_that_breaks_off_is_priced_as_the_fallbacks() -> None:
    deployment = Deployment()
    deployment.harness.model.script(ModelUnavailable())
    deployment.groq.script(Answer(("I stand ",), ModelTimeout()))
    exchange = await deployment.harness.say()
    assert (exchange.text, exchange.last["code"]) == ("I stand ", "model_timeout")
    turn = await deployment.read_newest_turn()
    usage = turn["usage"]
    assert turn["model"] == "llama-4"
    assert turn["cost"] == pytest.approx((usage["inputTokens"] * 1 + usage["outputTokens"] * 2) / 1_000_000)
    assert [(call["model"], call["error"]) for call in await deployment.calls()] == [("llama-4", "model_timeout")]


async def test_waiting_for_fallbacks_ends_with_the_turns_time() -> None:
    deployment = Deployment()
    deployment.harness.model.script(ModelTimeout())
    deployment.groq.script(Answer(gate=asyncio.Event()))  # it says nothing
    turn = await deployment.harness.say(seconds=0.2)
    assert turn.last["code"] == "turn_timeout"
    assert len(deployment.groq.requests) == 1
    assert deployment.groq.abandoned == 1


async def test_what_is_too_long_for_a_fallback_is_not_too_long_for_the_model() -> None:
    deployment = Deployment()
    harness = deployment.harness
    await harness.say(content="word " * 400)
    harness.model.script(ModelUnavailable(), ModelUnavailable())
    deployment.groq.script(ContextTooLong())
    assert (await harness.say("m2")).text == "I stand in."
    shortened = sum(len(str(prompt.content)) for prompt in deployment.groq.requests[-1].prompts)
    other = str(uuid.uuid4())
    await harness.say("m3", "word " * 400, thread_id=other)
    await harness.say("m4", thread_id=other)
    whole = sum(len(str(prompt.content)) for prompt in harness.model.requests[-1].prompts)
    assert shortened < 2_000 < whole


@pytest.mark.parametrize(("failure", "code"), [(ContentFiltered(), "content_filtered"), (ModelError(), "model_error")])
async def test_a_question_that_the_model_refused_is_not_put_to_the_fallback(failure: ModelError, code: str) -> None:
    deployment = Deployment()
    deployment.harness.model.script(failure)
    turn = await deployment.harness.say()
    assert turn.last["code"] == code
    assert deployment.groq.requests == []


async def list_stored(harness: Harness) -> Sequence[StoredMessage]:
    """The stored messages of the conversation."""
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    return (await harness.store.read_messages(harness.ada, thread, limit=50, before=None)).messages
