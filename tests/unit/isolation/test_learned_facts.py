"""Words that users and tenants write teach nothing about the model that others use."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest

from baton.domain.agents.agent import AgentDefinition
from baton.domain.threads.turn_requests import ClientOffer, ClientTool
from baton.ports.agents.chat_model import ModelCaller
from tests.harness.harness import ASSISTANT
from tests.unit.adapters.models.chat_endpoint import chunk, sse
from tests.unit.isolation.tenants import Body, Tenants, Turn, refuse

WORDINGS = (
    "this model does not support system messages",
    "system role is not supported",
    "unexpected role 'system'",
    "system message must be at the beginning",
    "conversation roles must alternate user/assistant",
    "the first message must be from a user",
    "unexpected role 'user' after role 'tool'",
    "max_tokens too large: at most 16",
    "max_completion_tokens is too large",
    "use 'max_completion_tokens' instead",
    "unsupported parameter: 'temperature'",
    "temperature is not supported",
    "stream_options: extra inputs are not permitted",
    "response_format is not supported",
    "please use /v1/responses instead",
    "reasoning_content must be passed back",
    "function call is missing a thought_signature",
    "tool call id must have a length of 9",
    "unable to resolve $ref",
    "'additionalProperties' is not allowed in the schema",
    "tools= must be given with a history of tools",
    "image input is not supported",
    "single system",
    "temperature",
)
"""Lessons of refusals, as a user would write them where the endpoint quotes the request."""
AGENT = {"model": {"temperature": 0.3, "max_output_tokens": 1_000}, "memory": {"summary": False}}
TOOL = {"type": "object", "properties": {"day": {"type": "string"}}}


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
    elif isinstance(value, str):
        yield value


def make_rule_that_refuses_once(words: str, message: str) -> Callable[[Body], httpx2.Response | None]:
    """Return a rule that refuses the first form of each request with ``words``, and accepts the next form."""
    refused: list[str] = []

    def rule(request: Body) -> httpx2.Response | None:
        if not any(words in string for string in strings(request)):
            return None
        shape = json.dumps(request)
        if refused and refused[-1] != shape:
            return None
        refused.append(shape)
        return refuse(message)

    return rule


def offer(name: str = "book", **parts: Any) -> ClientOffer:
    return ClientOffer(tools=(ClientTool(name, parts.pop("description", "Books."), parts or TOOL),))


def form(turn: Turn) -> Body:
    """The last request of a turn without its words."""
    messages = [{**message, "content": None} for message in turn.sent["messages"]]
    return {**turn.sent, "messages": messages, "prompt_cache_key": None}


async def read_forms_before_and_after(tenants: Tenants, **spoiled: Any) -> tuple[Body, Body]:
    """Return the forms of a tenant's requests before and after another tenant's refused request."""
    before = form(await tenants.ask("globex", tools=offer()))
    for _ in range(2):
        await tenants.ask("acme", **spoiled)
    return before, form(await tenants.ask("globex", tools=offer()))


@pytest.mark.parametrize("words", WORDINGS)
class TestQuotedWords:
    async def test_names_of_properties_teach_nothing(self, words: str) -> None:
        message = f"Invalid schema for function 'book': In context=('properties', '{words}'), 'uri' is not a format."
        tenants = Tenants(make_rule_that_refuses_once(words, message), agent=AGENT)
        before, after = await read_forms_before_and_after(
            tenants, tools=offer(type="object", properties={words: {"type": "string", "format": "uri"}})
        )
        assert after == before

    async def test_values_of_parameters_teach_nothing(self, words: str) -> None:
        tenants = Tenants(
            make_rule_that_refuses_once(words, f"Invalid value in 'enum': '{words}' of book."), agent=AGENT
        )
        schema = {"day": {"enum": [words]}}
        before, after = await read_forms_before_and_after(tenants, tools=offer(type="object", properties=schema))
        assert after == before

    async def test_descriptions_of_tools_teach_nothing(self, words: str) -> None:
        tenants = Tenants(make_rule_that_refuses_once(words, f"The tool book is odd: {words}"), agent=AGENT)
        before, after = await read_forms_before_and_after(
            tenants, tools=offer(description=f"Books a day, so {words}", type="object", properties={})
        )
        assert after == before

    async def test_texts_of_users_teach_their_own_tenant_nothing_either(self, words: str) -> None:
        tenants = Tenants(make_rule_that_refuses_once(words, f'Cannot read "Hello, {words}" in messages'), agent=AGENT)
        before = form(await tenants.ask("acme"))
        await tenants.ask("acme", f"Hello, {words}")
        assert form(await tenants.ask("acme", user="bob")) == before

    async def test_instructions_of_an_agent_teach_nothing(self, words: str) -> None:
        odd = AgentDefinition.model_validate(
            ASSISTANT.model_dump() | AGENT | {"id": "odd", "name": "Odd", "system_prompt": f"Say that {words}."}
        )
        tenants = Tenants(
            make_rule_that_refuses_once(words, f"messages[0]: cannot read: Say that {words}."),
            agent=AGENT,
            others=(odd,),
        )
        before, after = await read_forms_before_and_after(tenants, agent="odd")
        assert after == before


@pytest.mark.parametrize(
    "name", [words.replace(" ", "_")[:64] for words in WORDINGS if words.replace(" ", "_").isidentifier()]
)
async def test_names_of_tools_teach_nothing(name: str) -> None:
    tenants = Tenants(
        make_rule_that_refuses_once(name, f"Invalid schema for function '{name}': tools[0] is not supported"),
        agent=AGENT,
    )
    before, after = await read_forms_before_and_after(tenants, tools=offer(name))
    assert after == before


async def test_a_request_whose_own_words_are_refused_is_still_answered() -> None:
    words = "this model does not support system messages"
    tenants = Tenants(
        make_rule_that_refuses_once(
            words, f"Invalid schema for function 'book': In context=('properties', '{words}'), 'uri' is bad"
        ),
        agent=AGENT,
    )
    tools = offer(type="object", properties={words: {"type": "string", "format": "uri"}})
    assert (await tenants.ask("acme", tools=tools)).outcome == "Yes."


class TestRefusedValues:
    def rule(self, request: Body) -> httpx2.Response | None:
        effort = request.get("reasoning_effort")
        if effort not in (None, "low", "high"):
            text = f"Invalid value: '{effort}'. Supported values are: 'low', and 'high'."
            return refuse(text, param="reasoning_effort", code="invalid_value")
        if request.get("max_tokens", 0) > 4_000:
            return refuse(f"max_tokens is too large: {request['max_tokens']}. This model supports at most 4000 tokens.")
        return None

    def tenants(self, **model: Any) -> Tenants:
        odd = AgentDefinition.model_validate(ASSISTANT.model_dump() | {"id": "odd", "name": "Odd", "model": model})
        usual = {"model": {"reasoning_effort": "high", "max_output_tokens": 1_000}}
        return Tenants(self.rule, agent=usual, others=(odd,))

    @pytest.mark.parametrize(
        ("model", "field", "value"),
        [
            ({"reasoning_effort": "bogus"}, "reasoning_effort", "high"),
            ({"max_output_tokens": 200_000}, "max_tokens", 1_000),
        ],
    )
    async def test_a_value_that_is_refused_drops_no_other_value(self, model: Body, field: str, value: object) -> None:
        tenants = self.tenants(**model)
        for tenant in ("acme", "initech"):
            assert (await tenants.ask(tenant, agent="odd")).outcome == "Yes."
        for tenant in ("acme", "globex"):
            assert (await tenants.ask(tenant, agent="assistant")).sent[field] == value

    async def test_a_value_that_was_refused_is_not_sent_again(self) -> None:
        tenants = self.tenants(reasoning_effort="bogus")
        assert [len((await tenants.ask("acme", agent="odd")).requests) for _ in range(2)] == [2, 1]


def refuse_temperature(request: Body) -> str | None:
    return (
        "Unsupported parameter: 'temperature' is not supported with this model." if "temperature" in request else None
    )


class TestFactsOfAModel:
    async def test_a_fact_holds_for_its_tenant_until_another_has_seen_it(self) -> None:
        tenants = Tenants(refuse_temperature, agent=AGENT)
        request = [
            len((await tenants.ask(tenant)).requests) for tenant in ("acme", "acme", "globex", "globex", "initech")
        ]
        assert request == [2, 1, 2, 1, 1]

    async def test_what_a_request_with_client_tools_has_taught_holds_for_its_user(self) -> None:
        def rule(request: Body) -> str | None:
            has_system = any(message["role"] == "system" for message in request["messages"])
            has_client_tools = any(tool["function"]["name"] == "book" for tool in request.get("tools", ()))
            return "System role not supported" if has_system and has_client_tools else None

        tenants = Tenants(rule, agent=AGENT)
        for tenant in ("acme", "globex", "initech"):
            assert (await tenants.ask(tenant, tools=offer())).roles == ["user"]
        assert len((await tenants.ask("acme", tools=offer())).requests) == 1
        for tenant, user in (("acme", "bob"), ("umbrella", "ada")):
            assert (await tenants.ask(tenant, user=user)).roles[0] == "system"

    async def test_a_check_of_the_deployment_teaches_all_tenants(self) -> None:
        from baton.agents.checks.model_probes import ModelProbes
        from baton.domain.agents.agent_settings import ModelChoice

        tenants = Tenants(refuse_temperature, agent=AGENT)
        await ModelProbes(tenants.model).check(tenants.default_model, (ModelChoice(temperature=0.5),))
        assert len((await tenants.ask("acme")).requests) == 1

    async def test_thinking_that_a_user_has_a_model_write_holds_back_no_answers_of_others(self) -> None:
        def rule(request: Body) -> httpx2.Response | None:
            if "THINK" not in str(request["messages"][-1]["content"]):
                return None
            return sse(chunk({"content": "So.\n</think>\n\nYes."}), chunk({}, "stop"))

        tenants = Tenants(rule, agent=AGENT)
        await tenants.ask("acme", "THINK")
        await tenants.ask("globex", "THINK")
        model: Any = tenants.model
        callers = (("acme", "ada"), ("acme", "bob"), ("globex", "ada"), ("initech", "ada"))
        existing = [model._profiles.of(tenants.default_model, ModelCaller(*caller)) for caller in callers]
        assert [profile.thinks_first for profile in existing] == [True, False, True, False]
