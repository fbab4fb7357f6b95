"""Triggers and exit words: what a message is recognised by."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from baton.domain.handoffs.triggers import (
    MAX_TEXT,
    MAX_TRIGGER,
    ExitWord,
    Trigger,
    find_exit_locale,
    find_first_match,
    matches,
)

trigger = TypeAdapter[str](Trigger)
exit_word = TypeAdapter[str](ExitWord)
EXIT = {"en": ("cancel", "exit"), "de": ("Abbrechen", "Größe ändern", "exit")}


@pytest.mark.parametrize(
    "text",
    [
        "create skill",
        "Create a new skill",
        "I want to create a skill that sends Slack alerts",
        "CREATE SKILL!!!",
        "Please,  create \n\t my very own skill",
        "Could you create-a-skill?",
        "Hello. Create a skill.",
        "create one two three skill",
        "create create a b c skill",
        "\uff23\uff32\uff25\uff21\uff34\uff25 skill",
        "create\u00a0skill",
    ],
)
def test_a_phrase_is_found_where_its_words_come_in_order(text: str) -> None:
    assert matches("create skill", text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "create",
        "skill create",
        "create one two three four skill",
        "create. The skill is there",
        "create it!\nskill",
        "create\n\nskill",
        "recreate skill",
        "create skillful art",
        "create skills",
        "procreate skill",
    ],
)
def test_a_phrase_is_not_found_elsewhere(text: str) -> None:
    assert not matches("create skill", text)


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("straße sperren", "Bitte die STRASSE morgen sperren"),
        ("größe ändern", "GRÖSSE A\u0308NDERN"),
        ("what's new", "so what\u2019s really new?"),
        ("हिन्दी सीखें", "मैं हिन्दी भाषा सीखें"),
        ("创建技能", "我想创建一个技能。"),
        ("スキル作成", "新しいスキルを作成したい"),
        ("σοφός", "ΣΟΦΌΣ"),
    ],
)
def test_a_phrase_is_found_in_every_script_whatever_its_case(phrase: str, text: str) -> None:
    assert matches(trigger.validate_python(phrase), text)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (r"(create|build) (a|my)? ?skill", "please Build my skill now", True),
        (r"(create|build) skill", "rebuild skill", False),
        (r"(create|build) skill", "build skills", False),
        (r"\bbuild skill\b", "(build skill)", True),
        (r"über \w+ skill", "Sag was ÜBER größere Skill!", True),
        (r"über", "gegenüber", False),
        (r"[^\w]+skill", "a - skill", True),
        (r"[\w-]+-skill", "größer-skill", True),
        (r"[]x]skill", "a ]skill", True),
        (r"[[:alpha:]]+ skill", "my skill", True),
        (r"^/skill", "/skill please", True),
        (r"^/skill", "a /skill", False),
        (r"skill\?", "a skill?", True),
        (r"\W+skill", "-- skill", True),
    ],
)
def test_a_pattern_is_found_where_it_covers_whole_words(pattern: str, text: str, *, expected: bool) -> None:
    assert matches(trigger.validate_python(pattern), text) is expected


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ("", "1 to 200 characters"),
        (" \t", "1 to 200 characters"),
        ("x" * (MAX_TRIGGER + 1), "1 to 200 characters"),
        ("a\nb", "one line"),
        ("create\ud800", "one line"),
        ("!!!", "at least one letter or digit"),
        (r"(a)\1", "references back"),
        (r"(?P<n>a)(?P=n)", "references back"),
        (r"(?(1)a|b)", "references back"),
        (r"(?=a)b", "lookahead and lookbehind"),
        (r"(?!a)b", "lookahead and lookbehind"),
        (r"(?<=a)b", "lookahead and lookbehind"),
        (r"(?<!a)b", "lookahead and lookbehind"),
        (r"a)(b", "unexpected )"),
        (r"[a", "missing ]"),
        (r"*a", "no argument for repetition"),
        (r"(a{1,1000}){1,1000}", "repetition size"),
        (r"(\pL{1,30}){1,30}" * 8, "too large"),
        (r"\Qa", "not supported"),
        (r"\C+", "not supported"),
        (".*", "nearly every message"),
        (r"\w+", "nearly every message"),
        ("a*", "nearly every message"),
        ("(skill)?", "nearly every message"),
    ],
)
def test_what_is_no_trigger_is_refused_with_the_reason(wrong: str, expected: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        trigger.validate_python(wrong)
    assert expected in str(refusal.value)


def test_the_first_trigger_that_matches_is_reported() -> None:
    assert find_first_match(["build skill", "skill"], "my skill") == "skill"
    assert find_first_match(["build skill", "skill"], "build my skill") == "build skill"
    assert find_first_match([], "anything") is None


def test_only_the_beginning_of_a_long_message_is_looked_at() -> None:
    assert matches("create skill", "create a skill" + " x" * MAX_TEXT)
    assert not matches("create skill", " x" * MAX_TEXT + " create a skill")


def test_a_pattern_that_ruins_other_engines_is_answered() -> None:
    evil = trigger.validate_python(r"(a+)+(a|a)*(a*)*skill")
    assert not matches(evil, "a" * MAX_TEXT)
    assert not matches("a a a a a a a a c", "a b " * (MAX_TEXT // 4))


words = st.text(st.sampled_from("abÄßéжд日本'-"), min_size=1, max_size=6).filter(
    lambda word: any(map(str.isalnum, word))
)
fillers = st.lists(st.sampled_from(["x1", "y2", "z3"]), max_size=3)


@given(st.lists(words, min_size=1, max_size=4), st.data())
def test_any_phrase_is_found_with_up_to_three_words_between(phrase: list[str], data: st.DataObject) -> None:
    message = phrase[:1]
    for word in phrase[1:]:
        message += [*data.draw(fillers), word]
    text = " ".join(["x1", *message, "y2"])
    assert matches(trigger.validate_python(" ".join(phrase)), text.upper() if data.draw(st.booleans()) else text)


@given(st.text(max_size=60) | st.text("()[]{}\\|*+?^$.:wWbBdQEC<=!P1a-é", max_size=20), st.text(st.characters()))
def test_any_text_is_a_trigger_or_an_error(given_text: str, message: str) -> None:
    try:
        checked = trigger.validate_python(given_text)
    except ValidationError:
        return
    assert matches(checked, message) in (True, False)


@pytest.mark.parametrize(
    ("text", "locale"),
    [
        ("cancel", "en"),
        ("Cancel.", "en"),
        ("exit!", "en"),
        ("  EXIT ", "en"),
        ("“cancel” 🙏", "en"),
        ("abbrechen", "de"),
        ("GRÖSSE   ÄNDERN?", "de"),
        ("cancel my order", None),
        ("don't cancel", None),
        ("can cel", None),
        ("cancel, exit", None),
        ("annuler", None),
        ("", None),
        ("!", None),
        ("cancel " * 1000, None),
    ],
)
def test_an_exit_word_is_the_whole_message(text: str, locale: str | None) -> None:
    assert find_exit_locale(EXIT, text) == locale


@pytest.mark.parametrize("wrong", ["", "!", "  ", "x" * 41])
def test_what_is_no_exit_word_is_refused(wrong: str) -> None:
    with pytest.raises(ValidationError):
        exit_word.validate_python(wrong)
