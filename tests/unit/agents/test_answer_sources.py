"""An answer names what it rests on as its sources, and nothing if it found nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from baton.agents.answer_sources import (
    MAX_SOURCES,
    has_found_nothing,
    limit_sources,
    select_answer_sources,
    select_consulted_sources,
)
from baton.domain.agents.agent import AgentDefinition

KNOWLEDGE = AgentDefinition(id="knowledge", name="Knowledge", description="Knows.", system_prompt="Be exact.")
AGENT = {"kind": "agent", "id": "knowledge", "title": "Knowledge", "agentId": "knowledge", "score": None}
FILE = {"kind": "file", "id": "f", "title": "plan.pdf"}


def passage(document: str, title: str, **fields: Any) -> dict[str, Any]:
    return {"kind": "document", "id": document, "title": title, "section": None, "page": None, "url": None, **fields}


DEPLOY = passage("d", "Deploy to AWS", section="Deploy to AWS > Deploy", chunk="d#1")
COSTS = passage("d", "Deploy to AWS", section="Deploy to AWS > Costs", chunk="d#2")
HANDBOOK = passage("h", "Handbook", page=3, chunk="h#1", url="https://a.example/h")
LATER = passage("h", "Handbook", page=33, chunk="h#2", url="https://a.example/h")
GUIDE = passage("g", "Guide", chunk="g#1")
START = passage("g", "Guide", section="Start", chunk="g#2")
GIVEN = (AGENT, DEPLOY, COSTS, HANDBOOK, LATER, GUIDE, START)


@pytest.mark.parametrize(
    "text",
    [
        "I found nothing about this in my documents.",
        "I could not find anything about whales.",
        "I couldn\u2019t find any relevant information on that.",
        "Unfortunately, I was not able to find an answer in the documents. You may want to ask your administrator.",
        "I don't know.",
        "Sorry, I do not know who founded it.",
        "**The documents do not mention** a refund.",
        "There is no information about this in the handbook.",
        "No relevant documents were found.",
        "Nothing was found.",
        "I have no information on that.",
        "My sources say nothing about whales.",
        "Dazu habe ich nichts gefunden.",
        "Ich konnte leider keine Informationen dazu finden.",
        "Das weiß ich nicht.",
        "No encontré nada sobre eso.",
        "我没有找到相关信息。",
        "لم أجد شيئا عن ذلك.",
    ],
)
def test_an_answer_that_found_nothing_has_no_sources(text: str) -> None:
    assert has_found_nothing(text, GIVEN)
    assert select_answer_sources(text, (*GIVEN, FILE)) == (FILE,)
    assert select_consulted_sources(KNOWLEDGE, text, GIVEN[1:]) == ()


@pytest.mark.parametrize(
    "text",
    [
        "Hello there.",
        "I found nothing about ships, but whales are mammals.",
        "I found nothing wrong with it.",
        "I know no better way than this one.",
        "I found nothing about ships (Handbook, page 3).",
        "I could not find anything newer. Here is what I have:\n\n- Types help.",
        "You do not know it yet: whales sing. I could not find out more.",
        "If the store does not have the thread, the turn fails.",
        "I don't know everything about it. " + "Whales sing at night. " * 30,
        "",
    ],
)
def test_an_answer_that_says_something_keeps_them(text: str) -> None:
    assert not has_found_nothing(text, GIVEN)
    assert AGENT in select_answer_sources(text, GIVEN)


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("It is quick.", list(GIVEN[1:])),
        ("Run it as Deploy to AWS says.", [DEPLOY, COSTS]),
        ("Run it (deploy to\nAWS, Deploy).", [DEPLOY]),
        ("It costs little (Deploy to AWS, Costs) and is quick (Handbook, page 33).", [COSTS, LATER]),
        ("It is quick [Handbook](https://a.example/x).", [HANDBOOK, LATER]),
        ("Handbook: the name of many books.", list(GIVEN[1:])),
        ("It is quick: https://a.example/h", [HANDBOOK, LATER]),
        ("It is quick (Handbook, p. 9).", [HANDBOOK, LATER]),
        ("It is quick (Deploy to AWS, Costs; Handbook, page 3).", [COSTS, HANDBOOK]),
        ("It is quick (Handbook, page 3; Deploy to AWS, page 33).", [DEPLOY, COSTS, HANDBOOK]),
        ("It is quick (Guide).", [GUIDE]),
        ("It is quick (Guide, Start).", [START]),
        ("The “Handbook” says so.", [HANDBOOK, LATER]),
        ("Write a handbook for your team.", list(GIVEN[1:])),
    ],
)
def test_an_answer_rests_on_the_passages_that_it_cites_or_may_rest_on_all_if_it_cites_none(
    text: str, cited: list[dict[str, Any]]
) -> None:
    assert select_answer_sources(text, GIVEN) == (AGENT, *cited)


def test_an_answer_after_calls_that_cites_none_has_consulted_the_documents() -> None:
    own, results = {**HANDBOOK, "agentId": "rental"}, {**GUIDE, "agentId": "expert"}
    options = (AGENT, own, results)
    consulted = {**own, "isConsulted": True}
    assert select_answer_sources("It is free on Monday.", options, caller="rental") == (AGENT, consulted, results)
    assert select_answer_sources("It is free (Handbook).", options, caller="rental") == (AGENT, own)


def test_of_a_consulted_agents_documents_only_those_count_that_it_cites() -> None:
    documents = GIVEN[1:]
    assert select_consulted_sources(KNOWLEDGE, "Make deploy (Deploy to AWS, Deploy).", documents) == (AGENT, DEPLOY)
    assert select_consulted_sources(KNOWLEDGE, "Take small steps.", documents[:1]) == (
        AGENT,
        {**DEPLOY, "isConsulted": True},
    )


NUMBERED = tuple({**source, "number": number, "excerpt": "E"} for number, source in enumerate(GIVEN[1:], start=1))


def summarise_sources(sources: Sequence[Mapping[str, Any]]) -> list[Any]:
    """The cited numbers with the texts of their places as offsets, and the consulted documents' chunks."""
    cited = [
        (source.get("number"), *((location["start"], location["end"]) for location in source.get("places", ())))
        for source in sources
        if source["kind"] == "document" and "isConsulted" not in source
    ]
    return cited + [source["chunk"] for source in sources if "isConsulted" in source]


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("It is quick [3].", [(3, (12, 15))]),
        ("Quick [3], cheap [3].", [(3, (6, 9), (17, 20))]),
        ("Quick [2][3] [3, 4].", [(2, (6, 9)), (3, (9, 12), (13, 19)), (4, (13, 19))]),
        ("Quick [1-2].", [(1, (6, 11)), (2, (6, 11))]),
        ("Quick [3] (Guide, Start).", [(3, (6, 9)), (6,)]),
        ("Deploy to AWS is quick [2].", [(2, (23, 26))]),
        ("Deploy to AWS is quick [2], see Deploy to AWS, Deploy.", [(1,), (2, (23, 26))]),
        ("Quick [9] and [3].", [(3, (14, 17))]),
        ("Quick[^3].\n\n[^3]: my own idea [4]", [(4, (30, 33))]),
        ("Quick [3].\n\n[3]: Handbook, page 3", [(3, (6, 9), (12, 15))]),
        ("Quick (Handbook, page 33).", [(4,)]),
        ("I found nothing about ships, only this [5].", [(5, (39, 42))]),
        ("I found nothing about ships [5].", [(5, (28, 31))]),
        ("I found nothing.", []),
    ],
)
def test_numbers_cite_passages_with_their_places(text: str, cited: list[Any]) -> None:
    assert summarise_sources(select_answer_sources(text, (AGENT, *NUMBERED))) == cited


def test_an_answer_that_cites_only_numbers_that_nothing_has_lists_its_documents_as_consulted() -> None:
    chunks = ["d#1", "d#2", "h#1", "h#2", "g#1", "g#2"]
    selected = select_answer_sources("It is quick [9], or was it [12]?", (AGENT, *NUMBERED))
    assert (selected[0], summarise_sources(selected)) == (AGENT, chunks)
    assert summarise_sources(select_answer_sources("It is quick.", NUMBERED)) == [(number,) for number in range(1, 7)]
    assert summarise_sources(select_answer_sources("Take items[9].", NUMBERED)) == [(number,) for number in range(1, 7)]


def test_only_cited_passages_have_an_excerpt() -> None:
    assert [
        answer_source["excerpt"] for answer_source in select_answer_sources("Quick [3] (Guide, Start).", NUMBERED)
    ] == ["E", "E"]
    assert not any("excerpt" in answer_source for answer_source in select_answer_sources("Quick.", NUMBERED))


def test_places_are_those_in_the_text_that_the_user_sees() -> None:
    [source] = select_answer_sources("Quick [3].", NUMBERED, "Sorry.\n\nQuick [3].")
    assert source["places"] == [{"start": 14, "end": 17}]


def test_a_consulted_agent_that_cites_by_number_and_one_that_cites_nothing() -> None:
    assert summarise_sources(select_consulted_sources(KNOWLEDGE, "Quick [3].", NUMBERED)) == [(3, (6, 9))]
    assert summarise_sources(select_consulted_sources(KNOWLEDGE, "Quick.", NUMBERED[2:4])) == ["h#1", "h#2"]
    assert select_consulted_sources(KNOWLEDGE, "Quick.", NUMBERED[2:3])[1] == {**HANDBOOK, "isConsulted": True}
    assert select_consulted_sources(KNOWLEDGE, "I found nothing.", NUMBERED) == ()


def test_files_of_an_answer_are_sources_whatever_it_says() -> None:
    assert select_consulted_sources(KNOWLEDGE, "I found nothing.", (), [FILE]) == (AGENT, FILE)


def test_a_source_that_was_used_takes_the_place_of_a_consulted_one_even_among_the_most_sources() -> None:
    consulted = [passage(f"d{number}", "Plan", chunk=f"d{number}#1", isConsulted=True) for number in range(MAX_SOURCES)]
    used = passage("d0", "Plan", chunk="d0#1")
    sources = limit_sources([*consulted, used, passage("new", "New", chunk="new#1")])
    assert (len(sources), sources[0]) == (MAX_SOURCES, used)
