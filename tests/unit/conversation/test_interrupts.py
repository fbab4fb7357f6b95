"""Calls that need a person's approval: the run waits, and goes on exactly once when everything is answered."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from baton.conversation.queued_turns import QueuedTurns
from baton.conversation.requests import queued_answer
from baton.domain.episode import EndReason
from baton.domain.errors import InterruptUnavailable, StoreUnavailable
from baton.domain.tool_call import ToolCall
from baton.memory.context import NOT_CARRIED_OUT
from baton.ports.thread_store import LeaseRequest
from tests.fakes.chat_model import Answer
from tests.unit.conversation.failing import failing_once
from tests.unit.conversation.stage import Stage
from tests.unit.conversation.wiki import (
    answer,
    answer_and_die,
    delete,
    interrupted,
    no,
    readings,
    told_of_calls,
    wiki,
    yes,
)


@pytest.fixture
def stage() -> Stage:
    return wiki()


async def test_a_call_that_needs_approval_ends_the_run_with_a_question(stage: Stage) -> None:
    (interrupt,) = await interrupted(stage)
    assert interrupt["reason"] == "tool_approval"
    assert interrupt["message"] == "May I use delete?"
    assert interrupt["expiresAt"] > "2"
    assert stage.tools.calls == []


async def test_other_calls_of_the_same_answer_are_made_meanwhile(stage: Stage) -> None:
    stage.model.script(Answer.calling(delete("home"), ToolCall("call-2", "look", "{}")))
    said = await stage.say()
    assert [called.name for called in stage.tools.calls] == ["look"]
    assert len(said.last["outcome"]["interrupts"]) == 1


async def test_an_approved_call_is_made_and_the_answer_goes_on(stage: Stage) -> None:
    (interrupt,) = await interrupted(stage)
    stage.model.script("Done.")
    said = await answer(stage, yes(interrupt))
    assert [called.arguments for called in stage.tools.calls] == [{"page": "home"}]
    assert said.types == [
        "RUN_STARTED",
        "STATE_SNAPSHOT",
        "TOOL_CALL_RESULT",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "RUN_FINISHED",
    ]
    started = said.events[0].body
    assert started["parentRunId"] != started["runId"]
    assert started["input"]["messages"] == []
    assert started["input"]["resume"][0]["interruptId"] == interrupt["id"]
    told = [(p.role.value, p.content) for p in stage.model.asked[1].prompts]
    assert told == [
        ("system", "Be brief."),
        ("user", "Delete it."),
        ("assistant", "May I?"),
        ("tool", "home is gone."),
    ]


async def test_the_turn_after_knows_the_whole_exchange(stage: Stage) -> None:
    (interrupt,) = await interrupted(stage)
    stage.model.script("Done.", "As I said.")
    await answer(stage, yes(interrupt))
    await stage.say("m2", "And?")
    roles = [prompt.role.value for prompt in stage.model.asked[2].prompts]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]


@pytest.mark.parametrize("refusal", ["cancelled", "payload"])
async def test_a_refused_call_is_not_made_and_the_model_is_told(stage: Stage, refusal: str) -> None:
    (interrupt,) = await interrupted(stage)
    stage.model.script("As you wish.")
    said = await answer(
        stage,
        no(interrupt) if refusal == "cancelled" else yes(interrupt, {"approved": False, "comment": "Not that one!"}),
    )
    assert stage.tools.calls == []
    assert said.text == "As you wish."
    told = str(stage.model.asked[1].contents[-1][1])
    assert "refused" in told
    (result,) = [event.body for event in said.events if event.type == "TOOL_CALL_RESULT"]
    assert result["metadata"]["outcome"] == "refused"
    assert ("Not that one!" in told) == (refusal == "payload")


async def test_an_answer_is_taken_days_later_even_after_the_thread_was_closed(stage: Stage) -> None:
    (interrupt,) = await interrupted(stage)
    await stage.closer.close(stage.ada, stage.thread_id, EndReason.TIMEOUT, patience=5)
    stage.clock.advance(timedelta(days=3).total_seconds())
    stage.model.script("Done.")
    said = await answer(stage, yes(interrupt))
    assert len(stage.tools.calls) == 1
    assert said.finished is not None
    assert said.finished.thread.status.value == "active"


async def test_an_approval_that_comes_too_late_counts_as_none(stage: Stage) -> None:
    (interrupt,) = await interrupted(stage)
    stage.clock.advance(timedelta(days=8).total_seconds())
    stage.model.script("Too late.")
    await answer(stage, yes(interrupt))
    assert stage.tools.calls == []
    assert "in time" in str(stage.model.asked[1].contents[-1][1])


async def test_the_run_goes_on_when_all_are_answered(stage: Stage) -> None:
    first, second = await interrupted(stage, "home", "about")
    waiting = await answer(stage, yes(first))
    assert waiting.finished is None
    assert waiting.events == []
    assert stage.tools.calls == []
    stage.model.script("One of two.")
    said = await answer(stage, no(second))
    assert said.text == "One of two."
    assert [called.arguments for called in stage.tools.calls] == [{"page": "home"}]
    told = [content for role, content in stage.model.asked[1].contents if role == "tool"]
    assert told[0] == "home is gone."
    assert "refused" in str(told[1])


async def test_all_may_be_answered_at_once(stage: Stage) -> None:
    interrupts = await interrupted(stage, "home", "about")
    stage.model.script("Both.")
    assert (await answer(stage, *map(yes, interrupts))).text == "Both."
    assert len(stage.tools.calls) == 2


async def test_the_first_answer_counts(stage: Stage) -> None:
    first, second = await interrupted(stage, "home", "about")
    await answer(stage, no(first))
    await answer(stage, yes(first))
    stage.model.script("One.")
    await answer(stage, yes(second))
    assert [called.arguments for called in stage.tools.calls] == [{"page": "about"}]


async def test_a_repeated_answer_is_answered_from_the_store(stage: Stage) -> None:
    (interrupt,) = await interrupted(stage)
    stage.model.script("Done.")
    first = await answer(stage, yes(interrupt))
    again = await answer(stage, no(interrupt))
    assert [event.body for event in again.events] == [event.body for event in first.events]
    assert len(stage.tools.calls) == 1
    assert len(stage.model.asked) == 2


async def test_a_repeated_answer_is_known_when_the_log_is_gone(stage: Stage) -> None:
    (interrupt,) = await interrupted(stage)
    stage.model.script("Done.")
    await answer(stage, yes(interrupt))
    stage.clock.advance(timedelta(hours=25).total_seconds())
    again = await answer(stage, yes(interrupt))
    assert again.types == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    assert len(stage.tools.calls) == 1


async def test_a_message_instead_gives_the_call_up(stage: Stage) -> None:
    (interrupt,) = await interrupted(stage)
    stage.model.script("All right.")
    await stage.say("m2", "Forget it.")
    assert ("tool", NOT_CARRIED_OUT) in stage.model.asked[1].contents
    with pytest.raises(InterruptUnavailable):
        await answer(stage, yes(interrupt))
    assert stage.tools.calls == []


async def test_an_unknown_interrupt_changes_nothing(stage: Stage) -> None:
    (interrupt,) = await interrupted(stage)
    with pytest.raises(InterruptUnavailable):
        await answer(stage, yes({"id": "0" * 32 + ".1"}))
    with pytest.raises(InterruptUnavailable):
        await answer(stage, yes({"id": interrupt["id"].partition(".")[0] + ".9"}))
    stage.model.script("Done.")
    assert (await answer(stage, yes(interrupt))).text == "Done."


async def test_a_run_that_goes_on_may_have_to_wait_again(stage: Stage) -> None:
    (interrupt,) = await interrupted(stage)
    stage.model.script(Answer.calling(delete("about")))
    second = (await answer(stage, yes(interrupt))).last["outcome"]["interrupts"]
    assert second[0]["id"] != interrupt["id"]
    stage.model.script("Both gone.")
    assert (await answer(stage, yes(second[0]))).text == "Both gone."
    assert [called.arguments["page"] for called in stage.tools.calls] == ["home", "about"]


async def test_a_repeated_message_gets_its_interrupt_again(stage: Stage) -> None:
    (interrupt,) = await interrupted(stage)
    again = await stage.say("m1", "Delete it.")
    assert again.last["outcome"]["interrupts"] == [interrupt]
    stage.clock.advance(timedelta(hours=25).total_seconds())
    late = await stage.say("m1", "Delete it.")
    assert late.last["outcome"]["interrupts"] == [interrupt]


async def test_a_run_that_went_on_and_died_is_taken_over_and_calls_nothing_twice(stage: Stage) -> None:
    (interrupt,) = await interrupted(stage)
    await answer_and_die(stage, yes(interrupt))
    stage.model.script("Done.", "Next.")
    await stage.say("m2", "Well?")  # whoever comes next finishes the orphan first
    assert len(stage.tools.calls) == 1
    contents = [message.text for message in stage.store.committed("acme", stage.thread_id)]
    assert contents == ["Delete it.", "May I?", "home is gone.", "Done.", "Well?", "Next."]


async def test_the_call_is_made_with_the_permissions_of_the_message(stage: Stage) -> None:
    may = replace(stage.ada, permissions=frozenset({"wiki:write"}))
    stage.model.script(Answer.calling(delete("home")), "Done.")
    said = await stage.say("m1", "Delete it.", scope=may)
    await answer(stage, yes(said.last["outcome"]["interrupts"][0]))
    assert stage.tools.calls[0].context.scope.permissions == {"wiki:write"}


async def test_a_whole_answer_whose_commit_failed_is_kept_and_nobody_is_asked_again(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    (interrupt,) = await interrupted(stage)
    failing_once(monkeypatch, stage.store, "commit")
    stage.model.script("First.", "Second.")
    with pytest.raises(StoreUnavailable):
        await answer(stage, yes(interrupt))
    said = await answer(stage, yes(interrupt))
    assert said.text == "First."
    assert len(stage.model.asked) == 2
    assert len(stage.tools.calls) == 1
    contents = [message.text for message in stage.store.committed("acme", stage.thread_id)]
    assert contents == ["Delete it.", "May I?", "home is gone.", "First."]


async def test_answers_that_come_one_by_one_pass_a_worker_that_died_before_it_stored_anything(stage: Stage) -> None:
    first, second = await interrupted(stage, "home", "about")
    await stage.store.acquire(stage.ada, LeaseRequest(stage.thread_id, "run-9", "m9"))
    stage.clock.advance(31)
    assert (await answer(stage, yes(first))).finished is None
    stage.model.script("Both.")
    assert (await answer(stage, yes(second))).text == "Both."
    assert len(stage.tools.calls) == 2


async def test_an_answer_in_the_dead_letters_is_kept_while_others_are_missing(stage: Stage) -> None:
    first, second = await interrupted(stage, "home", "about")
    queued = queued_answer(
        stage.ada, stage.thread_id, yes(first), connection_id=None, connection_expires_at=0, request_id="r"
    )
    turns = QueuedTurns(stage.turns, stage.closer, stage.connections, None, stage.clock)
    await turns.give_up(queued.model_dump_json(by_alias=True))
    stage.model.script("Both.")
    assert (await answer(stage, yes(second))).text == "Both."


async def test_a_run_that_is_given_up_still_tells_what_its_calls_have_brought(stage: Stage) -> None:
    (interrupt,) = await interrupted(stage)
    for _ in range(2):
        await answer_and_die(stage, yes(interrupt))
    said = await answer(stage, yes(interrupt))
    assert said.last["code"] == "interrupted"
    await stage.say("m2", "And?")
    assert told_of_calls(stage) == ["home is gone."]
    assert len(stage.tools.calls) == 1


async def test_a_run_that_is_cancelled_at_its_second_attempt_still_tells_what_its_calls_have_brought(
    stage: Stage,
) -> None:
    (interrupt,) = await interrupted(stage)
    await answer_and_die(stage, yes(interrupt))
    run = stage.store.rows["acme", stage.thread_id].thread.run
    assert run is not None
    await stage.live.request_cancel(stage.ada, stage.thread_id, run.run_id)
    said = await answer(stage, yes(interrupt))
    assert said.last["outcome"] == {"type": "cancelled"}
    await stage.say("m2", "And?")
    assert told_of_calls(stage) == ["home is gone."]


async def test_an_answer_that_a_message_has_overtaken_is_refused_even_if_its_run_had_begun(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    (interrupt,) = await interrupted(stage)
    failing_once(monkeypatch, stage.store, "put_message")
    with pytest.raises(StoreUnavailable):
        await answer(stage, yes(interrupt))
    stage.model.script("Other.")
    await stage.say("m2", "Forget it.")
    with pytest.raises(InterruptUnavailable):
        await answer(stage, yes(interrupt))
    assert stage.model.asked[-1].contents[-1] == ("user", "Forget it.")


@pytest.mark.parametrize("beside", [True, False], ids=["beside it", "before it"])
async def test_long_results_do_not_push_the_question_or_the_call_out_of_the_prompt(stage: Stage, beside: bool) -> None:
    steps = [[delete("home"), *readings(5)]] if beside else [readings(5), [delete("home")]]
    stage.model.script(*(Answer.calling(*calls) for calls in steps))
    (interrupt,) = (await stage.say("m1", "Delete it.")).last["outcome"]["interrupts"]
    stage.model.script("Done.")
    assert (await answer(stage, yes(interrupt))).text == "Done."
    assert [called.arguments for called in stage.tools.calls if called.name == "delete"] == [{"page": "home"}]
    prompts = stage.model.asked[-1].prompts
    assert ("user", "Delete it.") in stage.model.asked[-1].contents
    words = sum(len(str(prompt.content).split()) for prompt in prompts)
    assert words <= stage.assistant.memory.max_working_memory_tokens
    assert [call.id for prompt in prompts for call in prompt.tool_calls] == [
        prompt.tool_call_id for prompt in prompts if prompt.tool_call_id is not None
    ]
    assert "home is gone." in told_of_calls(stage)


async def test_an_approved_call_of_a_tool_that_cannot_be_reached_is_an_outage_and_the_user_is_told(
    stage: Stage,
) -> None:
    (interrupt,) = await interrupted(stage)
    stage.tools.withdraw("delete")
    stage.tools.lose("mcp:wiki", "it is down")
    stage.model.script("Sorry.")
    said = await answer(stage, yes(interrupt))
    assert said.text == "I'm working with limited resources right now, but here's what I know...\n\nSorry."
    assert "cannot be reached" in told_of_calls(stage)[-1]
