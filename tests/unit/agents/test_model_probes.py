"""A few short requests try what a model can do; each failure comes with what to change."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import httpx2 as httpx
import pytest

from baton.adapters.models.openai import OpenAIChatModel
from baton.adapters.models.profiles.profile import read_profile_overrides
from baton.adapters.switched_off import NoEmbedder
from baton.agents.checks.model_checks import ModelChecks
from baton.agents.checks.model_probes import ModelProbes
from baton.composition.app import build
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.agent_settings import ModelChoice
from baton.domain.agents.model_providers import Ability, AbilityCheck, ModelKind, ModelReport, ModelUse, Provider
from baton.domain.errors import (
    ModelError,
    ModelMisconfigured,
    ModelRefused,
    ModelTimeout,
    NotFound,
    OutOfCredit,
    RateLimited,
    WrongEmbeddings,
)
from baton.ports.agents.chat_model import ChatModel
from baton_testing.fakes.agents.shipped_agents import FakeShippedAgents, agent
from baton_testing.fakes.documents.embedder import FakeEmbedder
from tests.fault_model import chunk, usage_chunk
from tests.harness.able_model import AbleModel
from tests.harness.harness import Harness

SERVERS = {"own": Provider(base_url="http://model.test/v1")}


def checks_of(model: ChatModel, *agents: AgentDefinition, embedder: FakeEmbedder | None = None) -> ModelChecks:
    ports = Harness().with_ports(
        model=model,
        embedder=embedder or FakeEmbedder(),
        shipped_agents=FakeShippedAgents(*agents),
        model_providers=SERVERS,
        default_model="big",
        light_model="small",
    )
    return build(ports).model_checks


async def report_of(model: ChatModel, *agents: AgentDefinition, name: str = "big") -> ModelReport:
    return await checks_of(model, *agents).check(name)


def row(report: ModelReport, ability: Ability) -> AbilityCheck:
    [result] = [check for check in report.checks if check.ability is ability]
    return result


def with_reason(error: ModelError, reason: str) -> ModelError:
    error.reason = reason
    return error


async def test_a_model_that_can_do_everything_has_nothing_to_change() -> None:
    report = await report_of(AbleModel())
    assert [(check.ability, check.works) for check in report.checks] == [
        (Ability.TEXT, True),
        (Ability.TOOL_CALL, True),
        (Ability.PARALLEL_CALLS, True),
        (Ability.STRUCTURED_ANSWER, True),
        (Ability.IMAGE, True),
    ]
    assert (report.works, report.dropped, report.learned, report.advice) == (True, (), {}, ())


async def test_a_wrong_key_is_reported_with_the_providers_words_and_nothing_else_is_asked() -> None:
    model = AbleModel({Ability.TEXT: with_reason(ModelMisconfigured(), "Incorrect\nkey")})
    report = await report_of(model)
    text = row(report, Ability.TEXT)
    assert (text.works, text.error, text.reason) == (False, "model_misconfigured", "Incorrect key")
    assert "key" in (text.advice or "")
    assert [check.works for check in report.checks[1:]] == [None] * 4
    assert (len(model.requests), report.works) == (1, False)


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (OutOfCredit(), "credit"),
        (ModelRefused(), "--tool-call-parser"),
        (ModelTimeout(), "loaded"),
        (ModelError(), "log"),
    ],
    ids=lambda value: getattr(value, "code", value),
)
async def test_a_model_whose_tool_calls_fail_does_not_work(error: ModelError, advice: str) -> None:
    report = await report_of(AbleModel({Ability.TOOL_CALL: error}))
    call = row(report, Ability.TOOL_CALL)
    assert (call.works, call.error, report.works) == (False, error.code, False)
    assert advice in (call.advice or "")
    assert row(report, Ability.STRUCTURED_ANSWER).works


async def test_a_model_that_answers_in_words_where_it_should_call_fails_the_trial() -> None:
    call = row(await report_of(AbleModel({Ability.TOOL_CALL: "It is 11 °C."})), Ability.TOOL_CALL)
    assert (call.works, call.remark) == (False, "it called no tool: it answered 'It is 11 °C.'")


async def test_calls_one_after_the_other_are_a_remark_and_no_failure_of_the_model() -> None:
    report = await report_of(AbleModel(is_serial=True))
    parallel = row(report, Ability.PARALLEL_CALLS)
    assert (parallel.works, parallel.remark) == (False, "it calls one tool after the other")
    assert report.works


@pytest.mark.parametrize("answer", ["Paris, 3 days", '{"city": "Paris"}', '{"city": "Paris", "days": "3"}'])
async def test_an_answer_outside_the_schema_fails_the_trial(answer: str) -> None:
    report = await report_of(AbleModel({Ability.STRUCTURED_ANSWER: answer}))
    structured = row(report, Ability.STRUCTURED_ANSWER)
    assert (structured.works, report.works) == (False, True)
    assert repr(answer) in (structured.remark or "")


async def test_a_schema_in_the_prompt_only_is_a_remark() -> None:
    structured = row(await report_of(AbleModel(refused=frozenset({"answer_schema"}))), Ability.STRUCTURED_ANSWER)
    assert (structured.works, "prompt" in (structured.remark or "")) == (True, True)


async def test_an_image_that_was_not_seen_is_distinguished_from_one_that_was_not_sent() -> None:
    unseen = row(await report_of(AbleModel({Ability.IMAGE: "Blue."})), Ability.IMAGE)
    assert (unseen.works, unseen.remark) == (False, "it did not see that the image was green: it answered 'Blue.'")
    unsent = row(await report_of(AbleModel(refused=frozenset({"images"}))), Ability.IMAGE)
    assert (unsent.works, unsent.dropped) == (False, ("images",))
    assert "takes no images" in (unsent.remark or "")


async def test_settings_that_are_dropped_are_named_with_the_agents_that_set_them() -> None:
    agents = [
        agent("assistant", model={"temperature": 0.2}),
        agent("tutor", model={"name": "big", "temperature": 0.9, "top_p": 0.5}),
        agent("other", model={"name": "small", "temperature": 1}),
    ]
    model = AbleModel(refused=frozenset({"temperature", "top_p"}))
    report = await report_of(model, *agents)
    assert report.dropped == ("temperature", "top_p")
    assert report.advice[:2] == (
        "Remove `temperature` from the model of the agents assistant, tutor: this model does not take it, so it is "
        "not sent.",
        "Remove `top_p` from the model of the agent tutor: this model does not take it, so it is not sent.",
    )
    assert {request.temperature for request in model.requests} == {0.2}


async def test_what_was_learned_is_given_as_the_setting_that_declares_it() -> None:
    report = await report_of(AbleModel(refused=frozenset({"images"})), agent(model={"name": "own/big"}), name="own/big")
    [advice] = report.advice
    declared = json.loads(advice.split("learn it: ", 1)[1])
    assert read_profile_overrides(declared) == {"big": {"images": False}}


async def test_a_trial_that_hangs_ends_after_its_seconds() -> None:
    model = AbleModel(gate=asyncio.Event())
    [text, *others] = await ModelProbes(model, seconds=0.01).check("big")
    assert (text.error, text.remark) == ("model_timeout", "no answer within 0.01 seconds")
    assert {check.works for check in others} == {None}


async def test_an_unexpected_failure_is_a_row_like_any_other() -> None:
    class Broken(AbleModel):
        async def stream(self, *args: Any, **named: Any) -> Any:
            raise OSError("no such secret")
            yield

    text = row(await report_of(Broken()), Ability.TEXT)
    assert (text.works, text.error, text.reason) == (False, "internal_error", None)


async def test_one_check_runs_at_a_time_and_the_next_one_may_follow() -> None:
    gate = asyncio.Event()
    checks = checks_of(AbleModel(gate=gate))
    first = asyncio.create_task(checks.check("big"))
    await asyncio.sleep(0)
    with pytest.raises(RateLimited, match="running"):
        await checks.check("small")
    gate.set()
    assert (await first).works
    assert (await checks.check("small")).works


async def test_a_cancelled_check_does_not_block_the_next_one() -> None:
    gate = asyncio.Event()
    checks = checks_of(AbleModel(gate=gate))
    first = asyncio.create_task(checks.check("big"))
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    gate.set()
    assert (await checks.check("big")).works


async def test_models_that_nobody_uses_are_not_asked() -> None:
    model = AbleModel()
    with pytest.raises(NotFound):
        await report_of(model, name="the-most-expensive")
    assert model.requests == []


async def test_the_embedding_model_is_a_row_of_its_own() -> None:
    checks = checks_of(AbleModel(), embedder=FakeEmbedder(name="embed-small"))
    report = await checks.check("embed-small")
    assert [(check.ability, check.works, check.remark) for check in report.checks] == [
        (Ability.EMBEDDING, True, "vectors of 64 numbers")
    ]
    checks = checks_of(AbleModel(), embedder=FakeEmbedder(name="e", failure=WrongEmbeddings.of(768, 1536)))
    [wrong] = (await checks.check("e")).checks
    assert (wrong.works, wrong.error) == (False, "wrong_embedding_dimension")
    assert "768" in (wrong.remark or "")
    assert "BATON_EMBEDDING_DIMENSIONS" in (wrong.advice or "")
    checks = checks_of(AbleModel(), embedder=FakeEmbedder(name="e", failure=ValueError("the key has no parts")))
    [broken] = (await checks.check("e")).checks
    assert (broken.works, broken.error) == (False, "internal_error")


def test_every_model_is_listed_once_with_those_who_use_it() -> None:
    agents = [
        agent("assistant", model={"fallback": ["own/spare", "small"]}),
        agent("tutor", model={"name": "default/big"}),
        agent("writer", model={"name": "own/spare"}),
        AgentDefinition.model_validate(
            {
                "id": "far",
                "name": "Far",
                "description": "Far away.",
                "remote": {"card_url": "https://far.test/card.json"},
            }
        ),
    ]
    models = checks_of(AbleModel(), *agents, embedder=FakeEmbedder("embed")).list_models()
    assert [(model.name, model.kind, model.uses, model.agents, model.fallback_of) for model in models] == [
        ("big", ModelKind.CHAT, (ModelUse.CHAT,), ("assistant", "tutor"), ()),
        ("small", ModelKind.CHAT, (ModelUse.LIGHT,), (), ("assistant",)),
        ("own/spare", ModelKind.CHAT, (), ("writer",), ("assistant",)),
        ("embed", ModelKind.EMBEDDING, (ModelUse.EMBEDDING,), (), ()),
    ]
    ports = Harness().with_ports(
        embedder=NoEmbedder(), shipped_agents=FakeShippedAgents(), default_model="m", light_model="m"
    )
    [one] = build(ports).model_checks.list_models()
    assert one.uses == (ModelUse.CHAT, ModelUse.LIGHT)


class StrictEndpoint(httpx.AsyncBaseTransport):
    """An endpoint that refuses temperatures, tools, schemas and parts that are not text, each in its own words.

    It answers "Yes.".
    """

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(await request.aread())
        refusal = self._refusal(body, body["messages"])
        if refusal is not None:
            return httpx.Response(400, json={"error": {"message": refusal}})
        lines = [chunk({"content": '{"city": "Paris", "days": 3}'}), chunk({}, "stop"), usage_chunk(1, 1)]
        text = "".join(f"data: {json.dumps(line)}\n\n" for line in lines) + "data: [DONE]\n\n"
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, text=text)

    def _refusal(self, body: dict[str, Any], messages: Sequence[dict[str, Any]]) -> str | None:
        if "temperature" in body:
            return "Unsupported parameter: 'temperature'"
        if "tools" in body:
            return '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
        if "response_format" in body:
            return "response_format is not supported"
        if any(not isinstance(message["content"], str) for message in messages):
            return "Unsupported content part type: image_url"
        return None


async def test_a_report_over_an_endpoint_that_refuses_much_names_all_of_it() -> None:
    model = OpenAIChatModel(
        api_key="none", base_url="http://model.test/v1", transport=StrictEndpoint(), max_retries=0, backoff_seconds=0
    )
    report = await report_of(model, agent(model=ModelChoice(temperature=0.3).model_dump(exclude_defaults=True)))
    await model.aclose()
    assert [(check.ability, check.works) for check in report.checks] == [
        (Ability.TEXT, True),
        (Ability.TOOL_CALL, False),
        (Ability.PARALLEL_CALLS, False),
        (Ability.STRUCTURED_ANSWER, True),
        (Ability.IMAGE, False),
    ]
    assert "--tool-call-parser" in (row(report, Ability.TOOL_CALL).reason or "")
    assert report.dropped == ("answer_schema", "images", "temperature")
    assert report.advice[0].startswith("Remove `temperature` from the model of the agent assistant")
    assert report.learned["images"] is False
    assert report.learned["answerForm"] == "prompt"
    assert read_profile_overrides(json.loads(report.advice[-1].split("learn it: ", 1)[1]))
