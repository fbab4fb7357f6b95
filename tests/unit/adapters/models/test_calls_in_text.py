"""Tool calls that a server leaves in the text are calls, over every API and wherever the text is cut."""

from __future__ import annotations

import json

import pytest

from baton.adapters.models.answers.call_markup import MAX_CALLS, MAX_PYTHON
from baton.adapters.models.answers.thinking_tags import ThinkingTags
from baton.adapters.models.answers.written_calls import WrittenCalls
from baton.adapters.models.tool_schemas import ModelTools, OfferedTool
from baton.ports.agents.chat_model import Finished, FinishReason, ModelChunk, TextDelta, ToolSpec
from tests.unit.adapters.models import chat_endpoint
from tests.unit.adapters.models.responses_endpoint import calls_of, text_of
from tests.unit.adapters.models.three_apis import APIS, LOOKUP, cut_text

NOW = ToolSpec("now", "Tells the time.", {"type": "object"})
K1 = '{"key": "k1"}'
XML = "<parameter=key>\nk1\n</parameter>"
NOTATIONS = {
    "Hermes": f'<tool_call>\n{{"name": "lookup", "arguments": {K1}}}\n</tool_call>',
    "Hermes without its end": f'<tool_call>{{"name": "lookup", "arguments": {K1}}}',
    "Hermes and an invented result": (
        f'<tool_call>{{"name": "lookup", "arguments": {K1}}}</tool_call>\n<tool_response>x</tool_response>\nIt is x.'
    ),
    "Qwen Coder": f"<tool_call>\n<function=lookup>\n{XML}\n</function>\n</tool_call>",
    "Qwen Coder without its beginning": f"<function=lookup>\n{XML}\n</function>\n</tool_call>",
    "Mistral": f'[TOOL_CALLS][{{"name": "lookup", "arguments": {K1}}}]',
    "Mistral since 2025": f"[TOOL_CALLS]lookup{K1}",
    "Mistral with arguments marked": f"[TOOL_CALLS]lookup[CALL_ID]abcdefghi[ARGS]{K1}</s>",
    "Llama": f'<|python_tag|>{{"name": "lookup", "parameters": {K1}}}<|eom_id|>',
    "Llama as a method": '<|python_tag|>lookup.call(key="k1")',
    "Llama's function": f"<function=lookup>{K1}</function>",
    "Llama without a mark": f'{{"name": "lookup", "parameters": {K1}}}',
    "Llama with a type": f'{{"type": "function", "name": "lookup", "parameters": {K1}}}',
    "OpenAI's form": f'{{"type": "function", "function": {{"name": "lookup", "arguments": {json.dumps(K1)}}}}}',
    "a list": f'[{{"name": "lookup", "arguments": {K1}}}]',
    "DeepSeek": (
        "<\uff5ctool\u2581calls\u2581begin\uff5c><\uff5ctool\u2581call\u2581begin\uff5c>function"
        f"<\uff5ctool\u2581sep\uff5c>lookup\n```json\n{K1}\n```"
        "<\uff5ctool\u2581call\u2581end\uff5c><\uff5ctool\u2581calls\u2581end\uff5c>"
    ),
    "DeepSeek 3.1": (
        "<\uff5ctool\u2581calls\u2581begin\uff5c><\uff5ctool\u2581call\u2581begin\uff5c>lookup"
        f"<\uff5ctool\u2581sep\uff5c>{K1}<\uff5ctool\u2581call\u2581end\uff5c><\uff5ctool\u2581calls\u2581end\uff5c>"
    ),
    "DeepSeek 3.2": (
        '<\uff5cDSML\uff5cfunction_calls>\n<\uff5cDSML\uff5cinvoke name="lookup">\n'
        '<\uff5cDSML\uff5cparameter name="key" string="true">k1</\uff5cDSML\uff5cparameter>\n'
        "</\uff5cDSML\uff5cinvoke>\n</\uff5cDSML\uff5cfunction_calls>"
    ),
    "Kimi": (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.lookup:0<|tool_call_argument_begin|>"
        f"{K1}<|tool_call_end|><|tool_calls_section_end|>"
    ),
    "GLM": "<tool_call>lookup\n<arg_key>key</arg_key>\n<arg_value>k1</arg_value>\n</tool_call>",
    "MiniMax": (
        '<minimax:tool_call>\n<invoke name="lookup">\n<parameter name="key">k1</parameter>\n</invoke>\n'
        "</minimax:tool_call>"
    ),
    "Seed": f"<seed:tool_call>\n<function=lookup>\n{XML}\n</function>\n</seed:tool_call>",
    "gpt-oss": f"<|channel|>commentary to=functions.lookup <|constrain|>json<|message|>{K1}<|call|>",
    "gpt-oss with the recipient first": (
        f"<|start|>assistant to=functions.lookup<|channel|>commentary json<|message|>{K1}<|call|>"
    ),
    "Command": f'<|START_ACTION|>[{{"tool_call_id": "0", "tool_name": "lookup", "parameters": {K1}}}]<|END_ACTION|>',
    "InternLM": f'<|action_start|><|plugin|>{{"name": "lookup", "parameters": {K1}}}<|action_end|>',
    "Granite": f'<|tool_call|>[{{"name": "lookup", "arguments": {K1}}}]',
    "Phi": f'functools[{{"name": "lookup", "arguments": {K1}}}]',
    "Gemma": '<|tool_call>call:lookup{key:<|"|>k1<|"|>}<tool_call|>',
    "LFM": '<|tool_call_start|>[lookup(key="k1")]<|tool_call_end|>',
    "LM Studio": f'[TOOL_REQUEST]{{"name": "lookup", "arguments": {K1}}}[END_TOOL_REQUEST]',
    "Qwen Coder with the wrong tag": f'<tools>{{"name": "lookup", "arguments": {K1}}}</tools>',
    "Kimi without its special tokens": f"functions.lookup:0{K1}",
    "Apertus": f'<|tools_prefix|>[{{"lookup": {K1}}}]<|tools_suffix|>',
}


@pytest.mark.parametrize("markup", NOTATIONS.values(), ids=NOTATIONS)
@pytest.mark.parametrize("api", APIS)
async def test_a_call_in_the_notation_of_a_model_is_a_call(api: str, markup: str) -> None:
    for size in (1, 6, 1_000):
        for words in ("", "I look.\n"):
            chunks = await APIS[api](cut_text(words + markup, size), tools=[LOOKUP, NOW])
            assert text_of(chunks) == words.strip()
            assert [(call.name, json.loads(call.arguments)) for call in calls_of(chunks)] == [("lookup", {"key": "k1"})]
            assert isinstance(chunks[-1], Finished)
            assert chunks[-1].reason is FinishReason.TOOL_CALLS


@pytest.mark.parametrize("api", APIS)
async def test_several_calls_are_several(api: str) -> None:
    hermes = f"{NOTATIONS['Hermes']}\n" + '<tool_call>{"name": "now"}</tool_call>'
    llama = '{"name": "now", "parameters": {}}; ' + NOTATIONS["Llama with a type"]
    for markup in (hermes, '[lookup(key="k1"), now()]', llama):
        calls = calls_of(await APIS[api](cut_text(markup, 4), tools=[LOOKUP, NOW]))
        assert sorted(call.name for call in calls) == ["lookup", "now"]
        assert len({call.id for call in calls}) == 2


async def test_arguments_that_were_written_as_text_have_the_types_of_the_schema() -> None:
    markup = "<tool_call><function=lookup><parameter=key>7</parameter><parameter=count>7</parameter></function>"
    [call] = calls_of(await APIS["chat"]([markup], tools=[LOOKUP]))
    assert json.loads(call.arguments) == {"key": "7", "count": 7}


@pytest.mark.parametrize(
    "markup",
    [
        '<tool_call>{"name": "lookup", "arguments": {"key": }</tool_call>',
        "<tool_call>{'name': 'lookup', 'arguments': {'key': 'k1'}}</tool_call>",
        "[TOOL_CALLS]lookup{key=k1}",
        '<invoke name="lookup"><key>k1</key> and some words',
        "<|python_tag|>lookup(k1)",
    ],
)
@pytest.mark.parametrize("api", APIS)
async def test_a_call_that_cannot_be_read_has_arguments_that_are_no_json(api: str, markup: str) -> None:
    chunks = await APIS[api](cut_text("I look.\n" + markup, 5), tools=[LOOKUP])
    assert text_of(chunks) == "I look."
    [call] = calls_of(chunks)
    assert (call.name, call.parse_arguments()) in (("lookup", None), ("lookup", {}))


TEXTS = [
    f"So it is written:\n```\n{NOTATIONS['Hermes']}\n```",
    f"So it is written:\n```json\n{NOTATIONS['Llama without a mark']}\n```\n",
    'Use `<tool_call>{"name": "lookup"}</tool_call>` for it.',
    'It is "<tool_call>" that lookup begins with.',
    f"{NOTATIONS['Hermes']}\nSo a call of lookup is written.",
    '<tool_call>\n{"name": "other", "arguments": {}}\n</tool_call>',
    "[TOOL_CALLS] is what Mistral writes.",
    '{"name": "Ada", "age": 36}',
    '{"name": "lookup", "age": 36}',
    '[{"name": "lookup"}, {"name": "now"}]',
    "[lookup](https://example.com) is a link",
    "[1, 2, 3]",
    "functools is a module, and lookup a function",
    "a < b [ c { d <tool_",
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("api", APIS)
async def test_markup_that_is_no_call_of_an_offered_tool_stays_text(api: str, text: str) -> None:
    for size in (1, 5, 1_000):
        chunks = await APIS[api](cut_text(text, size), tools=[LOOKUP, NOW])
        assert (text_of(chunks), calls_of(chunks)) == (text, [])


async def test_without_tools_all_markup_is_text() -> None:
    for markup in NOTATIONS.values():
        if "<|channel|>" not in markup:
            assert text_of(await APIS["chat"]([markup])) == markup


async def test_an_answer_with_a_schema_is_json_and_no_call() -> None:
    text = NOTATIONS["Llama without a mark"]
    assert text_of(await APIS["chat"]([text], tools=[LOOKUP], answer_schema={"type": "object"})) == text


@pytest.mark.parametrize("api", APIS)
async def test_nothing_of_a_call_is_shown_where_no_tool_may_be_called_or_the_answer_was_cut(api: str) -> None:
    markup = "I look.\n" + NOTATIONS["Hermes"]
    for chunks in (
        await APIS[api](cut_text(markup, 5), tools=[LOOKUP], tool_choice="none"),
        await APIS[api](cut_text(markup[:-20], 5), tools=[LOOKUP], finish="length"),
    ):
        assert (text_of(chunks), calls_of(chunks)) == ("I look.", [])


async def test_text_after_a_mark_is_held_back_for_a_bounded_length() -> None:
    pieces = ["<tool_call> ", *["word "] * 1_000]
    chunks: list[ModelChunk] = await APIS["chat"](pieces, tools=[LOOKUP])
    visible = [chunk for chunk in chunks if isinstance(chunk, TextDelta)]
    assert text_of(chunks) == "".join(pieces)
    assert len(visible[0].text) < 2_100
    assert len(visible) > 500


async def test_a_text_of_nothing_but_marks_is_read_in_time_that_its_length_bounds() -> None:
    for mark in ("<tool_call>", "`<tool_call>`", '\n{"name":"', "[TOOL_CALLS]lookup", "<function=lookup>"):
        text = "Hello " + mark * (20_000 // len(mark))
        assert len(text_of(await APIS["chat"](cut_text(text, 100), tools=[LOOKUP]))) <= len(text)


@pytest.mark.parametrize(
    "name",
    [
        *("lookup<|channel|>commentary", "functions.lookup", "functions.lookup:0", "lookup<|channel|>json", " lookup "),
        *("assistant<|channel|>commentary to=functions.lookup", "tools.lookup", "lookup<|constrain|>json", "`lookup`"),
    ],
)
async def test_a_name_with_marks_of_a_chat_template_is_that_of_the_offered_tool(name: str) -> None:
    function = {"name": name, "arguments": K1}
    delta = {"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}]}
    events = [chat_endpoint.chunk(delta), chat_endpoint.chunk({}, "tool_calls")]
    endpoint = chat_endpoint.Endpoint(lambda _: chat_endpoint.sse(*events))
    assert [call.name for call in calls_of(await chat_endpoint.ask(endpoint, tools=[LOOKUP]))] == ["lookup"]


async def test_a_name_that_is_offered_as_it_is_stays_so() -> None:
    tools = [LOOKUP, ToolSpec("functions_lookup", "Another.", {"type": "object"})]
    [call] = calls_of(await APIS["chat"](['<tool_call>{"name": "functions_lookup"}</tool_call>'], tools=tools))
    assert call.name == "functions_lookup"


@pytest.mark.parametrize("value", ["{1, 2}", "b'x'", "1j", "{[]: 1}", "{(1, 2): 3}"])
@pytest.mark.parametrize("api", APIS)
async def test_values_that_json_has_not_do_not_end_a_turn(api: str, value: str) -> None:
    [call] = calls_of(await APIS[api](cut_text(f"<|python_tag|>lookup(key={value})", 5), tools=[LOOKUP]))
    assert (call.name, call.parse_arguments()) == ("lookup", None)


@pytest.mark.parametrize(
    "text", ["\n" * 400_000, "Yes.\n" + "\n" * 400_000, " " * 400_000, "<function=lookup><parameter=" + "a " * 200_000]
)
async def test_long_texts_of_blanks_are_looked_at_once(text: str) -> None:
    # A search that takes the square of their length runs into the time limit of tests.
    tools = ModelTools((OfferedTool("lookup", "Looks up.", {"type": "object"}),))
    tags, calls = ThinkingTags(), WrittenCalls(tools, reads_bare=True)
    full_text = "".join(calls.take(tags.take(text[at : at + 4]).text) for at in range(0, len(text), 4))
    rest, _ = calls.end(cut=False)
    assert (full_text + rest).strip() in {"", "Yes."}


async def test_calls_in_one_answer_are_bounded() -> None:
    chunks = await APIS["chat"](["<tool_call>lookup{}" * (MAX_CALLS + 100)], tools=[LOOKUP])
    assert len(calls_of(chunks)) == MAX_CALLS


async def test_very_long_calls_in_python_are_not_parsed() -> None:
    text = f"<tool_call>[lookup(key=[{'1, ' * MAX_PYTHON}])]"
    assert not calls_of(await APIS["chat"]([text], tools=[LOOKUP]))


def test_a_name_with_letters_that_only_unicode_equates_is_no_offered_tool() -> None:
    calls = WrittenCalls(ModelTools((OfferedTool("search", "Finds.", {}),)), reads_bare=True)
    written = '<tool_call>{"name": "\u017fearch", search'
    assert calls.take(written) == ""
    assert calls.end(cut=False) == (written, [])
