"""Guardrails in Python: answers and questions that are allowed, replaced or refused."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from baton import Agent, Handoff, Refuse, Replace, TurnContext, tool
from baton.adapters.dynamodb.shapes import MESSAGE
from baton.api.threads.turn_schemas import ServedContextRecord
from baton.domain.documents.search import IndexName, SearchFilter
from baton.domain.errors import ModelUnavailable, StoreUnavailable
from baton.domain.memory.capture import CaptureRef
from baton.domain.runs.provider_parts import ProviderParts, Replay
from baton.domain.threads.content import text_of
from baton.domain.threads.events import MAX_DELTA_CHARS
from baton.domain.threads.message import Role
from baton.domain.threads.thread_title import TitleSource
from baton.memory.episodes.session_closing import ClosingStep
from baton.ports.agents.chat_model import MAX_ANSWER_BYTES, ReasoningDelta
from baton.ports.threads.leases import Commit, Lease
from tests.fakes.chat_model import Answer
from tests.harness.armed import call
from tests.harness.coded import make_coded_harness
from tests.harness.failing_store import fail_once
from tests.harness.harness import Harness, Turn
from tests.harness.page import PAGE, result, run_until_interrupt
from tests.harness.sessions import close

SENTENCE = "The house is quiet. "
LONG = SENTENCE * 30
SECRET = "The secret is Rufus."


def guide(*tools: Any, **fields: Any) -> Agent:
    """The main agent of the tests."""
    return Agent("assistant", "Guide.", main=True, tools=tools, **fields)


def keep_secrets(agent: Agent) -> Agent:
    """Add an output guardrail to the agent, and return it."""

    @agent.output_guardrail
    async def no_secrets(text: str, before: str) -> Refuse | None:
        return Refuse("I keep secrets.") if "secret" in before + text else None

    return agent


def judge_dragons(agent: Agent, verdict: Any) -> Agent:
    """Add an input guardrail to the agent that gives a verdict on questions about dragons, and return it."""

    @agent.input_guardrail
    async def no_dragons(text: str, context: TurnContext) -> Any:
        assert context.user == "ada"
        return verdict if "dragon" in text else None

    return agent


async def list_stored(harness: Harness) -> list[tuple[str, str]]:
    """Role and text of each message of the conversation."""
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    page = await harness.store.read_messages(harness.ada, thread, limit=50, before=None)
    return [(message.role.value, message.text) for message in page.messages]


def list_shown(turn: Turn) -> list[str]:
    """The texts of the messages that clients keep."""
    texts: dict[str, str] = {}
    for event in turn.events:
        if event.type == "TEXT_MESSAGE_CONTENT":
            texts[event.body["messageId"]] = texts.get(event.body["messageId"], "") + event.body["delta"]
        elif event.type == "TEXT_MESSAGE_END" and (event.body.get("metadata") or {}).get("takenBack"):
            del texts[event.body["messageId"]]
    return list(texts.values())


class TestOutput:
    async def test_a_refused_answer_is_a_sentence_and_nothing_else_of_it_is_shown_or_stored(self) -> None:
        harness = make_coded_harness(keep_secrets(guide()), answers=(SECRET, "Fine."))
        turn = await harness.say("m1", "Tell me.")
        assert (turn.text, turn.types[-1]) == ("I keep secrets.", "RUN_FINISHED")
        assert await list_stored(harness) == [("user", "Tell me."), ("assistant", "I keep secrets.")]
        await harness.say("m2", "Well?")
        assert "Rufus" not in str(harness.model.requests)
        assert "Rufus" not in str(turn.events)

    async def test_the_message_and_the_inspector_say_who_has_refused_it(self) -> None:
        harness = make_coded_harness(keep_secrets(guide()), answers=(SECRET,))
        turn = await harness.say()
        [start] = [event for event in turn.events if event.type == "TEXT_MESSAGE_START"]
        assert start.body["metadata"]["refusedBy"] == "no_secrets"
        assert turn.finished is not None
        assert turn.finished.messages[-1].make_metadata()["refusedBy"] == "no_secrets"
        record = await harness.context()
        assert ServedContextRecord.model_validate(record).guardrails is not None
        [judged] = record["guardrails"]
        expected = {"point": "output_guardrail", "name": "no_secrets", "verdict": "refuse", "failure": None}
        assert expected.items() <= judged.items()

    async def test_a_window_is_judged_while_the_model_writes_the_next(self) -> None:
        agent, gate = guide(), asyncio.Event()
        judged: list[tuple[str, str, bool]] = []

        @agent.output_guardrail
        def note(text: str, before: str, is_last: bool) -> None:
            judged.append((text, before, is_last))
            gate.set()

        harness = make_coded_harness(agent, answers=(Answer((LONG, "The end."), gate=gate, gate_at=1),))
        turn = await harness.say()  # without windows, the model would wait for the verdict and the verdict for it
        assert turn.text == LONG + "The end."
        (first, nothing, is_last), *_, (last, before, is_last_last) = judged
        assert (nothing, is_last, is_last_last) == ("", False, True)
        assert before + last == turn.text
        assert first.endswith(SENTENCE)

    async def test_windows_that_were_shown_are_taken_back_with_the_refused_one(self) -> None:
        harness = make_coded_harness(keep_secrets(guide()), answers=(LONG + SECRET,))
        turn = await harness.say()
        assert SENTENCE in turn.text
        assert list_shown(turn) == ["I keep secrets."]
        assert (await list_stored(harness))[1:] == [("assistant", "I keep secrets.")]

    async def test_a_window_can_be_replaced_for_the_user_and_all_later_prompts(self) -> None:
        agent = guide()

        @agent.output_guardrail
        def mask(text: str) -> Replace:
            return Replace(text.replace("Rufus", "[name]"))

        harness = make_coded_harness(agent, answers=(SECRET, "Fine."))
        turn = await harness.say("m1", "Tell me.")
        assert turn.text == "The secret is [name]."
        await harness.say("m2", "Well?")
        assert "Rufus" not in str(harness.model.requests)
        assert "Rufus" not in str(turn.events)

    async def test_a_long_replacement_is_sent_in_pieces(self) -> None:
        agent, text = guide(), "x" * 20_000

        @agent.output_guardrail
        def lengthen() -> Replace:
            return Replace(text)

        turn = await make_coded_harness(agent, answers=("Fine.",)).say()
        deltas = [event.body["delta"] for event in turn.events if event.type == "TEXT_MESSAGE_CONTENT"]
        assert "".join(deltas) == text
        assert max(map(len, deltas)) <= MAX_DELTA_CHARS

    async def test_an_answer_from_a_fork_is_taken_back_in_its_parent(self) -> None:
        expert = keep_secrets(Agent("expert", "Know."))
        agent = guide(handoffs=[Handoff(expert, context_mode="forked")])
        moves = Answer.calling(call("transfer_to_expert", reason="asked", context_summary="Asked."))
        harness = make_coded_harness(agent, expert, answers=(moves, LONG + SECRET))
        turn = await harness.say("m1", "Tell me.")
        assert SENTENCE in turn.text
        assert list_shown(turn)[-1] == "I keep secrets."
        assert "".join(list_shown(turn)).count(SENTENCE) == 0
        texts = [text for _, text in await list_stored(harness)]
        assert texts[-1] == "I keep secrets."
        assert SENTENCE not in "".join(texts)
        assert turn.finished is not None
        assert turn.finished.messages[-1].refused_by == "no_secrets"

    async def test_thinking_is_not_shown_past_a_guardrail(self) -> None:
        agent = keep_secrets(guide(model={"name": "m", "show_reasoning": True}))
        harness = make_coded_harness(agent, answers=(Answer((ReasoningDelta("It is Rufus."), "Fine.")),))
        turn = await harness.say()
        assert (turn.text, "Rufus" in str(turn.events)) == ("Fine.", False)

    async def test_parts_of_a_replaced_answer_do_not_go_back_to_its_model(self) -> None:
        agent = guide()

        @agent.output_guardrail
        def mask(text: str) -> Replace:
            return Replace(text.replace("Rufus", "[name]"))

        parts = ProviderParts.of("test/m", Replay.ALWAYS, [{"text": 20}, {"thinking": "Rufus"}])
        harness = make_coded_harness(agent, answers=(Answer((SECRET,), parts=parts), Answer(("Fine.",), parts=parts)))
        replaced, stored_value = [(await harness.say(item)).finished for item in ("m1", "m2")]
        assert replaced is not None
        assert stored_value is not None
        assert (replaced.messages[-1].provider_parts, stored_value.messages[-1].provider_parts) == (None, parts)

    async def test_an_answer_that_replacements_make_too_long_is_cut(self) -> None:
        agent = guide()

        @agent.output_guardrail
        def lengthen() -> Replace:
            return Replace("x" * 20_000)

        turn = await make_coded_harness(agent, answers=(LONG * 100,)).say()
        assert turn.finished is not None
        message = turn.finished.messages[-1]
        assert (message.is_cut, len(message.text)) == (True, MAX_ANSWER_BYTES)

    async def test_calls_of_a_refused_answer_are_not_made(self) -> None:
        calls: list[str] = []

        @tool
        def unlock(door: str) -> str:
            """Unlock a door."""
            calls.append(door)
            return "open"

        harness = make_coded_harness(
            keep_secrets(guide(unlock)), answers=(Answer.calling(call("unlock", door="1"), text=SECRET),)
        )
        turn = await harness.say()
        assert (turn.text, calls, len(harness.model.requests)) == ("I keep secrets.", [], 1)

    async def test_a_structured_answer_is_judged_as_a_whole(self) -> None:
        schema = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
        agent, judged = guide(output_type=schema), []

        @agent.output_guardrail
        def note(text: str, is_last: bool) -> Replace:
            judged.append(is_last)
            return Replace(text.replace("quiet", "calm"))

        harness = make_coded_harness(agent, answers=(f'{{"answer": "{LONG}"}}',))
        turn = await harness.say()
        assert turn.last["result"] == {"answer": LONG.replace("quiet", "calm")}
        assert judged == [True]

    async def test_a_refused_structured_answer_is_the_sentence(self) -> None:
        schema = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
        harness = make_coded_harness(keep_secrets(guide(output_type=schema)), answers=(f'{{"answer": "{SECRET}"}}',))
        turn = await harness.say()
        assert (turn.text, turn.types[-1]) == ("I keep secrets.", "RUN_FINISHED")
        assert turn.last.get("result") is None

    async def test_text_of_a_model_that_broke_off_is_not_shown_unjudged(self) -> None:
        harness = make_coded_harness(
            keep_secrets(guide()), answers=(Answer(("The secret",), ModelUnavailable("down")),)
        )
        turn = await harness.say()
        assert (turn.text, turn.types[-1]) == ("", "RUN_ERROR")

    @pytest.mark.parametrize(("on_failure", "text"), [("closed", "I can't answer that"), ("open", "Fine.")])
    async def test_a_failing_guardrail_fails_as_it_declares(self, on_failure: Any, text: str) -> None:
        agent = guide()

        @agent.output_guardrail(on_failure=on_failure)
        def broken(text: str) -> None:
            raise RuntimeError(text)

        harness = make_coded_harness(agent, answers=("Fine.",))
        assert (await harness.say()).text.startswith(text)
        [judged] = (await harness.context())["guardrails"]
        assert judged["failure"] == "RuntimeError"

    @pytest.mark.parametrize("verdict", ["no", True, Replace(7), Replace("x" * 20_001), Refuse(3)])  # type: ignore[arg-type]
    async def test_what_is_no_verdict_is_a_failure(self, verdict: Any) -> None:
        agent = guide()

        @agent.output_guardrail
        def odd(text: str) -> Any:
            return verdict

        harness = make_coded_harness(agent, answers=("Fine.",))
        assert (await harness.say()).text.startswith("I can't answer that")


class TestInput:
    async def test_a_refused_question_gets_the_sentence_and_is_in_no_later_prompt(self) -> None:
        harness = make_coded_harness(
            judge_dragons(guide(), Refuse("Not about dragons.")), answers=("Dragons are real.", "Fine.")
        )
        turn = await harness.say("m1", "Are dragons real?")
        assert (turn.text, turn.types[-1]) == ("Not about dragons.", "RUN_FINISHED")
        assert await list_stored(harness) == [("user", "Are dragons real?"), ("assistant", "Not about dragons.")]
        await harness.say("m2", "Well?")
        assert "dragon" not in str(harness.model.requests[-1].prompts).lower()

    async def test_nothing_is_shown_and_no_tool_is_called_before_the_verdict(self) -> None:
        calls: list[str] = []
        verdict_due = asyncio.Event()

        @tool
        def unlock(door: str) -> str:
            """Unlock a door."""
            calls.append(door)
            return "open"

        agent = guide(unlock)

        @agent.input_guardrail
        async def slow(text: str) -> Refuse:
            await verdict_due.wait()
            return Refuse("No.")

        harness = make_coded_harness(agent, answers=(Answer.calling(call("unlock", door="1"), text="I open it."),))
        saying = asyncio.ensure_future(harness.say())
        await harness.wait_for_requests()  # beside the guardrail
        verdict_due.set()
        turn = await saying
        assert (turn.text, calls) == ("No.", [])

    async def test_the_model_is_given_up_as_soon_as_the_question_is_refused(self) -> None:
        never = asyncio.Event()
        harness = make_coded_harness(judge_dragons(guide(), Refuse("No.")), answers=(Answer(("Dragons",), gate=never),))
        assert (await harness.say("m1", "A dragon?")).text == "No."
        assert harness.model.abandoned == 1

    async def test_a_replaced_question_is_what_the_model_gets_and_what_is_stored(self) -> None:
        harness = make_coded_harness(
            judge_dragons(guide(), Replace("Are lizards real?")), answers=("Stale.", "Yes.", "Fine.")
        )
        turn = await harness.say("m1", "Are dragons real?")
        assert turn.text == "Yes."
        assert await list_stored(harness) == [("user", "Are lizards real?"), ("assistant", "Yes.")]
        await harness.say("m2", "Well?")
        assert all("dragon" not in str(request.prompts) for request in harness.model.requests[1:])

    @pytest.mark.parametrize("replacement", ["Are lizards real?", None])
    async def test_a_commit_says_whether_its_question_has_two_versions(
        self, replacement: str | None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        harness = make_coded_harness(
            judge_dragons(guide(), Replace(replacement) if replacement else None), answers=("Yes.", "Yes.")
        )
        commits: list[Commit] = []
        commit = harness.store.commit

        async def noted(lease: Lease, value: Commit) -> Any:
            commits.append(value)
            return await commit(lease, value)

        monkeypatch.setattr(harness.store, "commit", noted)
        await harness.say("m1", "Are dragons real?")
        assert [commit.messages_may_change for commit in commits] == [replacement is not None]

    async def test_a_replaced_question_is_also_that_of_a_specialist(self) -> None:
        expert = Agent("expert", "Know.")
        agent = judge_dragons(guide(handoffs=[Handoff(expert)]), Replace("Are lizards real?"))
        moves = Answer.calling(call("transfer_to_expert", reason="asked", context_summary="Asked."))
        harness = make_coded_harness(agent, expert, answers=("Stale.", moves, "Yes."))
        assert (await harness.say("m1", "Are dragons real?")).text == "Yes."
        assert "lizards" in str(harness.model.requests[-1].prompts)
        assert "dragons" not in str(harness.model.requests[-1].prompts)

    @pytest.mark.parametrize("triggers", [[], ["dragons"]])
    @pytest.mark.parametrize(
        ("verdict", "text"), [(Refuse("Not about that."), "Not about that."), (Replace("Are lizards real?"), "Yes.")]
    )
    async def test_a_handoff_keeps_nothing_of_what_its_specialist_refuses_or_replaces(
        self, verdict: Any, text: str, triggers: list[str]
    ) -> None:
        expert = judge_dragons(Agent("expert", "Know.", triggers=triggers), verdict)
        agent = guide(handoffs=[Handoff(expert)])
        moves = Answer.calling(call("transfer_to_expert", reason="asks of dragons", context_summary="Wants a dragon."))
        harness = make_coded_harness(
            agent, expert, answers=(*(() if triggers else (moves,)), "Stale.", "Yes.", "Fine.")
        )
        turn = await harness.say("m1", "Are dragons real?")
        assert turn.text.endswith(text)
        first = 0 if triggers else 1
        assert "dragon" not in str(harness.model.requests[first + 1 :])
        thread = await harness.store.get_thread(harness.ada, harness.thread_id)
        handoff = await harness.handoffs.get(harness.ada, thread.id, thread.conversation.handoff)
        assert "dragon" not in handoff.context_summary
        assert handoff.handoff_reason in ("trigger: dragons", "", "Are lizards real?")
        await harness.say("m2", "Well?")
        assert "dragon" not in str(harness.model.requests[-1].prompts)

    async def test_a_question_that_a_trigger_would_hand_over_counts_as_refused_if_a_hook_refuses_that(self) -> None:
        expert = Agent("expert", "Know.", triggers=["dragons"])
        agent = judge_dragons(guide(handoffs=[Handoff(expert)]), None)

        @agent.on_handoff
        def never() -> Refuse:
            return Refuse("Not now.")

        harness = make_coded_harness(agent, expert, answers=("Fine.",))
        assert (await harness.say("m1", "Are dragons real?")).text == "Not now."
        await harness.say("m2", "Well?")
        assert "dragon" not in str(harness.model.requests[-1].prompts)

    async def test_a_question_that_a_specialist_without_guardrails_answers_is_not_refused(self) -> None:
        expert = Agent("expert", "Know.", triggers=["dragons"])
        agent = judge_dragons(guide(handoffs=[Handoff(expert)]), Refuse("No."))
        harness = make_coded_harness(agent, expert, answers=("A summary.", "Yes.", "Fine."))
        await harness.say("m1", "Are dragons real?")
        await harness.say("m2", "Well?")
        assert "Are dragons real?" in str(harness.model.requests[-1].prompts)

    async def test_a_question_whose_run_is_given_up_counts_as_refused(self) -> None:
        harness = make_coded_harness(judge_dragons(guide(), None), answers=("Fine.",))
        await harness.turns.run(harness.ada, harness.request("m1", "A dragon?"), [].append, seconds=20, gives_up=True)
        await harness.say("m2", "Well?")
        assert "dragon" not in str(harness.model.requests[-1].prompts)

    async def test_the_inspector_has_a_replaced_question_as_it_was_replaced(self) -> None:
        expert = judge_dragons(Agent("expert", "Know."), Replace("Are lizards real?"))
        agent = guide(handoffs=[Handoff(expert, context_mode="full")])
        moves = Answer.calling(call("transfer_to_expert", reason="asked", context_summary="Asked."))
        harness = make_coded_harness(agent, expert, answers=(moves, "Stale.", "Yes."))
        await harness.say("m1", "Are dragons real?")
        record = await harness.context()
        assert str(record).count("Are lizards real?") == 4  # of each agent: the current message, and what was sent
        assert "dragons real" not in str(record)
        assert all(item["estimatedTokens"] > 0 for item in record["calls"])

    async def test_a_question_that_comes_with_results_of_the_page_is_judged(self) -> None:
        harness = make_coded_harness(judge_dragons(guide(), Refuse("Not about dragons.")))
        [interrupt] = await run_until_interrupt(harness)
        harness.model.script("Stale.", "Fine.")
        turn = await harness.say("m2", "A dragon?", client=replace(PAGE, results=(result(interrupt),)))
        assert turn.text == "Not about dragons."
        await harness.say("m3", "Well?")
        assert "dragon" not in str(harness.model.requests[-1].prompts)

    async def test_files_of_a_replaced_question_stay(self) -> None:
        harness = make_coded_harness(judge_dragons(guide(), Replace("Is this real?")), answers=("Stale.", "Yes."))
        source = {"type": "url", "value": "https://pictures.example.com/dragon.png"}
        await harness.say("m1", [{"type": "text", "text": "Is this dragon real?"}, {"type": "image", "source": source}])
        [request] = [prompt.content for prompt in harness.model.requests[-1].prompts if prompt.role is Role.USER]
        assert text_of(request) == "Is this real?"
        assert len(request) == 2

    async def test_a_run_that_is_stopped_before_the_verdict_counts_as_refused(self) -> None:
        agent = guide()

        @agent.input_guardrail
        async def endless(text: str) -> None:
            if "dragon" in text:
                await asyncio.Event().wait()

        harness = make_coded_harness(agent, answers=("Stale.", "Fine."))
        saying = asyncio.ensure_future(harness.say("m1", "A dragon?"))
        await harness.wait_for_requests()
        await harness.controls.cancel(harness.ada, harness.thread_id, None)
        assert (await saying).last["outcome"]["type"] == "cancelled"
        await harness.say("m2", "Well?")
        assert "dragon" not in str(harness.model.requests[-1].prompts)


class TestMemory:
    @pytest.fixture
    async def harness(self) -> Harness:
        """A conversation with a refused question about dragons and an allowed one about cats."""
        harness = make_coded_harness(
            judge_dragons(guide(), Refuse("Not about that.")), answers=("Stale.", "Cats purr.")
        )
        await harness.say("m1", "Do dragons purr?")
        await harness.say("m2", "Do cats purr?")
        harness.model.requests.clear()
        return harness

    async def test_a_title_is_made_of_what_was_allowed(self, harness: Harness) -> None:
        harness.model.script("Cats")
        titles = replace(harness.app.sessions.made_titles, source=TitleSource.MODEL)
        await titles.make(harness.ada, harness.thread_id)
        thread = await harness.store.get_thread(harness.ada, harness.thread_id)
        assert (thread.title, thread.preview) == ("Cats", "Do cats purr?")
        assert "dragon" not in str(harness.model.requests)

    async def test_no_procedure_is_made_of_a_refused_question(self, harness: Harness) -> None:
        thread = await harness.store.get_thread(harness.ada, harness.thread_id)
        whole = CaptureRef(thread.id, "assistant", 0, thread.next_ordinal)
        records = harness.app.procedures.capture.records
        record = await records.read(harness.ada, thread, harness.assistant, whole)
        assert [entry["text"] for entry in record.entries] == ["Do cats purr?", "Cats purr."]

    async def test_no_summary_fact_or_index_has_a_refused_question(self, harness: Harness) -> None:
        await close(harness)
        harness.model.requests.clear()
        harness.model.script("A summary.", '{"facts": []}')
        for step in ClosingStep:
            await harness.app.memory.session_closing.run(step, harness.ada, harness.thread_id, 1)
        assert "Do cats purr?" in str(harness.model.requests)
        assert "dragon" not in str(harness.model.requests)
        listed = harness.search.list(harness.ada, IndexName.EPISODES, SearchFilter())
        indexed = str([document.fields async for document in listed])
        assert "Do cats purr?" in indexed
        assert "dragon" not in indexed


async def test_a_worker_that_takes_over_judges_again_and_stores_one_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    agent, judged = guide(), []

    @agent.input_guardrail
    def rename(text: str) -> Replace:
        judged.append(text)
        return Replace(text.replace("dragon", "lizard"))

    harness = make_coded_harness(agent, answers=("Stale.", "Lost.", "Stale.", "Done."))
    fail_once(monkeypatch, harness.store, "put_message", after=1)
    with pytest.raises(StoreUnavailable):
        await harness.say("m1", "A dragon?")
    harness.clock.advance(60)
    await harness.say("m1", "A dragon?")
    assert judged == ["A dragon?", "A dragon?"]
    assert await list_stored(harness) == [("user", "A lizard?"), ("assistant", "Done.")]


async def test_an_agent_without_guardrails_costs_nothing_more() -> None:
    harness = make_coded_harness(guide(), answers=("Fine.",))
    turn = await harness.say()
    assert turn.finished is not None
    end = MESSAGE.as_json(turn.finished.messages[-1])
    assert "refused_by" not in end
    assert "is_question_refused" not in end["end"]
    assert "guardrails" not in await harness.context()
