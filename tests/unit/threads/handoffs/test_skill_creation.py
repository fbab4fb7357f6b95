"""Creating a skill with the specialist that ships, by a scripted model: from trigger to a skill that answers."""

from __future__ import annotations

import json
import sys
import uuid
from dataclasses import replace
from typing import Any

import pytest

from baton.domain.memory.procedure import InvalidProcedure, Procedure, ProcedureDraft, ProcedureScope, ProcedureStep
from baton.domain.tenants.identity import Scope
from baton.domain.threads.message import Role
from baton.threads.handoffs import conversation_states
from baton.threads.handoffs.skill_making import SkillMaking
from tests.contracts.procedures import add_approved
from tests.fakes.chat_model import Answer
from tests.harness.handoffs import HandoffHarness, advance, calling, texts
from tests.harness.skills import MAKER, STEPS, SkillHarness, script_draft


def procedure(harness: HandoffHarness, **fields: Any) -> Procedure:
    """A procedure "Slack Alert" of the assistant."""
    draft = ProcedureDraft("Slack Alert", "Posts.", ("send slack alert",), (ProcedureStep("Post it."),))
    return replace(Procedure(draft, "acme", "assistant", "bob", harness.clock.now()), **fields)


async def test_a_skill_is_made_tried_saved_and_answers_later_messages() -> None:
    harness = SkillHarness(
        *script_draft(
            advance("COMPLETE", samples=["Please send a Slack alert", "What time is it?"], approved=True),
            calling("return_to_main", summary="The skill Slack Alert was made.", outcome="completed"),
        )
    )
    turn = await harness.say("m1", "I want to create a skill that sends Slack alerts")

    assert texts(turn) == [
        ("Skill Creation Assistant", "Your skill is ready! Returning you to the main assistant."),
        ("Assistant", "Great, your 'Slack Alert' skill is now active."),
    ]
    steps = [event.body["stepName"] for event in turn.events if event.type == "STEP_STARTED"]
    assert steps == ["GATHERING_REQUIREMENTS", "DEFINING_TRIGGERS", "GENERATING_SKILL", "TESTING", "COMPLETE"]
    [skill] = await harness.private_skills.in_use(harness.ada, "assistant")
    assert (skill.draft.name, skill.version, skill.created_by, skill.status) == ("Slack Alert", 1, "ada", "private")
    for thread_id in (harness.thread_id, str(uuid.uuid4())):
        harness.thread_id = thread_id
        await harness.say(str(uuid.uuid4()), "send a Slack alert to ops")
        note = harness.model.requests[-1].prompts[1]
        assert note.role is Role.CONTEXT
        assert '("Slack Alert", by its trigger "send slack alert")' in str(note.content)
        steps = '1. "Ask which channel."\n   (condition: "skip if the user named one")\n2. "Post the alert."'
        assert steps in str(note.content)
        await harness.say(str(uuid.uuid4()), "What time is it?")
        assert "Slack Alert" not in str(harness.model.requests[-1].prompts[1].content)


async def test_the_model_is_shown_the_skill_md_and_which_samples_start_it() -> None:
    harness = SkillHarness(
        *script_draft(advance("TESTING", samples=["send a slack alert", "good morning"]), Answer(("So?",)))
    )
    await harness.say("m1", "create a skill")
    results = [str(prompt.content) for prompt in harness.model.requests[-1].prompts if prompt.role.value == "tool"]
    assert "name: Slack Alert" in results[2]
    assert "1. Ask which channel." in results[2]
    assert "'send a slack alert' starts it by the trigger 'send slack alert'" in results[3]
    assert "'good morning' does not start it" in results[3]


@pytest.mark.parametrize(
    ("last", "reason"),
    [
        (advance("COMPLETE", samples=["hello"], approved=True), "None of the sample messages starts the skill"),
        (advance("COMPLETE", samples=["send slack alert"], approved=False), "COMPLETE is not open yet"),
        (advance("COMPLETE", approved=True), "Still missing: samples"),
        (advance("GENERATING_SKILL"), "leave data empty|TESTING"),
    ],
)
async def test_a_skill_that_is_not_ready_is_not_saved(last: Answer, reason: str) -> None:
    harness = SkillHarness(*script_draft(last, Answer(("Not yet.",))))
    await harness.say("m1", "create a skill")
    assert await harness.private_skills.of_user(harness.ada) == []


@pytest.mark.parametrize("scope", [ProcedureScope.AGENT, ProcedureScope.TENANT])
async def test_the_name_of_an_approved_procedure_is_refused_when_it_is_given(scope: ProcedureScope) -> None:
    harness = SkillHarness(
        Answer(("Summary.",)),
        advance("DEFINING_TRIGGERS", name="slack  ALERT", description="Posts an alert to Slack."),
        Answer(("What else shall it be called?",)),
    )
    former = await add_approved(harness.procedures, Scope("acme", "bob"), procedure(harness, scope=scope))
    await harness.say("m1", "create a skill")
    results = [str(prompt.content) for prompt in harness.model.requests[-1].prompts if prompt.role.value == "tool"]
    assert "is taken by an approved procedure" in results[-1]
    assert (await harness.state())["workflow"]["state"] == "GATHERING_REQUIREMENTS"
    assert await harness.procedures.approved(harness.ada, "assistant", of=scope) == [former]


async def test_the_user_learns_before_they_agree_that_the_skill_is_theirs_alone() -> None:
    tested = advance("TESTING", samples=["send a slack alert"])
    done = advance("COMPLETE", samples=["send a slack alert"], approved=True)
    harness = SkillHarness(*script_draft(tested, done, calling("return_to_main", summary="Made.", outcome="completed")))
    await harness.say("m1", "create a skill")
    results = [str(prompt.content) for prompt in harness.model.requests[-1].prompts if prompt.role.value == "tool"]
    for result in results[-2:]:
        assert "Only the user can use it until it is shared." in result


async def test_a_sample_that_an_approved_procedure_answers_first_is_named() -> None:
    harness = SkillHarness(
        *script_draft(advance("TESTING", samples=["send a slack alert", "alert them by slack"]), Answer(("So?",)))
    )
    other = procedure(harness, draft=replace(procedure(harness).draft, name="Pager"))
    await add_approved(harness.procedures, Scope("acme", "bob"), other)
    await harness.say("m1", "create a skill")
    results = [str(prompt.content) for prompt in harness.model.requests[-1].prompts if prompt.role.value == "tool"]
    assert "'send a slack alert' is answered by the approved procedure 'Pager' before any skill" in results[-1]
    assert results[-1].count("is answered by") == 1


async def test_triggers_that_match_everything_go_back_to_the_model() -> None:
    harness = SkillHarness(
        Answer(("Summary.",)),
        advance("DEFINING_TRIGGERS", name="All", description="Everything."),
        advance("GENERATING_SKILL", triggers=[".*"]),
        advance("TESTING", steps=STEPS),
        Answer(("Which words shall start it?",)),
    )
    await harness.say("m1", "create a skill")
    results = [str(prompt.content) for prompt in harness.model.requests[-1].prompts if prompt.role.value == "tool"]
    assert "matches nearly every message" in results[-1]
    assert (await harness.state())["workflow"]["state"] == "GENERATING_SKILL"


async def test_without_the_permission_the_refusal_sentence_is_said() -> None:
    harness = SkillHarness()
    harness.ada = Scope("acme", "ada")
    turn = await harness.say("m1", "I want to create a skill that sends Slack alerts")
    assert texts(turn) == [("Assistant", "You don't have permission to create skills. Can I help with something else?")]


async def test_a_skill_of_the_same_name_is_its_next_version() -> None:
    done = (
        advance("COMPLETE", samples=["send slack alert"], approved=True),
        calling("return_to_main", summary="Made.", outcome="completed"),
    )
    harness = SkillHarness(*script_draft(*done), *script_draft(*done))
    await harness.say("m1", "create a skill")
    second = script_draft(*done)
    assert json.loads(second[3].calls[0].arguments)["data"]["steps"] == STEPS
    await harness.say("m2", "create a new skill")
    [skill] = await harness.private_skills.in_use(harness.ada, "assistant")
    assert skill.version == 1  # the same words are the same version


async def test_a_trigger_that_would_hand_the_user_over_is_refused() -> None:
    harness = SkillHarness(
        Answer(("Summary.",)),
        advance("DEFINING_TRIGGERS", name="Build", description="Builds."),
        advance("GENERATING_SKILL", triggers=["build skill"]),
        advance("TESTING", steps=STEPS),
        Answer(("Which words shall start it?",)),
    )
    await harness.say("m1", "create a skill")
    results = [str(prompt.content) for prompt in harness.model.requests[-1].prompts if prompt.role.value == "tool"]
    assert "hands users over to Skill Creation Assistant" in results[-1]


@pytest.mark.parametrize(
    ("text", "is_refused"),
    [
        ("I want to create a skill that posts tweets", True),
        ("Build another skill", True),
        ("Ich möchte einen neuen Skill erstellen", True),
        ("The new skill is called Tweet", False),
        ("It starts when somebody says create skill report", False),
    ],
)
async def test_a_second_skill_has_to_wait_and_answers_are_not_taken_for_one(text: str, is_refused: bool) -> None:
    harness = SkillHarness(Answer(("Summary.",)), Answer(("What is it for?",)))
    await harness.say("m1", "create a skill")
    turn = await harness.say("m2", text)
    busy = "You're currently in a skill creation session. Would you like to finish that first?"
    assert ((MAKER.name, busy) in texts(turn)) is is_refused


async def test_a_skill_over_the_limit_is_not_saved_and_the_user_learns_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("baton.threads.handoffs.skill_making.MAX_PRIVATE", 0)
    done = advance("COMPLETE", samples=["send slack alert"], approved=True)
    harness = SkillHarness(*script_draft(done, Answer(("A skill has to be removed first.",))))
    await harness.say("m1", "create a skill")
    assert await harness.private_skills.of_user(harness.ada) == []
    results = [str(prompt.content) for prompt in harness.model.requests[-1].prompts if prompt.role.value == "tool"]
    assert "reached the limit of skills" in results[-1]
    assert (await harness.state())["workflow"]["state"] == "TESTING"


async def test_a_skill_that_is_not_published_leaves_no_words_of_its_user_in_the_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    logged: list[dict[str, Any]] = []

    class NotingLogger:
        def error(self, message: str, **about: Any) -> None:
            logged.append({"message": message, **about})

        def exception(self, message: str, **about: Any) -> None:
            logged.append({"message": message, "error": sys.exc_info()[1], **about})

    async def fail(*_: Any) -> None:
        raise InvalidProcedure(["'call 555-1234' is neither a step nor a condition"])

    monkeypatch.setattr(SkillMaking, "save", fail)
    monkeypatch.setattr(conversation_states, "logger", NotingLogger())
    harness = SkillHarness(
        *script_draft(
            advance("COMPLETE", samples=["send slack alert"], approved=True),
            calling("return_to_main", summary="Made.", outcome="completed"),
        )
    )
    await harness.say("m1", "create a skill")
    [record] = logged
    assert record["message"] == "skill not published"
    assert "555-1234" not in str(record)
