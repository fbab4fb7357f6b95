"""Dry runs: a turn is answered again with today's memory, and nothing is left behind."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from baton import Agent, RunContext, tool
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.agent_settings import ModelChoice
from baton.domain.agents.tool import BackgroundRules
from baton.domain.errors import ModelError, ModelUnavailable
from baton.domain.runs.tool_call import ToolCall
from baton.ports.agents.tools import ToolResult
from baton_client.models import Rerun
from tests.examples import examples
from tests.fakes.chat_model import Answer
from tests.harness.armed import CITY, arm_assistant, call
from tests.harness.coded import make_coded_harness
from tests.harness.due import MAIN, RESEARCHER, DueHarness
from tests.harness.handoffs import HandoffHarness, calling, transfer
from tests.harness.harness import ASSISTANT, Harness
from tests.harness.remembered import learn, remember
from tests.unit.api.rerunning import INSPECT, Rerunning
from tests.unit.tenants.registry.worker import Tenant

BOSS = (INSPECT, "thread:read_all", "pii:read")
QUESTION = "What is my cat called?"


def block(context: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [item for block in context["blocks"] if block["kind"] == kind for item in block["items"]]


def list_sent(context: dict[str, Any]) -> list[tuple[str, str]]:
    return [(message["role"], message["content"]) for message in context["calls"][0]["messages"]]


@pytest.fixture
def served() -> Rerunning:
    return Rerunning(Harness())


async def test_a_turn_is_answered_again_from_the_history_before_it(served: Rerunning) -> None:
    harness = served.harness
    for number in (1, 2, 3):
        await harness.say(f"m{number}", f"Question {number}")
    before = harness.model.requests[1].contents
    harness.model.script(Answer(("Another answer.",)))

    rerun = await served.rerun_successfully("m2")

    assert rerun["answer"] == "Another answer."
    assert (rerun["outcome"], rerun["agentId"], rerun["model"], rerun["toolCalls"]) == (
        "success",
        "assistant",
        "test-model",
        [],
    )
    assert list_sent(rerun["context"]) == before
    assert rerun["usage"]["inputTokens"] == 10
    assert rerun["context"]["runId"] == harness.request("m2").run_id


@settings(max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    turns=st.integers(1, 3),
    about=st.integers(1, 3),
    steps=st.lists(st.sampled_from(["weather", "unknown", "end", "fail", "transfer"]), max_size=4),
    times=st.integers(1, 2),
)
def test_whatever_a_dry_run_does_every_store_is_as_before(turns: int, about: int, steps: list[str], times: int) -> None:
    async def play() -> None:
        harness = Harness(assistant=arm_assistant())
        executed: list[str] = []

        async def weather(city: str) -> str:
            executed.append(city)
            return f"Sunny in {city}."

        harness.tools.add("weather", weather, parameters=CITY)
        served = Rerunning(harness)
        for number in range(1, turns + 1):
            harness.model.script(Answer.calling(call(city="Bern")), "Sunny.")
            await harness.say(f"m{number}", "How is the weather?")
        before, done = served.read_stored_state(), len(executed)
        harness.audit.records.clear()
        for _ in range(times):
            harness.model.forget()
            for number, step in enumerate(steps):
                instance = {
                    "weather": call(city="Bern" if number % 2 else "Rome", number=number),
                    "unknown": call("teleport", number),
                    "end": call("end_conversation", number, reason="done"),
                    "transfer": call("transfer_to_librarian", number, reason="x", context_summary="y"),
                }
                answer = Answer.calling(instance[step]) if step in instance else Answer((), ModelUnavailable())
                harness.model.script(answer)
            await served.rerun(f"m{min(about, turns)}")
        assert served.read_stored_state() == before
        assert len(executed) == done
        audited = [record.action for record in harness.audit.records]
        assert audited == ["context.rerun"] * times

    asyncio.run(play())


async def test_code_answers_again_with_the_recorded_results_and_does_nothing() -> None:
    paid: list[int] = []

    @tool
    async def pay(euros: int) -> int:
        """Pay."""
        paid.append(euros)
        return euros + 1

    faq = Agent("faq", "Answer.", description="Knows.")
    agent = Agent("assistant", "Sell.", main=True, tools=[pay], sub_agents=[faq])

    @agent.run
    async def run(context: RunContext, message: str) -> str:
        await context.say("One moment.")
        rule, word = await context.ask(faq, message), await context.model("A word.")
        return f"{rule} {word} {await context.call(pay, euros=7)}"

    harness = make_coded_harness(agent, faq, answers=("Rule.", "Word.", "Other word."))
    served = Rerunning(harness)
    turn = await harness.say("m1", QUESTION)
    before = served.read_stored_state()
    rerun = await served.rerun_successfully()
    assert rerun["answer"] == "One moment.\n\nRule. Other word. 8"
    assert turn.text == "One moment.Rule. Word. 8"
    assert {tool_call["toolName"]: tool_call["outcome"] for tool_call in rerun["toolCalls"]} == {
        "pay": "recorded",
        "ask_faq": "recorded",
    }
    assert (served.read_stored_state(), paid) == (before, [7])


async def test_a_turn_is_answered_again_on_todays_day_in_the_users_time_zone(served: Rerunning) -> None:
    await served.harness.say("m1", QUESTION, time_zone="Asia/Tokyo")
    served.harness.clock.advance(86_400)
    instance = await served.rerun_successfully()
    assert list_sent(instance["context"])[-2:] == [
        ("system", "Today is Friday, 2 March 2040 (Asia/Tokyo)."),
        ("user", QUESTION),
    ]


async def test_a_recorded_call_gets_its_result_and_another_one_is_not_executed() -> None:
    harness = Harness(assistant=arm_assistant())
    requests: list[str] = []

    async def weather(city: str) -> str:
        requests.append(city)
        return f"Sunny in {city}."

    harness.tools.add("weather", weather, parameters=CITY)
    served = Rerunning(harness)
    harness.model.script(Answer.calling(call(city="Bern")), "Sunny.")
    await harness.say("m1", "How is the weather?")

    harness.model.script(Answer.calling(call(city="Bern"), call(number=2, city="Rome")), "Sunny in Bern.")
    rerun = await served.rerun_successfully()

    assert requests == ["Bern"]
    bern, rome = rerun["toolCalls"]
    assert bern == {
        "agentId": "assistant",
        "toolName": "weather",
        "input": {"city": "Bern"},
        "isRecorded": True,
        "outcome": "recorded",
        "output": "Sunny in Bern.",
    }
    assert (rome["isRecorded"], rome["outcome"]) == (False, "not_executed")
    assert rome["output"].startswith("Not executed: this is a dry run")
    reported = [message["content"] for message in rerun["context"]["calls"][1]["messages"] if message["role"] == "tool"]
    assert reported == ["Sunny in Bern.", rome["output"]]
    assert len((await harness.records.list_calls(harness.ada, harness.thread_id, limit=50, cursor=None))[0]) == 1


async def test_equal_calls_get_their_results_in_order_and_failures_fail_again() -> None:
    harness = Harness(assistant=arm_assistant())
    answers = ["Sunny.", "Rain."]

    async def weather(city: str) -> str:
        harness.clock.advance(1)
        return answers.pop(0)

    harness.tools.add("weather", weather, parameters=CITY)
    served = Rerunning(harness)
    rerun_answers: list[Answer | str | ModelError] = [
        Answer.calling(call(city="Bern")),
        Answer.calling(call(city="Bern", number=2)),
        "It changes.",
    ]
    harness.model.script(*rerun_answers)
    await harness.say("m1", "How is the weather?")
    harness.model.script(*rerun_answers)
    assert [tool_call["output"] for tool_call in (await served.rerun_successfully())["toolCalls"]] == [
        "Sunny.",
        "Rain.",
    ]


async def test_a_consulted_agent_is_not_asked_again() -> None:
    expert = ASSISTANT.model_copy(update={"id": "expert", "name": "Expert", "main": False})
    asking = ASSISTANT.model_copy(update={"sub_agents": ("expert",)})
    harness = Harness(assistant=asking, others=(expert,))
    served = Rerunning(harness)
    ask = ToolCall("c1", "ask_expert", json.dumps({"message": "How old?"}))
    other = ToolCall("c2", "ask_expert", json.dumps({"message": "How tall?"}))
    harness.model.script(Answer.calling(ask), "Ten years.", "It is ten.")
    await harness.say("m1", "How old is it?")
    request_count = len(harness.model.requests)

    harness.model.script(Answer.calling(ask, other), "It is ten, I suppose.")
    rerun = await served.rerun_successfully()

    assert len(harness.model.requests) == request_count + 2
    assert [(tool_call["isRecorded"], tool_call["output"][:12]) for tool_call in rerun["toolCalls"]] == [
        (True, "Ten years."),
        (False, "Not executed"),
    ]


async def test_a_mended_document_shows_in_the_answer() -> None:
    harness = Harness(recalls=True)
    served = Rerunning(harness)
    await harness.say("m1", "When does the archive open?")
    await learn(harness, harness.ada, "assistant", "The archive opens at nine.")

    items = block((await served.rerun_successfully())["context"], "knowledge")

    assert [(item["text"], item["included"]) for item in items] == [("The archive opens at nine.", True)]


async def test_an_item_is_left_out_on_request() -> None:
    harness = Harness(recalls=True)
    cat = await remember(harness.search, harness.embedder, harness.ada, "My cat is called Miso.")
    served = Rerunning(harness)
    await harness.say("m1", QUESTION)
    with_it = block((await served.rerun_successfully())["context"], "episodes")
    assert [item["text"] for item in with_it] == ["My cat is called Miso."]

    without = await served.rerun_successfully(without=[cat.fields["message_id"], "none-such"])

    assert block(without["context"], "episodes") == []
    assert "Miso" not in json.dumps(without["context"])


async def test_a_turn_of_the_history_is_left_out_as_a_whole(served: Rerunning) -> None:
    for number in (1, 2, 3):
        await served.harness.say(f"m{number}", f"Question {number}")
    rerun = await served.rerun_successfully("m3", without=["m1"])
    assert [content for role, content in list_sent(rerun["context"]) if role == "user"] == ["Question 2", "Question 3"]
    assert len([role for role, _ in list_sent(rerun["context"]) if role == "assistant"]) == 1


async def test_what_was_said_later_is_not_remembered() -> None:
    harness = Harness(recalls=True)
    served = Rerunning(harness)
    await harness.say("m1", QUESTION)
    later = harness.clock.now() + timedelta(days=1)
    await remember(harness.search, harness.embedder, harness.ada, "My cat is called Tofu.", at=later)
    assert block((await served.rerun_successfully())["context"], "episodes") == []


async def test_another_model_answers_if_the_deployment_uses_it(served: Rerunning) -> None:
    await served.harness.say("m1")
    rerun = await served.rerun_successfully(model="light-model")
    assert served.harness.model.requests[-1].settings.model == "light-model"
    assert rerun["context"]["calls"][0]["model"] is not None

    refused = await served.rerun(model="gpt-of-others")
    assert (refused.status_code, refused.json()["code"]) == (422, "model_not_offered")
    assert "light-model, test-model" in refused.json()["detail"]


async def test_no_fallback_stands_in_for_a_model_that_is_tried() -> None:
    choice = ModelChoice(name="test-model", fallback=("light-model",))
    served = Rerunning(Harness(assistant=ASSISTANT.model_copy(update={"model": choice})))
    await served.harness.say("m1")
    assert served.harness.model.requests[-1].settings.fallback == ("light-model",)
    await served.rerun_successfully(model="light-model")
    assert served.harness.model.requests[-1].settings.fallback == ()


async def test_an_older_version_of_a_tenants_agent_answers() -> None:
    harness = Harness()
    served = Rerunning(harness)
    for prompt in ("Ask.", "Explain."):
        values = {"id": "tutor", "name": "Tutor", "description": "Helps.", "system_prompt": prompt, "main": True}
        await Tenant(harness.agent_definitions, harness.clock, harness.ada).put("tutor", values)
    await harness.say("m1", "Hello", agent_id="tutor")

    assert (await served.rerun_successfully())["agentVersion"] == 2
    first = await served.rerun_successfully(agentVersion=1)
    assert (list_sent(first["context"])[0][1][:4], first["agentVersion"]) == ("Ask.", 1)
    assert first["agentVersions"] == {"tutor": 1}
    unknown = await served.rerun(agentVersion=3)
    assert (unknown.status_code, unknown.json()["code"]) == (404, "unknown_agent_version")


async def test_a_client_reads_a_dry_run_of_a_server_of_the_release_before(served: Rerunning) -> None:
    await served.harness.say("m1")
    rerun = await served.rerun_successfully()
    assert rerun.pop("agentVersions") == {}
    assert Rerun.model_validate(rerun).agent_versions is None


@pytest.mark.parametrize("agent_id", ["assistant", "nobody", "hidden"])
async def test_versions_are_of_agents_that_the_tenant_has_made_and_the_caller_may_use(
    served: Rerunning, agent_id: str
) -> None:
    harness = served.harness
    values = {"id": "hidden", "name": "H", "description": "Hides.", "system_prompt": "Hide.", "main": True}
    hidden = values | {"required_permissions": ["hide"]}
    await Tenant(harness.agent_definitions, harness.clock, harness.ada).put("hidden", hidden)
    await harness.say("m1")
    refused = await served.rerun(agentId=agent_id, agentVersion=1)
    assert (refused.status_code, refused.json()["code"]) == (404, "unknown_agent_version")
    assert refused.json()["detail"] == "There is no such agent of the tenant, or you may not use it."


async def test_a_handoff_is_shown_and_the_conversation_stays_where_it_is() -> None:
    harness = HandoffHarness(context_mode="full")
    served = Rerunning(harness)
    await harness.say("m1", "Hello")
    before = await harness.store.get_thread(harness.ada, harness.thread_id)

    harness.model.script(transfer(), "What shall it be called?")
    rerun = await served.rerun_successfully()

    [expected] = rerun["toolCalls"]
    assert (expected["toolName"], expected["outcome"], expected["isRecorded"]) == ("transfer_to_maker", "wanted", False)
    assert await harness.store.get_thread(harness.ada, harness.thread_id) == before
    assert await harness.list_handoffs() == []


async def test_a_turn_of_a_specialist_is_answered_by_it_also_when_it_has_returned() -> None:
    harness = HandoffHarness(context_mode="full")
    served = Rerunning(harness)
    await harness.hand_over("trigger")
    await harness.say("m2", "Call it Box.")
    request = harness.model.requests[-1]
    await harness.say("m3", "exit")
    await harness.say("m4", "Hello again")

    rerun = await served.rerun_successfully("m2")

    assert rerun["context"]["calls"][0]["agentId"] == "maker"
    assert list_sent(rerun["context"]) == request.contents


async def test_a_turn_is_answered_on_the_branch_that_it_was_on(served: Rerunning) -> None:
    harness = served.harness
    await harness.say("m1", "Question 1")
    await harness.say("m2", "Question 2")
    await harness.say("m3", "Question 3", branch={"from": "m2"})
    await harness.say("m4", "Question 4")
    assert [text for role, text in list_sent((await served.rerun_successfully("m2"))["context"]) if role == "user"] == [
        "Question 1",
        "Question 2",
    ]
    assert [text for role, text in list_sent((await served.rerun_successfully("m4"))["context"]) if role == "user"] == [
        "Question 1",
        "Question 3",
        "Question 4",
    ]


async def test_a_turn_that_cannot_be_found_or_has_not_ended_is_refused(served: Rerunning) -> None:
    harness = served.harness
    await harness.say("m1")
    unknown = await served.rerun("m9", messageId="m1")
    assert (unknown.status_code, unknown.json()["code"]) == (404, "not_found")
    assert "retention" in unknown.json()["detail"]
    assert harness.audit.records[-1].outcome == "not_found"

    gate = asyncio.Event()
    harness.model.script(Answer(("Wait.",), gate=gate))
    running = asyncio.ensure_future(harness.say("m2"))
    await harness.wait_for_requests(2)
    refused = await served.rerun("m2")
    assert (refused.status_code, refused.json()["code"]) == (409, "rerun_unavailable")
    beside = await served.rerun_successfully("m1")
    gate.set()
    assert ((await running).text, beside["answer"]) == ("Wait.", "Hello there.")


async def test_the_permission_is_needed_and_for_others_that_to_read_them(served: Rerunning) -> None:
    await served.harness.say("m1")
    served.harness.audit.records.clear()
    assert (await served.rerun("m1", "audit:read")).status_code == 403
    assert [(record.action, record.outcome) for record in served.harness.audit.records] == [("context.rerun", "denied")]
    assert (await served.rerun(user="eve")).status_code == 404
    assert (await served.rerun("m1", *BOSS, user="boss", messageId="m1")).status_code == 200
    record = served.harness.audit.records[-1]
    assert (record.action, record.scope.user_id, record.detail["userId"]) == ("context.rerun", "boss", "ada")


async def test_a_failing_model_fails_the_dry_run_alone(served: Rerunning) -> None:
    await served.harness.say("m1")
    served.harness.model.script(ModelUnavailable())
    failed = await served.rerun()
    assert (failed.status_code, failed.json()["code"]) == (502, "model_unavailable")


async def test_a_call_that_needs_an_approval_waits_and_asks_nobody() -> None:
    harness = Harness(assistant=arm_assistant())

    async def pay(city: str) -> str:
        raise AssertionError("it must not be called")

    harness.tools.add("pay", pay, parameters=CITY, requires_approval=True)
    served = Rerunning(harness)
    await harness.say("m1", "Hello")
    harness.model.script(Answer.calling(call("pay", city="Bern"), text="I pay."))
    rerun = await served.rerun_successfully()
    assert (rerun["outcome"], rerun["toolCalls"][0]["outcome"]) == ("interrupt", "waiting")
    assert (await harness.store.get_thread(harness.ada, harness.thread_id)).pending is None


@pytest.mark.parametrize(
    "options", [{"model": ""}, {"agentVersion": 0}, {"agentId": "tutor"}, {"without": [""]}, {"without": ["x"] * 201}]
)
async def test_a_request_that_is_not_one_is_refused(served: Rerunning, options: dict[str, Any]) -> None:
    await served.harness.say("m1")
    assert (await served.rerun(**options)).status_code == 422


async def test_a_dry_run_begins_no_task_in_the_background_and_removes_none() -> None:
    report = {"type": "python", "name": "make_report", "description": "Makes a report.", "entry_point": "x:y"}
    agent = AgentDefinition.model_validate(MAIN.model_dump() | {"tools": [report]})
    harness = DueHarness(assistant=agent, others=(RESEARCHER,))

    async def make() -> ToolResult:
        return ToolResult("Accepted.", is_pending=True, location="https://reports.example/1")

    harness.tools.add("make_report", make, background=BackgroundRules())
    calls = (calling("ask_researcher", message="Why?"), calling("make_report"))
    harness.model.script(*calls, "I am on it.")
    await harness.say("m1", QUESTION)
    served = Rerunning(harness)
    harness.model.forget()
    harness.model.script(*calls, calling("ask_researcher", message="How?"), "Other words.")
    before = served.read_stored_state()
    rerun = await served.rerun_successfully()
    assert served.read_stored_state() == before
    assert rerun["answer"] == "Other words."
    outcomes = [(tool_call["toolName"], tool_call["outcome"]) for tool_call in rerun["toolCalls"]]
    request = "ask_researcher"
    assert outcomes == [(request, "recorded"), ("make_report", "recorded"), (request, "not_executed")]
