"""Requests to Amazon Bedrock follow the rules of its models. botocore checks the form of each request."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
from ag_ui.core import DataSource, DocumentPart, ImagePart, TextPart
from botocore.model import OperationModel
from botocore.session import Session
from botocore.validate import ParamValidator

from baton.adapters.models.bedrock.media import MAX_DOCUMENTS
from baton.adapters.models.bedrock.messages import is_allowed_after
from baton.adapters.models.bedrock.request import BedrockGuardrail
from baton.adapters.models.profiles.profile import ModelProfile
from baton.domain.runs.tool_call import ToolCall
from baton.domain.threads.content import Content
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import Prompt, ToolSpec
from tests.unit.adapters.models.scripted_bedrock import (
    ADD,
    CLAUDE,
    HELLO,
    ScriptedBedrock,
    ask,
    get_finished,
    model_over,
)

LLAMA = "us.meta.llama4-maverick-17b-instruct-v1:0"
NOVA = "us.amazon.nova-pro-v1:0"
NEWEST = "global.anthropic.claude-opus-5-5"
CALL = ToolCall("tooluse_1", "add", '{"x": 1}')
CALLED = (Prompt(Role.ASSISTANT, "", tool_calls=(CALL,)), Prompt(Role.TOOL, "1", tool_call_id="tooluse_1"))
POINT = {"cachePoint": {"type": "default"}}
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + b"\x00\x00\x00\x08\x00\x00\x00\x08" + b"\x08\x02\x00\x00\x00"


@pytest.fixture(scope="module")
def operation() -> OperationModel:
    return Session().get_service_model("bedrock-runtime").operation_model("ConverseStream")


@pytest.fixture
def bedrock(operation: OperationModel) -> Iterator[ScriptedBedrock]:
    """A Bedrock whose requests are held against AWS's own model when the test is over."""
    scripted = ScriptedBedrock()
    yield scripted
    for body in scripted.bodies:
        shape: Any = operation.input_shape
        report = ParamValidator().validate({"modelId": CLAUDE, **_decode_blobs(body)}, shape)
        assert not report.has_errors(), report.generate_report()
        roles = [message["role"] for message in body["messages"]]
        assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"], "roles alternate"


def _decode_blobs(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: base64.b64decode(item) if key in ("bytes", "redactedContent") else _decode_blobs(item)
            for key, item in value.items()
        }
    return [_decode_blobs(item) for item in value] if isinstance(value, list) else value


async def test_system_messages_come_first_and_notes_are_the_users(bedrock: ScriptedBedrock) -> None:
    await ask(
        bedrock,
        Prompt(Role.SYSTEM, "Be brief."),
        Prompt(Role.SYSTEM, "It is Thursday."),
        Prompt(Role.USER, "Hello"),
        Prompt(Role.SYSTEM, "Answer now."),
    )
    assert bedrock.body["system"] == [{"text": "Be brief."}, {"text": "It is Thursday."}]
    [message] = bedrock.body["messages"]
    assert [block["text"] for block in message["content"]] == ["Hello", "<system-note>\nAnswer now.\n</system-note>"]


async def test_results_of_one_answer_are_one_message_of_the_user(bedrock: ScriptedBedrock) -> None:
    calls = tuple(ToolCall(f"t{number}", "add", "{}") for number in range(3))
    results = [Prompt(Role.TOOL, str(number), tool_call_id=f"t{number}") for number in range(3)]
    await ask(
        bedrock,
        *HELLO,
        Prompt(Role.ASSISTANT, "", tool_calls=calls),
        *results,
        Prompt(Role.SYSTEM, "Now."),
        tools=[ADD],
    )
    content = bedrock.body["messages"][2]["content"]
    assert [next(iter(block)) for block in content] == ["toolResult"] * 3 + ["text"]


async def test_a_call_without_its_result_gets_one(bedrock: ScriptedBedrock) -> None:
    await ask(bedrock, *HELLO, CALLED[0], Prompt(Role.USER, "Hello?"), tools=[ADD])
    result, text = bedrock.body["messages"][2]["content"]
    assert result["toolResult"]["status"] == "error"
    assert text == {"text": "Hello?"}


async def test_an_id_that_comes_again_is_another_one_in_the_request(bedrock: ScriptedBedrock) -> None:
    await ask(bedrock, *HELLO, *CALLED, *CALLED, tools=[ADD])
    ids = [
        (block.get("toolUse") or block["toolResult"])["toolUseId"]
        for message in bedrock.body["messages"][1:]
        for block in message["content"]
    ]
    assert ids == ["tooluse_1", "tooluse_1", "tooluse_1.2", "tooluse_1.2"]


async def test_a_foreign_id_is_replaced_alike_for_call_and_result(bedrock: ScriptedBedrock) -> None:
    foreign = "call/" + "x" * 80
    await ask(
        bedrock,
        *HELLO,
        Prompt(Role.ASSISTANT, "", tool_calls=(ToolCall(foreign, "add", "{}"),)),
        Prompt(Role.TOOL, "1", tool_call_id=foreign),
        tools=[ADD],
    )
    call, result = bedrock.body["messages"][1]["content"][0], bedrock.body["messages"][2]["content"][0]
    assert call["toolUse"]["toolUseId"] == result["toolResult"]["toolUseId"] != foreign


@pytest.mark.parametrize(("arguments", "expected"), [("", {}), ('{"x": 1}', {"x": 1}), ("{x", {"malformed": "{x"})])
async def test_arguments_are_an_object(bedrock: ScriptedBedrock, arguments: str, expected: object) -> None:
    answer = Prompt(Role.ASSISTANT, "", tool_calls=(ToolCall("tooluse_1", "add", arguments),))
    await ask(bedrock, *HELLO, answer, CALLED[1], tools=[ADD])
    assert bedrock.body["messages"][1]["content"][0]["toolUse"]["input"] == expected


async def test_an_error_of_a_tool_is_reported_as_one(bedrock: ScriptedBedrock) -> None:
    failed = Prompt(Role.TOOL, "Error: no such number", tool_call_id="tooluse_1")
    await ask(bedrock, *HELLO, CALLED[0], failed, tools=[ADD])
    result = bedrock.body["messages"][2]["content"][0]["toolResult"]
    assert (result["status"], result["content"]) == ("error", [{"text": "Error: no such number"}])
    await ask(bedrock, *HELLO, CALLED[0], failed, tools=[ADD], model_id="us.writer.palmyra-x5-v1:0")
    assert "status" not in bedrock.body["messages"][2]["content"][0]["toolResult"]


async def test_blank_texts_are_left_out(bedrock: ScriptedBedrock) -> None:
    blank = Prompt(Role.TOOL, " ", tool_call_id="tooluse_1")
    await ask(
        bedrock, Prompt(Role.SYSTEM, "\n"), *HELLO, CALLED[0], blank, Prompt(Role.ASSISTANT, " "), *HELLO, tools=[ADD]
    )
    assert "system" not in bedrock.body
    assert '"text": " "' not in str(bedrock.body).replace("'", '"')


async def test_without_tools_calls_are_written_as_text(bedrock: ScriptedBedrock) -> None:
    await ask(bedrock, *HELLO, *CALLED)
    assert "toolConfig" not in bedrock.body
    reported = [block["text"] for message in bedrock.body["messages"] for block in message["content"]]
    assert reported == ["Hello", '[Called add with {"x": 1}.]', "[Result of add: 1]"]


async def test_a_result_stands_alone_where_the_model_wants_it(bedrock: ScriptedBedrock) -> None:
    await ask(bedrock, *HELLO, *CALLED, Prompt(Role.USER, "Go on."), tools=[ADD], model_id=LLAMA)
    kinds = [[next(iter(block)) for block in message["content"]] for message in bedrock.body["messages"]]
    assert kinds == [["text"], ["toolUse"], ["toolResult"], ["text"], ["text"]]


async def test_the_first_message_is_the_users_and_so_is_the_last(bedrock: ScriptedBedrock) -> None:
    answer = Prompt(Role.ASSISTANT, "Hello.")
    await ask(bedrock, answer, model_id=NOVA)
    assert [message["role"] for message in bedrock.body["messages"]] == ["user", "assistant", "user"]
    await ask(bedrock, Prompt(Role.SYSTEM, "Write a title."), model_id=NOVA)
    assert [message["role"] for message in bedrock.body["messages"]] == ["user"]


async def test_mistral_reads_results_as_json(bedrock: ScriptedBedrock) -> None:
    for output, expected in (('{"sum": 3}', {"sum": 3}), ("three", {"result": "three"}), ("[1]", {"result": "[1]"})):
        result = Prompt(Role.TOOL, output, tool_call_id="tooluse_1")
        await ask(bedrock, *HELLO, CALLED[0], result, tools=[ADD], model_id="mistral.mistral-large-2407-v1:0")
        assert bedrock.body["messages"][2]["content"][0]["toolResult"]["content"] == [{"json": expected}]


# Tools


async def test_a_tool_has_a_description_whatever_happens(bedrock: ScriptedBedrock) -> None:
    await ask(bedrock, tools=[ToolSpec("end", "", {"type": "object"})])
    [tool] = bedrock.body["toolConfig"]["tools"]
    assert tool["toolSpec"]["description"] == "end"
    assert tool["toolSpec"]["inputSchema"]["json"] == {"properties": {}, "type": "object"}


@pytest.mark.parametrize(
    ("choice", "expected"), [("auto", None), ("required", {"any": {}}), ("add", {"tool": {"name": "add"}})]
)
async def test_a_choice_of_tools_has_its_form(bedrock: ScriptedBedrock, choice: str, expected: object) -> None:
    await ask(bedrock, tools=[ADD], tool_choice=choice)
    assert bedrock.body["toolConfig"].get("toolChoice") == expected


async def test_tools_stay_declared_where_none_may_be_called(bedrock: ScriptedBedrock) -> None:
    await ask(bedrock, *HELLO, *CALLED, tools=[ADD], tool_choice="none")
    assert len(bedrock.body["toolConfig"]["tools"]) == 1
    assert "toolChoice" not in bedrock.body["toolConfig"]
    assert bedrock.body["additionalModelRequestFields"] == {"tool_choice": {"type": "none"}}
    await ask(bedrock, *HELLO, *CALLED, tools=[ADD], tool_choice="none", model_id=NOVA)
    assert "additionalModelRequestFields" not in bedrock.body


async def test_a_demand_that_a_model_refuses_is_left_out_and_reported(bedrock: ScriptedBedrock) -> None:
    chunks = await ask(bedrock, tools=[ADD], tool_choice="required", model_id=NEWEST)
    assert "toolChoice" not in bedrock.body["toolConfig"]
    assert get_finished(chunks).dropped == ("tool_choice",)


# Settings


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        (CLAUDE, 128_000),
        ("anthropic.claude-haiku-4-5-20251001-v1:0", 64_000),
        ("anthropic.claude-3-haiku-20240307-v1:0", 4_096),
        (NOVA, None),
    ],
)
async def test_models_of_anthropic_get_room_for_their_answer(
    bedrock: ScriptedBedrock, model: str, tokens: int | None
) -> None:
    await ask(bedrock, model_id=model)
    assert bedrock.body.get("inferenceConfig", {}).get("maxTokens") == tokens
    await ask(bedrock, model_id=model, max_output_tokens=500)
    assert bedrock.body["inferenceConfig"]["maxTokens"] == 500


async def test_sampling_is_left_out_where_it_is_refused(bedrock: ScriptedBedrock) -> None:
    chunks = await ask(bedrock, temperature=0.2, top_p=0.9)
    assert bedrock.body["inferenceConfig"] == {"maxTokens": 128_000, "temperature": 0.2}
    assert get_finished(chunks).dropped == ("top_p",)
    for model in (NEWEST, "openai.gpt-6-sol", "us.xai.grok-4.6"):
        chunks = await ask(bedrock, temperature=0.2, top_p=0.9, model_id=model)
        assert get_finished(chunks).dropped == ("temperature", "top_p")
    await ask(bedrock, temperature=2.0, top_p=0.9, model_id=NOVA)
    assert bedrock.body["inferenceConfig"] == {"temperature": 1.0, "topP": 0.9}


@pytest.mark.parametrize(
    ("model", "effort", "expected"),
    [
        (CLAUDE, "low", {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}),
        (CLAUDE, "xhigh", {"thinking": {"type": "adaptive"}, "output_config": {"effort": "max"}}),
        (CLAUDE, "none", {"thinking": {"type": "disabled"}}),
        (NEWEST, "none", {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}),
        ("anthropic.claude-sonnet-5-5", "none", {"thinking": {"type": "between_tools"}}),
        ("anthropic.claude-haiku-4-5-20251001-v1:0", "low", {"thinking": {"type": "enabled", "budget_tokens": 2048}}),
        ("openai.gpt-6-sol", "minimal", {"reasoning": {"effort": "low"}}),
        ("xai.grok-4.7", "max", {"reasoning": {"effort": "xhigh"}}),
        ("openai.gpt-oss-120b-1:0", "minimal", {"reasoning_effort": "low"}),
        ("deepseek.v3.2", "low", {"reasoning_effort": "high"}),
        ("zai.glm-5.3", "max", {"reasoning_effort": "max"}),
        ("qwen.qwen3-32b-v1:0", "medium", {"reasoning_config": "high"}),
        (
            "us.amazon.nova-2-lite-v1:0",
            "medium",
            {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "medium"}},
        ),
        ("us.amazon.nova-2-lite-v1:0", "none", {"reasoningConfig": {"type": "disabled"}}),
    ],
)
async def test_effort_is_asked_for_in_the_words_of_the_family(
    bedrock: ScriptedBedrock, model: str, effort: str, expected: object
) -> None:
    await ask(bedrock, model_id=model, reasoning_effort=effort)
    assert bedrock.body["additionalModelRequestFields"] == expected


async def test_effort_is_left_out_where_the_model_does_not_think(bedrock: ScriptedBedrock) -> None:
    chunks = await ask(bedrock, model_id=NOVA, reasoning_effort="low", verbosity="low", parallel_tool_calls=False)
    assert "additionalModelRequestFields" not in bedrock.body
    assert get_finished(chunks).dropped == ("parallel_tool_calls", "reasoning_effort", "verbosity")


async def test_thinking_with_a_budget_takes_neither_sampling_nor_demands(bedrock: ScriptedBedrock) -> None:
    chunks = await ask(
        bedrock,
        model_id="anthropic.claude-sonnet-4-20250514-v1:0",
        reasoning_effort="high",
        temperature=0.1,
        tools=[ADD],
        tool_choice="required",
    )
    assert bedrock.body["inferenceConfig"] == {"maxTokens": 16_384 + 4_096}
    assert get_finished(chunks).dropped == ("temperature", "tool_choice")
    await ask(
        bedrock, model_id="anthropic.claude-sonnet-4-20250514-v1:0", reasoning_effort="high", max_output_tokens=5000
    )
    assert bedrock.body["additionalModelRequestFields"]["thinking"]["budget_tokens"] == 2500


async def test_thinking_that_is_shown_is_asked_for(bedrock: ScriptedBedrock) -> None:
    await ask(bedrock, model_id=NEWEST, shows_reasoning=True)
    assert bedrock.body["additionalModelRequestFields"] == {"thinking": {"type": "adaptive", "display": "summarized"}}


async def test_further_fields_go_to_the_model_but_replace_none_of_batons(bedrock: ScriptedBedrock) -> None:
    extra = {
        "top_k": 5,
        "serviceTier": {"type": "flex"},
        "guardrailConfig": {"guardrailIdentifier": "none"},
        "additionalModelRequestFields": {"seed": 1},
    }
    guarded = model_over(bedrock, guardrail=BedrockGuardrail("gr1abc", "2"))
    chunks = await ask(bedrock, model=guarded, extra=extra)
    assert bedrock.body["additionalModelRequestFields"] == {"top_k": 5, "seed": 1}
    assert bedrock.body["serviceTier"] == {"type": "flex"}
    assert bedrock.body["guardrailConfig"] == {
        "guardrailIdentifier": "gr1abc",
        "guardrailVersion": "2",
        "streamProcessingMode": "sync",
    }
    assert get_finished(chunks).dropped == ("guardrailConfig",)


async def test_metadata_is_sent_where_it_is_wanted_in_the_letters_that_aws_takes(bedrock: ScriptedBedrock) -> None:
    reported = {"agent": "assistant", "workflow.data": {"né": 1}, "long": "x" * 300, **{f"n{n}": "" for n in range(20)}}
    await ask(bedrock, metadata=reported)
    assert "requestMetadata" not in bedrock.body
    await ask(bedrock, metadata=reported, model=model_over(bedrock, sends_metadata=True))
    sent = bedrock.body["requestMetadata"]
    assert (sent["agent"], sent["workflow.data"], len(sent["long"]), len(sent)) == ("assistant", "__n__: 1_", 256, 16)


async def test_metadata_with_a_long_name_takes_the_place_of_no_other(bedrock: ScriptedBedrock) -> None:
    reported = {"x" * 300: "", **{f"n{n}": "" for n in range(16)}}
    await ask(bedrock, metadata=reported, model=model_over(bedrock, sends_metadata=True))
    assert list(bedrock.body["requestMetadata"]) == [f"n{n}" for n in range(16)]


# Structured answers


async def test_a_schema_is_enforced_where_the_model_can(bedrock: ScriptedBedrock) -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer", "minimum": 1}, "at": {"type": "string", "pattern": "^(?=a)"}},
        "required": ["n", "at"],
    }
    await ask(bedrock, answer_schema=schema)
    form = bedrock.body["outputConfig"]["textFormat"]
    assert form["structure"]["jsonSchema"]["schema"] == (
        '{"properties":{"at":{"type":"string"},"n":{"type":"integer"}},"required":["n","at"],"type":"object",'
        '"additionalProperties":false}'
    )


async def test_properties_of_a_strict_schema_may_have_the_names_of_keywords(bedrock: ScriptedBedrock) -> None:
    inner = {"type": "object", "properties": {"x": {"type": "string"}}}
    await ask(bedrock, answer_schema={"type": "object", "properties": {"properties": inner, "default": inner}})
    form = bedrock.body["outputConfig"]["textFormat"]["structure"]["jsonSchema"]
    closed = {**inner, "additionalProperties": False}
    assert json.loads(form["schema"])["properties"] == {"properties": closed, "default": closed}


async def test_a_schema_stands_in_the_prompt_elsewhere(bedrock: ScriptedBedrock) -> None:
    await ask(bedrock, Prompt(Role.SYSTEM, "Be brief."), *HELLO, answer_schema={"type": "object"}, model_id=NOVA)
    assert "outputConfig" not in bedrock.body
    assert "JSON Schema" in bedrock.body["system"][-1]["text"]


# Caching


def make_marked(role: Role, content: str, **further: Any) -> Prompt:
    return Prompt(role, content, ends_prefix=True, **further)


async def test_prefixes_that_come_again_end_with_cache_points(bedrock: ScriptedBedrock) -> None:
    prompts = (make_marked(Role.SYSTEM, "Be brief."), Prompt(Role.SYSTEM, "Thursday."), make_marked(Role.USER, "Hello"))
    await ask(bedrock, *prompts)
    assert bedrock.body["system"] == [{"text": "Be brief."}, POINT, {"text": "Thursday."}]
    assert bedrock.body["messages"][0]["content"] == [{"text": "Hello"}, POINT]
    await ask(bedrock, *prompts, model_id="us.amazon.nova-2-lite-v1:0")
    assert "cachePoint" not in str(bedrock.body), "it caches by itself or not at all"


async def test_of_many_cache_points_the_first_and_the_newest_are_kept(bedrock: ScriptedBedrock) -> None:
    turns = [make_marked(Role.USER if number % 2 == 0 else Role.ASSISTANT, f"{number}") for number in range(9)]
    await ask(bedrock, make_marked(Role.SYSTEM, "Be brief."), *turns)
    content = [
        *bedrock.body["system"],
        *(block for message in bedrock.body["messages"] for block in message["content"]),
    ]
    before = [content[index - 1]["text"] for index, block in enumerate(content) if block == POINT]
    assert before == ["Be brief.", "0", "7", "8"]


async def test_a_cache_point_stands_only_where_it_may(bedrock: ScriptedBedrock) -> None:
    result = make_marked(Role.TOOL, "1", tool_call_id="tooluse_1")
    await ask(bedrock, *HELLO, CALLED[0], result, tools=[ADD])
    assert bedrock.body["messages"][2]["content"][-1] == POINT
    await ask(bedrock, *HELLO, CALLED[0], result, tools=[ADD], model_id=NOVA)
    assert "cachePoint" not in str(bedrock.body)


# Attachments


def pdf(name: str, data: bytes = b"%PDF-1.7\n%%EOF") -> DocumentPart:
    source = DataSource(value=base64.b64encode(data).decode(), mime_type="application/pdf")
    return DocumentPart(source=source, metadata={"name": name})


def png(data: bytes = PNG) -> ImagePart:
    return ImagePart(source=DataSource(value=base64.b64encode(data).decode(), mime_type="image/png"))


def question(*parts: Any) -> Prompt:
    content: Content = (TextPart(text="What is this?"), *parts)
    return Prompt(Role.USER, content)


async def test_images_and_documents_are_blocks(bedrock: ScriptedBedrock) -> None:
    await ask(bedrock, question(png(), pdf("Q3 (final)!.pdf")))
    text, image, name, document = bedrock.body["messages"][0]["content"]
    assert text == {"text": "What is this?"}
    assert image["image"]["format"] == "png"
    assert base64.b64decode(image["image"]["source"]["bytes"]) == PNG
    assert name == {"text": "[document 1-1 is the file Q3 (final)_.pdf]"}
    assert (document["document"]["name"], document["document"]["format"]) == ("document 1-1", "pdf")


async def test_documents_of_one_name_have_different_ones_the_same_in_each_request(bedrock: ScriptedBedrock) -> None:
    first, second = question(pdf("a.pdf"), pdf("a.pdf")), question(pdf("a.pdf"))
    for prompts in ((first,), (first, Prompt(Role.ASSISTANT, "Two."), second)):
        await ask(bedrock, *prompts)
        names = [
            block["document"]["name"]
            for message in bedrock.body["messages"]
            for block in message["content"]
            if "document" in block
        ]
        assert names == ["document 1-1", "document 1-2", "document 3-1"][: len(names)]
        assert len(names) == 2 + len(prompts) // 3


async def test_one_document_too_many_becomes_a_sentence(bedrock: ScriptedBedrock) -> None:
    documents = [pdf(f"{number}.pdf") for number in range(MAX_DOCUMENTS)]
    # Two messages in a row are one to the service.
    await ask(bedrock, question(*documents[:3]), question(*documents[3:], pdf("more.pdf")))
    blocks = bedrock.body["messages"][0]["content"]
    assert sum("document" in block for block in blocks) == MAX_DOCUMENTS
    assert "more.pdf was not given to the model" in blocks[-1]["text"]


async def test_a_large_picture_becomes_a_sentence(bedrock: ScriptedBedrock) -> None:
    wide = PNG[:16] + (8_001).to_bytes(4) + PNG[20:]
    await ask(bedrock, question(png(wide)))
    assert "8000 pixels" in bedrock.body["messages"][0]["content"][-1]["text"]


async def test_a_model_of_texts_gets_no_pictures(bedrock: ScriptedBedrock) -> None:
    await ask(bedrock, question(png()), model_id="amazon.nova-micro-v1:0")
    assert all("text" in block for block in bedrock.body["messages"][0]["content"])


async def test_a_document_stands_beside_no_result(bedrock: ScriptedBedrock) -> None:
    await ask(bedrock, *HELLO, *CALLED, question(pdf("a.pdf")), tools=[ADD])
    assert [message["role"] for message in bedrock.body["messages"]] == ["user", "assistant"] * 2 + ["user"]


@pytest.mark.parametrize(
    ("block", "is_allowed"),
    [
        ({"text": "Hello"}, True),
        (POINT, False),
        ({"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "s"}}}, False),
    ],
)
def test_a_cache_point_follows_no_thinking_and_no_other_point(block: dict[str, Any], is_allowed: bool) -> None:
    assert is_allowed_after(block, ModelProfile()) is is_allowed
