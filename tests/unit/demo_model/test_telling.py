"""The demo model acknowledges what users say of themselves, and quotes what is nearest to a question."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from baton_local.demo_model.sentence_encoder import SentenceEncoder
from baton_local.demo_model.statements import find_statements, to_second_person
from baton_local.demo_model.telling import Likeness, acknowledge, answer_from, divide_facts, find_recollections
from tests.unit.demo_model.playing import ask, get_shipped_engine

ADA = "My name is Ada and I live in Vienna."
JO = "I'm Jo, I'm 42 years old and I work as a teacher in Graz."
PETS = "I have a dog called Rex and a cat named Tom. Rex is 4 years old."
FAMILY = "My sister Eva lives in Linz. My wife is Kim and our kids are called Max and Mia."
TASTE = "My favourite food is sushi, I love hiking, and I hate mondays."
DATES = "My birthday is on 3 May. My flight to Rome leaves at 9:30 tomorrow."


@pytest.fixture(scope="module")
def meaning() -> Likeness:
    """The likeness by the sentence encoder of the local cloud."""
    encoder = SentenceEncoder()

    def compare(question: str, texts: Sequence[str]) -> list[float]:
        vectors = asyncio.run(encoder.encode([question, *texts])).vectors
        likenesses: list[float] = (vectors[1:] @ vectors[0]).tolist()
        return likenesses

    return compare


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ADA, ["My name is Ada.", "I live in Vienna."]),
        (JO, ["I'm Jo.", "I'm 42 years old.", "I work as a teacher in Graz."]),
        ("my name's Kim; my dog's called Rex", ["My name's Kim.", "My dog's called Rex."]),
        ("I have a cat. Her name is Luna.", ["I have a cat. Her name is Luna."]),
        (PETS, ["I have a dog called Rex and a cat named Tom.", "Rex is 4 years old."]),
        ("My wife and I live in Linz.", ["My wife and I live in Linz."]),
        ("I love fish and chips and I don't eat meat.", ["I love fish and chips.", "I don't eat meat."]),
        ("Green is my favourite colour.", ["Green is my favourite colour."]),
        ("Please remember that the meeting is at noon.", ["The meeting is at noon."]),
        ("By the way, I live at 5 Main St. in York, as you know.", ["I live at 5 Main St. in York."]),
        ("What is my name? Where do I live?", []),
        ("Tell me a story about my dog.", []),
    ],
)
def test_a_message_is_divided_into_its_statements(text: str, expected: list[str]) -> None:
    assert find_statements(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("my wife and I like it", "Your wife and you like it"),
        ("that is mine, and they know me", "That is yours, and they know you"),
        ("we were lost, our guide left us", "You were lost, your guide left you"),
        ("my hero is Elizabeth I", "Your hero is Elizabeth I"),
        ("I'm sure I've seen it", "You are sure you've seen it"),
        ("Call me Al.", "Your name is Al."),
    ],
)
def test_statements_in_the_first_person_are_repeated_in_the_second(text: str, expected: str) -> None:
    assert to_second_person(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "I want to know more",
        "I have a question",
        "I'm sorry",
        "I like it",
        "My name is Ada. Where do I live?",
        "My name is Ada. Write me a poem.",
        "The cryostat is cold.",
        "my " * 400,
        "",
    ],
)
def test_a_message_that_is_more_or_less_than_statements_is_not_acknowledged(text: str) -> None:
    assert acknowledge(text) == ""


def test_a_pronoun_stands_for_somebody_in_an_earlier_message() -> None:
    assert acknowledge("Hi! I have a dog. He is called Rex. Thanks!") == "You have a dog. He is called Rex."
    assert acknowledge("He is called Rex.", ["I have a dog."]) == "He is called Rex."
    assert acknowledge("He is called Rex.") == ""


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        (ADA, ["My name is Ada.", "I live in Vienna."]),
        ("I have a dog. He is called Rex.", ["I have a dog. He is called Rex."]),
        ("I like tea", ["I like tea"]),
        ("My dog is Rex. Zounds, what a storm that was!", ["My dog is Rex.", "Zounds, what a storm that was!"]),
    ],
)
def test_a_fact_can_be_understood_alone(text: str, facts: list[str]) -> None:
    assert divide_facts(text) == facts


@pytest.mark.parametrize(
    ("text", "question", "answer"),
    [
        (ADA, "Where do I live?", "You live in Vienna."),
        (ADA, "So, do you remember where I live?", "You live in Vienna."),
        (ADA, "What's my address?", "You live in Vienna."),
        (ADA, "Who am I?", "Your name is Ada."),
        (ADA, "What is my name and where do I live?", "Your name is Ada. You live in Vienna."),
        (ADA, "And my name?", "Your name is Ada."),
        (
            ADA,
            "What do you know about me?",
            "This is what you have told me:\n\n- Your name is Ada.\n- You live in Vienna.",
        ),
        (ADA, "I moved to Graz. Where do I live?", "You moved to Graz."),
        (JO, "Where do I work?", "You work as a teacher in Graz."),
        (PETS, "What is my dog called?", "You have a dog called Rex and a cat named Tom."),
        (PETS, "How old is Rex?", "Rex is 4 years old."),
        (FAMILY, "Where does my sister live?", "Your sister Eva lives in Linz."),
        (FAMILY, "Who is my wife?", "Your wife is Kim."),
        (DATES, "When does my flight leave?", "Your flight to Rome leaves at 9:30 tomorrow."),
    ],
)
def test_a_question_is_answered_by_the_statement_with_its_words(
    text: str, question: str, answer: str, meaning: Likeness
) -> None:
    assert answer_from([text], question) == answer
    assert answer_from([text], question, meaning) == answer
    assert ask(get_shipped_engine(), text, "!", question, tools=["ask_knowledge"]).text == answer


@pytest.mark.parametrize(
    ("text", "question", "answer"),
    [
        (ADA, "In which town do I live?", "You live in Vienna."),
        (ADA, "whats my name", "Your name is Ada."),
        (JO, "How old am I?", "You are 42 years old."),
        (JO, "What do I do for a living?", "You work as a teacher in Graz."),
        (PETS, "Which pets do I have?", "You have a dog called Rex and a cat named Tom."),
        (FAMILY, "Who am I married to?", "Your wife is Kim."),
        (FAMILY, "What are my children called?", "Your kids are called Max and Mia."),
        (TASTE, "What's my favorite dish?", "Your favourite food is sushi."),
        (DATES, "When was I born?", "Your birthday is on 3 May."),
        ("remember that the meeting is at noon", "What time is the meeting?", "The meeting is at noon."),
        ("I used to live in Bern, but now I live in Basel.", "Where did I live?", "You used to live in Bern."),
    ],
)
def test_the_encoder_finds_a_statement_in_other_words(text: str, question: str, answer: str, meaning: Likeness) -> None:
    assert answer_from([text], question, meaning) == answer


@pytest.mark.parametrize(
    "question",
    [
        "How old is my dog?",
        "Do I have a hamster?",
        "Where does my brother live?",
        "Where do I find the logs?",
        "How do I live longer?",
        "What is Vienna?",
        "What do I need to deploy?",
        "Where is the opera?",
        "Ada lives in Vienna",
        "what " * 100,
    ],
)
def test_a_question_about_something_else_is_not_answered(question: str, meaning: Likeness) -> None:
    assert answer_from([ADA], question) == ""
    assert answer_from([ADA], question, meaning) == ""


def test_of_what_changes_the_newest_statement_counts(meaning: Likeness) -> None:
    earlier = ["My pin is 2.", "I moved to Graz.", "My pin is 1.", ADA]
    for likeness in (meaning, None):
        assert answer_from(earlier, "Where do I live?", likeness) == "You moved to Graz."
        assert answer_from(earlier, "What is my pin?", likeness) == "Your pin is 2."


def test_words_are_compared_while_the_encoder_fails() -> None:
    assert answer_from([ADA], "Where do I live?", lambda question, texts: None) == "You live in Vienna."


def message(text: str, date: str = "2026-03-14", **fields: str | None) -> dict[str, str | None]:
    return {"kind": "message", "role": "user", "date": date, "source": "the user said", "text": text, **fields}


def fact(text: str, date: str = "2026-03-14") -> dict[str, str | None]:
    return message(text, date, kind="fact", role=None)


def find_quotes(recalled: Sequence[Any], question: str, likeness: Likeness | None = None) -> list[str]:
    return [item["quote"] for item in find_recollections(recalled, question, likeness)]


@pytest.mark.parametrize(
    ("question", "quote"), [("Where do I live?", "I live in Vienna."), ("What is my name?", "My name is Ada.")]
)
def test_a_past_conversation_is_quoted_where_it_answers(question: str, quote: str, meaning: Likeness) -> None:
    recalled = [message("Tell me a story"), message(ADA), message("Where do I live?", role="assistant")]
    assert find_quotes(recalled, question) == find_quotes(recalled, question, meaning) == [quote]
    reply = ask(
        get_shipped_engine(), question, recalled__1=json.dumps(recalled[0]), recalled__2=json.dumps(recalled[1])
    )
    assert reply.text == f"On 2026-03-14 you told me: “{quote}”"


def test_of_past_conversations_the_latest_counts_and_facts_before_messages() -> None:
    later = message("I moved to Graz.", "2026-03-20")
    assert find_quotes([message(ADA), later], "Where do I live?") == ["I moved to Graz."]
    assert find_quotes([later, message(ADA)], "Where do I live?") == ["I moved to Graz."]
    repeated_message = message("I live in Vienna.", "2026-03-27")
    assert find_quotes([message(ADA), later, repeated_message], "Where do I live?") == ["I live in Vienna."]
    recalled = [message("My pin is 1"), fact("The user said: “My pin is 2”")]
    assert find_quotes(recalled, "What is my pin?") == ["The user said: “My pin is 2”"]


def test_within_a_day_the_later_message_counts_and_a_fact_is_as_old_as_its_message() -> None:
    first = message(ADA, at="2026-03-14T09:00:00+00:00")
    later = message("I moved to Graz.", at="2026-03-14T10:00:00+00:00")
    recalled = [fact("The user said: “I live in Vienna.”"), first, message("Noted.", role="assistant"), later]
    assert find_quotes(recalled, "Where do I live?") == ["I moved to Graz."]
    both = message("I'm a nurse and my pin is 7.", at="2026-03-14T09:00:00+00:00")
    assert find_quotes([both, fact("The user said: “My pin is 7.”")], "What is my pin?") == ["My pin is 7."]


@pytest.mark.parametrize(
    "text", ["The user lives in Oslo.", "The user said: “I live in Oslo.”", "The user's home is in Oslo."]
)
def test_facts_are_read_as_any_model_notes_them(text: str, meaning: Likeness) -> None:
    assert find_quotes([fact(text)], "Where do I live?", meaning) == [text]


def test_both_memories_show_all_that_is_known() -> None:
    reply = ask(
        get_shipped_engine(), "I like tea.", "!", "What do you know about me?", recalled__1=json.dumps(message(ADA))
    )
    assert "- You like tea." in reply.text
    assert "On 2026-03-14 you told me: “I live in Vienna.”" in reply.text
