"""Documents that end the processes that read them: each fails with its reason, and the others go on."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from baton.adapters.documents.document_reader import ChildProcessExtractor
from baton.domain.documents.document import DocumentRef, VersionStatus
from baton.domain.errors import ExtractionUnavailable
from baton_documents import processes
from baton_documents.processes import MIB, ProcessLimits
from tests.faults.counts import faults
from tests.unit.knowledge.pipeline import Pipeline

LIMITS = ProcessLimits(memory_bytes=256 * MIB, seconds=1, answer_bytes=4 * MIB)
REPETITIONS = 3
"""Of a step by the state machine, after it has failed."""

# The child as it is, but for documents that begin with the name of a misbehaviour and the step in which it shows.
CHILD = """
import ctypes, os, signal, sys, time
from baton_documents import child

def raw(data):
    os.write(answers, data)
    os._exit(0)

def take_memory():
    held = []
    while True:
        held.append(bytearray(2**28))  # all at once: in small steps, a busy machine ends it for its time

def loop():
    while True:
        pass

misbehaviours = {
    "killed": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "crash": lambda: ctypes.string_at(0),
    "abort": os.abort,
    "memory": take_memory,
    "loop": loop,
    "hang": lambda: time.sleep(600),
    "end": lambda: os._exit(0),
    "garbage": lambda: raw(os.urandom(1000)),
    "half": lambda: raw(b'result 1000\\n{"blocks":['),
    "closed": lambda: (os.closerange(3, 100), time.sleep(600)),
    "failing": lambda: 1 / 0,
    "shutdown": lambda: os.kill(os.getpid(), signal.SIGTERM),
}
do = child._do

def misbehave(task, body):
    name, _, work = body.decode().splitlines()[0].partition(" in ")
    if work == task["work"]:
        misbehaviours[name]()
    return do(task, body)

answers = os.dup(1)
child._do = misbehave
child.main()
"""
REASONS: Mapping[str, str] = {
    "killed": "document_too_complex",
    "crash": "document_too_complex",
    "abort": "document_too_complex",
    "memory": "document_too_complex",
    "loop": "document_too_slow",
    "hang": "document_too_slow",
    "end": "document_damaged",
    "garbage": "document_damaged",
    "half": "document_damaged",
    "closed": "document_damaged",
    "failing": "document_damaged",
    "shutdown": "extraction_unavailable",
}


@pytest.fixture
def extractor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ChildProcessExtractor:
    (tmp_path / "misbehaving_child.py").write_text(CHILD)
    monkeypatch.syspath_prepend(str(tmp_path))
    return ChildProcessExtractor(LIMITS, module="misbehaving_child")


async def ingest(pipeline: Pipeline, ref: DocumentRef) -> int:
    """Run the pipeline as the state machine does, and return the number of repetitions."""
    for repetition in range(REPETITIONS + 1):
        try:
            await pipeline.run(ref, waits=False)
        except ExtractionUnavailable:
            continue
        return repetition
    await pipeline.step(ref, "fail", error=ExtractionUnavailable.__name__)
    return REPETITIONS


async def test_each_document_ends_with_its_reason_and_others_go_on(extractor: ChildProcessExtractor) -> None:
    pipelines = [Pipeline("acme"), Pipeline("globex")]
    for pipeline in pipelines:
        pipeline.extractor = extractor
        pipeline.use(pipeline.documents, pipeline.files, pipeline.index)
    order = random.Random(7)  # noqa: S311
    texts = [f"{name} in {work}\n\nText." for name in REASONS for work in ("inspect", "extract")]
    texts += [f"harmless\n\nBolts of document {number}." for number in range(8)]
    order.shuffle(texts)
    refs: dict[DocumentRef, tuple[Pipeline, str]] = {}
    for number, text in enumerate(texts):
        pipeline = order.choice(pipelines)
        ref = await pipeline.create(number + 1)
        await pipeline.upload(ref, text)
        refs[ref] = (pipeline, text)
    repetitions = await asyncio.gather(*(ingest(pipeline, ref) for ref, (pipeline, _) in refs.items()))

    for (ref, (pipeline, text)), repeated in zip(refs.items(), repetitions, strict=True):
        document = await pipeline.get(ref)
        assert document is not None
        version = document.latest
        name = text.partition(" in ")[0]
        if name in REASONS:
            faults[f"child {name}"] += 1
            assert (version.status, version.error_code) == (VersionStatus.FAILED, REASONS[name]), text
            assert version.error
            assert repeated == (REPETITIONS if name == "shutdown" else 0), text
        else:
            assert version.status is VersionStatus.READY, text
            indexed = pipeline.list_indexed_texts()[f"{ref.document_id}@1"]
            assert text.partition("\n\n")[2] in "".join(indexed)


async def test_a_machine_that_starts_no_processes_for_a_while_loses_nothing(
    extractor: ChildProcessExtractor, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = Pipeline()
    pipeline.extractor = extractor
    pipeline.use(pipeline.documents, pipeline.files, pipeline.index)
    ref = await pipeline.create()
    await pipeline.upload(ref, "harmless\n\nBolts.")
    start, refused = subprocess.Popen, iter(range(2))

    def start_or_fail(*arguments: object, **options: object) -> object:
        if next(refused, None) is not None:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        return start(*arguments, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess, "Popen", start_or_fail)
    assert await ingest(pipeline, ref) == 2
    document = await pipeline.get(ref)
    assert document is not None
    assert document.latest.status is VersionStatus.READY


PARENT = """
import asyncio, sys
from baton_documents.processes import ProcessLimits
from baton.adapters.documents.document_reader import ChildProcessExtractor
sys.path.insert(0, sys.argv[1])
extractor = ChildProcessExtractor(ProcessLimits(2**30, 600, 2**20), module="misbehaving_child")
asyncio.run(extractor.inspect(sys.argv[2].encode(), "a.txt", "text/plain"))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the alarm ends the process, after minutes")
@pytest.mark.parametrize("behaviour", ["hang", "loop"])
def test_a_process_ends_with_the_one_that_started_it(
    extractor: ChildProcessExtractor, tmp_path: Path, behaviour: str
) -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(tmp_path), f"{behaviour} in inspect"])
    try:
        while not (children := children_of(parent.pid)):
            assert parent.poll() is None
            time.sleep(0.01)
        time.sleep(0.2)  # most of them now read their document; others have not yet bound themselves to the parent
    finally:
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
    while any(map(is_running, children)):
        time.sleep(0.01)


def children_of(pid: int) -> list[int]:
    results = []
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError):  # the thread has ended since
            results += [int(child) for child in (thread / "children").read_text().split()]
    return results


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_process_that_ended_before_it_was_written_to_leaves_a_pipe_that_can_be_closed() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    pipe = os.fdopen(writing, "wb")
    processes._write(pipe, b"{}\n", bytes(100_000))
    pipe.close()
