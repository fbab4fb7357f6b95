"""The demo model's quotations from retrieved documents."""

from __future__ import annotations

import json
from typing import Any

import pytest

from baton_local.demo_model.quoting import find_quotes
from tests.unit.demo_model.playing import ask, get_shipped_engine, make_calls, make_results

CRYOSTAT = "The cryostat of the telescope is refilled every 31 hours."
QUESTION = "How often must the cryostat be refilled?"


def chunk(text: str, **fields: Any) -> dict[str, Any]:
    about = {"kind": "chunk", "date": "", "source": "Manual", "section": "", "pages": "57", "number": 2}
    return {**about, "text": text, **fields}


def ask_and_quote(question: str, *texts: str) -> list[str]:
    return [passage["quote"] for passage in find_quotes([chunk(text) for text in texts], question)]


@pytest.mark.parametrize(
    "text",
    [
        CRYOSTAT,
        f"and so it ends. {CRYOSTAT} The next sentence was cut in the mid",
        f"# Cooling\n\n{CRYOSTAT}",
        f"Manual {CRYOSTAT}",
        CRYOSTAT.replace("of the", "of\nthe"),
        CRYOSTAT.replace("telescope", "[telescope](https://example.com/telescope)"),
        f"make refill CRYOSTAT=1\n```\n\n{CRYOSTAT}",
        f"{CRYOSTAT}\n\n```bash\nmake refill CRYOSTAT=1\n",
        f"- Mount\n- {CRYOSTAT}\n- Drive",
        f"cryostat | refilled\n--- | ---\n1 | 2\n\n{CRYOSTAT}",
    ],
)
def test_whole_sentences_are_quoted(text: str) -> None:
    assert ask_and_quote(QUESTION, text) == [CRYOSTAT]


def test_the_end_of_a_sentence_below_a_heading_is_not_quoted_beside_whole_ones() -> None:
    cut = "Manual\nCooling\n\n[how to refill the cryostat](cooling.md). The dome is closed."
    passages = find_quotes([chunk(cut, section="Cooling"), chunk(CRYOSTAT)], QUESTION)
    assert [passage["quote"] for passage in passages] == [CRYOSTAT]


def test_a_row_of_a_sheet_is_quoted_with_the_names_of_its_columns_where_no_sentence_answers() -> None:
    assert ask_and_quote("What is the price of a dome ticket?", "Ticket | Price\nGarden | 3\nDome | 14") == [
        "Ticket: Dome; Price: 14."
    ]


def test_at_most_three_are_quoted_and_the_best_comes_first() -> None:
    others = [f"The cryostat of telescope {number} is refilled at night." for number in range(5)]
    sentences = ask_and_quote("After how many hours is the cryostat of the telescope refilled?", *others, CRYOSTAT)
    assert sentences == [CRYOSTAT, *others[:2]]


def test_what_says_what_a_thing_is_comes_first() -> None:
    used = "Each telescope has a cryostat that is cold."
    reported = "A **cryostat** is a vessel that keeps cold."
    assert ask_and_quote("What is a cryostat?", used, reported)[0] == reported
    assert ask_and_quote("What is a cryostat?", f"{used} {reported}") == [reported]


@pytest.mark.parametrize(
    "text",
    [
        "Run it with the cryostat refilled, save this as `refill.py`:",
        "call /cryostat -d '{\"refilled\": true}' > /dev/null",
        "The cryostat of France is empty.",
        'To see it, ask "How often must the cryostat be refilled?".',
    ],
)
def test_code_and_what_only_leads_to_it_and_half_of_the_words_are_no_answer(text: str) -> None:
    assert ask_and_quote(QUESTION, text, CRYOSTAT) == [CRYOSTAT]


def test_what_is_not_about_the_question_is_not_quoted() -> None:
    assert ask_and_quote("What is the capital of France?", "What is the capital of Italy? Rome is a capital.") == []
    assert ask_and_quote(QUESTION, "Tickets are sold at the gate.") == []
    assert ask_and_quote("Wie oft?", CRYOSTAT) == []


@pytest.mark.parametrize(
    "question", [QUESTION, "Who refills the cryostat", "Wie wird der Kryostat gefüllt?", "Cryostat?"]
)
def test_any_question_is_passed_on_to_the_agent_with_the_documents(question: str) -> None:
    [call] = ask(get_shipped_engine(), question, tools=["ask_knowledge"]).calls
    assert (call.name, call.arguments) == ("ask_knowledge", {"message": question})


def test_a_statement_is_not() -> None:
    assert not ask(get_shipped_engine(), "The cryostat is cold.", tools=["ask_knowledge"]).calls


@pytest.mark.parametrize("question", [QUESTION, "How do I refill the cryostat?"])
def test_the_agent_cites_the_passage_by_its_number(question: str) -> None:
    recalled = {"recalled__1": json.dumps(chunk(CRYOSTAT)), "recalled__2": json.dumps(chunk("Tickets cost 3 euros."))}
    assert ask(get_shipped_engine(), question, agent="knowledge", **recalled).text == f"- “{CRYOSTAT}” [2]"


def test_an_answer_gives_the_quotes_and_says_plainly_if_there_are_none() -> None:
    quote = f"- “{CRYOSTAT}” [2]"
    consultation = ask(get_shipped_engine(), QUESTION, tools=["ask_knowledge"])
    reported = ask(
        get_shipped_engine(), QUESTION, make_calls(*consultation.calls), *make_results(quote), tools=["ask_knowledge"]
    )
    assert reported.text == f"This is what the documents say:\n\n{quote}"
    nothing = ask(
        get_shipped_engine(), QUESTION, agent="knowledge", recalled__1=json.dumps(chunk("Tickets cost 3 euros."))
    ).text
    reported = ask(
        get_shipped_engine(), QUESTION, make_calls(*consultation.calls), *make_results(nothing), tools=["ask_knowledge"]
    )
    assert reported.text.startswith("I found nothing about this in the documents")
