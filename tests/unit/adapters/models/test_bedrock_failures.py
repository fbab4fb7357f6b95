"""Errors of Amazon Bedrock, in its own words."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from botocore.credentials import Credentials

from baton.adapters.models.bedrock.chat_model import BedrockChatModel
from baton.adapters.models.bedrock.connection import BedrockConnection
from baton.domain.errors import (
    ContextTooLong,
    ModelError,
    ModelMisconfigured,
    ModelRateLimited,
    ModelRefused,
    ModelTimeout,
    ModelUnavailable,
    OutOfCredit,
)
from baton.domain.runs.tool_call import ToolCall
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import Prompt
from tests.fault_model.event_frames import exception_frame
from tests.unit.adapters.models.scripted_bedrock import (
    ADD,
    CLAUDE,
    HELLO,
    SAYS_HELLO,
    Body,
    ScriptedBedrock,
    ask,
    call,
    end,
    get_finished,
    make_refusal,
    model_over,
    reasoning,
    text_of,
)

NO_ACCESS = (
    "User: arn:aws:sts::123456789012:assumed-role/baton-Worker/x is not authorized to perform: "
    "bedrock:InvokeModelWithResponseStream on resource: "
    "arn:aws:bedrock:eu-west-1::foundation-model/amazon.nova-pro-v1:0 "
    "because no identity-based policy allows the bedrock:InvokeModelWithResponseStream action"
)
ON_DEMAND = (
    "Invocation of model ID anthropic.claude-sonnet-4-6 with on-demand throughput isn\u2019t supported. Retry your "
    "request with the ID or ARN of an inference profile that contains this model."
)


@pytest.mark.parametrize(
    ("status", "name", "message", "error"),
    [
        (429, "ThrottlingException", "Too many requests, please wait before trying again.", ModelRateLimited),
        (429, "ModelNotReadyException", "The model is not ready for inference.", ModelRateLimited),
        (400, "ServiceQuotaExceededException", "You have exceeded a quota.", ModelRateLimited),
        (429, "ThrottlingException", "Too many tokens per day, please wait before trying again.", OutOfCredit),
        (408, "ModelTimeoutException", "The model took too long.", ModelTimeout),
        (424, "ModelErrorException", "The model failed.", ModelUnavailable),
        (500, "InternalServerException", "An internal error.", ModelUnavailable),
        (503, "ServiceUnavailableException", "Bedrock is unable to process your request.", ModelUnavailable),
        (403, "AccessDeniedException", NO_ACCESS, ModelMisconfigured),
        (404, "ResourceNotFoundException", "Could not resolve the foundation model.", ModelMisconfigured),
        (400, "ValidationException", "The provided model identifier is invalid.", ModelMisconfigured),
        (400, "ValidationException", ON_DEMAND, ModelMisconfigured),
        (400, "ValidationException", "This model is not available under the data retention mode.", ModelMisconfigured),
        (403, "UnrecognizedClientException", "The security token is invalid.", ModelMisconfigured),
        (400, "ValidationException", "Input is too long for requested model.", ContextTooLong),
        (400, "ValidationException", "input length and `max_tokens` exceed context limit: 1 + 2 > 2", ContextTooLong),
        (400, "ValidationException", "prompt is too long: 210000 tokens > 200000 maximum", ContextTooLong),
        (400, "ValidationException", "too many total text bytes: 9 > 8", ContextTooLong),
        (400, "ValidationException", "Something else is wrong.", ModelRefused),
    ],
)
async def test_an_error_before_the_answer_has_its_class(
    status: int, name: str, message: str, error: type[ModelError]
) -> None:
    bedrock = ScriptedBedrock([make_refusal(status, name, message)])
    with pytest.raises(ModelError) as raised:
        await ask(bedrock)
    assert type(raised.value) is error
    assert message not in raised.value.detail


@pytest.mark.parametrize(
    ("name", "error", "question"),
    [
        ("throttlingException", ModelRateLimited, 4),
        ("ThrottlingException", ModelRateLimited, 4),
        ("internalServerException", ModelUnavailable, 4),
        ("serviceUnavailableException", ModelUnavailable, 4),
        ("modelStreamErrorException", ModelUnavailable, 4),
        ("modelTimeoutException", ModelTimeout, 4),
        ("validationException", ModelRefused, 1),
        ("aNewException", ModelUnavailable, 4),
    ],
)
async def test_an_error_in_the_stream_has_its_class_by_its_name(
    name: str, error: type[ModelError], question: int
) -> None:
    bedrock = ScriptedBedrock([[exception_frame(name, "It went wrong.")]])
    with pytest.raises(ModelError) as raised:
        await ask(bedrock)
    assert (type(raised.value), len(bedrock.requests)) == (error, question)


async def test_an_overflow_in_the_stream_is_one() -> None:
    frames = [
        exception_frame("modelStreamErrorException", "x", originalStatusCode=400, originalMessage="prompt is too long")
    ]
    with pytest.raises(ContextTooLong):
        await ask(ScriptedBedrock([frames]))


@pytest.mark.parametrize(
    "failure",
    [
        make_refusal(429, "ThrottlingException", "Too many requests"),
        make_refusal(424, "ModelErrorException", "The model failed."),
        [exception_frame("throttlingException", "Too many tokens")],
        [b"<html>Bad gateway</html>"],
        httpx2.ConnectError("no route"),
        httpx2.ReadError("reset"),
    ],
    ids=["throttled", "failed", "throttled-in-stream", "page", "no-connection", "reset"],
)
async def test_what_may_pass_is_tried_again(failure: Any) -> None:
    bedrock = ScriptedBedrock([failure, SAYS_HELLO])
    assert text_of(await ask(bedrock)) == "Hello you"
    assert len(bedrock.requests) == 2


async def test_a_model_that_is_being_subscribed_to_is_not_asked_again() -> None:
    bedrock = ScriptedBedrock(
        [make_refusal(403, "AccessDeniedException", "Marketplace: MPAgreementBeingCreated. Try later.")]
    )
    with pytest.raises(ModelUnavailable):
        await ask(bedrock)
    assert len(bedrock.requests) == 1


async def test_expired_credentials_are_looked_for_again_once() -> None:
    results: list[Credentials] = []

    class Renewed:
        def get_credentials(self) -> Credentials:
            results.append(Credentials(f"AKID{len(results)}", "secret"))
            return results[-1]

    expired = make_refusal(403, "ExpiredTokenException", "The security token included in the request is expired")
    bedrock = ScriptedBedrock([expired, SAYS_HELLO])
    model = BedrockChatModel(BedrockConnection("eu-west-1", Renewed, transport=bedrock))
    assert text_of(await ask(bedrock, model=model)) == "Hello you"
    assert "Credential=AKID1/" in bedrock.requests[1].headers["authorization"]
    second_bedrock = ScriptedBedrock([expired])
    with pytest.raises(ModelMisconfigured):
        await ask(second_bedrock)
    assert len(second_bedrock.requests) == 2


async def test_missing_credentials_are_the_operators_matter(caplog: pytest.LogCaptureFixture) -> None:
    class Nothing:
        def get_credentials(self) -> None:
            return None

    bedrock = ScriptedBedrock()
    with pytest.raises(ModelMisconfigured):
        await ask(bedrock, model=BedrockChatModel(BedrockConnection("eu-west-1", Nothing, transport=bedrock)))
    assert bedrock.requests == []
    [record] = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert record.__dict__["text"] == "There are no AWS credentials."


async def test_neither_keys_nor_signatures_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "baton")
    with pytest.raises(ModelRefused):
        await ask(ScriptedBedrock([make_refusal(400, "ValidationException", "No.")]))
    reported = " ".join(str(record.__dict__) for record in caplog.records)
    assert "request-1" in reported
    assert "wJalrXUtnFEMI" not in reported
    assert "Signature" not in reported


# Learning from refusals


@pytest.mark.parametrize(
    ("message", "settings", "model"),
    [
        (
            "The model returned the following errors: `temperature` is deprecated for this model.",
            {"temperature": 0.1},
            CLAUDE,
        ),
        ("This model doesn't support the topP field. Remove topP and try again.", {"top_p": 0.1}, CLAUDE),
        (
            "Malformed input request: #: extraneous key [reasoning_effort] is not permitted, please reformat it.",
            {"reasoning_effort": "low"},
            "openai.gpt-oss-20b-1:0",
        ),
        ("output_config: Extra inputs are not permitted", {"reasoning_effort": "low"}, CLAUDE),
        (
            "max_tokens: 200000 > 128000, which is the maximum allowed number of output tokens",
            {"max_output_tokens": 200_000},
            CLAUDE,
        ),
    ],
)
async def test_a_setting_that_is_refused_is_left_out_and_reported(
    message: str, settings: dict[str, Any], model: str
) -> None:
    bedrock = ScriptedBedrock([make_refusal(400, "ValidationException", message), SAYS_HELLO])
    chunks = await ask(bedrock, model_id=model, **settings)
    assert text_of(chunks) == "Hello you"
    assert get_finished(chunks).dropped == tuple(settings)


async def test_what_was_learned_is_kept() -> None:
    bedrock = ScriptedBedrock([make_refusal(400, "ValidationException", "`temperature` is deprecated"), SAYS_HELLO])
    model = model_over(bedrock)
    for _ in range(2):
        await ask(bedrock, model=model, temperature=0.1)
    assert ["temperature" in body["inferenceConfig"] for body in bedrock.bodies] == [True, False, False]


async def test_a_model_without_a_cache_gets_no_cache_points() -> None:
    """The refusal has the status of a missing permission."""
    message = "You invoked an unsupported model or your request did not allow prompt caching. See the documentation."
    bedrock = ScriptedBedrock([make_refusal(403, "AccessDeniedException", message), SAYS_HELLO])
    await ask(bedrock, Prompt(Role.SYSTEM, "Be brief.", ends_prefix=True), *HELLO)
    assert ["cachePoint" in str(body) for body in bedrock.bodies] == [True, False]


async def test_a_model_that_streams_no_calls_is_asked_at_once() -> None:
    message = "This model doesn't support tool use in streaming mode."
    bedrock = ScriptedBedrock([make_refusal(400, "ValidationException", message), SAYS_HELLO])
    assert text_of(await ask(bedrock, tools=[ADD], model_id="some.model-v1:0")) == "Hello you"
    assert [path.rpartition("/")[2] for path in bedrock.paths] == ["converse-stream", "converse"]


async def test_a_model_without_system_messages_gets_them_from_the_user() -> None:
    message = "This model doesn't support system messages. Try again without system messages."
    bedrock = ScriptedBedrock([make_refusal(400, "ValidationException", message), SAYS_HELLO])
    await ask(bedrock, Prompt(Role.SYSTEM, "Be brief."), *HELLO)
    assert "system" not in bedrock.body
    assert "Be brief." in bedrock.body["messages"][0]["content"][0]["text"]


async def test_a_model_that_wants_results_alone_gets_them_so() -> None:
    message = "Conversation blocks and tool result blocks cannot be provided in the same turn."
    bedrock = ScriptedBedrock([make_refusal(400, "ValidationException", message), SAYS_HELLO])
    called = (
        Prompt(Role.ASSISTANT, "", tool_calls=(ToolCall("t1", "add", "{}"),)),
        Prompt(Role.TOOL, "1", tool_call_id="t1"),
    )
    await ask(bedrock, *HELLO, *called, Prompt(Role.USER, "Go on."), tools=[ADD], model_id="some.model-v1:0")
    assert [len(body["messages"]) for body in bedrock.bodies] == [3, 5]


async def test_thinking_that_is_refused_stays_out() -> None:
    signed = reasoning({"text": "Hm."}, {"signature": "c2ln"})
    invalid = make_refusal(400, "ValidationException", "messages.1.content.0: Invalid `signature` in `thinking` block")
    bedrock = ScriptedBedrock([[*signed, *call("add", "{}", index=1), *end("tool_use")], invalid, SAYS_HELLO])
    model = model_over(bedrock)
    done = get_finished(await ask(bedrock, tools=[ADD], model=model))
    answer = Prompt(
        Role.ASSISTANT, "", tool_calls=(ToolCall("tooluse_1", "add", "{}"),), provider_parts=done.provider_parts
    )
    result = Prompt(Role.TOOL, "1", tool_call_id="tooluse_1")
    assert text_of(await ask(bedrock, *HELLO, answer, result, tools=[ADD], model=model)) == "Hello you"
    assert ["signature" in str(body) for body in bedrock.bodies] == [False, True, False]


# Names, overrides and time


async def test_ids_and_arns_are_one_segment_of_the_path() -> None:
    arn = "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-sonnet-4-6"
    bedrock = ScriptedBedrock()
    await ask(bedrock, model_id=arn)
    assert bedrock.requests[0].url.raw_path == (
        b"/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A123456789012%3Ainference-profile%2Feu.anthropic.claude-sonnet-4-6"
        b"/converse-stream"
    )
    assert bedrock.body["inferenceConfig"] == {"maxTokens": 128_000}, "its family is known"


async def test_an_operator_names_the_family_of_an_application_profile() -> None:
    arn = "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/ab12cd34ef56"
    bedrock = ScriptedBedrock()
    await ask(bedrock, model_id=arn)
    assert "inferenceConfig" not in bedrock.body
    named = model_over(bedrock, profiles={"ab12cd34ef56": {"family": "anthropic.claude-sonnet-4-6"}})
    await ask(bedrock, model_id=arn, model=named)
    assert bedrock.body["inferenceConfig"] == {"maxTokens": 128_000}


async def test_a_silent_model_times_out_and_its_connection_is_closed() -> None:
    closed = []

    class Silent(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            await asyncio.sleep(1_000)
            yield b""

        async def aclose(self) -> None:
            closed.append(self)

    bedrock = ScriptedBedrock([lambda: httpx2.Response(200, stream=Silent())])
    with pytest.raises(ModelTimeout):
        await ask(bedrock, timeout_seconds=0.05)
    assert len(closed) == 1


async def test_repeated_outages_open_the_circuit() -> None:
    bedrock = ScriptedBedrock([make_refusal(503, "ServiceUnavailableException", "Down.")])
    model = model_over(bedrock, max_retries=0)
    for _ in range(7):
        with pytest.raises(ModelUnavailable):
            await ask(bedrock, model=model)
    assert len(bedrock.requests) == 5


async def test_a_compressed_answer_is_none() -> None:
    bedrock = ScriptedBedrock([lambda: httpx2.Response(200, headers={"content-encoding": "gzip"}, stream=Body([]))])
    with pytest.raises(ModelUnavailable):
        await ask(bedrock)


async def test_models_may_be_asked_from_several_loops() -> None:
    bedrock = ScriptedBedrock()
    model = model_over(bedrock)

    async def close() -> None:
        await ask(bedrock, model=model)
        await model.aclose()

    await close()
    await asyncio.to_thread(asyncio.run, close())
    assert len(bedrock.requests) == 2
