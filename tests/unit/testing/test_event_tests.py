"""Conversations of tests into which other systems send events."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import yaml

from baton.adapters.agents.agent_files import read_agent
from baton_project.project import Project
from tests.harness.due import DueHarness, run_queue
from tests.harness.events import EventSender
from tests.harness.handoffs import calling
from tests.unit.testing.command import run, write_conversation
from tests.unit.testing.stored import REFUND, REFUND_TOOL, make_recording

SHIPPED: dict[str, Any] = {"type": "order.shipped", "data": {"carrier": "DHL"}}
TAKES = "events: [{type: order.shipped, instructions: Name the carrier.}]\n"


@pytest.fixture
def shop(project: Project) -> Project:
    """The project with an assistant that takes events and schedules."""
    file = project.agents / "assistant.yaml"
    file.write_text(f"{file.read_text()}{TAKES}schedules: {{allowed: true}}\n")
    return project


def send(*answers: Any, expect: Any = None, **fields: Any) -> dict[str, Any]:
    return {"event": SHIPPED | fields, "answers": list(answers), "expect": expect or {"begun_by": "event"}}


def test_an_event_begins_a_run_and_the_users_reply_has_it_before_it(shop: Project) -> None:
    ran = run(
        shop,
        write_conversation(
            shop,
            {"say": "I have ordered a lamp.", "answers": ["Thank you."]},
            {"wait": "2 days"},
            send("DHL has your lamp.", expect={"begun_by": "event", "says": "DHL"}),
            {"say": "Great.", "answers": ["Is there anything else?"], "expect": {"begun_by": None}},
            send({"call": {"stay_silent": {}}}, expect=[{"begun_by": "event"}, {"says_not": "DHL"}]),
        ),
    )
    assert ran.code == 0, ran.output


def test_the_whole_conversation_may_expect_what_began_its_runs(shop: Project) -> None:
    steps = ({"say": "Hello.", "answers": ["Hello."]}, send("DHL has your lamp."))
    assert run(shop, write_conversation(shop, *steps, conversation={"expect": {"begun_by": "event"}})).code == 0
    assert run(shop, write_conversation(shop, *steps, conversation={"expect": {"begun_by": None}})).code == 1


def test_an_event_that_comes_again_begins_nothing(shop: Project) -> None:
    again = send(id="e1", expect={"begun_by": None})
    ran = run(shop, write_conversation(shop, send("DHL has it.", id="e1"), again, {"wait": "1 week"}, again))
    assert ran.code == 0, ran.output


def test_an_event_that_the_agent_does_not_take_is_an_error(shop: Project) -> None:
    path = write_conversation(shop, send(type="order.lost", expect={"error": "event_not_taken"}))
    assert run(shop, path).code == 0
    ran = run(shop, write_conversation(shop, send(type="order.lost")))
    assert ran.code == 1
    assert "event: order.lost" in ran.output
    assert "the error event_not_taken" in ran.output


def test_an_event_waits_for_the_persons_decision(shop: Project) -> None:
    tools, agent = shop.tools / "shop_tools" / "orders.py", shop.agents / "assistant.yaml"
    tools.write_text(tools.read_text() + REFUND)
    agent.write_text(agent.read_text() + REFUND_TOOL)
    refund = {"call": {"refund": {"number": "A-1001", "euros": 12.5}}}
    ran = run(
        shop,
        write_conversation(
            shop,
            send(refund, expect={"approval": "refund"}),
            send(expect={"begun_by": None}),
            {"wait": "1 hour", "expect": {"begun_by": None}},
            {"approve": True, "answers": ["Refunded."], "expect": {"tool": "refund"}},
            {"wait": "1 hour", "answers": ["DHL has it."], "expect": {"begun_by": "event", "says": "DHL"}},
        ),
    )
    assert ran.code == 0, ran.output


async def test_events_and_reminders_of_a_stored_conversation_are_steps_of_its_test(shop: Project) -> None:
    files = [read_agent(shop.agents / name)[1] for name in ("assistant.yaml", "orders.yaml")]
    sender = EventSender(harness := DueHarness(assistant=files[0], others=tuple(files[1:])))
    harness.model.script(calling("schedule", text="Ask for a review.", at="2040-03-02T09:00"), "I will.")
    await harness.say("m1", "Remind me tomorrow at nine.")
    harness.clock.advance(200)
    harness.model.script("DHL has your lamp.")
    await sender.send("shipped-1")
    await sender.run_queue()
    harness.model.script("Please write a review.", calling("stay_silent"))
    await harness.pass_time(hours=22)
    await sender.send("shipped-2", data={"carrier": "GLS"})
    await run_queue(harness)
    made_test = await make_recording(shop, sender.served)
    assert made_test.result.passed, [ran.failures for ran in made_test.result.runs]
    [test] = yaml.safe_load(made_test.test.read_text())["conversations"]
    assert [next(iter(step)) for step in test["steps"]] == ["say", "event", "wait", "event"]
    assert test["steps"][1]["event"] == SHIPPED | {"id": "shipped-1"}
    assert (await asyncio.to_thread(run, shop, str(made_test.test))).code == 0
