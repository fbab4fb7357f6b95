"""Documents that are read in separate processes."""

from __future__ import annotations

import asyncio
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from baton.adapters.documents.document_reader import ChildProcessReader
from baton.domain.errors import DocumentUnreadable
from baton_documents.formats import DocumentFormat
from baton_local.root import ROOT
from tests import documents
from tests.stand_in_readers import make_answering_program

Readers = Callable[[str], ChildProcessReader]
HELLO = make_answering_program({"text": "Hello."})


@pytest.fixture
def reader_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Readers:
    """A function from the text of a program to a reader that runs it in place of the one that reads."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def reader(program: str) -> ChildProcessReader:
        (tmp_path / "stand_in.py").write_text(program)
        return ChildProcessReader("stand_in")

    return reader


def count(folder: Path, pattern: str) -> int:
    return len(list(folder.glob(pattern)))


async def reason_of(reader: ChildProcessReader, body: bytes, form: DocumentFormat, seconds: float = 60.0) -> str:
    with pytest.raises(DocumentUnreadable) as raised:
        await reader.read(body, f"file.{form.value}", form, seconds=seconds)
    assert raised.value.detail
    return raised.value.reason


async def test_pages_of_a_pdf_are_distinguished() -> None:
    body = documents.pdf([("Spring", ["Sow peas."]), ("Autumn", ["Dig."])])
    result = await ChildProcessReader().read(body, "garden.pdf", DocumentFormat.PDF, seconds=60)
    assert (result.text, result.pages, result.is_cut) == (
        "[page 1]\n\n# Spring\n\nSow peas.\n\n[page 2]\n\n# Autumn\n\nDig.",
        2,
        False,
    )


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("chart", "Limit: 7.1 mm/s. Above it the pump is stopped"),
        ("hebrew-chrome", "M10 בכוח של 49 Nm."),
        ("vertical-cmap", "就業規則第三条\n\n年次有給休暇は年間二十日とする。"),
    ],
)
async def test_files_of_everyday_programs_are_read_within_the_limits(name: str, line: str) -> None:
    body = (ROOT / "tests/extraction/files/pdf" / f"{name}.pdf").read_bytes()
    result = await ChildProcessReader().read(body, f"{name}.pdf", DocumentFormat.PDF, seconds=60)
    assert line in result.text


async def test_a_file_that_is_not_what_it_is_called_is_refused() -> None:
    assert await reason_of(ChildProcessReader(), b"%PDF-1.7 and so on", DocumentFormat.PDF) == "document_damaged"


async def test_a_library_that_prints_does_not_spoil_the_answer(reader_of: Readers) -> None:
    reader = reader_of(
        textwrap.dedent("""
        from baton_documents import child, whole_document
        read = whole_document.read
        def loud(*arguments):
            print("A warning.", flush=True)
            return read(*arguments)
        whole_document.read = loud
        child.main()
        """)
    )
    body = documents.word(("Normal", "Hello."))
    result = await reader.read(body, "a.docx", DocumentFormat.DOCX, seconds=60)
    assert result.text == "Hello."


async def test_the_process_has_no_variables_of_the_function(
    reader_of: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    reader = reader_of("import os\n" + make_answering_program('{"text": " ".join(sorted(os.environ))}'))
    result = await reader.read(b"x", "a.docx", DocumentFormat.DOCX, seconds=60)
    assert set(result.text.split()) <= {"PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "LC_CTYPE"}


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("import time; time.sleep(600)", "document_too_slow"),
        ("while True: pass", "document_too_slow"),
        ("print('ready', flush=True)\nimport os; os.abort()", "document_too_complex"),
        ("import os; os._exit(0)", "document_unreadable"),
        ("import sys; sys.stdin.close(); print('ready\\nno JSON')", "document_damaged"),
    ],
    ids=["sleeps", "loops", "crashes", "never begins", "prints"],
)
async def test_a_program_that_hangs_or_crashes_is_a_refusal(reader_of: Readers, program: str, reason: str) -> None:
    reader = reader_of(program)
    assert await reason_of(reader, b"x" * 1_000_000, DocumentFormat.DOCX, 0.5 if "slow" in reason else 60) == reason


async def test_a_document_that_had_no_time_is_not_read(reader_of: Readers) -> None:
    assert await reason_of(reader_of("1 / 0"), b"x", DocumentFormat.DOCX, seconds=0) == "document_too_slow"


async def test_what_a_library_takes_beyond_its_memory_is_a_refusal(reader_of: Readers) -> None:
    reader = reader_of(
        "from baton_documents import child, whole_document\n"
        "whole_document.read = lambda *_: bytearray(2**30)\n"
        "child.main()\n"
    )
    assert await reason_of(reader, b"x", DocumentFormat.DOCX) == "document_too_complex"


async def test_without_the_libraries_a_document_is_refused(reader_of: Readers) -> None:
    reader = reader_of("import sys\nsys.modules['lxml'] = None\nfrom baton_documents import child\nchild.main()\n")
    body = documents.word(("Normal", "Hello."))
    assert await reason_of(reader, body, DocumentFormat.DOCX) == "document_unreadable"


async def test_an_outcome_is_kept_for_the_next_request(reader_of: Readers, tmp_path: Path) -> None:
    reader = reader_of(f'import tempfile\ntempfile.mkdtemp(prefix="run-", dir={str(tmp_path)!r})\n{HELLO}')
    for body in (b"a", b"a", b"b"):
        result = await reader.read(body, "a.docx", DocumentFormat.DOCX, seconds=60)
        assert result.text == "Hello."
    assert count(tmp_path, "run-*") == 2


async def test_a_cancelled_caller_ends_the_process(reader_of: Readers, tmp_path: Path) -> None:
    reader = reader_of(f"import os, time\nos.mkdir({str(tmp_path / 'started')!r})\ntime.sleep(600)")
    waiting = asyncio.ensure_future(reader.read(b"x", "a.docx", DocumentFormat.DOCX, seconds=500))
    while not count(tmp_path, "started"):
        await asyncio.to_thread(time.sleep, 0.01)  # the loop's own time does not pass while a process starts
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    # There is one process at a time: the next one would wait for the first.
    reader_of(HELLO)
    result = await reader.read(b"x", "a.docx", DocumentFormat.DOCX, seconds=60)
    assert result.text == "Hello."
