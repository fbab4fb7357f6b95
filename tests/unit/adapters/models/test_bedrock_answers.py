"""Answers of Amazon Bedrock become chunks, errors and usage."""

from __future__ import annotations

import json

import pytest

from baton.adapters.models.bedrock.request import BedrockGuardrail
from baton.domain.errors import ContentFiltered, ContextTooLong, ModelError, ModelRateLimited, ModelUnavailable
from baton.domain.runs.tool_call import ToolCall
from baton.domain.runs.usage import Usage
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import (
    MAX_ANSWER_BYTES,
    Finished,
    FinishReason,
    ModelSettings,
    Prompt,
    ReasoningDelta,
    TextDelta,
)
from tests.fakes.thread_files import MemoryThreadFiles
from tests.fault_model.event_frames import event_frame, exception_frame
from tests.unit.adapters.models.scripted_bedrock import (
    ADD,
    CLAUDE,
    HELLO,
    SAYS_HELLO,
    WHOLE_HELLO,
    ScriptedBedrock,
    ask,
    call,
    end,
    get_finished,
    model_over,
    reasoning,
    text,
    text_of,
)

GUARDRAIL = BedrockGuardrail("gr1abc", "2")
SIGNED = reasoning({"text": "I add "}, {"text": "them."}, {"signature": "c2ln"}, index=0)


async def test_text_arrives_in_pieces_and_ends_with_the_tokens() -> None:
    chunks = await ask(ScriptedBedrock())
    assert chunks[:-1] == [TextDelta("Hello"), TextDelta(" you")]
    assert get_finished(chunks) == Finished(FinishReason.STOP, CLAUDE, Usage(7, 3))


async def test_cached_tokens_are_a_part_of_the_input() -> None:
    bedrock = ScriptedBedrock([[*text("Hi"), *end(cacheReadInputTokens=100, cacheWriteInputTokens=20)]])
    assert get_finished(await ask(bedrock)).usage == Usage(127, 3, 100, 20)


async def test_tokens_may_come_before_the_end() -> None:
    stop, metadata = end()
    assert get_finished(await ask(ScriptedBedrock([[*text("Hi"), metadata, stop]]))).usage == Usage(7, 3)


async def test_calls_come_after_the_text_with_their_arguments_joined() -> None:
    frames = [
        *text("Let me see."),
        *call("add", '{"x"', ": 1}", index=1),
        *call("add", call_id="tooluse_2", index=2),
        *end("tool_use"),
    ]
    chunks = await ask(ScriptedBedrock([frames]), tools=[ADD])
    assert chunks[1:3] == [ToolCall("tooluse_1", "add", '{"x": 1}'), ToolCall("tooluse_2", "add", "{}")]
    assert get_finished(chunks).reason is FinishReason.TOOL_CALLS


async def test_calls_with_one_id_get_different_ones() -> None:
    frames = [*call("add", "{}", index=0), *call("add", "{}", index=1), *end("tool_use")]
    first, second, _ = await ask(ScriptedBedrock([frames]), tools=[ADD])
    assert isinstance(first, ToolCall)
    assert isinstance(second, ToolCall)
    assert first.id == "tooluse_1" != second.id


async def test_a_call_that_the_limit_cuts_is_left_out() -> None:
    frames = [*call("add", '{"x": 1}', index=0), *call("add", '{"x": 1', index=1), *end("max_tokens")]
    chunks = await ask(ScriptedBedrock([frames]), tools=[ADD])
    assert [chunk.arguments for chunk in chunks if isinstance(chunk, ToolCall)] == ['{"x": 1}']
    assert get_finished(chunks).reason is FinishReason.LENGTH


async def test_a_model_that_may_not_call_has_called_nothing() -> None:
    frames = [*text("Three."), *call("add", "{}", index=1), *end("tool_use")]
    chunks = await ask(ScriptedBedrock([frames]), tools=[ADD], tool_choice="none")
    assert [type(chunk) for chunk in chunks] == [TextDelta, Finished]
    assert get_finished(chunks).reason is FinishReason.STOP


async def test_a_model_that_calls_instead_of_answering_is_asked_without_tools() -> None:
    bedrock = ScriptedBedrock([[*call("add", "{}"), *end("tool_use")], SAYS_HELLO])
    model = model_over(bedrock)
    for _ in range(2):
        chunks = await ask(bedrock, tools=[ADD], tool_choice="none", model_id="amazon.nova-pro-v1:0", model=model)
        assert text_of(chunks) == "Hello you"
    assert ["toolConfig" in body for body in bedrock.bodies] == [True, False, False]


async def test_thinking_is_shown_only_if_it_is_asked_for() -> None:
    frames = [*SIGNED, *text("3", index=1), *end()]
    assert (await ask(ScriptedBedrock([frames])))[0] == TextDelta("3")
    visible = await ask(ScriptedBedrock([frames]), shows_reasoning=True)
    assert visible[:2] == [ReasoningDelta("I add "), ReasoningDelta("them.")]


async def test_thinking_goes_back_unchanged_in_its_place() -> None:
    redacted = reasoning({"redactedContent": "AAEC/+=="}, index=1)
    frames = [*SIGNED, *redacted, *text("So: ", index=2), *call("add", '{"x": 1}', index=3), *end("tool_use")]
    bedrock = ScriptedBedrock([frames, SAYS_HELLO])
    model = model_over(bedrock)
    done = get_finished(await ask(bedrock, tools=[ADD], model=model))
    answer = Prompt(
        Role.ASSISTANT,
        "So: ",
        tool_calls=(ToolCall("tooluse_1", "add", '{"x": 1}'),),
        provider_parts=done.provider_parts,
    )
    result = Prompt(Role.TOOL, "1", tool_call_id="tooluse_1")
    await ask(bedrock, *HELLO, answer, result, tools=[ADD], model=model)
    assert bedrock.body["messages"][1]["content"] == [
        {"reasoningContent": {"reasoningText": {"text": "I add them.", "signature": "c2ln"}}},
        {"reasoningContent": {"redactedContent": "AAEC/+=="}},
        {"text": "So: "},
        {"toolUse": {"toolUseId": "tooluse_1", "name": "add", "input": {"x": 1}}},
    ]
    await ask(bedrock, *HELLO, answer, result, Prompt(Role.USER, "And now?"), tools=[ADD], model=model)
    kinds = [next(iter(block)) for block in bedrock.body["messages"][1]["content"]]
    assert kinds == ["text", "toolUse"], "thinking of earlier turns stays out"
    other = "eu.anthropic.claude-opus-4-6"
    await ask(bedrock, *HELLO, answer, result, tools=[ADD], model=model, model_id=other)
    assert "reasoningContent" not in str(bedrock.body), "another model gets none"


async def test_thinking_without_a_signature_stays_out_for_models_that_sign() -> None:
    chunks = await ask(ScriptedBedrock([[*reasoning({"text": "Hm."}), *text("3", index=1), *end()]]))
    assert get_finished(chunks).provider_parts is None


async def test_open_models_get_their_thinking_back_without_a_signature() -> None:
    frames = [*reasoning({"text": "Hm."}), *text("3", index=1), *end()]
    parts = get_finished(await ask(ScriptedBedrock([frames]), model_id="openai.gpt-oss-120b-1:0")).provider_parts
    assert parts is not None
    assert parts.parts == ({"reasoningContent": {"reasoningText": {"text": "Hm."}}}, {"text": 1})


async def test_thinking_between_tags_is_none_of_the_answer() -> None:
    frames = [*text("<thi", "nking>Hm.", "</thinking>", "Three."), *end()]
    chunks = await ask(ScriptedBedrock([frames]), model_id="amazon.nova-pro-v1:0", shows_reasoning=True)
    assert text_of(chunks) == "Three."


@pytest.mark.parametrize("reason", ["guardrail_intervened", "content_filtered"])
async def test_a_filtered_answer_is_an_error(reason: str) -> None:
    with pytest.raises(ContentFiltered):
        await ask(ScriptedBedrock([[*text("Sorry."), *end(reason)]]))


async def test_the_text_of_a_guardrail_is_no_answer() -> None:
    bedrock = ScriptedBedrock([[*text("I cannot talk about this."), *end("guardrail_intervened")]])
    stream = model_over(bedrock, guardrail=GUARDRAIL).stream(
        ModelSettings(CLAUDE), HELLO, thread_files=MemoryThreadFiles()
    )
    with pytest.raises(ContentFiltered):
        await anext(stream)


async def test_with_a_guardrail_the_whole_answer_arrives() -> None:
    bedrock = ScriptedBedrock()
    assert text_of(await ask(bedrock, model=model_over(bedrock, guardrail=GUARDRAIL))) == "Hello you"


@pytest.mark.parametrize("reason", ["malformed_model_output", "malformed_tool_use"])
async def test_a_malformed_answer_is_asked_for_again(reason: str) -> None:
    bedrock = ScriptedBedrock([[*call("add", "{", index=0), *end(reason)], SAYS_HELLO])
    assert text_of(await ask(bedrock, tools=[ADD])) == "Hello you"


async def test_an_answer_that_the_context_has_no_room_for_is_too_long() -> None:
    with pytest.raises(ContextTooLong):
        await ask(ScriptedBedrock([end("model_context_window_exceeded")]))


async def test_an_answer_that_the_context_ends_is_cut() -> None:
    chunks = await ask(ScriptedBedrock([[*text("Once upon"), *end("model_context_window_exceeded")]]))
    assert get_finished(chunks).reason is FinishReason.LENGTH


async def test_a_stream_without_its_end_is_no_answer() -> None:
    with pytest.raises(ModelUnavailable):
        await ask(ScriptedBedrock([text("Half ")]))


async def test_events_that_nobody_knows_are_passed_over() -> None:
    odd = [event_frame("somethingNew", {"a": 1}), event_frame("contentBlockDelta", {"delta": None}), *text("Hi")]
    assert text_of(await ask(ScriptedBedrock([[*odd, event_frame("contentBlockStart", {}), *end()]]))) == "Hi"


async def test_the_longest_answer_is_cut() -> None:
    piece = "x" * 100_000
    chunks = await ask(ScriptedBedrock([[*text(*[piece] * 11), *end()]]))
    assert len(text_of(chunks)) == MAX_ANSWER_BYTES
    assert get_finished(chunks).reason is FinishReason.LENGTH


async def test_an_answer_of_too_many_pieces_is_cut() -> None:
    frames = [frame for index in range(2_100) for frame in call("add", "{}", call_id=f"c{index}", index=index)]
    chunks = await ask(ScriptedBedrock([[*frames, *end("tool_use")]]), tools=[ADD])
    assert len(chunks) == 2_001
    assert get_finished(chunks).reason is FinishReason.LENGTH


async def test_a_model_that_does_not_stream_calls_answers_at_once() -> None:
    answer = {
        "output": {
            "message": {
                "role": "assistant",
                "content": [
                    {"reasoningContent": {"reasoningText": {"text": "Hm."}}},
                    {"text": "Let me see."},
                    {"toolUse": {"toolUseId": "t1", "name": "add", "input": {"x": 1}}},
                ],
            }
        },
        "stopReason": "tool_use",
        "usage": {"inputTokens": 7, "outputTokens": 3},
    }
    bedrock = ScriptedBedrock([[json.dumps(answer).encode()]])
    chunks = await ask(bedrock, tools=[ADD], model_id="us.meta.llama4-maverick-17b-instruct-v1:0")
    assert bedrock.paths == ["/model/us.meta.llama4-maverick-17b-instruct-v1:0/converse"]
    assert chunks[:2] == [TextDelta("Let me see."), ToolCall("t1", "add", '{"x": 1}')]
    assert get_finished(chunks).usage == Usage(7, 3)


async def test_closing_the_answer_closes_its_connection() -> None:
    bedrock = ScriptedBedrock([[*text("Hello", " you"), *end()]])
    stream = model_over(bedrock).stream(ModelSettings(CLAUDE), HELLO, thread_files=MemoryThreadFiles())
    assert await anext(stream) == TextDelta("Hello")
    assert bedrock.closed == 0
    await stream.aclose()
    assert bedrock.closed == 1


async def test_an_exception_in_the_middle_is_an_error() -> None:
    frames = [*text("Half "), exception_frame("modelStreamErrorException", "broke", originalStatusCode=500)]
    bedrock = ScriptedBedrock([frames])
    with pytest.raises(ModelUnavailable):
        await ask(bedrock)
    assert len(bedrock.requests) == 1, "text was shown"


@pytest.mark.parametrize(
    ("body", "error", "reason"),
    [
        (b"<html>Sign in</html>", ModelUnavailable, "<html>Sign in</html>"),
        (b'{"__type": "ThrottlingException", "message": "Slow down."}', ModelRateLimited, "Slow down."),
        (b'{"Output": {"__type": "UnknownOperationException"}}', ModelUnavailable, "UnknownOperationException"),
        (b"[" * 100_000, ModelUnavailable, "[["),
    ],
)
async def test_operators_learn_what_came_instead_of_an_event_stream(
    body: bytes, error: type[ModelError], reason: str
) -> None:
    with pytest.raises(error) as failed:
        await ask(ScriptedBedrock([[body[:3], body[3:]]]))
    assert reason in (failed.value.reason or "")


async def test_a_gateway_may_answer_whole() -> None:
    assert text_of(await ask(ScriptedBedrock([[json.dumps(WHOLE_HELLO).encode()]]))) == "Hello you"


async def test_an_answer_that_a_gateway_sends_whole_may_be_longer_than_an_event() -> None:
    answer = {**WHOLE_HELLO, "trace": "x" * 2 * 1024 * 1024}
    assert text_of(await ask(ScriptedBedrock([[json.dumps(answer).encode()]]))) == "Hello you"


@pytest.mark.parametrize("before", [[], text("Well, ")])
async def test_calls_under_one_index_stay_apart(before: list[bytes]) -> None:
    calls = [*call("add", '{"x":', "1}", call_id="a"), *call("add", '{"x":', "2}", call_id="b")]
    chunks = await ask(ScriptedBedrock([[*before, *calls, *end("tool_use")]]), tools=(ADD,))
    results = [chunk for chunk in chunks if isinstance(chunk, ToolCall)]
    assert results == [ToolCall("a", "add", '{"x":1}'), ToolCall("b", "add", '{"x":2}')]


@pytest.mark.parametrize(
    "frames",
    [
        call("add", json.dumps('{"x": 1}')),
        [
            event_frame(
                "contentBlockStart", {"start": {"toolUse": {"toolUseId": "a", "name": "add", "input": {"x": 1}}}}
            )
        ],
    ],
)
async def test_arguments_are_read_in_any_form(frames: list[bytes]) -> None:
    chunks = await ask(ScriptedBedrock([[*frames, *end("tool_use")]]), tools=(ADD,))
    assert [chunk.parse_arguments() for chunk in chunks if isinstance(chunk, ToolCall)] == [{"x": 1}]


async def test_text_beside_thinking_is_not_lost() -> None:
    delta = {"text": "Hi", "reasoningContent": {"text": "Hm."}}
    frames = [event_frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": delta}), *end()]
    chunks = await ask(ScriptedBedrock([frames]), shows_reasoning=True)
    assert chunks[:-1] == [ReasoningDelta("Hm."), TextDelta("Hi")]
