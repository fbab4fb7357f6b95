"""PDF files that programs of every day have written are read whole. Beside each is its text, line by line."""

from __future__ import annotations

from pathlib import Path

import pytest

from baton_documents.pdf import pdf

FILES = sorted((Path(__file__).parents[1] / "files" / "pdf").glob("*.pdf"))


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_every_line_is_read(file: Path) -> None:
    body = file.read_bytes()
    document = pdf.extract(body, 1, pdf.count_pages(body))
    assert not document.page_errors
    assert [line for block in document.blocks for line in block.text.split("\n")] == file.with_suffix(
        ".txt"
    ).read_text().splitlines()
