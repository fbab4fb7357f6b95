"""A model's calls are checked, bounded, recorded and reported, and never made twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

import pytest

from baton.agents.answer_sources import MAX_SOURCE_FIELD, MAX_SOURCES
from baton.agents.model_answer import MAX_CALLS
from baton.api.threads.record_schemas import ServedToolCallRecord as ServedCall
from baton.domain.errors import LeaseLost, ModelUnavailable, StoreUnavailable
from baton.domain.runs.tool_call import ToolCall
from baton.domain.threads.message import MessageStatus, Role
from baton.ports.agents.chat_model import ModelChunk, ModelSettings, Prompt, ToolSpec
from baton.ports.agents.tools import ToolFailed, ToolResult
from baton.ports.documents.files import ThreadFiles
from tests.fakes.chat_model import Answer, ScriptedChatModel
from tests.harness.armed import CITY, arm_assistant, call
from tests.harness.failing_store import fail_once
from tests.harness.harness import TODAY, Harness, Turn
from tests.harness.timed import in_virtual_time


@pytest.fixture
def harness() -> Harness:
    harness = Harness(assistant=arm_assistant())

    async def weather(city: str) -> str:
        return f"Sunny in {city}."

    harness.tools.add("weather", weather, parameters=CITY)
    return harness


async def records(harness: Harness) -> Sequence[Mapping[str, Any]]:
    page_items, _ = await harness.records.list_calls(harness.ada, harness.thread_id, limit=50, cursor=None)
    return [ServedCall.of(record).wire() for record in page_items][::-1]


def results(turn: Turn) -> list[str]:
    return [event.body["content"] for event in turn.events if event.type == "TOOL_CALL_RESULT"]


async def test_the_model_learns_what_its_call_has_returned_and_answers(harness: Harness) -> None:
    harness.model.script(Answer.calling(call(city="Oslo"), text="Let me see."), "It is sunny.")
    turn = await harness.say()

    assert turn.types == [
        "RUN_STARTED",
        "STATE_SNAPSHOT",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "TOOL_CALL_START",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_END",
        "TOOL_CALL_RESULT",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "RUN_FINISHED",
    ]
    assert results(turn) == ["Sunny in Oslo."]
    roles = [role for role, _ in harness.model.requests[1].contents]
    assert roles == ["system", "system", "user", "assistant", "tool"]
    assert turn.finished is not None
    assert [message.role for message in turn.finished.messages] == [
        Role.USER,
        Role.ASSISTANT,
        Role.TOOL,
        Role.ASSISTANT,
    ]


async def test_the_next_turn_knows_the_call_and_its_result(harness: Harness) -> None:
    harness.model.script(Answer.calling(call(city="Oslo")), "It is sunny.", "As I said.")
    await harness.say("m1")
    await harness.say("m2")
    prompts = harness.model.requests[2].prompts
    roles = [prompt.role.value for prompt in prompts]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "system", "user"]
    assert prompts[2].tool_calls[0].id == prompts[3].tool_call_id
    assert prompts[3].content == "Sunny in Oslo."


async def test_a_call_is_labelled_by_how_it_ended(harness: Harness) -> None:
    async def broken() -> str:
        raise ToolFailed("The station is closed.")

    async def locked() -> str:
        raise ToolFailed("That is not allowed.", is_refused=True)

    harness.tools.add("station", broken)
    harness.tools.add("safe", locked)
    request = [call(city="Oslo"), call("station", 2), call("safe", 3), call("weather", 4), call("nothing", 5)]
    harness.model.script(Answer.calling(*request), "Well.")
    turn = await harness.say()
    ends = {"weather": "succeeded", "station": "failed", "safe": "refused", "nothing": "refused"}
    called = {e.body["toolCallId"]: e.body["toolCallName"] for e in turn.events if e.type == "TOOL_CALL_START"}
    visible = [
        (called[e.body["toolCallId"]], e.body["metadata"]["outcome"])
        for e in turn.events
        if e.type == "TOOL_CALL_RESULT"
    ]
    assert sorted(visible) == sorted([*ends.items(), ("weather", "refused")])
    assert turn.finished is not None
    stored = [m for m in turn.finished.messages if m.role is Role.TOOL]
    assert sorted((str(m.tool_name), m.make_metadata()["outcome"]) for m in stored) == sorted(visible)
    errors = {m.tool_name: m.as_ag_ui().model_dump().get("error") for m in stored if m.tool_name != "weather"}
    assert errors["station"] == "The station is closed."
    assert "outcome" not in turn.finished.messages[0].make_metadata()


async def test_calls_beyond_the_turns_limit_are_labelled_as_refused() -> None:
    harness = Harness(assistant=arm_assistant(tool_calls=1))

    async def weather(city: str) -> str:
        return f"Sunny in {city}."

    harness.tools.add("weather", weather, parameters=CITY)
    harness.model.script(Answer.calling(call(city="Oslo"), call(number=2, city="Rome")), "Enough.")
    turn = await harness.say()
    outcomes = [e.body["metadata"]["outcome"] for e in turn.events if e.type == "TOOL_CALL_RESULT"]
    assert sorted(outcomes) == ["refused", "succeeded"]


async def test_every_call_is_recorded_with_what_came_of_it(harness: Harness) -> None:
    async def broken() -> str:
        raise ToolFailed("The station is closed.")

    harness.tools.add("station", broken)
    harness.model.script(Answer.calling(call(city="Oslo"), call("station", 2)), "Well.")
    await harness.say()
    weather, station = sorted(await records(harness), key=lambda record: str(record["toolName"]), reverse=True)
    assert (weather["input"], weather["output"], weather["succeeded"]) == ({"city": "Oslo"}, "Sunny in Oslo.", True)
    assert (station["output"], station["succeeded"]) == (None, False)
    assert station["errorMessage"] == "The station is closed."
    assert weather["agentId"] == "assistant"


async def test_calls_of_one_answer_run_at_the_same_time(harness: Harness) -> None:
    both = asyncio.Barrier(2)

    async def meet(city: str) -> str:
        async with asyncio.timeout(5):
            await both.wait()
        return city

    harness.tools.add("meet", meet, parameters=CITY)
    harness.model.script(Answer.calling(call("meet", 1, city="Oslo"), call("meet", 2, city="Rome")), "Both.")
    turn = await harness.say()
    assert sorted(results(turn)) == ["Oslo", "Rome"]
    reported = [content for role, content in harness.model.requests[1].contents if role == "tool"]
    assert reported == ["Oslo", "Rome"], "the model is told in the order of its calls"


@pytest.mark.parametrize(
    ("bad", "complaint"),
    [
        (call("wether", city="Oslo"), "there is no tool 'wether'"),
        (call(town="Oslo"), "'city' is a required property"),
        (call(city=7), "at city"),
        (ToolCall("call-1", "weather", "{not json"), "not valid JSON"),
        (ToolCall("call-1", "weather", '["Oslo"]'), "must be a JSON object"),
        (ToolCall("call-1", "weather", "[" * 9_000), "not valid JSON"),
        (ToolCall("call-1", "weather", "[" * 100_000), "at most 10000 values"),
    ],
)
async def test_a_bad_call_goes_back_to_the_model_as_an_error(harness: Harness, bad: ToolCall, complaint: str) -> None:
    harness.model.script(Answer.calling(bad), Answer.calling(call(city="Oslo")), "It is sunny.")
    turn = await harness.say()
    assert complaint in results(turn)[0]
    assert results(turn)[1] == "Sunny in Oslo."
    assert turn.last["outcome"] == {"type": "success"}
    assert len(harness.tools.calls) == 1


async def test_a_model_that_calls_badly_again_and_again_gets_a_last_answer_without_tools() -> None:
    harness = Harness(assistant=arm_assistant(bad_calls=2))
    harness.model.otherwise = Answer.calling(call("nothing"), text="Hm.")
    turn = await harness.say()
    assert [request.settings.tool_choice for request in harness.model.requests] == [None, None, None, "none"]
    assert turn.last["outcome"] == {"type": "success"}
    assert turn.finished is not None
    assert turn.finished.messages[-1].text == "Hm."


@pytest.mark.parametrize("limits", [{"model_calls": 3}, {"tool_calls": 2}, {"tokens": 1_000}])
async def test_a_turn_that_reaches_its_limits_ends_in_an_answer(limits: dict[str, int]) -> None:
    harness = Harness(assistant=arm_assistant(**limits))
    harness.tools.add("dig", lambda: _text("Deeper."))
    usage = Answer.calling(call("dig"), text="On and on.")
    harness.model.otherwise = Answer(usage.pieces, reason=usage.reason, calls=usage.calls, usage=_tokens(600))
    turn = await harness.say()
    assert turn.last["outcome"] == {"type": "success"}
    assert harness.model.requests[-1].settings.tool_choice == "none"
    assert harness.model.requests[-1].tools == harness.model.requests[0].tools
    assert harness.model.requests[-1].prompts[-1].role is Role.SYSTEM
    assert len(harness.model.requests) <= 4


async def test_a_long_result_is_cut_for_the_model_and_kept_whole() -> None:
    harness = Harness(assistant=arm_assistant(result_chars=200))
    harness.tools.add("read", lambda: _text("x" * 5_000))
    harness.model.script(Answer.calling(call("read")), "Long.")
    await harness.say()
    reported = str(harness.model.requests[1].contents[-1][1])
    assert len(reported) < 400
    assert "5000 characters" in reported
    assert len(str((await records(harness))[0]["output"])) == 5_000


async def test_a_tool_that_does_not_answer_in_time_is_an_outage_and_the_user_learns_it(harness: Harness) -> None:
    async def hang() -> str:
        await asyncio.sleep(60)
        return "never"

    harness.tools.add("hang", hang, timeout_seconds=0.05)
    harness.model.script(Answer.calling(call("hang")), "It should be sunny.")
    turn = await harness.say()
    assert turn.text == "I'm working with limited resources right now, but here's what I know...\n\nIt should be sunny."
    assert turn.finished is not None
    assert turn.finished.messages[-1].text == turn.text


async def test_an_error_of_the_tool_itself_is_the_models_affair(harness: Harness) -> None:
    async def refuse() -> str:
        raise ToolFailed("There is no such city.")

    harness.tools.add("refuse", refuse)
    harness.model.script(Answer.calling(call("refuse")), "No such city.")
    assert (await harness.say()).text == "No such city."


async def test_an_unforeseen_fault_of_a_tool_fails_its_call_only(harness: Harness) -> None:
    async def explode() -> str:
        raise ZeroDivisionError

    harness.tools.add("explode", explode)
    harness.model.script(Answer.calling(call("explode")), "Sorry.")
    turn = await harness.say()
    assert turn.text.endswith("Sorry.")
    assert (await records(harness))[0]["succeeded"] is False


async def test_what_an_answer_rests_on_stands_at_its_end(harness: Harness) -> None:
    page = {"kind": "page", "id": "p1", "title": "Climate", "score": None}

    async def look() -> ToolResult:
        return ToolResult("It rains.", sources=(page,))

    harness.tools.add("look", look)
    harness.model.script(Answer.calling(call("look"), text="One moment."), "It rains.")
    turn = await harness.say()
    ends = [event.body["metadata"]["sources"] for event in turn.events if event.type == "TEXT_MESSAGE_END"]
    assert ends == [[], [page]]
    assert turn.finished is not None
    assert turn.finished.messages[-1].sources == (page,)


async def test_the_model_hears_which_tools_cannot_be_had(harness: Harness) -> None:
    harness.tools.lose("mcp:docs", "it cannot be reached")
    await harness.say()
    assert "mcp:docs" in str(harness.model.requests[0].prompts[1].content)


async def test_the_user_hears_once_in_each_answer_that_tools_are_missing(harness: Harness) -> None:
    limited = "I'm working with limited resources right now, but here's what I know...\n\n"
    await harness.say("m1")
    harness.tools.lose("mcp:docs", "it cannot be reached")
    harness.model.script(Answer.calling(call(city="Oslo"), text="Let me see."), " It is sunny.")
    assert (await harness.say("m2")).text == f"{limited}Let me see. It is sunny."
    assert (await harness.say("m3")).text == f"{limited}Hello there."


async def test_cancelling_stops_a_running_tool_and_its_call_is_closed(harness: Harness) -> None:
    began, stopped = asyncio.Event(), asyncio.Event()

    async def dig() -> str:
        began.set()
        try:
            await asyncio.sleep(60)
        finally:
            stopped.set()
        return "never"

    harness.tools.add("dig", dig)
    harness.model.script(Answer.calling(call("dig")), "Next.")
    running = asyncio.ensure_future(harness.say("m1"))
    await began.wait()
    await harness.controls.cancel(harness.ada, harness.thread_id, None)
    turn = await running
    assert stopped.is_set()
    assert turn.last["outcome"] == {"type": "cancelled"}
    assert results(turn) == ["The user stopped this."]
    await harness.say("m2")
    assert "The user stopped this." in [content for _, content in harness.model.requests[1].contents]


async def test_a_model_that_fails_after_its_calls_leaves_them_in_the_history(harness: Harness) -> None:
    harness.model.script(Answer.calling(call(city="Oslo")), Answer(("It is ",), ModelUnavailable()), "Next.")
    turn = await harness.say("m1")
    assert turn.last["code"] == "model_unavailable"
    assert turn.finished is not None
    assert turn.finished.messages[-1].status is MessageStatus.CANCELLED
    await harness.say("m2")
    assert [prompt.role.value for prompt in harness.model.requests[2].prompts][2:5] == [
        "assistant",
        "tool",
        "assistant",
    ]


async def test_a_worker_that_takes_a_run_over_makes_no_call_again(harness: Harness) -> None:
    harness.model.script(Answer.calling(call(city="Oslo")), Answer(("It ",), gate=asyncio.Event(), gate_at=1))
    running = asyncio.ensure_future(harness.say("m1"))
    await harness.wait_for_requests(2)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    harness.model.script(Answer.calling(call(number=9, city="Oslo")), "It is sunny.")
    turn = await harness.say("m1")
    assert turn.text == "It is sunny."
    assert results(turn) == ["Sunny in Oslo."]
    assert len(harness.tools.calls) == 1
    assert len(await records(harness)) == 1


async def test_the_same_call_twice_is_made_twice(harness: Harness) -> None:
    harness.model.script(
        Answer.calling(call(number=1, city="Oslo"), call(number=2, city="Oslo")),
        Answer.calling(call(number=3, city="Oslo")),
        "Sunny.",
    )
    await harness.say()
    assert len(harness.tools.calls) == 3
    assert len({called.context.idempotency_key for called in harness.tools.calls}) == 3
    assert len(await records(harness)) == 3


async def test_a_worker_that_has_lost_its_lease_records_nothing_and_stops(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lose_lease(*_: Any) -> None:
        raise LeaseLost

    monkeypatch.setattr(harness.records, "put_call", lose_lease)
    harness.model.script(Answer.calling(call(city="Oslo")))
    with pytest.raises(LeaseLost):
        await harness.say(subscriber=harness.subscriber("c1"))


async def test_a_tool_that_needs_a_permission_the_user_lacks_is_not_offered(harness: Harness) -> None:
    harness.tools.add("secret", lambda: _text("!"), required_permissions=("vault:open",))
    await harness.say()
    assert [spec.name for spec in harness.model.requests[0].tools] == ["end_conversation", "weather"]


async def _text(text: str) -> str:
    return text


def _tokens(total: int) -> Any:
    from baton.domain.runs.usage import Usage

    return Usage(total - 10, 10)


async def test_of_an_answer_in_several_messages_a_failed_commit_is_made_good_without_asking_again(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_once(monkeypatch, harness.store, "commit")
    harness.model.script(Answer.calling(call(city="Oslo"), text="Let me see."), "It is sunny.", "Never.")
    with pytest.raises(StoreUnavailable):
        await harness.say()
    turn = await harness.say()
    assert turn.text == "Let me see.It is sunny."
    assert len(harness.model.requests) == 2
    contents = [message.text for message in harness.store.committed("acme", harness.thread_id)]
    assert contents == ["Hello", "Let me see.", "Sunny in Oslo.", "It is sunny."]


async def test_a_call_that_cannot_be_recorded_for_an_unexpected_reason_ends_the_run(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr(harness.records, "put_call", fail)
    harness.model.script(Answer.calling(call(city="Oslo")), "It is sunny.")
    assert (await harness.say()).last["code"] == "internal_error"


async def test_a_turn_that_grows_stays_within_the_prompts_budget(harness: Harness) -> None:
    harness.tools.add("read", lambda: _text("word " * 4_000))
    harness.model.script(*[Answer.calling(call("read")) for _ in range(8)], "Done.")
    assert (await harness.say()).text == "Done."
    for request in harness.model.requests:
        prompt = sum(len(str(content).split()) for _, content in request.contents)
        assert prompt <= harness.assistant.memory.max_working_memory_tokens
        assert request.contents[1:3] == [TODAY, ("user", "Hello")]


async def test_calls_without_end_are_neither_made_nor_kept(harness: Harness) -> None:
    harness.model.script(Answer.calling(*[call("nothing", number, n=number) for number in range(2_000)]), "Done.")
    turn = await harness.say()
    assert turn.text == "Done."
    assert turn.types.count("TOOL_CALL_START") == len(results(turn)) == MAX_CALLS
    reported = harness.model.requests[1].prompts
    assert [called.id for prompt in reported for called in prompt.tool_calls] == [
        prompt.tool_call_id for prompt in reported if prompt.role is Role.TOOL
    ]


def test_a_turn_whose_time_runs_out_ends_in_an_answer() -> None:
    class Tireless(ScriptedChatModel):
        """A model that calls a tool as long as it may."""

        async def stream(
            self,
            settings: ModelSettings,
            prompts: Sequence[Prompt],
            *,
            thread_files: ThreadFiles,
            tools: Sequence[ToolSpec] = (),
        ) -> AsyncGenerator[ModelChunk, None]:
            await asyncio.sleep(4)
            self.script("That is all." if settings.tool_choice == "none" else Answer.calling(call("dig")))
            async for chunk in super().stream(settings, prompts, thread_files=thread_files, tools=tools):
                yield chunk

    async def talk() -> None:
        harness = Harness(assistant=arm_assistant(), model=Tireless())

        async def dig() -> str:
            await asyncio.sleep(20)
            return "Deeper."

        harness.tools.add("dig", dig)
        turn = await harness.say(seconds=200)
        assert turn.text.endswith("That is all.")
        assert turn.last["outcome"] == {"type": "success"}

    in_virtual_time(talk)


async def test_what_an_answer_rests_on_is_bounded(harness: Harness) -> None:
    async def links() -> ToolResult:
        return ToolResult("Many.", tuple({"kind": "page", "id": f"p{n}", "title": "t" * 5_000} for n in range(2_000)))

    harness.tools.add("links", links)
    harness.model.script(Answer.calling(call("links")), "Done.")
    turn = await harness.say()
    sources = turn.events[-2].body["metadata"]["sources"]
    assert len(sources) == MAX_SOURCES
    assert {len(source["title"]) for source in sources} == {MAX_SOURCE_FIELD}


async def test_a_tools_schema_cannot_keep_everybody_busy_with_its_patterns(harness: Harness) -> None:
    """Python's own regular expressions would take longer than the universe lasts."""

    async def find(word: str) -> str:
        return f"Found {word[:3]}."

    evil, unknown = "^(a+)+$", "^(?=a)(a+)+$"
    harness.tools.withdraw("weather")
    harness.tools.add("find", find, parameters={"type": "object", "properties": {"word": {"pattern": evil}}})
    harness.tools.add("guess", find, parameters={"type": "object", "properties": {"word": {"pattern": unknown}}})
    word = "a" * 5_000 + "!"
    harness.model.script(Answer.calling(call("find", word=word), call("guess", word=word)), "Done.")
    refusal, answer = sorted(results(await harness.say()))
    assert "do not fit at word" in refusal
    assert answer == "Found aaa."


async def test_halves_of_characters_in_a_result_fail_nothing(harness: Harness) -> None:
    async def half() -> str:
        return "half \ud83d, whole \ud83d\ude00"

    harness.tools.add("half", half)
    harness.model.script(Answer.calling(call("half")), "Done.")
    assert results(await harness.say()) == ["half \ufffd, whole \U0001f600"]


async def test_a_result_without_end_is_kept_up_to_its_limit(harness: Harness) -> None:
    async def much() -> str:
        return "x" * 3_000_000

    harness.tools.add("much", much)
    harness.model.script(Answer.calling(call("much")), "Done.")
    await harness.say()
    [record] = await records(harness)
    assert 1_000_000 < len(record["output"]) < 1_100_000
    assert record["output"].endswith("3000000 characters in all.]")
