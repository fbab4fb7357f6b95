"""Thoughts that a server leaves in the text are no part of the answer, over every API and wherever the text is cut."""

from __future__ import annotations

import pytest

from baton.adapters.models.answers.thinking_tags import ANSWERS, TAGS, WORDS
from baton.ports.agents.chat_model import ReasoningDelta, TextDelta
from tests.unit.adapters.models.responses_endpoint import text_of, thinking_of
from tests.unit.adapters.models.three_apis import APIS, HARMONY, LOOKUP, cut_text

THOUGHTS = {
    "gpt-oss": HARMONY,
    "gpt-oss from its start": f"<|start|>assistant{HARMONY}<|return|>",
    "gpt-oss twice": HARMONY.replace("SECRET", "SECRET<|end|><|start|>assistant<|channel|>analysis<|message|>SECRET"),
    "gpt-oss whose prompt opens the thought": HARMONY.removeprefix("<|channel|>analysis<|message|>"),
    "gpt-oss without its special tokens": "analysisWe need a SECRET plan.assistantfinalHello.",
    "thinking": "<thinking>SECRET</thinking>Hello.",
    "Magistral": "[THINK]SECRET[/THINK]Hello.",
    "Seed": "<seed:think>SECRET</seed:think>Hello.",
    "Kimi": "\u25c1think\u25b7SECRET\u25c1/think\u25b7Hello.",
    "Gemma": "<|channel>thought\nSECRET<channel|>Hello.",
    "MedGemma": "<unused94>thought\nSECRET<unused95>Hello.",
    "LongCat": "<longcat_think>SECRET</longcat_think>\nHello.",
    "analysis": "<analysis>SECRET</analysis>\nHello.",
    "thought": "<thought>SECRET</thought>Hello.",
    "reasoning": "<reasoning>SECRET</reasoning>\n\nHello.",
    "reflection": "<reflection>SECRET</reflection>\n<output>Hello.</output>",
    "Hunyuan": "<think>\nSECRET\n</think>\n<answer>\nHello.\n</answer>",
    "Command": "<|START_THINKING|>SECRET<|END_THINKING|><|START_RESPONSE|>Hello.<|END_RESPONSE|>",
    "Granite": "Here is my thought process: SECRET Here is my response: Hello.",
    "capitals": "<THINK>SECRET</Think>Hello.",
    "two thoughts": "<think>SECRET</think>\n<think>SECRET</think>\nHello.",
    "a thought within one": "<think>SECRET<think>SECRET</think>SECRET</think>Hello.",
    "a closing tag alone": "SECRET plan.</think>Hello.",
    "a closing tag alone on a line": "SECRET plan.\n</think>\n\nHello.",
    "a closing tag alone between spaces": "SECRET plan. </think> Hello.",
    "Magistral's closing tag alone": "SECRET plan[/THINK]Hello.",
    "a closing tag first": "</think>\n\nHello.",
    "a thought after the words": "Hello.<think>SECRET</think>",
    "a thought on a line after the words": "Hello.\n\n[THINK]SECRET\n[/THINK]\n",
    "gpt-oss after the words": "Hello.<|end|><|start|>assistant<|channel|>analysis<|message|>SECRET",
    "an end token": "Hello.<|return|>",
}


@pytest.mark.parametrize("text", THOUGHTS.values(), ids=THOUGHTS)
@pytest.mark.parametrize("api", APIS)
async def test_thoughts_are_no_part_of_the_answer(api: str, text: str) -> None:
    for size in (1, 5, 1_000):
        assert text_of(await APIS[api](cut_text(text, size))).strip() == "Hello."


@pytest.mark.parametrize("opening", TAGS)
@pytest.mark.parametrize("api", APIS)
async def test_thoughts_are_shown_as_thinking_where_the_agent_shows_it(api: str, opening: str) -> None:
    chunks = await APIS[api](cut_text(f"{opening}A plan.{TAGS[opening]}Hello.", 3), shows_reasoning=True)
    assert (text_of(chunks), thinking_of(chunks)) == ("Hello.", "A plan.")


SPOKEN = [
    "Write `<think>x</think>` so.",
    "```\n<thinking>\nplan\n</thinking>\n```\nok",
    "~~~xml\n<|channel|>analysis<|message|>plan<|end|>\n~~~\nok",
    'It begins with "<think>" and ends with "</think>".',
    "It begins with \u201c[THINK]\u201d and ends with \u201c[/THINK]\u201d, (</think>) too.",
    "> <think>\n> plan\n> </think>\nquoted",
    "    <think>plan</think>\nas indented code",
    "See <code><think>plan</think></code> there.",
    "The tag <think> opens, and </think> closes them, they say.",
    "The token <|channel|> begins a head and <|end|> ends it.",
    "Hello.\n<think> is the tag that opens a thought.",
    "An XML file:\n<reasoning>words</reasoning> of its own.",
    "analysis of the numbers",
    "analysisX is a program",
    "Here is my thought process: none.",
    "a < b, c <| d, [TH and \u25c1",
    "<answer>42</answer>",
]


@pytest.mark.parametrize("text", SPOKEN)
@pytest.mark.parametrize("api", APIS)
async def test_marks_that_the_answer_speaks_of_stay(api: str, text: str) -> None:
    for size in (1, 4, 1_000):
        chunks = await APIS[api](cut_text(text, size), tools=[LOOKUP])
        assert "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta)) == text
        assert text_of(chunks) == text


@pytest.mark.parametrize("api", APIS)
async def test_an_unclosed_thought_is_shown_to_nobody(api: str) -> None:
    for opening in (*TAGS, "<|channel|>analysis<|message|>"):
        assert text_of(await APIS[api]([f"{opening}SECRET"])) == ""


async def test_a_text_of_nothing_but_marks_is_read_in_time_that_its_length_bounds() -> None:
    for mark in (*TAGS, *TAGS.values(), *ANSWERS, *WORDS, "<think></think>", "a</think>", "`<think>`", "<|channel|>"):
        text = "Hello " + mark * (20_000 // len(mark))
        chunks = await APIS["chat"](cut_text(text, 100), shows_reasoning=True)
        assert len(text_of(chunks)) + sum(len(c.text) for c in chunks if isinstance(c, ReasoningDelta)) <= len(text)
