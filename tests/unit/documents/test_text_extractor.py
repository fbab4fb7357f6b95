"""Documents of knowledge are read in separate processes, which end with a typed failure whatever a file does."""

from __future__ import annotations

import asyncio
import os
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from baton.adapters.documents import document_reader
from baton.adapters.documents.document_reader import ChildProcessExtractor
from baton.domain.errors import DocumentUnreadable, ExtractionUnavailable
from baton_documents import processes
from baton_documents.formats import DocumentFormat
from baton_documents.processes import ProcessLimits
from baton_documents.results import BlockKind, TextBlock
from tests import documents
from tests.stand_in_readers import READY, make_answering_program

MIB = 1024 * 1024
SMALL = ProcessLimits(memory_bytes=256 * MIB, seconds=1, answer_bytes=MIB)
HELLO = {"blocks": [{"kind": "paragraph", "text": "Hello."}]}
Extractors = Callable[[str], ChildProcessExtractor]


@pytest.fixture
def extractor_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Extractors:
    """A function from the text of a program to an extractor that runs it in place of the one that reads."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def extractor(program: str) -> ChildProcessExtractor:
        (tmp_path / "stand_in.py").write_text(program)
        return ChildProcessExtractor(SMALL, module="stand_in")

    return extractor


def is_running(pid: str) -> bool:
    return Path("/proc", pid).exists()


def text_of(file: Path) -> str:
    return file.read_text().strip() if file.exists() else ""


async def failure_of(extractor: ChildProcessExtractor, body: bytes = b"x") -> str:
    with pytest.raises((DocumentUnreadable, ExtractionUnavailable)) as raised:
        await extractor.extract(body, DocumentFormat.TEXT, (1, 1))
    assert raised.value.detail
    return raised.value.reason if isinstance(raised.value, DocumentUnreadable) else raised.value.code


async def test_a_file_is_inspected_and_extracted_part_by_part() -> None:
    extractor = ChildProcessExtractor()
    body = documents.pdf([(f"Page {number}", ["Text."]) for number in range(1, 23)])
    inspection = await extractor.inspect(body, "a.pdf", documents.PDF)
    assert (inspection.form, inspection.parts) == (DocumentFormat.PDF, ((1, 20), (21, 22)))
    text = await extractor.extract(body, inspection.form, inspection.parts[1])
    assert text.pages == 22
    assert {block.page for block in text.blocks} == {21, 22}


async def test_the_text_is_what_the_libraries_have_read() -> None:
    body = "# Ünïcode \U0001f600\n\n- one\n".encode()
    text = await ChildProcessExtractor().extract(body, DocumentFormat.MARKDOWN, (1, 1))
    assert text.blocks[0] == TextBlock(
        BlockKind.HEADING, "Ünïcode \U0001f600", level=1, source="# Ünïcode \U0001f600", space=text.blocks[0].space
    )


@pytest.mark.parametrize(
    "form", [DocumentFormat.TEXT, DocumentFormat.MARKDOWN, DocumentFormat.CSV, DocumentFormat.HTML]
)
async def test_a_text_is_read_by_its_charset(form: DocumentFormat) -> None:
    body = "<meta charset=koi8-r>Да".encode("cp1251")
    text = await ChildProcessExtractor().extract(body, form, (1, 1), "windows-1251")
    assert text.blocks[0].text.endswith("Да")


async def test_a_sitemap_is_read_in_a_process_too() -> None:
    body = b"<urlset><url><loc>https://a.example/1</loc></url><url><loc>https://a.example/2</loc></url></urlset>"
    result = await ChildProcessExtractor().read_sitemap(body, limit=1)
    assert (result.urls, result.is_complete) == (["https://a.example/1"], False)


async def test_a_sitemap_whose_parser_takes_the_square_of_its_length_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(document_reader, "SITEMAP_SECONDS", 1.0)
    with pytest.raises(DocumentUnreadable) as raised:
        await ChildProcessExtractor().read_sitemap(b"<urlset><!--" + b"-x" * 10_000_000, limit=1)
    assert raised.value.reason == "document_too_slow"


async def test_a_refusal_keeps_its_reason() -> None:
    with pytest.raises(DocumentUnreadable) as raised:
        await ChildProcessExtractor().inspect(b"PK\x03\x04", "a.pdf", documents.PDF)
    assert raised.value.reason == "document_damaged"


MISBEHAVIOURS = {
    "is killed": ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "document_too_complex"),
    "breaks off by a fault of its memory": ("import ctypes; ctypes.string_at(0)", "document_too_complex"),
    "aborts": ("import os; os.abort()", "document_too_complex"),
    "is ended by a shutdown": ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", "extraction_unavailable"),
    "takes too much processor time": (
        "import resource; resource.setrlimit(resource.RLIMIT_CPU, (1, 2))\nwhile True: pass",
        "document_too_slow",
    ),
    "hangs": ("import time; time.sleep(600)", "document_too_slow"),
    "hangs after it has closed its output": ("import os, time; os.close(1); time.sleep(600)", "document_damaged"),
    "writes no answer": ("pass", "document_damaged"),
    "fails": ("raise ValueError", "document_damaged"),
    "writes garbage": ("sys.stdout.buffer.write(bytes(range(256)))", "document_damaged"),
    "writes half of an answer": ("print('result 100\\n{', end='')", "document_damaged"),
    "writes more than it announces": ("print('result 2\\n{} {}', end='')", "document_damaged"),
    "writes an answer of another form": ("print('result 12\\n{\"blocks\":1}', end='')", "document_damaged"),
    "writes a refusal of another form": ("print('refusal 2\\n{}', end='')", "document_damaged"),
    "writes without end": ("while True: print('x' * 1_000_000)", "document_too_long"),
}


@pytest.mark.parametrize("misbehaviour", MISBEHAVIOURS)
async def test_a_process_that_misbehaves_is_a_typed_failure(extractor_of: Extractors, misbehaviour: str) -> None:
    program, reason = MISBEHAVIOURS[misbehaviour]
    assert await failure_of(extractor_of(READY + program), b"x" * 200_000) == reason


@pytest.mark.parametrize("program", ["1 / 0", "import no_such_module", "import os; os.abort()"])
async def test_a_process_that_fails_before_it_is_ready_is_an_outage(extractor_of: Extractors, program: str) -> None:
    assert await failure_of(extractor_of(program)) == "extraction_unavailable"


async def test_memory_is_bounded_in_libraries_too() -> None:
    extractor = ChildProcessExtractor(ProcessLimits(memory_bytes=160 * MIB, seconds=60, answer_bytes=MIB))
    assert await failure_of(extractor, b"x" * 100 * MIB) == "document_too_complex"


async def test_the_process_has_its_limits_and_writes_no_files(extractor_of: Extractors, tmp_path: Path) -> None:
    program = f"""
import json, resource, sys
from baton_documents import child
def attempt(*_):
    kinds = (getattr(resource, "RLIMIT_" + kind) for kind in ("AS", "CPU", "FSIZE", "NPROC", "CORE"))
    limits = [resource.getrlimit(kind)[0] for kind in kinds]
    try:
        with open({str(tmp_path / "written")!r}, "w") as file:
            file.write("x")
    except OSError:
        return {{"blocks": [{{"kind": "paragraph", "text": json.dumps(limits)}}]}}
child._do = attempt
child.main()
"""
    text = await extractor_of(program).extract(b"x", DocumentFormat.TEXT, (1, 1))
    assert text.blocks[0].text == f"[{SMALL.memory_bytes}, {SMALL.seconds}, 0, 0, 0]"
    assert not text_of(tmp_path / "written")


async def test_a_machine_without_processes_is_an_outage(
    extractor_of: Extractors, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    assert await failure_of(extractor_of("")) == "extraction_unavailable"


async def test_a_machine_without_threads_is_an_outage(
    extractor_of: Extractors, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    extractor = extractor_of(READY + "import time; time.sleep(600)")
    await failure_of(extractor)  # the thread that waits exists
    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert await failure_of(extractor) == "extraction_unavailable"


async def test_each_call_has_a_process_of_its_own(extractor_of: Extractors) -> None:
    pid = make_answering_program("{'blocks': [{'kind': 'paragraph', 'text': str(__import__('os').getpid())}]}")
    extractor = extractor_of(pid)
    texts = [await extractor.extract(b"x", DocumentFormat.TEXT, (1, 1)) for _ in range(3)]
    pids = {text.blocks[0].text for text in texts}
    assert len(pids) == 3
    assert not any(map(is_running, pids))


@pytest.mark.parametrize("at_once", [1, 2])
async def test_documents_are_read_in_the_order_of_their_arrival_a_bounded_number_at_once(
    extractor_of: Extractors, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(document_reader, "MAX_AT_ONCE", at_once)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    log = tmp_path / "log"
    program = (
        f"import sys, time\nbody = sys.stdin.buffer.read().split(b'\\n')[1].decode()\nlog = open({str(log)!r}, 'a')\n"
        "print('+' + body, file=log, flush=True)\ntime.sleep(0.1)\nprint('-' + body, file=log, flush=True)\n"
    )
    extractor = extractor_of(program + make_answering_program(HELLO))
    bodies = [f"{number}".encode() for number in range(6)]
    await asyncio.gather(*(extractor.extract(body, DocumentFormat.TEXT, (1, 1)) for body in bodies))
    running = 0
    starts: list[int] = []
    for line in text_of(log).splitlines():
        running += 1 if line[0] == "+" else -1
        assert running <= at_once
        if line[0] == "+":
            starts.append(int(line[1:]))
    assert sorted(starts) == list(range(6))
    if at_once == 1:  # of two processes that start at once, either may be the first to run
        assert starts == list(range(6))


async def test_a_document_that_waits_too_long_is_tried_again_later(
    extractor_of: Extractors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "QUEUE_SECONDS", 0.0)
    assert await failure_of(extractor_of(make_answering_program(HELLO))) == "extraction_unavailable"


async def test_a_cancelled_caller_ends_the_process(extractor_of: Extractors, tmp_path: Path) -> None:
    log = tmp_path / "log"
    program = f"import os, time\nprint(os.getpid(), file=open({str(log)!r}, 'w'), flush=True)\ntime.sleep(600)"
    extractor = extractor_of(program)
    waiting = asyncio.ensure_future(extractor.extract(b"x", DocumentFormat.TEXT, (1, 1)))
    while not (pid := text_of(log)):
        await asyncio.to_thread(time.sleep, 0.01)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    while is_running(pid):
        await asyncio.to_thread(time.sleep, 0.01)
