"""Unfinished workflows that are offered at the beginning of a session: once each, and always to be taken (W2)."""

from __future__ import annotations

import uuid
from typing import Any

from tests.e2e.ag_ui_rules import check_run
from tests.unit.conversation.handing_over import HandoffStage, texts, transfer
from tests.unit.conversation.stage import Said

OFFER = ("Assistant", "Welcome back! Would you like to continue making your new thing?")


async def unfinished(count: int) -> HandoffStage:
    """Ada has left so many workflows, one after the other, in one thread."""
    stage = HandoffStage()
    for number in range(count):
        await stage.say(f"begin {number}", "make a thing")
        await stage.say(f"leave {number}", "cancel")
        stage.clock.advance(60)
    assert len(await stage.workflows.unfinished(stage.ada)) == count
    return stage


async def come_back(stage: HandoffStage) -> Said:
    """Ada begins another conversation."""
    stage.thread_id = str(uuid.uuid4())
    said = await stage.say("m1", "Hello")
    check_run([event.body for event in said.events])
    return said


async def offered(stage: HandoffStage) -> set[str]:
    """The workflows that were offered so far."""
    return {each.workflow.id for each in await stage.workflows.unfinished(stage.ada) if each.is_offered}


async def resumable(stage: HandoffStage) -> list[str]:
    """The workflows that the thread's screens let the user take up."""
    return [each["id"] for each in (await stage.state())["resumable"]]


def to_choose(stage: HandoffStage) -> list[str]:
    """The workflows that the model may hand over to continue, by the tool it was asked with last."""
    [tool] = [tool for tool in stage.model.asked[-1].tools if tool.name == "transfer_to_maker"]
    fields: dict[str, Any] = tool.parameters["properties"]
    named: list[str] = fields["workflow_id"]["enum"]
    return named


async def test_each_of_four_unfinished_workflows_is_offered_once_and_is_among_those_that_can_be_continued() -> None:
    stage = await unfinished(4)
    for number in range(4):
        before = await offered(stage)
        said = await come_back(stage)
        [new] = await offered(stage) - before

        assert texts(said)[0] == OFFER, number
        assert (await resumable(stage))[0] == new
        assert len(await resumable(stage)) == len(set(await resumable(stage))) == 3
        assert to_choose(stage) == await resumable(stage)
    assert [text for _, text in texts(await come_back(stage))] == ["What shall it be called?"]


async def test_the_fourth_that_is_offered_is_continued_by_a_word_to_the_model() -> None:
    stage = await unfinished(4)
    for _ in range(3):
        await come_back(stage)
    before = await offered(stage)
    await come_back(stage)
    [new] = await offered(stage) - before
    stage.model.script(transfer(workflow_id=new))
    said = await stage.say("m2", "Yes, please")

    assert texts(said) == [("Maker", "What shall it be called?")]
    check_run([event.body for event in said.events])
    state = await stage.state()
    assert state["workflow"]["id"] == new
    assert new not in await resumable(stage)
