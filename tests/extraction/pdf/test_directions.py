"""Lines that run in both directions are read in logical order, wherever the file has placed their letters."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import pytest
from bidi.algorithm import get_display
from hypothesis import given, settings
from hypothesis import strategies as st

from baton_documents.pdf import bidi as pdf_bidi
from baton_documents.pdf import glyphs as pdf_glyphs
from baton_documents.pdf import letters as pdf_letters
from baton_documents.pdf import pdf
from tests.extraction.pdf.lettered_pdf import SIZE, WIDTH, make_lettered, place_right_aligned

HEBREW = ("שלום", "הבורג", "טופס", "ב", 'מע"מ', "א'")
ARABIC = ("كتاب", "الهاتف", "مدرسة", "في", "لا")
LATIN = ("Microsoft", "HR-207", "M8-40", "help@example.com", "https://example.com/a/b?x=1", "C", "U2720")
NUMBERS = ("12", "1,240.50", "12/05/2026", "17%", "03-555-0142", "$350", "14:30", "4.2.1")
ARABIC_NUMBERS = ("١٢", "١٬٢٤٠٫٥٠")
BETWEEN = (" ", " ", " ", ", ", ". ", ": ", "; ", " - ", "/", "! ")
ENDS = ("", ".", "!", ":", ",")


def read_visible(line: str) -> str:
    """The letters of a line from the left to the right, as a program places them that runs from the right."""
    return str(get_display(line, base_dir="R"))


def lines(body: bytes) -> list[str]:
    document = pdf.extract(body, 1, 1)
    assert not document.page_errors
    return [line for block in document.blocks for line in block.text.split("\n")]


@st.composite
def mixed_lines(draw: st.DrawFn, letters: Sequence[str], numbers: Sequence[str]) -> str:
    """A line in which each word from the left and each number has a word from the right on both sides."""
    line = ""
    for _ in range(draw(st.integers(1, 5))):
        word = draw(st.sampled_from(letters))
        line += draw(st.sampled_from([word, f"({word})", f"[{word}]"])) + draw(st.sampled_from(BETWEEN))
        other = draw(st.sampled_from(["", *LATIN, *numbers]))
        line += other + draw(st.sampled_from(BETWEEN)) if other else ""
    last = draw(st.sampled_from(letters)) + draw(st.sampled_from(ENDS))
    return " ".join(f"{line}{last}".split())


LINES = st.one_of(mixed_lines(HEBREW, NUMBERS), mixed_lines(ARABIC, (*NUMBERS, *ARABIC_NUMBERS)))


@given(LINES)
def test_the_order_of_places_gives_the_order_of_reading(line: str) -> None:
    items = read_visible(line)
    order = pdf_bidi.find_reading_order(items, is_from_right=True, is_word_first=lambda word, number: True)
    assert (
        "".join(pdf_bidi.mirror(items[location]) if turned else items[location] for location, turned in order) == line
    )


@settings(max_examples=40)
@given(st.lists(LINES, min_size=1, max_size=4))
def test_a_file_that_draws_each_line_as_it_is_seen(expected: list[str]) -> None:
    assert lines(make_lettered(place_right_aligned(map(read_visible, expected)))) == expected


@settings(max_examples=40)
@given(mixed_lines(HEBREW, NUMBERS))
def test_a_file_that_draws_each_word_by_itself(line: str) -> None:
    pieces, x = [], 560.0 - WIDTH * len(line)
    for word in read_visible(line).split(" "):
        pieces.append((x, 700.0, word))
        x += WIDTH * (len(word) + 1)
    assert lines(make_lettered(pieces[::-1])) == [line]


ANY = st.text('אבגדלابxyzAB123٠١ .,:()[]«»<>-+%$"/!', min_size=1, max_size=20)


@settings(max_examples=40)
@given(ANY.map(lambda text: " ".join(text.split())).filter(bool))
def test_letters_come_in_the_order_in_which_they_are_drawn(line: str) -> None:
    """All that PDFium reverses can be undone."""
    with pdf._lock, pdf._open(make_lettered([(40.0, 700.0, line)])) as document:
        text_page = document[0].get_textpage()
        text = pdf_letters.read_letters(text_page)
        text_page.close()
    assert (
        "".join(letter for _, letter in pdf_glyphs.restore_drawn_order(text, 0, len(text), is_from_right=False)) == line
    )


def test_a_number_beside_a_word_from_the_left() -> None:
    """Both orders are seen alike. Units are read behind numbers, and other numbers behind words."""
    expected = ["הבורג מהודק בכוח של 25 Nm, ולא פחות.", "יש להתקין Windows 11 או iPhone 15 במשרד.", "עוד 5 GB."]
    assert lines(make_lettered(place_right_aligned(map(read_visible, expected)))) == expected


def test_a_word_and_a_number_that_are_drawn_apart_are_read_as_numbers_first() -> None:
    pieces, x = [], 560.0
    for run in ("רכשנו", " ", "20", " ", "iPhone", " ", "וגם", " ", "Windows 11", " ", "לעובד"):
        x -= WIDTH * len(run)
        pieces.append((x, 700.0, read_visible(run)))
    assert lines(make_lettered(pieces)) == ["רכשנו 20 iPhone וגם Windows 11 לעובד"]


@pytest.mark.parametrize(
    ("visible", "read"),
    [
        ("הלחתה Teams (M10) ףוס", "סוף Teams (M10) התחלה"),
        ("+972-3-555-0142 :ןופלט", "טלפון: +972-3-555-0142"),
        ("+50 םיאליג", "גילאים 50+"),
        ("5°C- 1.2.3 ףיעס", "סעיף 1.2.3 -5°C"),
        ("11/28/26, 5:29 PM", "11/28/26, 5:29 PM"),
        ("5 ,3 ףיעס", "סעיף 3, 5"),
        ("”טוטיצ„", "„ציטוט”"),
        ("(הצובק ⊂ x ∈ ב)", "(ב ∋ x ⊃ קבוצה)"),
    ],
)
def test_signs_beside_words_and_numbers_from_the_left(visible: str, read: str) -> None:
    page = ["טופס בקשה", "שלום"]
    assert lines(make_lettered(place_right_aligned([*map(read_visible, page), visible]))) == [*page, read]


def test_brackets_that_the_file_names_as_they_are_read() -> None:
    """Some programs name a bracket by the text, and not by its picture. The pairs of a page decide."""
    expected = ["מחיר (כולל מס) של הטופס", "נספח [ב] ורשימה: א) ספר"]
    swapped = str.maketrans("()[]", ")(][")
    assert (
        lines(make_lettered(place_right_aligned(read_visible(line).translate(swapped) for line in expected)))
        == expected
    )


def test_marks_with_places_of_their_own_stand_behind_their_letters() -> None:
    word = [("ש", "\u05b8\u05c1"), ("ל", ""), ("ו", "\u05b9"), ("ם", "")]
    pieces = []
    for number, (letter, marks) in enumerate(word):
        x = 500.0 - WIDTH * number
        pieces += [(x + 1, 700.0, mark) for mark in marks] + [(x, 700.0, letter)]
    result = lines(make_lettered(pieces, marks=["\u05b8", "\u05c1", "\u05b9"]))
    assert [unicodedata.normalize("NFC", line) for line in result] == [unicodedata.normalize("NFC", "שָׁלוֹם")]


def test_lines_from_the_right_on_a_page_from_the_left_and_the_other_way_round() -> None:
    english = ["This page is in English, and it has a word or two more.", "It quotes (שלום) and a line:"]
    pieces = [(60.0, 740.0 - 9 * number, get_display(line, base_dir="L")) for number, line in enumerate(english)]
    hebrew = "הטופס HR-207 נשלח עד 12/05/2026."
    pieces.append((60.0, 700.0, read_visible(hebrew)))
    assert lines(make_lettered(pieces)) == [*english, hebrew]
    page = [hebrew, "טופס נוסף נשלח בדואר.", "שלום, עולם."]
    english = ["The form שלום is sent by mail."]
    pieces = [*place_right_aligned(map(read_visible, page)), (60.0, 640.0, get_display(english[0], base_dir="L"))]
    assert lines(make_lettered(pieces)) == [*page, *english]


def test_columns_from_the_right_that_are_drawn_row_by_row() -> None:
    right = ["פסטיבל הנמל נפתח בשבת", "השנייה של יוני בעשר ליד", "רציף שבע. סירות יוצאות", "כל חצי שעה לסיור באי"]
    left = ["החניה חופשית מאחורי שוק", "הדגים למבקרים שמגיעים", "לפני תשע ומציגים כרטיס", "מודפס בכניסה אל הרציף"]
    pieces = []
    for number, row in enumerate(zip(left, right, strict=True)):
        for line, end in zip(row, (300.0, 560.0), strict=True):
            pieces.append((end - WIDTH * len(line), 740.0 - 9 * number, read_visible(line)))
    assert lines(make_lettered(pieces)) == [*right, *left]


def test_rows_of_a_table_without_lines_begin_at_the_right() -> None:
    rows = [("פריט", "מחיר", "דגם"), ("מסך", "1,240.50", "Dell U2720"), ("בורג", "0.40", "M8-40")]
    pieces = [
        (end - WIDTH * len(cell), 740.0 - 12 * number, read_visible(cell))
        for number, row in enumerate(rows)
        for cell, end in zip(row, (560.0, 400.0, 240.0), strict=True)
    ]
    assert lines(make_lettered(pieces)) == [" ".join(row) for row in rows]


R2L = b"/ViewerPreferences<</Direction/R2L>>"


def test_a_document_that_is_bound_at_the_right_is_read_as_any_other() -> None:
    """PDFium lets all its lines run from the right."""
    expected = ["Hello, world (and 12 more).", "The form HR-207 is due on 12/05/2026."]
    pieces = [(60.0, 700.0 - 9 * number, line) for number, line in enumerate(expected)]
    assert lines(make_lettered(pieces, catalog=R2L)) == expected
    hebrew = ["הטופס HR-207 נשלח עד 12/05/2026."]
    assert lines(make_lettered(place_right_aligned(map(read_visible, hebrew)), catalog=R2L)) == hebrew


@pytest.mark.parametrize("letter", ["😀", "𝑣", "𠮷"])
def test_letters_that_are_two_for_pdfium(letter: str) -> None:
    expected = [f"speed {letter} and {letter}{letter} more"]
    assert lines(make_lettered([(60.0, 700.0, expected[0])])) == expected


def vertical(column: str, x: float) -> list[tuple[float, float, str]]:
    """The letters of a column, each placed by itself."""
    return [(x, 700.0 - SIZE * index, letter) for index, letter in enumerate(column)]


def test_turned_words_on_a_page_from_the_right() -> None:
    upright = ["הטופס HR-207 נשלח עד 12/05/2026.", "טופס נוסף נשלח בדואר."]
    body = make_lettered(
        place_right_aligned(map(read_visible, upright)), turned=[(300.0, 500.0, read_visible("צד (ב)"))]
    )
    assert lines(body) == [*upright, "צד (ב)"]


COLUMNS = (
    "就業規則第三条年次有給休暇は",
    "年間二十日とする。申請は二週",
    "間前までに行うこと。",
    "令和七年四月一日改定",
)


@pytest.mark.parametrize("is_reversed", [False, True], ids=["from the right", "from the left"])
def test_vertical_columns_are_read_from_the_right(*, is_reversed: bool) -> None:
    columns = [vertical(column, 500.0 - 9 * number) for number, column in enumerate(COLUMNS)]
    drawn = [piece for column in (reversed(columns) if is_reversed else columns) for piece in column]
    assert lines(make_lettered(drawn)) == list(COLUMNS)


def test_words_and_numbers_across_vertical_columns() -> None:
    """Digits beside each other in a column are read from the left, and a page number is a line by itself."""
    pieces = [*vertical("令和", 509.0), (508.4, 688.0, "1"), (512.0, 688.0, "2"), (509.0, 682.0, "年")]
    columns = ("第三条年次有給休暇は一年間二十日とする。", "申請は二週間前までに総務部長に行うこと。")
    pieces += [piece for number, column in enumerate(columns) for piece in vertical(column, 500.0 - 9 * number)]
    pieces.append((290.0, 40.0, "Page 7"))
    assert lines(make_lettered(pieces)) == ["令和12年", *columns, "Page 7"]


@pytest.mark.parametrize("part", ["a ", "a 1 ", "+1 ", "+1", "+", "\u05d0 a ", "\u05d0(", "(", "1,"])
def test_long_lines_are_put_in_order_in_time_that_their_length_bounds(part: str) -> None:
    items = list(part * (100_000 // len(part)))
    for is_from_right in (True, False):
        order = pdf_bidi.find_reading_order(items, is_from_right=is_from_right, is_word_first=lambda word, number: True)
        assert sorted(location for location, _ in order) == list(range(len(items)))
