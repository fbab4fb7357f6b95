"""Guardrails at HTTP endpoints, as operators declare them in YAML."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.agent_checks import check_agent, find_tenant_problems
from baton.domain.runs.tool_call import ToolCall
from tests.fakes.chat_model import Answer
from tests.harness.guardrail_endpoint import POLICY, UNCHECKED, Endpoint
from tests.harness.handoffs import MAKER, transfer
from tests.harness.harness import ASSISTANT, Harness


def guard(endpoint: Endpoint, **fields: Any) -> Harness:
    agent = AgentDefinition.model_validate(ASSISTANT.model_dump() | {"guardrails": [POLICY | fields]})
    return Harness(assistant=agent, tools=endpoint.toolbox)


def no_rufus(body: dict[str, Any]) -> Any:
    """Refuse questions about Rufus, and mask him in answers."""
    if "Rufus" not in body["text"]:
        return {"verdict": "allow"}
    if body["check"] == "input":
        return {"verdict": "refuse", "sentence": "Not about Rufus."}
    return {"verdict": "replace", "text": body["text"].replace("Rufus", "[name]")}


async def test_an_endpoint_judges_questions_and_answers() -> None:
    endpoint = Endpoint(no_rufus)
    harness = guard(endpoint)
    harness.model.script("My dog is Rufus.", "Stale.")
    assert (await harness.say("m1", "Your dog?")).text == "My dog is [name]."
    assert (await harness.say("m2", "Is it Rufus?")).text == "Not about Rufus."


async def test_the_request_has_the_text_the_place_and_the_secret() -> None:
    endpoint = Endpoint(lambda body: {"verdict": "allow"})
    harness = guard(endpoint)
    harness.model.script("Well.")
    turn = await harness.say("m1", "Hi.")
    assert turn.finished is not None
    common = {
        "guardrail": "policy",
        "tenantId": "acme",
        "userId": "ada",
        "threadId": harness.thread_id,
        "runId": turn.finished.messages[-1].run_id,
        "agentId": "assistant",
    }
    requests, answered = endpoint.bodies
    assert requests == common | {"check": "input", "text": "Hi.", "origin": "question"}
    assert answered == common | {"check": "output", "text": "Well.", "before": "", "isLast": True}
    assert {request.headers["Authorization"] for request in endpoint.requests} == {"Bearer s3cret"}
    assert len({request.headers["Idempotency-Key"] for request in endpoint.requests}) == 2
    assert {request.method for request in endpoint.requests} == {"POST"}


async def test_only_the_declared_texts_are_judged() -> None:
    endpoint = Endpoint(no_rufus)
    harness = guard(endpoint, checks=["output"])
    harness.model.script("Who?")
    assert (await harness.say("m1", "Rufus?")).text == "Who?"
    assert [body["check"] for body in endpoint.bodies] == ["output"]


async def test_an_endpoint_is_asked_at_the_points_of_hooks() -> None:
    def judge(body: dict[str, Any]) -> Any:
        if body["check"] == "before_model":
            return {"verdict": "replace", "text": "Be short."}
        if body["check"] == "before_tool":
            return {"verdict": "replace", "arguments": {"message": "The other question."}}
        if body["check"] == "after_tool":
            return {"verdict": "replace", "text": body["result"].replace("Rufus", "[name]")}
        return {"verdict": "allow"}

    endpoint = Endpoint(judge)
    points = ["before_model", "after_model", "before_tool", "after_tool"]
    agent = AgentDefinition.model_validate(
        ASSISTANT.model_dump() | {"guardrails": [POLICY | {"checks": points}], "sub_agents": ["expert"]}
    )
    expert = AgentDefinition.model_validate(
        ASSISTANT.model_dump() | {"id": "expert", "name": "Expert", "description": "Knows.", "main": False}
    )
    harness = Harness(assistant=agent, others=(expert,), tools=endpoint.toolbox)
    call = ToolCall("c1", "ask_expert", json.dumps({"message": "The question."}))
    harness.model.script(Answer.calling(call), "It is Rufus.", "Well.")
    assert (await harness.say("m1", "Who?")).text == "Well."
    request = {body["check"]: body for body in endpoint.bodies}
    assert list(request) == points
    assert request["before_tool"]["name"] == "ask_expert"
    assert request["before_tool"]["arguments"] == {"message": "The question."}
    assert "It is Rufus." in request["after_tool"]["result"]
    first, of_expert, last = harness.model.requests
    assert "Be short." in str(first.contents)
    assert "The other question." in str(of_expert.contents)
    assert "[name]" in str(last.contents)


async def test_an_endpoint_may_refuse_a_handoff() -> None:
    endpoint = Endpoint(lambda body: {"verdict": "refuse", "sentence": f"Not to {body['agent']}."})
    fields = {"guardrails": [POLICY | {"checks": ["on_handoff"]}], "handoffs": ["maker"]}
    agent = AgentDefinition.model_validate(ASSISTANT.model_dump() | fields)
    harness = Harness(assistant=agent, others=(MAKER,), tools=endpoint.toolbox)
    harness.model.script(transfer(), "I stay.")
    assert (await harness.say("m1", "Please.")).text == "I stay."
    assert [body["check"] for body in endpoint.bodies] == ["on_handoff"]
    assert f"Not to {endpoint.bodies[0]['agent']}." in str(harness.model.requests[-1].contents)


@pytest.mark.parametrize("on_failure", ["closed", "open"])
@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(503),
        httpx.Response(403),
        httpx.Response(200, text="fine"),
        {"verdict": "perhaps"},
        {"verdict": "replace"},
        ["allow"],
    ],
    ids=str,
)
async def test_a_failing_endpoint_refuses_unless_it_is_open(answer: Any, on_failure: str) -> None:
    harness = guard(Endpoint(lambda body: answer), checks=["output"], on_failure=on_failure)
    harness.model.script("Fine.")
    assert (await harness.say()).text == ("Fine." if on_failure == "open" else UNCHECKED)


@pytest.mark.parametrize("sentence", [None, 5, ["No."], {"en": "No."}])
async def test_a_refusal_without_a_usable_sentence_is_a_refusal(sentence: Any) -> None:
    endpoint = Endpoint(lambda body: {"verdict": "refuse", "sentence": sentence})
    harness = guard(endpoint, checks=["output"], on_failure="open")
    harness.model.script("Fine.")
    turn = await harness.say()
    assert turn.text
    assert "Fine." not in turn.text


@pytest.mark.parametrize("text", [None, 5, ["Be short."]])
async def test_an_instruction_that_is_no_text_never_reaches_the_model(text: Any) -> None:
    endpoint = Endpoint(lambda body: {"verdict": "replace", "text": text})
    harness = guard(endpoint, checks=["before_model"])
    harness.model.script("Fine.")
    assert (await harness.say()).text == UNCHECKED
    assert harness.model.requests == []


async def test_a_host_that_may_not_be_called_is_a_failure() -> None:
    endpoint = Endpoint(no_rufus, hosts=("other.example.com",))
    harness = guard(endpoint, checks=["output"])
    harness.model.script("Fine.")
    assert (await harness.say()).text == UNCHECKED
    assert endpoint.requests == []


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ({"url": "http://policy.example.com"}, "https"),
        ({"url": "https://policy.example.com/{text}"}, "no placeholders"),
        ({"url": "https://policy.example.com/{"}, "no placeholders"),
        ({"name": "ask_policy"}, "one of Baton's own tools"),
        ({"headers": {"Authorization": "Bearer s3cret"}}, "Authorization"),
        ({"timeout_seconds": 61}, "60"),
        ({"checks": []}, "at least 1"),
        ({"on_failure": "maybe"}, "closed"),
    ],
)
def test_a_wrong_guardrail_is_refused(wrong: dict[str, Any], what: str) -> None:
    agent, problems = check_agent(
        ASSISTANT.model_dump(mode="json", exclude_defaults=True) | {"guardrails": [POLICY | wrong]}
    )
    results = [problem.what for problem in problems] + (
        [tenant_problem.what for tenant_problem in find_tenant_problems(agent)] if agent else []
    )
    assert any(what in text for text in results), results


def test_a_tool_and_a_guardrail_have_different_names() -> None:
    tool = {"type": "http", "name": "policy", "description": "Judges.", "url": "https://policy.example.com"}
    _, problems = check_agent(
        ASSISTANT.model_dump(mode="json", exclude_defaults=True) | {"guardrails": [POLICY], "tools": [tool]}
    )
    assert ["policy" in problem.what for problem in problems] == [True]


def test_a_tenants_guardrail_has_no_secret_of_the_deployment() -> None:
    agent = AgentDefinition.model_validate(ASSISTANT.model_dump() | {"guardrails": [POLICY]})
    assert [tenant_problem.place for tenant_problem in find_tenant_problems(agent)] == [
        ("guardrails", 0, "headers", "Authorization")
    ]
