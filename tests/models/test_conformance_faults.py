"""Each adapter handles answers that fail, break off, never end, or that nobody reads any more."""

from __future__ import annotations

import asyncio
import threading
from contextlib import aclosing
from typing import Any

import pytest

from baton.domain.errors import (
    ModelError,
    ModelMisconfigured,
    ModelRateLimited,
    ModelTimeout,
    ModelUnavailable,
    OutOfCredit,
)
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import MAX_ANSWER_BYTES, FinishReason, Prompt, TextDelta
from tests.models.endpoints import ADAPTERS, BEDROCK, CHAT, CONVERSE, Endpoint, adapter, parametrise
from tests.models.standins import Fault, StandIns
from tests.models.standins.signed import aws_error
from tests.models.talking import TOOLS, Talk

PLAIN = ADAPTERS[0]


def make_refusals(endpoint: Endpoint, status: int, code: str, kind: str, **headers: str) -> Fault:
    """Return an error in the words of the endpoint: an OpenAI code, or the name of an AWS exception."""
    if endpoint.address == BEDROCK:
        options = aws_error(kind, "It failed.", status)
        return Fault(status=status, body=options.body, headers={**options.headers, **headers})
    body = {"error": {"message": "It failed.", "type": code, "param": None, "code": code}}
    return Fault(status=status, body=body, headers=headers)


def list_broken_streams(endpoint: Endpoint, after: int) -> list[Fault]:
    """Return the ways in which a stream ends too early, with an error or without one."""
    event: Any = {"error": {"message": "Overloaded", "type": "server_error", "code": 502}}
    if endpoint.address == BEDROCK:
        event = {"exception": "modelStreamErrorException", "content": {"originalStatusCode": 500}}
    elif endpoint.name == "openai":
        event = {"type": "error", "code": "server_error", "message": "It failed.", "param": None, "sequence_number": 9}
    return [
        Fault(after=after, then="drop"),
        Fault(after=after, then="end"),
        Fault(after=after, then="event", event=event),
    ]


TEMPORARY = [
    (503, "service_unavailable", "ServiceUnavailableException"),
    (500, "server_error", "InternalServerException"),
    (429, "rate_limit_exceeded", "ThrottlingException"),
    (429, "rate_limit_exceeded", "ModelNotReadyException"),
    (424, "failed_dependency", "ModelErrorException"),
    (529, "overloaded_error", "ServiceUnavailableException"),
]


@pytest.mark.parametrize(("status", "code", "kind"), TEMPORARY)
@pytest.mark.parametrize(**parametrise(ADAPTERS))
async def test_a_failure_that_passes_is_asked_again(
    stand_ins: StandIns, endpoint: Endpoint, status: int, code: str, kind: str
) -> None:
    stand_ins.journal.fail(make_refusals(endpoint, status, code, kind))
    async with adapter(stand_ins, endpoint) as model:
        assert (await Talk(model, endpoint).say("Hello")).endswith("Hello")
    assert len(stand_ins.journal.requests) == 2


@pytest.mark.parametrize(**parametrise(ADAPTERS))
async def test_rate_limits_stay_rate_limits_and_open_no_circuit(stand_ins: StandIns, endpoint: Endpoint) -> None:
    async with adapter(stand_ins, endpoint, max_retries=1) as model:
        for _ in range(8):
            stand_ins.journal.fail(*[make_refusals(endpoint, 429, "rate_limit_exceeded", "ThrottlingException")] * 2)
            with pytest.raises(ModelRateLimited):
                await Talk(model, endpoint).say("Hello")
        assert (await Talk(model, endpoint).say("Hello")).endswith("Hello")


@pytest.mark.parametrize("header", [{"retry-after-ms": "300"}, {"retry-after": "0.3"}])
@pytest.mark.parametrize(**parametrise(ADAPTERS))
async def test_the_wait_that_an_endpoint_asks_for_is_kept(
    stand_ins: StandIns, endpoint: Endpoint, header: dict[str, str]
) -> None:
    stand_ins.journal.fail(make_refusals(endpoint, 429, "rate_limit_exceeded", "ThrottlingException", **header))
    loop = asyncio.get_running_loop()
    async with adapter(stand_ins, endpoint) as model:
        started = loop.time()
        await Talk(model, endpoint).say("Hello")
    assert loop.time() - started >= 0.3


@pytest.mark.parametrize(
    ("status", "code", "kind", "error"),
    [
        (401, "invalid_api_key", "UnrecognizedClientException", ModelMisconfigured),
        (403, "permission_denied", "AccessDeniedException", ModelMisconfigured),
        (404, "model_not_found", "ResourceNotFoundException", ModelMisconfigured),
    ],
)
@pytest.mark.parametrize(**parametrise(ADAPTERS))
async def test_what_only_the_operator_can_change_is_not_asked_again(
    stand_ins: StandIns, endpoint: Endpoint, status: int, code: str, kind: str, error: type[ModelError]
) -> None:
    stand_ins.journal.fail(*[make_refusals(endpoint, status, code, kind)] * 3)
    async with adapter(stand_ins, endpoint) as model:
        with pytest.raises(error):
            await Talk(model, endpoint).say("Hello")
    assert len(stand_ins.journal.requests) <= 2  # another API may be tried


QUOTA = {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "You exceeded your current quota.", "details": [
    {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [
        {"quotaId": "GenerateRequestsPerDayPerProjectPerModel"}]}]}  # fmt: skip


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (429, {"error": {"message": "You exceeded your current quota.", "type": "insufficient_quota",
                         "code": "insufficient_quota"}}),
        (402, {"error": {"message": "Insufficient credits.", "code": 402}}),
        (402, {"error": {"message": "Insufficient Balance", "type": "unknown_error", "code": "invalid_request_error"}}),
        (429, [{"error": QUOTA}]),
    ],
)  # fmt: skip
async def test_an_empty_account_is_reported_as_such_at_once(stand_ins: StandIns, status: int, body: Any) -> None:
    stand_ins.journal.fail(*[Fault(status=status, body=body)] * 3)
    async with adapter(stand_ins, PLAIN) as model:
        with pytest.raises(OutOfCredit):
            await Talk(model, PLAIN).say("Hello")
    assert len(stand_ins.journal.requests) == 1


@pytest.mark.parametrize("kind", range(3), ids=["drop", "end", "error"])
@pytest.mark.parametrize(**parametrise(ADAPTERS))
async def test_a_stream_that_breaks_before_the_first_word_is_asked_again(
    stand_ins: StandIns, endpoint: Endpoint, kind: int
) -> None:
    stand_ins.journal.fail(list_broken_streams(endpoint, after=1)[kind])
    async with adapter(stand_ins, endpoint) as model:
        assert (await Talk(model, endpoint).say("Hello")).endswith("Hello")
    assert len(stand_ins.journal.requests) == 2


@pytest.mark.parametrize("kind", range(3), ids=["drop", "end", "error"])
@pytest.mark.parametrize(**parametrise(ADAPTERS))
async def test_a_stream_that_breaks_after_words_is_an_error_and_not_repeated(
    stand_ins: StandIns, endpoint: Endpoint, kind: int
) -> None:
    stand_ins.journal.fail(list_broken_streams(endpoint, after=9)[kind])
    async with adapter(stand_ins, endpoint) as model:
        talk = Talk(model, endpoint)
        talk.prompts.append(Prompt(Role.USER, "say 50 words"))
        stream = model.stream(talk.settings, talk.prompts, thread_files=talk.files)
        assert isinstance(await anext(stream), TextDelta)
        with pytest.raises(ModelUnavailable):
            [chunk async for chunk in stream]
    assert len(stand_ins.journal.requests) == 1


QUIET = [(endpoint, "hang") for endpoint in ADAPTERS]
# An event stream of Amazon has no comments.
QUIET += [(endpoint, "silence") for endpoint in ADAPTERS if endpoint.address != BEDROCK]


@pytest.mark.parametrize("after", [0, 9])
@pytest.mark.parametrize(("endpoint", "then"), QUIET, ids=[f"{endpoint.id}-{then}" for endpoint, then in QUIET])
async def test_comments_do_not_count_as_an_answer(
    stand_ins: StandIns, endpoint: Endpoint, then: str, after: int
) -> None:
    stand_ins.journal.fail(Fault(after=after, then=then))
    async with adapter(stand_ins, endpoint, max_retries=0) as model:
        with pytest.raises(ModelTimeout):
            await Talk(model, endpoint, timeout_seconds=0.5).say("say 50 words")
        assert await asyncio.to_thread(stand_ins.journal.wait_for_hangup)


@pytest.mark.parametrize("text", ["say 50 words", 'use the tool add with {"x": 1}'])
@pytest.mark.parametrize("after", [0, 3, 9])
@pytest.mark.parametrize(**parametrise(ADAPTERS))
async def test_a_reader_who_leaves_stops_the_model(
    stand_ins: StandIns, endpoint: Endpoint, after: int, text: str
) -> None:
    stand_ins.journal.fail(Fault(after=after, then="hang"))
    threads = threading.active_count()
    async with adapter(stand_ins, endpoint) as model:
        talk = Talk(model, endpoint)
        talk.prompts.append(Prompt(Role.USER, text))

        async def read() -> None:
            async with aclosing(
                model.stream(talk.settings, talk.prompts, thread_files=talk.files, tools=TOOLS)
            ) as chunks:
                async for _ in chunks:
                    pass

        reading = asyncio.create_task(read())
        await asyncio.to_thread(stand_ins.journal.wait_for_request)
        await asyncio.sleep(0.1)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert await asyncio.to_thread(stand_ins.journal.wait_for_hangup)
    assert threading.active_count() <= threads + 4  # those of the loop's pool stay, and are shared


@pytest.mark.parametrize("piece", [1, 7])
@pytest.mark.parametrize(**parametrise((*ADAPTERS, *CHAT[:6])))
async def test_events_may_come_in_any_pieces(stand_ins: StandIns, endpoint: Endpoint, piece: int) -> None:
    stand_ins.journal.fail(*[Fault(piece=piece)] * 2)
    async with adapter(stand_ins, endpoint) as model:
        answer = await Talk(model, endpoint).say('think and use the tool add with {"x": 1}')
    assert "add done" in answer


@pytest.mark.parametrize(**parametrise(ADAPTERS))
async def test_events_that_nobody_knows_are_passed_over(stand_ins: StandIns, endpoint: Endpoint) -> None:
    event: Any = {"type": "response.something.new", "sequence_number": 3, "value": {}}
    if endpoint.address == BEDROCK:
        event = {"event": "somethingNew", "content": {"value": 1}}
    elif endpoint is PLAIN:
        event = {"id": "c", "object": "chat.completion.chunk", "model": "m", "created": 1, "choices": [], "new": {}}
    stand_ins.journal.fail(Fault(after=3, then="insert", event=event))
    async with adapter(stand_ins, endpoint) as model:
        assert (await Talk(model, endpoint).say("Hello there")).endswith("Hello there")


async def test_a_damaged_frame_ends_the_answer(stand_ins: StandIns) -> None:
    stand_ins.journal.fail(Fault(crc=True, after=6))
    async with adapter(stand_ins, CONVERSE[3]) as model:
        with pytest.raises(ModelUnavailable):
            await Talk(model, CONVERSE[3]).say("say 50 words")


@pytest.mark.parametrize(**parametrise(ADAPTERS))
async def test_an_answer_without_end_is_cut(stand_ins: StandIns, endpoint: Endpoint) -> None:
    async with adapter(stand_ins, endpoint) as model:
        talk = Talk(model, endpoint, timeout_seconds=60, max_output_tokens=10_000_000)
        talk.prompts.append(Prompt(Role.USER, "say 250000 words"))
        answer = await talk.ask(tools=())
    assert answer.end.reason is FinishReason.LENGTH
    assert MAX_ANSWER_BYTES - 100 <= len(answer.text) <= MAX_ANSWER_BYTES


async def test_the_wait_in_the_body_of_a_refusal_is_kept(stand_ins: StandIns) -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.3s"}]
    error = {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Resource has been exhausted.", "details": details}
    stand_ins.journal.fail(Fault(status=429, body=[{"error": error}]))
    loop, gemini = asyncio.get_running_loop(), CHAT[2]
    async with adapter(stand_ins, gemini) as model:
        started = loop.time()
        await Talk(model, gemini).say("Hello")
    assert loop.time() - started >= 0.3
