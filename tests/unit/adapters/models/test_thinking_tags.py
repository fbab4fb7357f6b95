"""Thinking between tags is separated from the answer, however the text is cut into pieces."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.adapters.models.answers.thinking_tags import MAX_BLANKS, TAGS, ThinkingTags


def read(pieces: list[str], *, thinks_first: bool = False) -> tuple[str, str, bool]:
    """The answer, the thinking, and whether text that was given out has been taken back."""
    tags = ThinkingTags(thinks_first=thinks_first)
    answer, thinking, took_back = "", "", False
    for separated in (*map(tags.take, pieces), tags.end()):
        if separated.takes_back:
            answer, took_back = "", True
        answer += separated.text
        thinking += separated.thinking
    return answer, thinking, took_back


TAGGED = "<think>\nThe user greets. MY-PLAN.\n</think>\n\nHello."


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        pytest.param(TAGGED, "Hello.", id="thinking first"),
        pytest.param(f"\n {TAGGED}", "Hello.", id="blank lines before the tag"),
        pytest.param("<think></think>Hi", "Hi", id="no thought at all"),
        pytest.param("<think>one</think>\n<think>two</think>Hi", "Hi", id="two thoughts"),
        pytest.param("<think>never closed", "", id="never closed"),
        pytest.param("Plain.", "Plain.", id="no tags"),
        pytest.param("  indented", "  indented", id="blank beginning"),
        pytest.param("a < b and <thinking> is no tag", "a < b and <thinking> is no tag", id="similar words"),
        pytest.param("Write `<think>x</think>` so.", "Write `<think>x</think>` so.", id="tags in code"),
        pytest.param("```\n<think>\n</think>\n```\nok", "```\n<think>\n</think>\n```\nok", id="tags in a code block"),
        pytest.param("```xml\n</think>\n```\nok", "```xml\n</think>\n```\nok", id="closing tag in a code block"),
        pytest.param("Say <think> loud", "Say <think> loud", id="a tag between words"),
        pytest.param(
            "It ends with </think> they say", "It ends with </think> they say", id="a closing tag in a sentence"
        ),
        pytest.param("ends with <", "ends with <", id="the beginning of a tag at the end"),
        pytest.param("", "", id="nothing"),
    ],
)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000])
def test_the_answer_is_what_stands_outside_of_thinking(text: str, answer: str, size: int) -> None:
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    assert read(pieces)[0] == answer


@given(st.lists(st.integers(0, len(TAGGED)), max_size=6))
def test_a_tag_may_be_split_anywhere(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(TAGGED)]
    pieces = [TAGGED[start:end] for start, end in pairwise(places)]
    assert read(pieces) == ("Hello.", "\nThe user greets. MY-PLAN.\n", False)


@given(st.text(alphabet="ab<>/think `\n", max_size=80), st.integers(1, 9))
def test_nothing_is_lost_and_the_pieces_do_not_matter(text: str, size: int) -> None:
    whole = read([text])
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    assert len(whole[0]) + len(whole[1]) <= len(text)
    if "</think>" not in text:
        assert read(pieces)[:2] == whole[:2]


def test_a_closing_tag_alone_takes_the_text_before_it_back() -> None:
    assert read(["The user greets.", " MY-PLAN.\n", "</think>\n\nHello."]) == ("Hello.", "", True)


def test_a_closing_tag_in_the_first_piece_shows_no_thinking_at_all() -> None:
    assert read(["The user greets.\n</think>\n\nHello."]) == ("Hello.", "The user greets.\n", False)


def test_a_model_that_is_known_to_think_first_is_waited_for() -> None:
    pieces = ["The user greets.", " MY-PLAN.\n", "</thi", "nk>\n\nHel", "lo."]
    answer, thinking, took_back = read(pieces, thinks_first=True)
    assert (answer, took_back) == ("Hello.", False)
    assert "MY-PLAN" in thinking


def test_a_model_that_thinks_first_but_does_not_this_time_still_answers() -> None:
    assert read(["Hel", "lo."], thinks_first=True) == ("Hello.", "", False)


@pytest.mark.parametrize("opening", list(TAGS))
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_the_tags_of_all_models_are_known_wherever_they_are_split(opening: str, size: int) -> None:
    full_text = f"{opening}A plan, 1 < 2 [and more].\n{TAGS[opening]}\n\nHello <b>[you]</b>."
    tags, text, thinking = ThinkingTags(), "", ""
    for result in [*(tags.take(full_text[at : at + size]) for at in range(0, len(full_text), size)), tags.end()]:
        text, thinking = ("" if result.takes_back else text) + result.text, thinking + result.thinking
    assert (text.strip(), thinking.strip()) == ("Hello <b>[you]</b>.", "A plan, 1 < 2 [and more].")


def test_an_answer_that_quotes_tags_without_end_is_read_in_time_that_its_length_bounds() -> None:
    tags = ThinkingTags()
    text = "".join(tags.take("It is `</think>`. ").text for _ in range(20_000)) + tags.end().text
    assert text == "It is `</think>`. " * 20_000


def test_an_answer_of_very_many_pieces_costs_no_more_for_each_of_them() -> None:
    # Looking at all earlier pieces for each one would take minutes.
    assert read(["\n", *["x"] * 200_000])[0].strip() == "x" * 200_000


@pytest.mark.parametrize("tag", ["</think>", "<think>x</think><answer>y</answer>"])
def test_blanks_behind_a_tag_cost_no_look_at_the_whole_answer(tag: str) -> None:
    # Models that are stuck write blanks up to their limit.
    tags = ThinkingTags()
    for piece in ["word " * 20_000, f" {tag}", *[" "] * 20_000]:
        tags.take(piece)
    assert len(tags.end().text) <= MAX_BLANKS + len(tag)


@pytest.mark.parametrize(
    ("end", "words"), [("\n", ["more"]), ("", ["word", "word", "word", "</think>", "more"])], ids=["line end", "words"]
)
def test_what_follows_many_blanks_behind_a_tag_shows_what_it_is(end: str, words: list[str]) -> None:
    assert read(["word " * 3, "</think>", *[" "] * 2_000, end, "more"])[0].split() == words
