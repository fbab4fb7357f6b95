"""Questions about statements, in this conversation and in past ones."""

from __future__ import annotations

import json

import pytest

from baton_local.demo_model.telling import answer_from, recollections, untold
from tests.unit.demo_model.playing import ask, shipped

LIST = "This is what you have told me:"
ADA = "My name is Ada and I live in Vienna."
JO = "I'm Jo, I'm 42 years old and I work as a teacher at the Lyceum in Graz."
PETS = "I have a dog called Rex and a cat named Tom. Rex is 4 years old."
FAMILY = "My sister Eva lives in Linz and works as a doctor. My wife is Kim and our kids are called Max and Mia."
TASTE = "My favourite food is sushi, I love hiking, and I hate mondays."
DATES = "My birthday is on 3 May. My flight to Rome leaves at 9:30 tomorrow."


@pytest.mark.parametrize(
    ("expected", "question", "answer"),
    [
        (ADA, "Where do I live?", "You live in Vienna."),
        (ADA, "which city do i live in", "You live in Vienna."),
        (ADA, "In which town do I live?", "You live in Vienna."),
        (ADA, "So, do you remember where I live?", "You live in Vienna."),
        (ADA, "Remind me where my home is, please.", "You live in Vienna."),
        (ADA, "What's my address?", "You live in Vienna."),
        (ADA, "Do I live in Vienna?", "Yes, you live in Vienna."),
        (ADA, "Do I live in Rome?", "No, you live in Vienna."),
        (ADA, "Where does Ada live?", "You live in Vienna."),
        (ADA, "Who am I?", "Your name is Ada."),
        (ADA, "whats my name", "Your name is Ada."),
        (ADA, "Is my name Eve?", "No, your name is Ada."),
        (ADA, "What is my name and where do I live?", "Your name is Ada. You live in Vienna."),
        (ADA, "What's my name, and how old am I?", "Your name is Ada. You have not told me how old you are yet."),
        (
            ADA,
            "What do you know about me?",
            "This is what you have told me:\n\n- Your name is Ada.\n- You live in Vienna.",
        ),
        (ADA, "And my name?", "Your name is Ada."),
        (ADA, "I moved to Graz. Where do I live?", "You moved to Graz."),
        (JO, "How old am I?", "You are 42 years old."),
        (JO, "What do I do for a living?", "You work as a teacher at the Lyceum in Graz."),
        (JO, "Where do I work?", "You work as a teacher at the Lyceum in Graz."),
        (JO, "What am I called?", "Your name is Jo."),
        (PETS, "What is my dog called?", "Your dog is called Rex."),
        (PETS, "What's the name of my cat?", "Your cat is called Tom."),
        (PETS, "How old is my dog?", "Rex is 4 years old."),
        (PETS, "How old is Rex?", "Rex is 4 years old."),
        (PETS, "Who is Tom?", "Your cat is called Tom."),
        (PETS, "Which pets do I have?", "You have a dog called Rex and a cat named Tom."),
        (PETS, "Do I have a cat?", "Yes, you have a dog called Rex and a cat named Tom."),
        ("I've got two cats, Luna and Tom.", "How many cats do I have?", "You have got two cats, Luna and Tom."),
        (FAMILY, "Where does my sister live?", "Your sister Eva lives in Linz."),
        (FAMILY, "What does Eva do?", "Your sister Eva works as a doctor."),
        (FAMILY, "Who is my wife?", "Your wife is Kim."),
        (FAMILY, "Who am I married to?", "Your wife is Kim."),
        (FAMILY, "What are my children called?", "Your kids are called Max and Mia."),
        (TASTE, "What's my favorite dish?", "Your favourite food is sushi."),
        (TASTE, "Which food do I like best?", "Your favourite food is sushi."),
        (TASTE, "What do I like?", "You love hiking."),
        (TASTE, "What don't I like?", "You hate mondays."),
        (DATES, "When was I born?", "Your birthday is on 3 May."),
        (DATES, "When does my flight leave?", "Your flight to Rome leaves at 9:30 tomorrow."),
        ("remember that the meeting is at noon", "What time is the meeting?", "The meeting is at noon."),
        ("I'm allergic to nuts and I speak Czech.", "What am I allergic to?", "You are allergic to nuts."),
        ("I'm allergic to nuts and I speak Czech.", "Which languages do I speak?", "You speak Czech."),
        ("I used to live in Bern, but now I live in Basel.", "Where do I live?", "You live in Basel."),
        ("I used to live in Bern, but now I live in Basel.", "Where did I live?", "You used to live in Bern."),
    ],
)
def test_a_question_is_answered_by_earlier_statements(expected: str, question: str, answer: str) -> None:
    assert answer_from([expected], question) == answer
    assert ask(shipped(), expected, "!", question, tools=["ask_knowledge"]).text == answer


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
def test_what_was_not_said_answers_nothing(question: str) -> None:
    assert answer_from([ADA], question) == ""


def test_the_newest_statement_counts_and_likings_add_up() -> None:
    earlier = ["I also like coffee.", "I moved to Graz.", "I like tea.", ADA]
    assert answer_from(earlier, "Where do I live?") == "You moved to Graz."
    assert answer_from(earlier, "What do I like?") == "You like tea. You also like coffee."
    assert answer_from(["His name is Rex.", "I have a dog."], "What is my dog called?") == "Your dog's name is Rex."


@pytest.mark.parametrize(
    ("question", "left"),
    [
        ("Where do I live?", "where you live"),
        ("Where does my sister live?", "where your sister lives"),
        ("How old am I?", "how old you are"),
        ("What is my dog called?", "what your dog is called"),
        ("What's my dog's name?", "your dog's name"),
        ("What do I do for a living?", "what you do for a living"),
        ("Do you know my name?", "your name"),
        ("What does my brother do?", "what your brother does"),
        ("Where do I find the logs?", ""),
        ("What do I have to pay?", ""),
        ("Who is the mayor?", ""),
    ],
)
def test_it_says_what_was_not_reported(question: str, left: str) -> None:
    assert untold(question) == left


def message(text: str, date: str = "2026-03-14", **fields: str | None) -> dict[str, str | None]:
    return {"kind": "message", "role": "user", "date": date, "source": "the user said", "text": text, **fields}


def fact(text: str, date: str = "2026-03-14") -> dict[str, str | None]:
    return message(text, date, kind="fact", role=None)


@pytest.mark.parametrize(
    ("question", "quote"),
    [
        ("Where do I live?", "I live in Vienna."),
        ("What is my name?", "My name is Ada."),
        ("Who is Ada?", "My name is Ada."),
    ],
)
def test_a_past_conversation_is_quoted_where_it_answers(question: str, quote: str) -> None:
    recalled = [message("Tell me a story"), message(ADA), message("Where do I live?", role="assistant")]
    assert [each["quote"] for each in recollections(recalled, question)] == [quote]
    reported = ask(shipped(), question, recalled__1=json.dumps(recalled[0]), recalled__2=json.dumps(recalled[1])).text
    assert reported == f"On 2026-03-14 you told me: “{quote}”"


def test_of_past_conversations_the_latest_counts_and_facts_before_messages() -> None:
    later = message("I moved to Graz.", "2026-03-20")
    assert [each["quote"] for each in recollections([message(ADA), later], "Where do I live?")] == ["I moved to Graz."]
    assert [each["quote"] for each in recollections([later, message(ADA)], "Where do I live?")] == ["I moved to Graz."]
    known = [message("My pin is 1"), fact("The user said: “My pin is 2”")]
    assert [each["quote"] for each in recollections(known, "What is my pin?")] == ["The user said: “My pin is 2”"]


def test_within_a_day_the_later_message_counts_and_a_fact_is_as_old_as_its_message() -> None:
    first, later = (
        message(ADA, at="2026-03-14T09:00:00+00:00"),
        message("I moved to Graz.", at="2026-03-14T10:00:00+00:00"),
    )
    known = [fact("The user said: “I live in Vienna.”"), first, message("Noted.", role="assistant"), later]
    assert [each["quote"] for each in recollections(known, "Where do I live?")] == ["I moved to Graz."]
    reported = [
        message("I'm a nurse and my pin is 7.", at="2026-03-14T09:00:00+00:00"),
        fact("The user said: “My pin is 7.”"),
    ]
    assert [each["quote"] for each in recollections(reported, "What is my pin?")] == ["My pin is 7."]


@pytest.mark.parametrize(
    "text", ["The user lives in Oslo.", "The user said: “I live in Oslo.”", "The user's home is in Oslo."]
)
def test_facts_are_read_as_any_model_notes_them(text: str) -> None:
    assert [each["quote"] for each in recollections([fact(text)], "Where do I live?")] == [text]


def test_both_memories_show_all_that_is_known() -> None:
    reported = ask(
        shipped(), "I like tea.", "!", "What do you know about me?", recalled__1=json.dumps(message(ADA))
    ).text
    assert "- You like tea." in reported
    assert "On 2026-03-14 you told me: “I live in Vienna.”" in reported
