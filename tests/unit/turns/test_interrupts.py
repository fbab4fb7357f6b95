"""Calls that need a person's approval: the run waits, and goes on exactly once when everything is answered."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from baton.domain.errors import InterruptUnavailable, StoreUnavailable
from baton.domain.runs.interrupt import MAX_ARGUMENTS
from baton.domain.runs.tool_call import ToolCall
from baton.domain.threads.thread import EndReason, Thread
from baton.memory.prompt.message_prompts import NOT_CARRIED_OUT
from baton.ports.threads.leases import LeaseRequest
from baton.threads.requests.queue_mapping import make_queued_decision
from tests.fakes.chat_model import Answer
from tests.harness.failing_store import fail_once
from tests.harness.harness import TODAY, Harness
from tests.harness.wiki import (
    answer,
    answer_and_die,
    call_results,
    delete,
    make_read_calls,
    no,
    run_until_interrupt,
    wiki,
    yes,
)


@pytest.fixture
def harness() -> Harness:
    return wiki()


async def test_a_call_that_needs_approval_ends_the_run_with_a_question(harness: Harness) -> None:
    (interrupt,) = await run_until_interrupt(harness)
    assert interrupt["reason"] == "tool_approval"
    assert interrupt["message"] == "May I use delete?"
    assert interrupt["expiresAt"] > "2"
    assert interrupt["metadata"] == {
        "toolName": "delete",
        "arguments": '{"page": "home"}',
        "label": "delete",
        "fields": [{"name": "page", "label": "Page", "text": "home", "depth": 0, "inText": False}],
    }
    assert harness.tools.calls == []
    assert [open_interrupt.as_ag_ui().metadata for open_interrupt in (await get_stored(harness)).open_interrupts] == [
        interrupt["metadata"]
    ]


async def get_stored(harness: Harness) -> Thread:
    return await harness.store.get_thread(harness.ada, harness.thread_id)


async def test_long_arguments_of_a_question_are_cut_and_show_it(harness: Harness) -> None:
    (interrupt,) = await run_until_interrupt(harness, "p" * 3_000)
    arguments = interrupt["metadata"]["arguments"]
    assert (len(arguments), arguments[-1]) == (MAX_ARGUMENTS, "\u2026")


async def test_other_calls_of_the_same_answer_are_made_meanwhile(harness: Harness) -> None:
    harness.model.script(Answer.calling(delete("home"), ToolCall("call-2", "look", "{}")))
    turn = await harness.say()
    assert [called.name for called in harness.tools.calls] == ["look"]
    assert len(turn.last["outcome"]["interrupts"]) == 1


async def test_an_approved_call_is_made_and_the_answer_goes_on(harness: Harness) -> None:
    (interrupt,) = await run_until_interrupt(harness)
    harness.model.script("Done.")
    turn = await answer(harness, yes(interrupt))
    assert [called.arguments for called in harness.tools.calls] == [{"page": "home"}]
    assert turn.types == [
        "RUN_STARTED",
        "STATE_SNAPSHOT",
        "TOOL_CALL_RESULT",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "RUN_FINISHED",
    ]
    started = turn.events[0].body
    assert started["parentRunId"] != started["runId"]
    assert started["input"]["messages"] == []
    assert started["input"]["resume"][0]["interruptId"] == interrupt["id"]
    reported = [(p.role.value, p.content) for p in harness.model.requests[1].prompts]
    assert reported == [
        ("system", "Be brief."),
        TODAY,
        ("user", "Delete it."),
        ("assistant", "May I?"),
        ("tool", "home is gone."),
    ]


async def test_the_turn_after_knows_the_whole_exchange(harness: Harness) -> None:
    (interrupt,) = await run_until_interrupt(harness)
    harness.model.script("Done.", "As I said.")
    await answer(harness, yes(interrupt))
    await harness.say("m2", "And?")
    roles = [prompt.role.value for prompt in harness.model.requests[2].prompts]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "system", "user"]


@pytest.mark.parametrize("refusal", ["cancelled", "payload"])
async def test_a_refused_call_is_not_made_and_the_model_learns_it(harness: Harness, refusal: str) -> None:
    (interrupt,) = await run_until_interrupt(harness)
    harness.model.script("As you wish.")
    turn = await answer(
        harness,
        no(interrupt) if refusal == "cancelled" else yes(interrupt, {"approved": False, "comment": "Not that one!"}),
    )
    assert harness.tools.calls == []
    assert turn.text == "As you wish."
    reported = str(harness.model.requests[1].contents[-1][1])
    assert "refused" in reported
    (result,) = [event.body for event in turn.events if event.type == "TOOL_CALL_RESULT"]
    assert result["metadata"]["outcome"] == "refused"
    assert ("Not that one!" in reported) == (refusal == "payload")


async def test_an_answer_is_taken_days_later_even_after_the_thread_was_closed(harness: Harness) -> None:
    (interrupt,) = await run_until_interrupt(harness)
    await harness.closer.close(harness.ada, harness.thread_id, EndReason.TIMEOUT, patience=5)
    harness.clock.advance(timedelta(days=3).total_seconds())
    harness.model.script("Done.")
    turn = await answer(harness, yes(interrupt))
    assert len(harness.tools.calls) == 1
    assert turn.finished is not None
    assert turn.finished.thread.status.value == "active"


async def test_an_approval_that_comes_too_late_counts_as_none(harness: Harness) -> None:
    (interrupt,) = await run_until_interrupt(harness)
    harness.clock.advance(timedelta(days=8).total_seconds())
    harness.model.script("Too late.")
    await answer(harness, yes(interrupt))
    assert harness.tools.calls == []
    assert "in time" in str(harness.model.requests[1].contents[-1][1])


async def test_the_run_goes_on_when_all_are_answered(harness: Harness) -> None:
    first, second = await run_until_interrupt(harness, "home", "about")
    waiting = await answer(harness, yes(first))
    assert waiting.finished is None
    assert waiting.events == []
    assert harness.tools.calls == []
    harness.model.script("One of two.")
    turn = await answer(harness, no(second))
    assert turn.text == "One of two."
    assert [called.arguments for called in harness.tools.calls] == [{"page": "home"}]
    reported = [content for role, content in harness.model.requests[1].contents if role == "tool"]
    assert reported[0] == "home is gone."
    assert "refused" in str(reported[1])


async def test_all_may_be_answered_at_once(harness: Harness) -> None:
    interrupts = await run_until_interrupt(harness, "home", "about")
    harness.model.script("Both.")
    assert (await answer(harness, *map(yes, interrupts))).text == "Both."
    assert len(harness.tools.calls) == 2


async def test_the_first_answer_counts(harness: Harness) -> None:
    first, second = await run_until_interrupt(harness, "home", "about")
    await answer(harness, no(first))
    await answer(harness, yes(first))
    harness.model.script("One.")
    await answer(harness, yes(second))
    assert [called.arguments for called in harness.tools.calls] == [{"page": "about"}]


async def test_a_repeated_answer_is_answered_from_the_store(harness: Harness) -> None:
    (interrupt,) = await run_until_interrupt(harness)
    harness.model.script("Done.")
    first = await answer(harness, yes(interrupt))
    again = await answer(harness, no(interrupt))
    assert [event.body for event in again.events] == [event.body for event in first.events]
    assert len(harness.tools.calls) == 1
    assert len(harness.model.requests) == 2


async def test_a_repeated_answer_is_known_when_the_log_is_gone(harness: Harness) -> None:
    (interrupt,) = await run_until_interrupt(harness)
    harness.model.script("Done.")
    await answer(harness, yes(interrupt))
    harness.clock.advance(timedelta(hours=25).total_seconds())
    again = await answer(harness, yes(interrupt))
    assert again.types == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    assert len(harness.tools.calls) == 1


async def test_a_message_instead_gives_the_call_up(harness: Harness) -> None:
    (interrupt,) = await run_until_interrupt(harness)
    harness.model.script("All right.")
    await harness.say("m2", "Forget it.")
    assert ("tool", NOT_CARRIED_OUT) in harness.model.requests[1].contents
    with pytest.raises(InterruptUnavailable):
        await answer(harness, yes(interrupt))
    assert harness.tools.calls == []


async def test_an_unknown_interrupt_changes_nothing(harness: Harness) -> None:
    (interrupt,) = await run_until_interrupt(harness)
    with pytest.raises(InterruptUnavailable):
        await answer(harness, yes({"id": "0" * 32 + ".1"}))
    with pytest.raises(InterruptUnavailable):
        await answer(harness, yes({"id": interrupt["id"].partition(".")[0] + ".9"}))
    harness.model.script("Done.")
    assert (await answer(harness, yes(interrupt))).text == "Done."


async def test_a_run_that_goes_on_may_have_to_wait_again(harness: Harness) -> None:
    (interrupt,) = await run_until_interrupt(harness)
    harness.model.script(Answer.calling(delete("about")))
    second = (await answer(harness, yes(interrupt))).last["outcome"]["interrupts"]
    assert second[0]["id"] != interrupt["id"]
    harness.model.script("Both gone.")
    assert (await answer(harness, yes(second[0]))).text == "Both gone."
    assert [called.arguments["page"] for called in harness.tools.calls] == ["home", "about"]


async def test_a_repeated_message_gets_its_interrupt_again(harness: Harness) -> None:
    (interrupt,) = await run_until_interrupt(harness)
    again = await harness.say("m1", "Delete it.")
    assert again.last["outcome"]["interrupts"] == [interrupt]
    harness.clock.advance(timedelta(hours=25).total_seconds())
    late = await harness.say("m1", "Delete it.")
    assert late.last["outcome"]["interrupts"] == [interrupt]


async def test_a_run_that_went_on_and_died_is_taken_over_and_calls_nothing_twice(harness: Harness) -> None:
    (interrupt,) = await run_until_interrupt(harness)
    await answer_and_die(harness, yes(interrupt))
    harness.model.script("Done.", "Next.")
    await harness.say("m2", "Well?")  # anybody who comes next finishes the orphan first
    assert len(harness.tools.calls) == 1
    contents = [message.text for message in harness.store.committed("acme", harness.thread_id)]
    assert contents == ["Delete it.", "May I?", "home is gone.", "Done.", "Well?", "Next."]


async def test_the_call_is_made_with_the_permissions_of_the_message(harness: Harness) -> None:
    may = replace(harness.ada, permissions=frozenset({"wiki:write"}))
    harness.model.script(Answer.calling(delete("home")), "Done.")
    turn = await harness.say("m1", "Delete it.", scope=may)
    await answer(harness, yes(turn.last["outcome"]["interrupts"][0]))
    assert harness.tools.calls[0].context.scope.permissions == {"wiki:write"}


async def test_a_whole_answer_whose_commit_failed_is_kept_and_nobody_is_asked_again(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    (interrupt,) = await run_until_interrupt(harness)
    fail_once(monkeypatch, harness.store, "commit")
    harness.model.script("First.", "Second.")
    with pytest.raises(StoreUnavailable):
        await answer(harness, yes(interrupt))
    turn = await answer(harness, yes(interrupt))
    assert turn.text == "First."
    assert len(harness.model.requests) == 2
    assert len(harness.tools.calls) == 1
    contents = [message.text for message in harness.store.committed("acme", harness.thread_id)]
    assert contents == ["Delete it.", "May I?", "home is gone.", "First."]


async def test_answers_that_come_one_by_one_pass_a_worker_that_died_before_it_stored_anything(harness: Harness) -> None:
    first, second = await run_until_interrupt(harness, "home", "about")
    await harness.store.acquire(harness.ada, LeaseRequest(harness.thread_id, "run-9", "m9"))
    harness.clock.advance(31)
    assert (await answer(harness, yes(first))).finished is None
    harness.model.script("Both.")
    assert (await answer(harness, yes(second))).text == "Both."
    assert len(harness.tools.calls) == 2


async def test_an_answer_in_the_dead_letters_is_kept_while_others_are_missing(harness: Harness) -> None:
    first, second = await run_until_interrupt(harness, "home", "about")
    queued = make_queued_decision(harness.ada, harness.thread_id, yes(first), request_id="r")
    await harness.app.dead_turns.give_up(queued.model_dump_json(by_alias=True))
    harness.model.script("Both.")
    assert (await answer(harness, yes(second))).text == "Both."


async def test_a_run_that_is_given_up_still_shows_what_its_calls_have_returned(harness: Harness) -> None:
    (interrupt,) = await run_until_interrupt(harness)
    for _ in range(2):
        await answer_and_die(harness, yes(interrupt))
    turn = await answer(harness, yes(interrupt))
    assert turn.last["code"] == "interrupted"
    await harness.say("m2", "And?")
    assert call_results(harness) == ["home is gone."]
    assert len(harness.tools.calls) == 1


async def test_a_run_that_is_cancelled_at_its_second_attempt_still_shows_what_its_calls_have_returned(
    harness: Harness,
) -> None:
    (interrupt,) = await run_until_interrupt(harness)
    await answer_and_die(harness, yes(interrupt))
    run = harness.store.rows["acme", harness.thread_id].thread.run
    assert run is not None
    await harness.live.request_cancel(harness.ada, harness.thread_id, run.run_id)
    turn = await answer(harness, yes(interrupt))
    assert turn.last["outcome"] == {"type": "cancelled"}
    await harness.say("m2", "And?")
    assert call_results(harness) == ["home is gone."]


async def test_an_answer_that_a_message_has_overtaken_is_refused_even_if_its_run_had_begun(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    (interrupt,) = await run_until_interrupt(harness)
    fail_once(monkeypatch, harness.store, "put_message")
    with pytest.raises(StoreUnavailable):
        await answer(harness, yes(interrupt))
    harness.model.script("Other.")
    await harness.say("m2", "Forget it.")
    with pytest.raises(InterruptUnavailable):
        await answer(harness, yes(interrupt))
    assert harness.model.requests[-1].contents[-1] == ("user", "Forget it.")


@pytest.mark.parametrize("beside", [True, False], ids=["beside it", "before it"])
async def test_long_results_do_not_push_the_question_or_the_call_out_of_the_prompt(
    harness: Harness, beside: bool
) -> None:
    steps = [[delete("home"), *make_read_calls(5)]] if beside else [make_read_calls(5), [delete("home")]]
    harness.model.script(*(Answer.calling(*calls) for calls in steps))
    (interrupt,) = (await harness.say("m1", "Delete it.")).last["outcome"]["interrupts"]
    harness.model.script("Done.")
    assert (await answer(harness, yes(interrupt))).text == "Done."
    assert [called.arguments for called in harness.tools.calls if called.name == "delete"] == [{"page": "home"}]
    prompts = harness.model.requests[-1].prompts
    assert ("user", "Delete it.") in harness.model.requests[-1].contents
    words = sum(len(str(prompt.content).split()) for prompt in prompts)
    assert words <= harness.assistant.memory.max_working_memory_tokens
    assert [call.id for prompt in prompts for call in prompt.tool_calls] == [
        prompt.tool_call_id for prompt in prompts if prompt.tool_call_id is not None
    ]
    assert "home is gone." in call_results(harness)


async def test_an_approved_call_of_a_tool_that_cannot_be_reached_is_an_outage_and_the_user_learns_it(
    harness: Harness,
) -> None:
    (interrupt,) = await run_until_interrupt(harness)
    harness.tools.withdraw("delete")
    harness.tools.lose("mcp:wiki", "it is down")
    harness.model.script("Sorry.")
    turn = await answer(harness, yes(interrupt))
    assert turn.text == "I'm working with limited resources right now, but here's what I know...\n\nSorry."
    assert "cannot be reached" in call_results(harness)[-1]
