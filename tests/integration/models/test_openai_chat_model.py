"""The OpenAI adapter against a real HTTP endpoint: whole answers, dialects, and subscribers who leave."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from baton.adapters.models.openai import OpenAIChatModel
from baton.domain.errors import StoreUnavailable
from baton.domain.runs.usage import Usage
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import Finished, FinishReason, ModelSettings, Prompt, TextDelta
from tests import fault_model as fault
from tests.fault_model import FaultModel
from tests.integration.models.asking import FILES, HELLO, SETTINGS, MakeModel, ask, text_of
from tests.integration.models.conftest import SECRET

# A healthy endpoint


async def test_an_answer_streams_in_pieces_and_ends_with_its_usage(
    model: OpenAIChatModel, fault_model: FaultModel
) -> None:
    fault_model.script(fault.answers("One two three."))
    *pieces, end = await ask(model)
    assert pieces == [TextDelta("One "), TextDelta("two "), TextDelta("three.")]
    assert isinstance(end, Finished)
    assert (end.reason, end.model) == (FinishReason.STOP, "fault-1")
    assert end.usage is not None
    assert end.usage.output_tokens == 3


async def test_the_request_says_what_the_prompts_and_settings_say(
    model: OpenAIChatModel, fault_model: FaultModel
) -> None:
    settings = ModelSettings(model="gpt-x", temperature=0.3, max_output_tokens=77, timeout_seconds=30)
    await ask(
        model,
        settings,
        Prompt(Role.SYSTEM, "Be kind."),
        Prompt(Role.SYSTEM, "It is Friday."),
        Prompt(Role.CONTEXT, "It rains."),
        Prompt(Role.USER, "Hello"),
        Prompt(Role.ASSISTANT, "Hi!"),
        Prompt(Role.USER, "How are you?"),
    )
    assert fault_model.bodies == [
        {
            "model": "gpt-x",
            "messages": [
                {"role": "system", "content": "Be kind."},
                {"role": "system", "content": "It is Friday."},
                {"role": "user", "content": "<quoted-context>\nIt rains.\n</quoted-context>"},
                {"role": "user", "content": "Hello"},
                {"role": "assistant", "content": "Hi!"},
                {"role": "user", "content": "How are you?"},
            ],
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": 0.3,
            "max_tokens": 77,
        }
    ]
    assert fault_model.requests[0].path == "/v1/chat/completions"


async def test_metadata_is_sent_only_where_it_is_wanted_and_within_openais_limits(
    model: OpenAIChatModel, make_model: MakeModel, fault_model: FaultModel
) -> None:
    about = {"agent": "assistant", "workflow.data.steps": ["one"], "long": "x" * 600, "y" * 65: "", **_make_entries(20)}
    settings = ModelSettings(model="gpt-x", timeout_seconds=30, metadata=about)
    await ask(model, settings)
    await ask(make_model(sends_metadata=True), settings)
    await ask(make_model(sends_metadata=True))
    unasked, request, empty = fault_model.bodies
    assert "metadata" not in unasked
    assert "metadata" not in empty
    first = {"agent": "assistant", "workflow.data.steps": '["one"]', "long": "x" * 512}
    assert request["metadata"] == {**first, **_make_entries(13)}


def _make_entries(count: int) -> dict[str, str]:
    return {f"n{number}": str(number) for number in range(count)}


async def test_the_key_is_sent_as_a_bearer_token(model: OpenAIChatModel, fault_model: FaultModel) -> None:
    await ask(model)
    assert fault_model.requests[0].headers["authorization"] == f"Bearer {SECRET}"


async def test_a_fetched_key_is_asked_for_at_every_request(make_model: MakeModel, fault_model: FaultModel) -> None:
    keys = iter(["first", "second"])

    async def fetch() -> str:
        return next(keys)

    model = make_model(api_key=fetch)
    await ask(model)
    await ask(model)
    assert [r.headers["authorization"] for r in fault_model.requests] == ["Bearer first", "Bearer second"]


async def test_a_key_that_cannot_be_fetched_keeps_its_own_error(make_model: MakeModel) -> None:
    async def fetch() -> str:
        raise StoreUnavailable

    with pytest.raises(StoreUnavailable):
        await ask(make_model(api_key=fetch))


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("stop", FinishReason.STOP),
        ("length", FinishReason.LENGTH),
        ("tool_calls", FinishReason.TOOL_CALLS),
        ("eos", FinishReason.STOP),
    ],
)
async def test_the_reason_to_stop_is_passed_on(
    model: OpenAIChatModel, fault_model: FaultModel, text: str, meant: FinishReason
) -> None:
    fault_model.script(fault.answers(finish=text))
    end = (await ask(model))[-1]
    assert isinstance(end, Finished)
    assert end.reason is meant


async def test_many_answers_stream_at_once_and_none_gets_anothers_text(
    model: OpenAIChatModel, fault_model: FaultModel
) -> None:
    questions = [f"question {n} of many" for n in range(100)]
    answers = await asyncio.gather(*(ask(model, SETTINGS, Prompt(Role.USER, question)) for question in questions))
    assert [text_of(chunks) for chunks in answers] == questions


def test_one_model_serves_one_event_loop_after_another(fault_model: FaultModel) -> None:
    model = OpenAIChatModel(api_key=SECRET, base_url=fault_model.base_url)

    async def ask_once() -> str:
        text = text_of(await ask(model))
        await model.aclose()
        return text

    assert [asyncio.run(ask_once()) for _ in range(3)] == ["Hello"] * 3


# Endpoints that speak a dialect


async def test_an_endpoint_that_does_not_count_gives_no_usage(model: OpenAIChatModel, fault_model: FaultModel) -> None:
    fault_model.script(fault.answers(usage=False))
    end = (await ask(model))[-1]
    assert isinstance(end, Finished)
    assert end.usage is None


async def test_an_endpoint_that_refuses_stream_options_is_asked_without_them_from_then_on(
    model: OpenAIChatModel, fault_model: FaultModel
) -> None:
    fault_model.otherwise = fault.refuses_parameter("stream_options")
    assert text_of(await ask(model)) == text_of(await ask(model)) == "Hello there."
    assert ["stream_options" in body for body in fault_model.bodies] == [True, False, False]


async def test_a_reasoning_model_gets_its_limit_under_the_name_it_wants(
    model: OpenAIChatModel, fault_model: FaultModel
) -> None:
    fault_model.otherwise = fault.refuses_parameter("max_tokens", "Use 'max_completion_tokens' instead.")
    settings = ModelSettings(model="o-model", max_output_tokens=5, timeout_seconds=30)
    await ask(model, settings)
    await ask(model, settings)
    assert [body.get("max_completion_tokens") for body in fault_model.bodies] == [None, 5, 5]


async def test_running_counts_in_every_chunk_add_up_to_the_last(
    model: OpenAIChatModel, fault_model: FaultModel
) -> None:
    counted = [fault.chunk({"content": "a"}, usage={"prompt_tokens": 7, "completion_tokens": n}) for n in (1, 2)]
    fault_model.script(fault.sends(*counted, fault.chunk({}, "stop"), "[DONE]"))
    assert (await ask(model))[-1] == Finished(FinishReason.STOP, "fault-1", Usage(7, 2))


async def test_an_answer_that_is_complete_does_not_need_its_counts(
    model: OpenAIChatModel, fault_model: FaultModel
) -> None:
    async def breaks_before_the_counts(exchange: fault.Exchange) -> None:
        await exchange.open_stream()
        await exchange.words(["Done."])
        await exchange.event(fault.chunk({}, "stop"))
        raise fault.Broken

    fault_model.script(breaks_before_the_counts)
    assert await ask(model) == [TextDelta("Done."), Finished(FinishReason.STOP, "fault-1", None)]


# Anybody who stops listening ends the stream


async def test_cancelling_the_task_closes_the_stream(model: OpenAIChatModel, fault_model: FaultModel) -> None:
    fault_model.script(fault.endless())
    started = asyncio.Event()

    async def listen() -> None:
        async for _ in model.stream(SETTINGS, HELLO, thread_files=FILES):
            started.set()

    task = asyncio.create_task(listen())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await fault_model.wait_until(lambda server: server.hangups == 1)


async def test_cancelling_before_the_first_word_closes_the_request(
    model: OpenAIChatModel, fault_model: FaultModel
) -> None:
    fault_model.script(fault.silence())
    task = asyncio.create_task(ask(model))
    await fault_model.wait_until(lambda server: len(server.requests) == 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await fault_model.wait_until(lambda server: server.hangups == 1)


async def test_closing_the_iterator_closes_the_stream(model: OpenAIChatModel, fault_model: FaultModel) -> None:
    fault_model.script(fault.endless())
    async with aclosing(model.stream(SETTINGS, HELLO, thread_files=FILES)) as chunks:  # type: ignore[type-var]
        await anext(chunks)
    await fault_model.wait_until(lambda server: server.hangups == 1)


async def test_a_stream_that_one_listener_leaves_does_not_disturb_the_others(
    model: OpenAIChatModel, fault_model: FaultModel
) -> None:
    fault_model.script(fault.endless())
    task = asyncio.create_task(ask(model))
    await fault_model.wait_until(lambda server: len(server.requests) == 1)
    others = asyncio.gather(*(ask(model, SETTINGS, Prompt(Role.USER, f"number {n}")) for n in range(20)))
    task.cancel()
    assert [text_of(chunks) for chunks in await others] == [f"number {n}" for n in range(20)]
