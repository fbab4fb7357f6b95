"""The form in which searches compare texts, and the words of every script."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.domain.documents.search_words import find_words, index_words, split_words, to_search_form
from tests.contracts.languages import LANGUAGES

WORDS_OF = {f"{case.language}: {question}": (case.text, question) for case in LANGUAGES for question in case.questions}


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("٤٥ ۴۵ १२ １２ 𝟙²", "45 45 12 12 12"),
        ("Tromsø Łódź Đà Nẵng ılgaz İzmir", "tromso lodz da nang ilgaz izmir"),
        ("Straße Æble œuvre þór", "strasse aeble oeuvre thor"),
        ("कि कु", "कि कु"),  # signs of vowels make another word
        ("か が", "か が"),  # and so does the voicing of kana
        ("שָׁלוֹם", "שלום"),
        ("کتاب", "كتاب"),
        ("soft\u00adhyphen zero\u200bwidth", "softhyphen zerowidth"),
        ("\ud800 a", "� a"),
    ],
)
def test_texts_that_are_typed_otherwise_have_one_form(text: str, form: str) -> None:
    assert to_search_form(text) == form


@given(st.text())
def test_the_form_of_a_form_is_itself(text: str) -> None:
    form = to_search_form(text)
    assert to_search_form(form) == form


@given(st.text())
def test_words_stand_in_the_text_at_their_places(text: str) -> None:
    words = list(find_words(text))
    assert [text[at : at + len(word)] for word, at in words] == [word for word, _ in words] == split_words(text)


@given(st.text(), st.text())
def test_a_text_has_the_words_of_its_parts(text: str, other: str) -> None:
    assert set(index_words(text)) <= set(index_words(f"{text} {other}"))


@pytest.mark.parametrize("name", WORDS_OF)
def test_a_question_typed_otherwise_has_words_of_the_text_in_every_script(name: str) -> None:
    text, question = WORDS_OF[name]
    assert set(index_words(question)) & set(index_words(text))


def test_scripts_without_spaces_have_signs_and_pairs() -> None:
    assert index_words("大阪7") == ["大", "大阪", "阪", "7"]
    assert index_words("부산에서") == ["부산에서", "부산", "산에", "에서"]
