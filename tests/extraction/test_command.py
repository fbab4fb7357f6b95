"""The command ``baton-documents``."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from baton_documents.command import main
from tests import documents


def run_and_read(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    main(["read", *arguments])
    return capsys.readouterr().out


def test_it_prints_a_summary_and_the_text_of_each_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "prices.xlsx"
    file.write_bytes(documents.workbook(Prices=[["Tea", 3]], Empty=[]))
    assert run_and_read(capsys, str(file)) == (
        "(no title): XLSX, 2 pages, 1 section, 1 table\n\n[1]\n\n# Prices\n\nTea | 3\n\n[2]\n"
    )


def test_it_prints_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "notes.md"
    file.write_text("# Notes\n\nSow peas.\n")
    assert json.loads(run_and_read(capsys, str(file), "--json")) == {
        "title": "Notes",
        "format": "markdown",
        "sections": [{"headings": ["Notes"], "page": None, "text": "Sow peas."}],
        "pages": [],
        "tables": [],
        "text": "# Notes\n\nSow peas.",
    }


def test_it_prints_the_chunks_with_their_places(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "prices.xlsx"
    file.write_bytes(documents.workbook(Prices=[["part", "euros"], *([f"bolt {n}", n] for n in range(150))]))
    first, _, *others = run_and_read(capsys, str(file), "--chunks").split("[")
    assert first == ""
    chunks = json.loads(run_and_read(capsys, str(file), "--chunks", "--json"))
    assert (chunks[0]["headings"], chunks[0]["first_page"], chunks[0]["table_header"]) == (["Prices"], 1, None)
    assert others == [f"{n} | Prices | 1]\npart | euros\n{chunk['text']}\n\n" for n, chunk in enumerate(chunks)][1:]


def test_it_reads_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a;b\n1;2\n")))
    assert run_and_read(capsys, "-", "--name", "a.csv") == "(no title): CSV, 1 section, 1 table\n\na | b\n1 | 2\n"


@pytest.mark.parametrize(
    ("name", "content", "advice"),
    [
        ("absent.pdf", None, "Name a file, or - for standard input."),
        ("letter.eml", b"From: ada@example.com\n\nHello.", "PDF, DOCX, PPTX, XLSX, HTML, Markdown, text and CSV are."),
        ("broken.pdf", b"%PDF-1.7 and so on", "Save it again"),
    ],
)
def test_a_file_that_is_not_read_is_an_error_that_says_what_to_do(
    tmp_path: Path, name: str, content: bytes | None, advice: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(SystemExit, match=advice) as exit_info:
        main(["read", str(tmp_path / name)])
    assert str(tmp_path / name) in str(exit_info.value.code)
