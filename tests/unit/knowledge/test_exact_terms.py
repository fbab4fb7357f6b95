"""Codes, numbers and names of a question, and the texts that alone have one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.knowledge.exact_terms import find_exact_terms, find_lone_terms, has_term


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("What is the torque of bolt B1?", ["b1"]),
        ("Compare B1, b10 and B1.", ["b1", "b10"]),
        ("When does part PN-173 come?", ["pn-173"]),
        ("Was steht in § 12a?", ["12a"]),
        ("error 0x8007000E or ERR_TIMEOUT_7", ["err_timeout_7", "0x8007000e"]),
        ("order 4711 of 12 parts, page 3", ["4711"]),
        ("Who is Žofie Nováková?", ["zofie", "novakova"]),
        ("Which hall does ada look after?", []),
        ("Ada is where? Bob knows. What?", []),
        ("ask NASA", ["nasa"]),
        ("What is it?", []),
        ("", []),
    ],
)
def test_exact_terms_are_codes_numbers_and_names(query: str, terms: list[str]) -> None:
    assert find_exact_terms(query) == terms


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("pn-173", "Part PN-173 is here."),
        ("PN-173", "Part PN\u2011173 (with another hyphen)"),
        ("Is Zofie there?", "ŽOFIE has the keys"),
        ("Is Weiß there?", "Anna WEISS"),
        ("v2.3.1", "since v2.3.1, it stops"),
        ("B1", "(B1)"),
    ],
)
def test_a_term_is_found_whatever_its_case_accents_and_marks(query: str, text: str) -> None:
    assert has_term(text, find_exact_terms(query))


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("B1", "B10, B13 and AB1"),
        ("v2.3.1", "v2.3.10, v12.3.1 and v2.1.3"),
        ("PN-17", "PN-173 and SPN-17"),
        ("12a", "112a"),
    ],
)
def test_a_term_is_no_part_of_another_one(query: str, text: str) -> None:
    assert not has_term(text, find_exact_terms(query))


def test_a_text_that_alone_has_a_term_is_named_with_it() -> None:
    texts = ["bolt B1", "bolt B10", "bolts B137 and B10", "no bolt"]
    assert find_lone_terms("torque of B1, B10 and B137", texts) == [("b1",), (), ("b137",), ()]


@given(st.text(max_size=200), st.lists(st.text(max_size=50), max_size=5))
def test_each_term_is_alone_in_one_text_at_most(query: str, texts: list[str]) -> None:
    alone = find_lone_terms(query, texts)
    assert len(alone) == len(texts)
    named = [term for terms in alone for term in terms]
    assert len(named) == len(set(named))
    assert set(named) <= set(find_exact_terms(query))
