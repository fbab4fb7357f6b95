"""Text in a terminal: lines, tables and progress."""

from __future__ import annotations

import io
import re

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from baton_client.command.output import Output
from baton_client.command.word_wrap import WordWrap

UUID = "550e8400-e29b-41d4-a716-446655440000"
SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
words = st.lists(st.text(alphabet="abc", min_size=1, max_size=12), min_size=1, max_size=30)


def terminal(width: int, *, is_terminal: bool = True) -> tuple[Output, io.StringIO]:
    """An output whose results and messages go to the same text."""
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=is_terminal, markup=False, highlight=False, soft_wrap=True)
    return Output(console=console, messages=console), file


def list_lines(file: io.StringIO) -> list[str]:
    """The lines of a terminal, without colours and spaces at their ends."""
    return [line.rstrip() for line in SEQUENCE.sub("", file.getvalue()).splitlines()]


@given(words, st.data())
def test_streamed_words_are_not_broken_wherever_the_pieces_end(text: list[str], data: st.DataObject) -> None:
    whole, wrap = " ".join(text), WordWrap()
    ends = sorted(data.draw(st.sets(st.integers(0, len(whole)), max_size=6)))
    pieces = [whole[begin:end] for begin, end in zip([0, *ends], [*ends, len(whole)], strict=True)]
    lines = "".join([*(wrap.add(piece, 24) for piece in pieces), wrap.end(24)]).split("\n")
    assert [word for line in lines for word in line.split()] == text
    assert all(len(line) <= 24 for line in lines)


def test_text_without_spaces_is_shown_as_it_comes() -> None:
    assert WordWrap().add("你好", 40) == "你好"
    assert WordWrap().add("a" * 30, 40) == "a" * 30


def test_lines_and_answers_break_between_words() -> None:
    output, file = terminal(20)
    output.note("Ctrl-C stops an answer, twice leaves.")
    output.print_part("Assistant: ")
    output.print_part("The order A-10")
    output.print_part("01 is on its way.")
    output.end_parts()
    assert list_lines(file) == [
        "Ctrl-C stops an",
        "answer, twice",
        "leaves.",
        "Assistant: The order",
        "A-1001 is on its",
        "way.",
    ]


def test_a_long_address_is_left_to_the_terminal_so_that_it_can_be_copied() -> None:
    output, file = terminal(20)
    output.note("Open https://issuer.test/device?code=ABCD-EFGH now.")
    assert list_lines(file) == ["Open https://issuer.test/device?code=ABCD-EFGH now."]


def test_text_for_programs_is_not_broken() -> None:
    output, file = terminal(20, is_terminal=False)
    output.print_line("one two three four five six seven")
    output.print_part("one two three four five six seven")
    output.end_parts()
    assert file.getvalue() == "one two three four five six seven\n" * 2


def test_ids_in_tables_are_not_broken() -> None:
    output, file = terminal(40)
    columns = [("ID", lambda item: item["id"]), ("TITLE", lambda item: item["title"])]
    output.print_rows([{"id": UUID, "title": "A weekend in Lisbon with many words"}], columns, empty="")
    assert UUID in "\n".join(list_lines(file))


def test_a_progress_bar_shows_per_cent_and_no_markup() -> None:
    output, file = terminal(80)
    with output.show_progress() as progress:
        progress.add_task("huge.txt", total=100, completed=50)
    text = SEQUENCE.sub("", file.getvalue())
    assert " 50%" in text
    assert "[progress" not in text
