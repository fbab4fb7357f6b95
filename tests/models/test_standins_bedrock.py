"""The stand-ins of Amazon Bedrock refuse what the service and its models refuse, and answer as they answer."""

from __future__ import annotations

import base64
from typing import Any

import boto3
import httpx
import pytest
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.eventstream import ChecksumMismatch

from tests.models.raw import CLAUDE, Json, converse, frames, make_message, send_signed, tool_config
from tests.models.standins import Fault, StandIns
from tests.models.standins.signed import ACCESS_KEY, EXPIRED_TOKEN, SECRET_KEY, aws_error

HAIKU = "eu.anthropic.claude-haiku-4-5"
NOVA = "amazon.nova-lite-v1:0"
LLAMA = "us.meta.llama4-maverick-17b-instruct-v1:0"
GPT = "us.openai.gpt-6-sol"
POINT = {"cachePoint": {"type": "default"}}
PNG = base64.b64encode(b"\x89PNG\r\n").decode()
USE = {"toolUse": {"toolUseId": "t1", "name": "add", "input": {"x": 1}}}
RESULT = {"toolResult": {"toolUseId": "t1", "content": [{"text": "2"}]}}
HI = make_message("Hi.", role="assistant")
LOOP = [make_message(), make_message("", USE, role="assistant"), make_message("", RESULT)]
CONFIG = tool_config()
THINKING = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "else"}}}
ADD = make_message('use the tool add with {"x": 1} 3 times')


def document(name: str = "report", extension: str = "pdf", data: str = PNG) -> Json:
    """Return a document."""
    return {"document": {"name": name, "format": extension, "source": {"bytes": data}}}


def image(extension: str = "png", data: str = PNG) -> Json:
    """Return an image."""
    return {"image": {"format": extension, "source": {"bytes": data}}}


def result(**more: Any) -> list[Json]:
    """Return a conversation whose tool result has these fields."""
    return [*LOOP[:2], make_message("", {"toolResult": RESULT["toolResult"] | more})]


def test_boto3_reads_the_answers(stand_ins: StandIns) -> None:
    client = boto3.client(
        "bedrock-runtime",
        region_name="eu-west-1",
        endpoint_url=stand_ins.url,
        aws_access_key_id=ACCESS_KEY,
        aws_secret_access_key=SECRET_KEY,
        config=Config(retries={"max_attempts": 0}),
    )
    arn = "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-haiku-4-5"
    for model in (CLAUDE, NOVA, arn):
        answer = client.converse_stream(modelId=model, messages=[{"role": "user", "content": [{"text": "Hello"}]}])
        events = list(answer["stream"])
        text = "".join(e["contentBlockDelta"]["delta"].get("text", "") for e in events if "contentBlockDelta" in e)
        assert text == "You said: Hello"
        assert events[-2]["messageStop"] == {"stopReason": "end_turn"}


REFUSALS: list[tuple[str, list[Json], Json, str]] = [
    # The service model
    (CLAUDE, [make_message()], {"inferenceConfig": {"maxTokens": 0}}, "maxTokens"),
    (CLAUDE, [make_message()], {"inferenceConfig": {"temperature": 1.5}}, "temperature"),
    (CLAUDE, [make_message()], {"toolChoice": {}}, "toolChoice"),
    (CLAUDE, [{"role": "robot", "content": []}], {}, "enum value set"),
    (CLAUDE, [make_message("Hi", {"text": "a", "image": {}})], {}, "Invalid number of parameters set for tagged union"),
    (CLAUDE, [make_message()], {"system": [{"text": ""}]}, "system"),
    (CLAUDE, [make_message()], {"toolConfig": {"tools": []}}, "tools"),
    (CLAUDE, [make_message()], {"toolConfig": tool_config("two words")}, "failed to satisfy pattern"),
    (CLAUDE, [make_message()], {"toolConfig": tool_config("a" * 65)}, "65"),
    (
        CLAUDE,
        [make_message(), make_message("", {"toolUse": USE["toolUse"] | {"toolUseId": "a/b"}}, role="assistant")],
        {},
        "pattern",
    ),
    (CLAUDE, [make_message()], {"requestMetadata": {str(number): "" for number in range(17)}}, "17"),
    (CLAUDE, [make_message("Hi", image(data="no base64"))], {}, "base64"),
    # The order of messages
    (CLAUDE, [], {}, "at least one message"),
    (CLAUDE, [make_message(), make_message()], {}, "must alternate between user and assistant roles"),
    (NOVA, [HI, make_message()], {}, "must start with a user message"),
    (CLAUDE, [make_message(), HI], {}, "prefill"),
    (CLAUDE, [make_message(" ")], {}, "messages.0.content.0 is blank"),
    (CLAUDE, [make_message(), make_message("", role="assistant"), make_message()], {}, "messages.1 is empty"),
    (CLAUDE, [make_message()], {"system": [{"text": " "}]}, "system.0 is blank"),
    # Tools
    (CLAUDE, LOOP, {}, "The toolConfig field must be defined when using toolUse and toolResult"),
    (
        CLAUDE,
        [*LOOP[:2], make_message()],
        {"toolConfig": CONFIG},
        "Expected toolResult blocks at messages.2.content for the",
    ),
    (HAIKU, LOOP[:2], {"toolConfig": CONFIG}, "Expected toolResult blocks at messages.2"),
    (CLAUDE, [make_message("", RESULT)], {"toolConfig": CONFIG}, "exceeds the number of toolUse blocks"),
    (
        CLAUDE,
        [*LOOP[:2], {"role": "user", "content": [{"text": "Hi"}, RESULT]}],
        {"toolConfig": CONFIG},
        "`tool_use` ids",
    ),
    (
        CLAUDE,
        [make_message(), make_message("", USE, USE, role="assistant"), make_message("", RESULT)],
        {"toolConfig": CONFIG},
        "must be unique",
    ),
    (
        CLAUDE,
        [
            make_message(),
            make_message("", {"toolUse": USE["toolUse"] | {"input": "x"}}, role="assistant"),
            make_message("", RESULT),
        ],
        {"toolConfig": CONFIG},
        "Provide a json object",
    ),
    (
        LLAMA,
        [*LOOP[:2], {"role": "user", "content": [RESULT, {"text": "Hi"}]}],
        {"toolConfig": CONFIG},
        "cannot be provided in the same turn",
    ),
    (
        CLAUDE,
        [*LOOP[:2], {"role": "user", "content": [RESULT, {"text": "x"}, document()]}],
        {"toolConfig": CONFIG},
        "beside tool results",
    ),
    (CLAUDE, result(content=[], status="error"), {"toolConfig": CONFIG}, "cannot be empty when status value is error"),
    (CLAUDE, result(content=[{"json": [1]}]), {"toolConfig": CONFIG}, "0.json is invalid. Provide a json object"),
    (NOVA, result(content=[document()]), {"toolConfig": CONFIG}, "doesn't support document content in tool results"),
    (CLAUDE, [make_message()], {"toolConfig": tool_config(toolChoice={"any": {}})}, "tool_choice forces tool use"),
    # Attachments
    (GPT, [make_message("Hi", document("my.file"))], {}, "can only contain alphanumeric"),
    (CLAUDE, [make_message("Hi", document()), HI, make_message("Hi", document())], {}, "duplicate document names"),
    (CLAUDE, [make_message("", document())], {}, "text block must accompany"),
    (
        CLAUDE,
        [make_message("Hi", *[document(f"d{number}") for number in range(6)])],
        {},
        "too many images or documents",
    ),
    (CLAUDE, [make_message("Hi", image("jpeg"))], {}, "does not match the provided media type"),
    (
        CLAUDE,
        [make_message("Hi", image(data=base64.b64encode(b"\x89PNG" * 1_000_000).decode()))],
        {},
        "exceeds 3.75 MB",
    ),
    (
        CLAUDE,
        [make_message(), make_message("Hi", image(), role="assistant"), make_message()],
        {},
        "Assistant messages cannot contain",
    ),
    ("us.deepseek.v3-2", [make_message("Hi", image())], {}, "doesn't support the image"),
    # Settings of families
    (
        CLAUDE,
        [make_message()],
        {"inferenceConfig": {"temperature": 0.2}},
        "`temperature` is deprecated for this model.",
    ),
    (GPT, [make_message()], {"inferenceConfig": {"topP": 0.2}}, "`top_p` is deprecated"),
    (HAIKU, [make_message()], {"inferenceConfig": {"topP": 0.2, "temperature": 0.2}}, "cannot both be specified"),
    (CLAUDE, [make_message()], {"additionalModelRequestFields": {"reasoning": {}}}, "extraneous key [reasoning]"),
    (
        CLAUDE,
        [make_message()],
        {"additionalModelRequestFields": {"thinking": {"type": "enabled"}}},
        "Use thinking.type.adaptive",
    ),
    (
        HAIKU,
        [make_message()],
        {
            "additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 2000}},
            "inferenceConfig": {"maxTokens": 1000},
        },
        "must be greater than `thinking.budget_tokens`",
    ),
    (
        NOVA,
        [make_message()],
        {"outputConfig": {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": {"schema": "{}"}}}}},
        "doesn't support the outputConfig field",
    ),
    (
        CLAUDE,
        [make_message()],
        {
            "outputConfig": {
                "textFormat": {"type": "json_schema", "structure": {"jsonSchema": {"schema": '{"type": "object"}'}}}
            }
        },
        "'additionalProperties' must be explicitly set to false",
    ),
    ("anthropic.claude-opus-5-5", [make_message()], {}, "on-demand throughput isn\u2019t supported"),
    ("nobody.model", [make_message()], {}, "The provided model identifier is invalid."),
    # Thinking
    (
        NOVA,
        [make_message(), make_message("Hi", THINKING, role="assistant"), make_message()],
        {},
        "cannot contain reasoning content",
    ),
    (
        CLAUDE,
        [make_message(), make_message("Hi", THINKING, role="assistant"), make_message()],
        {},
        "Invalid `signature` in `thinking` block",
    ),
    (
        HAIKU,
        [
            make_message(),
            make_message("Hi", {"reasoningContent": {"reasoningText": {"text": "x"}}}, role="assistant"),
            make_message(),
        ],
        {},
        "thinking.signature: Field required",
    ),
    # Cache points
    (CLAUDE, [make_message("Hi", *[POINT, {"text": "x"}] * 5, POINT)], {}, "A maximum of 4 blocks"),
    (CLAUDE, [make_message("", POINT)], {}, "must follow the content that it ends"),
    (CLAUDE, [make_message("Hi", document("d", "txt"), POINT)], {}, "directly after a document that is no PDF"),
    (
        CLAUDE,
        [make_message("Hi", POINT, {"text": "x"}, {"cachePoint": {"type": "default", "ttl": "1h"}})],
        {},
        "ttl='1h'",
    ),
    (
        NOVA,
        [make_message()],
        {"toolConfig": {"tools": [*CONFIG["tools"], POINT]}},
        "extraneous key [cachePoint] is not",
    ),
    (NOVA, [*LOOP[:2], make_message("", RESULT, POINT)], {"toolConfig": CONFIG}, "not permitted after toolResult"),
]


@pytest.mark.parametrize(("model", "messages", "fields", "reason"), REFUSALS, ids=[reason for *_, reason in REFUSALS])
def test_a_request_is_refused_in_bedrocks_words(
    stand_ins: StandIns, model: str, messages: list[Json], fields: Json, reason: str
) -> None:
    response = converse(stand_ins, messages, model, **fields)
    assert (response.status_code, response.headers.get("x-amzn-errortype")) == (400, "ValidationException")
    assert reason in response.json()["message"]


def test_a_cache_point_on_a_model_without_caching_is_forbidden(stand_ins: StandIns) -> None:
    response = converse(stand_ins, [make_message("Hi", POINT)], LLAMA)
    assert (response.status_code, response.headers["x-amzn-errortype"]) == (403, "AccessDeniedException")
    assert "did not allow prompt caching" in response.text


@pytest.mark.parametrize(
    ("credentials", "service", "reason"),
    [
        (Credentials(ACCESS_KEY, "other-secret"), "bedrock", "does not match the signature"),
        (Credentials("AKIAOTHER", SECRET_KEY), "bedrock", "security token included in the request is invalid"),
        (Credentials(ACCESS_KEY, SECRET_KEY), "bedrock-runtime", "scoped to correct service: 'bedrock'"),
        (Credentials(ACCESS_KEY, SECRET_KEY, EXPIRED_TOKEN), "bedrock", "is expired"),
    ],
)
def test_a_request_that_is_not_signed_well_is_forbidden(
    stand_ins: StandIns, credentials: Credentials, service: str, reason: str
) -> None:
    response = send_signed(stand_ins, NOVA, "converse-stream", {"messages": [make_message()]}, credentials, service)
    assert response.status_code == 403
    assert reason in response.json()["message"]
    assert httpx.post(f"{stand_ins.url}/model/{NOVA}/converse-stream", json={}).status_code == 403


@pytest.mark.parametrize(
    ("fault", "last"),
    [
        (Fault(after=3, then="event", event={"exception": "throttlingException"}), "throttlingException"),
        (Fault(after=2, then="insert", event={"event": "somethingNew"}), "metadata"),
        (Fault(piece=1), "metadata"),
    ],
)
def test_a_stream_can_fail_or_hold_what_nobody_knows(stand_ins: StandIns, fault: Fault, last: str) -> None:
    stand_ins.journal.fail(fault)
    kinds = [kind for kind, _ in frames(converse(stand_ins, [make_message()], NOVA).content)]
    assert kinds[-1] == last
    assert fault.event is None or next(iter(fault.event.values())) in kinds


def test_frames_can_be_cut_or_damaged_and_requests_throttled(stand_ins: StandIns) -> None:
    slow = aws_error("ThrottlingException", "Too many requests", 429)
    stand_ins.journal.fail(
        Fault(crc=True, after=2),
        Fault(after=2, then="drop"),
        Fault(status=slow.status, body=slow.body, headers=slow.headers),
    )
    with pytest.raises(ChecksumMismatch):
        frames(converse(stand_ins, [make_message()], NOVA).content)
    with pytest.raises(httpx.RemoteProtocolError):
        converse(stand_ins, [make_message()], NOVA)
    assert converse(stand_ins, [make_message()], NOVA).headers["x-amzn-errortype"] == "ThrottlingException"


def test_a_cached_prefix_is_counted_apart(stand_ins: StandIns) -> None:
    request, usages = [make_message("word " * 600, POINT, {"text": "Hello"})], []
    for _ in range(2):
        [*_, (_, metadata)] = frames(converse(stand_ins, request).content)
        usages.append(metadata["usage"])
    assert usages[0]["cacheWriteInputTokens"] == usages[1]["cacheReadInputTokens"] > 512
    assert usages[0]["inputTokens"] == usages[1]["inputTokens"] < 100


@pytest.mark.parametrize("guarded", [True, False])
def test_a_filtered_question_ends_with_its_reason(stand_ins: StandIns, *, guarded: bool) -> None:
    guardrail = {"guardrailConfig": {"guardrailIdentifier": "abc1", "guardrailVersion": "1"}} if guarded else {}
    sent = frames(converse(stand_ins, [make_message("filter this")], NOVA, **guardrail).content)
    [stop] = [event["stopReason"] for kind, event in sent if kind == "messageStop"]
    assert stop == ("guardrail_intervened" if guarded else "content_filtered")


def test_a_prompt_that_is_too_long_and_a_role_without_permission_are_refused(stand_ins: StandIns) -> None:
    stand_ins.bedrock.contexts[CLAUDE] = 100
    stand_ins.bedrock.denied.add(NOVA)
    assert "prompt is too long" in converse(stand_ins, [make_message("word " * 200)]).json()["message"]
    assert converse(stand_ins, [make_message()], NOVA).status_code == 403
