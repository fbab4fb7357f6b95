"""Numbers in brackets: which of them cite, and what texts become where their numbers mean nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from baton.domain.documents.citation_marks import find_definitions, find_marks, replace_marks
from baton.domain.documents.numbered_passages import PassageNumbers, name_cited, shift_places, strip_citations


def numbers(text: str) -> list[int]:
    return [number for mark in find_marks(text) for number in mark.numbers]


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("Returns are free [2].", [2]),
        ("Returns are free.[2]", [2]),
        ("Returns are free within 30 days[2].", [2]),
        ("NASA[3] and the EU[2] agree", [3, 2]),
        ("Free [1][2].", [1, 2]),
        ("Free[1][2].", [1, 2]),
        ("Free [1, 2] [1,3] [4; 5].", [1, 2, 1, 3, 4, 5]),
        ("Free [1-3], [5\u20136; 9].", [1, 2, 3, 5, 6, 9]),
        ("Free [^2].", [2]),
        ("Free [#2].", [2]),
        ("Free [2, page 3] or [2: Handbook].", [2, 2]),
        ("Free \u30102\u3011, \u30103\u2020source\u3011 \uff3b4\uff3d.", [2, 3, 4]),
        ("\u4e09\u5341\u5929[2]\u3002\u4e0d\u8981\u94b1\u30103\u3011\u3002", [2, 3]),
        ("\u062e\u0644\u0627\u0644 \u062b\u0644\u0627\u062b\u064a\u0646 \u064a\u0648\u0645\u0627 [\u0662].", [2]),
        ("**Free**[2] and `x`[3] (see [4])", [2, 3, 4]),
        ("| free | [2] |\n> quoted [3]\n- [4] listed", [2, 3, 4]),
        ("About 30% [1], C++ [2], COVID-19[3]", [1, 2, 3]),
        ("[[2]]. ", [2]),
        ("[2]: Handbook", [2]),
        ('{"say": "Free [2].", "rows": [1, 3]}', [2]),
    ],
)
def test_forms_that_models_cite_in(text: str, cited: list[int]) -> None:
    assert numbers(text) == cited


@pytest.mark.parametrize(
    "text",
    [
        "In `a [2]` and ``b ` [2]``.",
        "```python\nx = rows [2]\n```\n",
        "~~~\n[2]\n~~~",
        "- Run it:\n  ```\n  [2]\n  ```",
        "```\n[2] and the answer was cut",
        "<pre>[2]</pre> <code class='x'>[3]</code>",
        "[2](https://a.example/x)",
        "[the handbook [2]](https://a.example/x)",
        "![2](picture.png)",
        "[[2]](https://a.example/x)",
        '<a title="see [2]" href="x">link</a>',
        "[the handbook](https://a.example/x?[2] 'on [3]')",
        "items[2] is the third",
        "a[2], x1[3], user_names[4], userNames[5], f(x)[6]",
        "matrix[1][2]",
        "person.name[2]",
        "word[2].length or word[2] = 3",
        "total = [2]",
        'with "ids": [1, 2]',
        '[{"a": [2]}]',
        r"\[2\] and \sqrt[2]{x}",
        "[2024] [12:30] [3 items] [x2] [1.5] [-2] [] [a, 2]",
        "[1-900] [5-2]",
        "\u30104:0\u2020source\u3011",
        "2] [2",
    ],
)
def test_brackets_that_cite_nothing(text: str) -> None:
    assert numbers(text) == []


@pytest.mark.parametrize(
    "text",
    [" " * 500_000 + "a`b` [1]", "[" * 500_000 + "[1]", "> " * 250_000 + "a<b> [1]", "[1-999999999]" * 50_000 + " [1]"],
)
def test_a_text_of_one_sign_is_searched_once(text: str) -> None:
    assert numbers(text) == [1]  # a search that takes the square of its length runs into the time limit of tests


def test_a_citation_behind_code_is_one() -> None:
    assert numbers("```\n[1]\n```\nSo it is [2].") == [2]


def test_places_are_offsets_of_characters() -> None:
    text = "\U0001f600 Free [12]."
    [mark] = find_marks(text)
    assert text[mark.start : mark.end] == "[12]"


def test_footnotes_of_the_answer_itself() -> None:
    text = "Free[^2] [3].\n\n[^2]: My own note.\n  [3]: https://a.example/x"
    assert find_definitions(text) == {2: "My own note.", 3: "https://a.example/x"}


def test_marks_are_replaced_and_the_rest_stays() -> None:
    assert replace_marks("a [1] b [2] `[1]`", lambda mark: "X" if mark.numbers == (1,) else None) == "a X b [2] `[1]`"


HANDBOOK: dict[str, Any] = {"kind": "document", "id": "h", "title": "Handbook", "page": 3, "chunk": "h#1", "number": 1}
GUIDE: dict[str, Any] = {
    "kind": "document",
    "id": "g",
    "title": 'Our "Guide"] (new)\n',
    "section": "Start > First steps",
    "chunk": "g#1",
    "number": 2,
}


def test_in_other_prompts_the_passages_are_named_and_not_numbered() -> None:
    text = "Free [1], slow [1, 2]. Odd [7]."
    named = name_cited(text, [HANDBOOK, GUIDE])
    assert named == "Free (Handbook, page 3), slow (Handbook, page 3; Our Guide new, First steps). Odd [7]."
    assert name_cited(text, [{**HANDBOOK, "number": None}]) == text
    assert name_cited("Free [1].", [{**HANDBOOK, "pageUnit": "sheet"}]) == "Free (Handbook, sheet 3)."


def test_a_structured_answer_stays_json_when_its_passages_are_named() -> None:
    text = json.dumps({"say": "Free [2].", "rows": [2]})
    assert json.loads(name_cited(text, [GUIDE])) == {"say": "Free (Our Guide new, First steps).", "rows": [2]}


def test_what_is_remembered_has_no_citations() -> None:
    assert strip_citations("Free [1], slow [1, 2].\nOdd [7].", [HANDBOOK, GUIDE]) == "Free, slow.\nOdd [7]."


def test_a_passage_keeps_its_number() -> None:
    existing = PassageNumbers()
    assert [existing.assign_number(item) for item in (GUIDE, HANDBOOK, GUIDE)] == [1, 2, 1]
    later = {**HANDBOOK, "chunk": "h#2"}
    assert existing.assign_number(later) == 3


def test_numbers_of_before_are_not_given_again() -> None:
    existing = PassageNumbers()
    existing.reserve([{**HANDBOOK, "number": 4}, {**GUIDE, "number": 4}, {**GUIDE, "number": None}])
    assert (existing.assign_number(HANDBOOK), existing.assign_number(GUIDE)) == (4, 5)


def test_places_move_with_their_text() -> None:
    cited = {**HANDBOOK, "places": [{"start": 2, "end": 5}]}
    assert shift_places(cited, 10)["places"] == [{"start": 12, "end": 15}]
    assert shift_places(HANDBOOK, 10) == HANDBOOK


@pytest.mark.parametrize("filling", [" ", ">", "> ", "- ", "1. ", "`", "~", "[", "[1", "<a "])
def test_texts_without_citations_are_read_in_time_that_their_length_bounds(filling: str) -> None:
    assert not numbers(filling * (200_000 // len(filling)))
