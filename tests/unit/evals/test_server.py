"""A server's agents are evaluated over its API, and its stored conversations become data sets."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from baton.domain.errors import ModelUnavailable
from baton_client import AsyncBaton
from baton_testing.errors import CannotRun
from baton_testing.evals.collecting import MAX_TEXT, Wanted, collect, write_cases
from baton_testing.evals.reading import read_datasets
from baton_testing.evals.reports.publishing import make_request
from baton_testing.evals.summary import summarise
from baton_testing.evals.targets.replay_target import ReplayTarget, select_of_agent
from baton_testing.evals.targets.server_run import ServerPlan
from baton_testing.evals.targets.server_target import ServerTarget, check_for_server
from tests.harness.handoffs import calling, transfer
from tests.harness.harness import Harness
from tests.unit.api.authors import TUTOR, Authors
from tests.unit.api.served import Served
from tests.unit.evals.records import record
from tests.unit.evals.served_cases import case, client_of

MAIL = "ada.lovelace@example.com"


async def test_a_case_is_held_in_a_new_conversation_with_its_calls() -> None:
    harness = Harness()

    async def order_status(number: str) -> str:
        return f"{number} is on its way."

    parameters = {"type": "object", "properties": {"number": {"type": "string"}}, "required": ["number"]}
    harness.tools.add("order_status", order_status, parameters=parameters)
    harness.model.script("Hello.", calling("order_status", number="A-1001"), "It is on its way.", "Hi.", "No idea.")
    target = ServerTarget(client_of(Served(harness), "bob"))
    first, second = await target.hold(case(), 0), await target.hold(case(), 1)
    assert (first.text, first.error) == ("It is on its way.", None)
    assert [(call.tool, call.arguments) for call in first.calls] == [("order_status", {"number": "A-1001"})]
    assert first.tokens > 0
    assert first.retrieved is None  # the token may not read the inspector's records
    assert (second.text, second.calls) == ("No idea.", ())
    assert first.thread_id != second.thread_id


async def test_a_model_that_fails_fails_the_run_and_a_refused_token_ends_the_evaluation() -> None:
    harness = Harness()
    harness.model.script(RuntimeError("down"))
    served = Served(harness)
    result = await ServerTarget(client_of(served, "bob")).hold(case(input="Hello"), 0)
    assert result.error is not None
    async with httpx.AsyncClient(transport=httpx.ASGITransport(served.app)) as http:
        client = AsyncBaton("http://baton.test", token="", http_client=http, max_retries=0)
        with pytest.raises(CannotRun):
            await ServerTarget(client).hold(case(input="Hello"), 0)


async def test_a_version_of_an_agent_answers_stored_turns_again() -> None:
    served = Served()
    authors = Authors(served)
    for prompt in ("Ask.", "Explain."):
        await authors.put("tutor", TUTOR | {"systemPrompt": prompt})
    await served.harness.say("m1", "Hello", agent_id="tutor")
    (turn,), _ = await served.items(f"/threads/{served.harness.thread_id}/turns")
    stored = {"threadId": served.harness.thread_id, "runId": turn["runId"], "agentId": "tutor"}
    served.harness.model.script("From version one.")
    target = ReplayTarget(client_of(served, "ada", "context:inspect"), "tutor", 1)
    answer = await target.hold(case(metadata=stored), 0)
    assert (answer.text, answer.error) == ("From version one.", None)
    assert "Ask." in str(served.harness.model.requests[-1])
    gone = await target.hold(case(metadata=stored | {"runId": "nothing"}), 0)
    assert gone.error is not None
    with pytest.raises(CannotRun, match="tutor version 3: "):
        await replace(target, version=3).hold(case(metadata=stored), 0)


async def test_the_version_of_the_agent_that_a_replay_names_answers_and_no_other() -> None:
    served = Served()
    authors, model = Authors(served), served.harness.model
    for prompt in ("Ask.", "Explain."):
        await authors.put("aide", TUTOR | {"systemPrompt": prompt, "main": False})
        await authors.put("tutor", TUTOR | {"systemPrompt": f"{prompt} Hand over.", "handoffs": [{"agent": "aide"}]})
    model.script(transfer("aide"), "I am the aide.")
    await served.harness.say("m1", "Hello", agent_id="tutor")
    (turn,), _ = await served.items(f"/threads/{served.harness.thread_id}/turns")
    stored = {"threadId": served.harness.thread_id, "runId": turn["runId"], "agentId": turn["agentId"]}
    target = ReplayTarget(client_of(served, "ada", "context:inspect"), "aide", 1)
    model.script(transfer("aide"), "From version one.")
    answer = await target.hold(case(metadata=stored), 0)
    assert (answer.text, answer.answered_by, answer.error) == ("From version one.", "aide", None)
    assert ["Explain. Hand over." in str(model.requests[-2]), "Ask." in str(model.requests[-1])] == [True, True]
    model.script("I answer myself.")
    answer = await target.hold(case(metadata=stored), 0)
    assert answer.error == "aide took no part in this answer: tutor answered."


def test_a_replay_takes_turns_of_stored_conversations_that_its_agent_answered() -> None:
    turns = [case(metadata={"threadId": "t", "runId": "r", "agentId": name}) for name in ("tutor", "aide", None)]
    assert select_of_agent(turns, "tutor") == [turns[0], turns[2]]
    with pytest.raises(CannotRun, match="made by `baton eval collect`"):
        check_for_server([case()], ServerPlan(None, (), agent="tutor", version=1).find_problems)


def test_what_only_a_project_can_do_is_refused_with_its_place() -> None:
    with pytest.raises(CannotRun) as raised:
        check_for_server([case(input=["Hello", {"approve": True}]), case(reach=["weather"])])
    assert [line.split(": ")[:2] for line in str(raised.value).splitlines()] == [
        ["cases.jsonl:1", "input"],
        ["cases.jsonl:1", "tools, reach"],
    ]


async def rate() -> Served:
    """Two conversations: one with an answer that was rated down, one without."""
    harness = Harness()
    harness.model.script(f"Noted, {MAIL}.", "It is lost.", "Hello.")
    await harness.say("m1", f"I am {MAIL}.")
    await harness.say("m2", "Where is A-1001?")
    served = Served(harness)
    listed = (await served.get(f"/threads/{harness.thread_id}/messages")).json()["items"]
    path = f"/threads/{harness.thread_id}/messages/{listed[-1]['id']}/feedback"
    (await served.post(path, {"rating": "down", "comment": f"Wrong. {MAIL}"})).raise_for_status()
    harness.thread_id = "another"
    await harness.say("m3", "Hello")
    return served


async def test_rated_turns_become_cases_without_personal_data(tmp_path: Path) -> None:
    served, file = await rate(), io.StringIO()
    admin = client_of(served, "boss", "thread:read_all", "pii:read")
    assert await write_cases(collect(admin, Wanted(rating="down")), file) == 1
    assert "lovelace" not in file.getvalue()
    path = tmp_path / "collected.jsonl"
    path.write_text(file.getvalue())
    [result] = read_datasets([path])
    assert [turn.say for turn in result.case.input] == ["I am [email].", "Where is A-1001?"]
    assert (result.case.reference, result.case.expected, result.case.checks) == ("It is lost.", None, ())
    assert result.case.metadata["comment"] == "Wrong. [email]"
    assert result.case.tags == ("collected", "feedback-down")
    actions = [(item.action, item.scope.user_id) for item in served.harness.audit.records]
    assert ("thread.list", "boss") in actions
    assert ("thread.read", "boss") in actions


@pytest.mark.parametrize("sign", ["a", "ä", "😀", "\u0001"])
async def test_a_collected_case_can_be_read_however_long_its_conversation_was(sign: str, tmp_path: Path) -> None:
    async def cases() -> AsyncIterator[dict[str, Any]]:
        texts = [f"{number} {sign * (MAX_TEXT - 3)}" for number in range(50)]
        for name, turns in (("long", texts), ("short", texts[-1])):
            yield {"name": name, "input": turns, "reference": sign * MAX_TEXT, "metadata": {}}

    path = tmp_path / "collected.jsonl"
    with path.open("w", encoding="utf-8") as file:
        assert await write_cases(cases(), file) == 2
    long, short = read_datasets([path])
    assert str(long.case.input[-1].say).startswith("49 ")
    assert long.case.metadata["turnsLeftOut"] == 50 - len(long.case.input)
    assert len(short.case.input) == 1


async def test_turns_that_ended_with_an_error_become_cases() -> None:
    harness = Harness()
    harness.model.script("Hello.", ModelUnavailable())
    await harness.say("m1", "Hello")
    await harness.say("m2", "Where is A-1001?")
    admin = client_of(Served(harness), "boss", "thread:read_all")
    [result] = [item async for item in collect(admin, Wanted(errors=True))]
    assert result["input"] == ["Hello", "Where is A-1001?"]
    assert (result["tags"], result["metadata"]["errorCode"]) == (["collected", "error"], "model_unavailable")


async def test_collecting_is_bounded_and_needs_the_permission() -> None:
    served = await rate()
    admin = client_of(served, "boss", "thread:read_all")
    assert len([item async for item in collect(admin, Wanted())]) == 3
    assert len([item async for item in collect(admin, Wanted(limit=2))]) == 2
    assert [item async for item in collect(admin, Wanted(errors=True))] == []
    assert [item async for item in collect(admin, Wanted(rating="up"))] == []
    with pytest.raises(Exception, match="thread:read_all"):
        _ = [item async for item in collect(client_of(served, "bob"), Wanted())]


async def test_results_are_published_as_numbers_and_reasons() -> None:
    served = Served()
    result = record([True, False], [True], [None])
    body = make_request(result, summarise(result)) | {"beganAt": served.harness.clock.now().isoformat()}
    published = await client_of(served, "boss", "agent:write").evaluations.publish(body)
    assert (published.passed, published.runs, published.cases) == (pytest.approx(2 / 3), 4, 3)
    assert [case.name for case in published.details.cases] == ["case 0", "case 1", "case 2"]
    assert "transcript" not in json.dumps(body)


def test_what_does_not_fit_is_left_out_and_counted() -> None:
    result = record(*([[True]] * 600))
    body = make_request(result, summarise(result))
    assert len(body["cases"]) + body["casesLeftOut"] == 600
    assert len(json.dumps(body)) < 256 * 1024
