"""Conversations of tests: tools, approvals, handoffs, waiting, files, users who are played."""

from __future__ import annotations

import json
import re
import shutil
from typing import Any

import pytest

from baton_project.new import IN_PYTHON
from baton_project.project import Project
from tests.unit.project.conftest import edit
from tests.unit.testing.command import cassette_of, run, save_tests, write_conversation

ASK = {"call": {"ask_orders": {"message": "A-1001?"}}}
LOOK = {"agent": "orders", "call": {"order_status": {"number": "A-1001"}}}
DONE = [{"agent": "orders", "say": "It is so."}, "It is so."]
STUB = {"order_status": {"cases": [{"when": {"number": "A-1001"}, "returns": "lost at sea"}]}}


@pytest.fixture
def coded(project: Project) -> Project:
    """The same project with its agents in Python."""
    shutil.rmtree(project.agents)
    shutil.rmtree(project.tools)
    shutil.copytree(IN_PYTHON, project.folder, dirs_exist_ok=True)
    return project


def append(project: Project, text: str) -> None:
    """Add fields to the assistant."""
    file = project.agents / "assistant.yaml"
    file.write_text(f"{file.read_text()}{text}")


def test_a_stub_answers_in_place_of_the_function(project: Project) -> None:
    step = {"say": "A-1001?", "answers": [ASK, LOOK, *DONE], "expect": {"tool": "order_status", "times": 1}}
    path = write_conversation(project, step, {"say": "Thanks", "answers": ["?"], "expect": {"says": "no"}}, tools=STUB)
    assert "-> lost at sea" in run(project, path).output


def test_a_call_that_no_case_of_a_stub_fits_is_noted(project: Project) -> None:
    look = {"agent": "orders", "call": {"order_status": {"number": "B-7"}}}
    step = {"say": "B-7?", "answers": [ASK, look, *DONE], "expect": {"says": "found"}}
    ran = run(project, write_conversation(project, step, tools=STUB))
    assert 'note: The stub of order_status has no case for {"number": "B-7"}.' in ran.output
    passing = run(project, write_conversation(project, {**step, "expect": {"says": "so"}}, tools=STUB))
    assert (passing.code, 'note: The stub of order_status has no case for {"number": "B-7"}.' in passing.output) == (
        0,
        True,
    )


def test_a_call_that_no_case_of_a_stub_fits_gets_the_answer_beside_the_cases(project: Project) -> None:
    look = {"agent": "orders", "call": {"order_status": {"number": "B-7"}}}
    step = {"say": "B-7?", "answers": [ASK, look, *DONE], "expect": {"says": "found"}}
    stub = {"order_status": {**STUB["order_status"], "returns": "never sent"}}
    assert "-> never sent" in run(project, write_conversation(project, step, tools=stub)).output


def test_a_server_that_is_neither_stubbed_nor_reached_is_noted_and_its_stub_offered(project: Project) -> None:
    server = "tools:\n  - {type: mcp, name: web, url: 'https://web.example.com/mcp'}\n"
    append(project, server)
    step = {"say": "Search", "answers": ["I cannot."], "expect": {"says": "found"}}
    ran = run(project, write_conversation(project, step))
    assert "note: assistant went without web: stub it under `tools`, or name it in `reach`." in ran.output
    step = {"say": "Hello", "answers": ["Good morning."], "expect": {"says": "morning", "says_not": "limited"}}
    assert run(project, write_conversation(project, step)).code == 0
    stub = {"search": {"server": "web", "parameters": {"type": "object"}, "returns": {"hits": 3}}}
    step = {"say": "Search", "answers": [{"call": {"search": {"q": "cats"}}}, "3"], "expect": {"tool": "search"}}
    assert run(project, write_conversation(project, step, tools=stub)).code == 0


def test_a_guardrail_at_an_endpoint_is_stubbed_like_a_tool(project: Project) -> None:
    append(project, "guardrails:\n  - {name: policy, url: 'https://policy.example.com', checks: [output]}\n")
    refuses = {"when": {"text": "Never."}, "returns": {"verdict": "refuse", "sentence": "Not that."}}
    stub = {"policy": {"cases": [refuses, {"returns": {"verdict": "allow"}}]}}
    steps = (
        {"say": "One?", "answers": ["Never."], "expect": {"says": "Not that."}},
        {"say": "Two?", "answers": ["Always."], "expect": {"says": "Always."}},
    )
    ran = run(project, write_conversation(project, *steps, tools=stub))
    assert ran.code == 0, ran.output
    step = {"say": "One?", "answers": ["Always."], "expect": {"says": "Always."}}
    ran = run(project, write_conversation(project, step))
    assert ran.code == 1
    assert "note: The guardrail policy was not asked: stub it under `tools`, or name it in `reach`." in ran.output


def test_guardrails_in_python_judge_in_real_time(coded: Project) -> None:
    file = coded.agents / "assistant.py"
    judge = """

@assistant.output_guardrail
async def no_secrets(text: str) -> Refuse | None:
    there, here = socket.socketpair()
    with there, here:
        here.setblocking(False)
        threading.Timer(0.2, there.send, [b"x"]).start()
        await asyncio.get_running_loop().sock_recv(here, 1)
    return Refuse("Not that.") if "Rufus" in text else None
"""
    imports = "import asyncio, socket, threading\nfrom baton import Refuse, "
    file.write_text(file.read_text().replace("from baton import ", imports, 1) + judge)
    steps = (
        {"say": "One?", "answers": ["It is Rufus."], "expect": {"says": "Not that."}},
        {"say": "Two?", "answers": ["Always."], "expect": {"says": "Always."}},
    )
    ran = run(coded, write_conversation(coded, *steps))
    assert ran.code == 0, ran.output


def test_a_structured_answer_is_held_against_its_fields(project: Project) -> None:
    append(project, "answer_schema: {type: object, required: [city], properties: {city: {type: string}}}\n")
    step = {"say": "Where?", "answers": ['{"city": 7}', '{"city": "Oslo"}'], "expect": {"result": {"city": "Oslo"}}}
    assert run(project, write_conversation(project, step)).code == 0
    ran = run(project, write_conversation(project, {**step, "answers": ['{"city": "Bergen"}']}))
    assert 'the result holds {"city": "Oslo"}' in ran.output
    assert 'it is {"city": "Bergen"}' in ran.output


@pytest.mark.parametrize(("decision", "outcome"), [("approve", "is on its way"), ("decline", "A-1001")])
def test_a_person_decides_on_a_call(project: Project, decision: str, outcome: str) -> None:
    move = "tools:\n  - type: python\n    name: order_status\n    description: It.\n"
    move += "    entry_point: shop_tools.orders:order_status\n    requires_approval: true\n"
    append(project, move)
    asks = {"agent": "assistant", "call": {"order_status": {"number": "A-1001"}}}
    path = write_conversation(
        project,
        {"say": "Look", "answers": [asks], "expect": [{"approval": "order_status"}, {"says_not": "way"}]},
        {decision: "order_status", "comment": "mine", "answers": ["Done."], "expect": {"says": "done"}},
    )
    ran = run(project, path, "--json")
    assert ran.code == 0, ran.output


def test_a_decision_that_nothing_waits_for_is_a_failure(project: Project) -> None:
    ran = run(project, write_conversation(project, {"say": "Hi", "answers": ["Hi."]}, {"approve": True}))
    assert ran.code == 1
    assert "No call waits for a decision about anything." in ran.output


def test_days_of_waiting_close_an_idle_conversation_at_its_time(project: Project) -> None:
    hello = {"say": "Hello", "answers": ["Hello."]}
    path = write_conversation(
        project,
        hello,
        {"wait": "29 minutes", "expect": {"closed": False}},
        {"wait": "2 minutes", "expect": {"closed": True}},
        {"wait": "3000 days", "expect": {"closed": False}},
        {**hello, "expect": {"says": "hello"}},
        {"close": True, "expect": {"closed": True}},
    )
    ran = run(project, path)
    assert ran.code == 0, ran.output


@pytest.mark.parametrize("end", [{"close": True}, {"wait": "1 day"}])
def test_another_conversation_has_the_memory_of_the_closed_one(project: Project, end: dict[str, Any]) -> None:
    steps = (
        {"say": "My dog is called Rufus.", "answers": ["A fine name."]},
        {**end, "expect": {"closed": True}},
        {"another": True, "expect": {"closed": False}},
        {"say": "What is my dog called?", "answers": ["Rufus."], "expect": {"max_tokens": 12}},
        {"close": True, "expect": {"closed": True}},
    )
    path = write_conversation(project, *steps)
    ran = run(project, path, "--model", "scripted", "--record")
    assert ran.code == 0, ran.output
    recordings = json.loads(cassette_of(path).read_text())["conversations"]["A talk"]
    first, second = (recording["request"]["messages"] for recording in recordings)
    assert not any(message["role"] == "context" for message in first)
    assert [message["content"] for message in second if message["role"] == "user"] == ["What is my dog called?"]
    [context] = [message["content"] for message in second if message["role"] == "context"]
    assert 'the user said: "My dog is called Rufus."' in context


@pytest.mark.parametrize(
    ("user", "day"),
    [
        ({}, "Today is Monday, 7 January 2030 (UTC)."),
        ({"user": {"time_zone": "Pacific/Kiritimati"}}, "Today is Tuesday, 8 January 2030 (Pacific/Kiritimati)."),
        ({"user": {"time_zone": "Pacific/Pago_Pago"}}, "Today is Sunday, 6 January 2030 (Pacific/Pago_Pago)."),
    ],
)
def test_the_day_of_a_prompt_is_the_same_in_every_run(project: Project, user: dict[str, Any], day: str) -> None:
    path = write_conversation(
        project, {"say": "Hello", "answers": ["Hello."]}, begins_at="2030-01-07T10:30:00Z", **user
    )
    cassettes = set()
    for _ in range(2):
        ran = run(project, path, "--model", "scripted", "--record")
        assert ran.code == 0, ran.output
        cassettes.add(cassette_of(path).read_text())
    [cassette] = cassettes
    assert day in cassette


def test_a_user_in_no_time_zone_is_refused(project: Project) -> None:
    ran = run(
        project,
        write_conversation(project, {"say": "Hello", "answers": ["Hello."]}, user={"time_zone": "Mars/Olympus"}),
    )
    assert ran.code == 2
    assert "is no time zone of IANA's" in ran.output + ran.errors


def test_a_file_goes_to_the_model(project: Project) -> None:
    (project.folder / "tests" / "bill.txt").write_text("42 euros")
    rule = {"if": "attachments", "say": "I see {{ attachments[0].name }}."}
    script = {"scenes": {"message": [rule, {"say": "Nothing."}]}}
    save_tests(project, script, "script")
    (project.folder / "tests" / "script.yaml").rename(project.folder / "tests" / "script.demo")
    path = write_conversation(project, {"say": "Look", "files": ["bill.txt"]}, script="script.demo")
    ran = run(project, path, "--json")
    assert ran.code == 0, ran.output
    assert ran.report["conversations"][0]["passed"]


def test_an_error_fails_a_step_unless_it_is_expected(project: Project) -> None:
    step = {"say": "Hello", "answers": [{"fail": "model_timeout"}]}
    ran = run(project, write_conversation(project, step))
    assert ran.code == 1
    assert "expected: no error" in ran.output
    assert "happened: the error model_timeout" in ran.output
    assert run(project, write_conversation(project, {**step, "expect": {"error": "model_timeout"}})).code == 0


def test_the_conversation_as_a_whole_can_be_expected_to_be_cheap(project: Project) -> None:
    hello = {"say": "Hello", "answers": [{"say": "Hello.", "input_tokens": 60, "output_tokens": 40}]}
    ran = run(project, write_conversation(project, hello, hello, conversation={"expect": {"max_tokens": 199}}))
    assert "expected: at most 199 tokens" in ran.output
    assert (
        run(project, write_conversation(project, hello, hello, conversation={"expect": {"max_tokens": 200}})).code == 0
    )


def make_played(**fields: Any) -> dict[str, Any]:
    return {"name": "Played", "persona": "In a hurry.", "goal": "Know.", "judge": "It was told.", **fields}


PLAY = [
    {"task": "persona", "say": "Where is A-1001?"},
    {"agent": "assistant", "say": "On its way."},
    {"task": "persona", "say": "###DONE###"},
]


@pytest.mark.parametrize("passed", [True, False])
def test_a_model_plays_the_user_and_another_one_judges(project: Project, passed: bool) -> None:
    verdict = {"task": "judge", "say": f'{{"passed": {str(passed).lower()}, "reason": "It says where."}}'}
    ran = run(
        project, save_tests(project, {"conversations": [make_played(answers=[*PLAY, verdict], runs=4)]}), "--json"
    )
    assert ran.code == (0 if passed else 1)
    [result] = ran.report["conversations"]
    assert [run["passed"] for run in result["runs"]] == [passed] * 4
    assert ran.report["passHatK"] == dict.fromkeys("1234", float(passed))


def test_a_judge_that_gives_no_verdict_fails_the_test(project: Project) -> None:
    path = save_tests(
        project, {"conversations": [make_played(answers=[*PLAY, {"task": "judge", "say": "Fine, I guess."}])]}
    )
    ran = run(project, path)
    assert ran.code == 1
    assert "gave no verdict" in ran.output


def test_a_persona_that_never_ends_is_stopped(project: Project) -> None:
    talk = [{"task": "persona", "say": "And?"}, {"agent": "assistant", "say": "Well."}] * 2
    verdict = {"task": "judge", "say": '{"passed": false, "reason": "No."}'}
    ran = run(project, save_tests(project, {"conversations": [make_played(answers=[*talk, verdict], max_turns=2)]}))
    assert "The persona was not done after 2 messages." in ran.output


def test_a_coroutine_that_waits_is_waited_for(project: Project) -> None:
    tool = project.tools / "shop_tools" / "orders.py"
    edit(tool, "from typing", "import asyncio\nfrom typing")
    edit(tool, '"""Return the order\'s state."""', '"""Return the order\'s state."""\n    await asyncio.sleep(0.01)')
    step = {"say": "A-1001?", "answers": [ASK, LOOK, *DONE], "expect": {"tool": "order_status"}}
    assert (
        run(
            project, write_conversation(project, step, {"say": "x", "answers": ["x"], "expect": {"says_not": "fail"}})
        ).code
        == 0
    )


def test_what_nobody_has_thought_of_fails_one_conversation_only(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("baton_testing.conversation.DrivenConversation.close", fail)
    talks = [{"name": "One", "steps": [{"close": True}]}, {"name": "Two", "steps": [{"say": "Hi", "answers": ["Hi."]}]}]
    report = run(project, save_tests(project, {"conversations": talks}), "--json").report
    assert [conversation["passed"] for conversation in report["conversations"]] == [False, True]
    assert "ZeroDivisionError" in report["conversations"][0]["runs"][0]["failures"][0]["happened"]


CODED = """
from collections.abc import AsyncIterator
from pathlib import Path

from baton import Agent, TurnContext, resource, tool

LOG = Path(__file__).with_name("log.txt")


def note(text: str) -> None:
    with LOG.open("a") as log:
        log.write(text + " ")


class Table(dict[str, str]):
    pass


@resource
async def table() -> AsyncIterator[Table]:
    note("opened")
    yield Table({"A-1": "is on its way"})
    note("closed")


@tool
async def order_state(number: str, table: Table) -> str:
    '''Look up an order. number: such as A-1.'''
    note("called")
    return table[number]


desk = Agent("desk", "Help.", main=True, tools=[order_state])


@desk.prompt
async def about(context: TurnContext, table: Table) -> str:
    return f"{context.user} may ask about {len(table)} order."
"""


def test_agents_in_python_are_tested_with_resources_that_each_conversation_opens_once(project: Project) -> None:
    shutil.rmtree(project.agents)
    project.agents.mkdir()
    (project.agents / "desk.py").write_text(CODED)
    edit(project.folder / "pyproject.toml", 'default_agent = "assistant"', 'default_agent = "desk"')
    steps = [
        {
            "say": "Where is A-1?",
            "answers": [{"call": {"order_state": {"number": "A-1"}}}, "It is on its way."],
            "expect": [{"tool": "order_state", "arguments": {"number": "A-1"}}, {"says": "on its way"}],
        }
    ]
    ran = run(project, write_conversation(project, *steps))
    assert (ran.code, ran.errors) == (0, "")
    noted = (project.agents / "log.txt").read_text().split()
    assert noted == ["opened", "closed", "opened", "called", "closed"]  # the first is the conversation that warms up


HTTP_TOOL = """
tools:
  - type: http
    name: refund
    description: Refund an order.
    method: POST
    url: https://shop.example.com/refunds
    parameters: {type: object, properties: {number: {type: string}}}
"""


def test_a_tool_that_the_test_does_not_reach_is_named_before_everything_else(project: Project) -> None:
    agent = project.agents / "assistant.yaml"
    agent.write_text(agent.read_text() + HTTP_TOOL)
    path = write_conversation(
        project, {"say": "Refund A-1001", "answers": [{"call": {"refund": {"number": "A-1001"}}}]}
    )
    ran = run(project, path)
    assert ran.code == 1
    lines = [line.strip() for line in ran.output.splitlines()]
    notes = [line for line in lines if line.startswith("note: ")]
    assert notes == ["note: assistant went without refund: stub it under `tools`, or name it in `reach`."]
    happened = next(line for line in lines if line.startswith("happened: "))
    assert happened.startswith("happened: An answer calls refund, which the agent is not offered here.")
    assert lines.index(notes[0]) < min(lines.index(line) for line in lines if "model_refused" in line)


def test_what_a_tools_code_raises_is_a_note_with_its_line(project: Project) -> None:
    tool = project.tools / "shop_tools" / "orders.py"
    edit(tool, 'ORDERS.get(number, "is not known")', "ORDERS[number]")
    path = write_conversation(
        project,
        {
            "say": "Where is A-9?",
            "answers": [
                {"call": {"ask_orders": {"message": "Where is A-9?"}}},
                {"agent": "orders", "call": {"order_status": {"number": "A-9"}}},
                {"agent": "orders", "say": "I do not know."},
                "I do not know.",
            ],
            "expect": {"says": "on its way"},
        },
    )
    ran = run(project, path)
    assert ran.code == 1
    number = next(n for n, line in enumerate(tool.read_text().splitlines(), 1) if "ORDERS[number]" in line)
    assert f"note: order_status raised {tool}:{number}: KeyError: 'A-9'" in ran.output


def test_a_transcript_has_calls_in_the_order_in_which_they_were_made(project: Project) -> None:
    numbers = [f"A-{number}" for number in range(1, 7)]
    path = write_conversation(
        project,
        {
            "say": "Where are they?",
            "answers": [
                {"call": {"ask_orders": {"message": "Where are they?"}}},
                *[{"agent": "orders", "call": {"order_status": {"number": number}}} for number in numbers],
                {"agent": "orders", "say": "I do not know."},
                "I do not know.",
            ],
            "expect": {"says": "on its way"},
        },
        tools={"order_status": {"returns": "lost"}},
    )
    ran = run(project, path)
    calls = re.findall(r"\[(\w+) called (\w+) .*?\"(?:number|message)\": \"(.*?)\"", ran.output)
    assert calls == [("assistant", "ask_orders", "Where are they?"), *[("orders", "order_status", n) for n in numbers]]
