"""The demo model reads statements of users about themselves, and repeats them in the second person."""

from __future__ import annotations

import pytest

from baton_local.demo_model.language.second_person import second_person
from baton_local.demo_model.language.statements import statements
from baton_local.demo_model.telling import acknowledgement, facts_in


def replies(text: str) -> list[str]:
    return [each.reply for each in statements(text) if not each.is_implied]


@pytest.mark.parametrize(
    ("text", "each"),
    [
        ("My name is Ada and I live in Vienna.", ["Your name is Ada", "You live in Vienna"]),
        ("Hi, I'm Bob, a chef from Lyon!", ["You are Bob", "You are a chef from Lyon"]),
        ("I live in Rome and work as a nurse.", ["You live in Rome", "You work as a nurse"]),
        ("I am 36 and from Oslo", ["You are 36", "You are from Oslo"]),
        ("my name's Kim; my dog's called Rex", ["Your name is Kim", "Your dog is called Rex"]),
        ("My dog is Rex and he's 4 years old.", ["Your dog is Rex", "Your dog is 4 years old"]),
        ("I have a cat. Her name is Luna.", ["You have a cat", "Your cat's name is Luna"]),
        (
            "My sister Eva lives in Graz and is a doctor.",
            ["Your sister Eva lives in Graz", "Your sister Eva is a doctor"],
        ),
        ("My wife and I live in Linz.", ["Your wife and you live in Linz"]),
        ("I love fish and chips and I don't eat meat.", ["You love fish and chips", "You do not eat meat"]),
        ("I like hiking and swimming but I hate cooking.", ["You like hiking and swimming", "You hate cooking"]),
        ("We moved to Bonn, and our son is called Max.", ["You moved to Bonn", "Your son is called Max"]),
        ("Green is my favourite colour.", ["Green is your favourite colour"]),
        ("Call me Al.", ["Your name is Al"]),
        ("Please remember that my flight is at 9.30.", ["Your flight is at 9.30"]),
        ("By the way, I was born in 1990, as you know.", ["You were born in 1990"]),
        ("I live at 5 Main St. in York.", ["You live at 5 Main St. in York"]),
        ("What is my name? Where do I live?", []),
        ("Tell me a story about my dog.", []),
    ],
)
def test_a_message_is_read_as_its_statements(text: str, each: list[str]) -> None:
    assert replies(text) == each


@pytest.mark.parametrize(
    ("text", "implied"),
    [
        ("I have a dog called Rex and a cat named Tom.", ["Your dog is called Rex", "Your cat is called Tom"]),
        ("I have two daughters, Mia and Lea.", ["Your daughters are called Mia and Lea"]),
        ("I live with my brother Tim.", ["Your brother is called Tim"]),
        ("I'm Ada from Vienna", ["Your name is Ada"]),
        ("I speak German, English and Spanish.", []),
        ("I am Austrian.", []),
    ],
)
def test_names_are_implied(text: str, implied: list[str]) -> None:
    assert sorted(each.reply for each in statements(text) if each.is_implied) == sorted(implied)


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        ("I am who I am", "You are who you are"),
        ("my wife and I like it", "Your wife and you like it"),
        ("that is mine, and they know me", "That is yours, and they know you"),
        ("we were lost, our guide left us", "You were lost, your guide left you"),
        ("my hero is Elizabeth I", "Your hero is Elizabeth I"),
        ("I'm sure I've seen it", "You are sure you have seen it"),
    ],
)
def test_statements_in_the_first_person_are_repeated_in_the_second(said: str, heard: str) -> None:
    assert second_person(said) == heard


@pytest.mark.parametrize(
    "said",
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
def test_what_states_no_fact_is_not_acknowledged(said: str) -> None:
    assert acknowledgement(said) == ""


def test_a_pronoun_stands_for_what_was_said_before() -> None:
    assert acknowledgement("He is called Rex.", ["I have a dog."]) == "Your dog is called Rex."
    assert acknowledgement("He is called Rex.") == ""


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("My name is Ada and I live in Vienna.", ["My name is Ada.", "I live in Vienna."]),
        ("I have a dog. He is called Rex.", ["I have a dog. He is called Rex."]),
        ("I like tea", ["I like tea"]),
        ("My dog is Rex. Zounds, what a storm that was!", ["My dog is Rex.", "Zounds, what a storm that was!"]),
    ],
)
def test_a_fact_can_be_understood_alone(text: str, facts: list[str]) -> None:
    assert facts_in(text) == facts
