"""Hostile files that go through ingestion end within the bounds of their processes, with a reason or as documents."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from baton.adapters.documents.document_reader import ChildProcessExtractor
from baton.domain.documents.document import VersionStatus
from baton_documents.processes import MIB, ProcessLimits
from tests import documents, hostile_files
from tests.unit.knowledge.pipeline import Pipeline, text_of

LIMITS = ProcessLimits(memory_bytes=512 * MIB, seconds=5, answer_bytes=32 * MIB)
"""Less than in use, so that the files need less time to exceed them."""
FILES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "PDF of 20 levels": (documents.PDF, lambda: hostile_files.pdf_bomb(20)),
    "PDF of 22 levels": (documents.PDF, lambda: hostile_files.pdf_bomb(22)),
    "OpenDocument of 16 million cells": (documents.XLSX, lambda: hostile_files.ods_bomb(16_384, 1_000)),
    "OpenDocument of 98 million cells": (documents.XLSX, lambda: hostile_files.ods_bomb(16_384, 6_000)),
    "Word with headers of 200 MiB": (documents.DOCX, lambda: hostile_files.docx_bomb(5, 40)),
    "Word with a header of 20 MiB": (documents.DOCX, lambda: hostile_files.docx_bomb(1, 20)),
    "900 tables in each other": ("text/html", lambda: hostile_files.make_nested_tables(900)),
    "200 tables in each other": ("text/html", lambda: hostile_files.make_nested_tables(200)),
    "a line of Markdown": ("text/markdown", lambda: hostile_files.markdown_in_one_line(5_000_000)),
}
REASONS = {
    "document_damaged",
    "document_mislabelled",
    "document_too_complex",
    "document_too_deep",
    "document_too_large_unpacked",
    "document_too_long",
    "document_too_slow",
    "document_unsupported",
    "document_without_text",
}


@pytest.mark.parametrize("name", FILES)
async def test_a_hostile_file_ends_within_its_bounds_and_others_are_read(name: str) -> None:
    content_type, instance = FILES[name]
    pipeline = Pipeline()
    pipeline.extractor = ChildProcessExtractor(LIMITS)
    pipeline.use(pipeline.documents, pipeline.files, pipeline.index)
    hostile = await pipeline.create(1, content_type)
    harmless = await pipeline.create(2)
    await pipeline.files.write(pipeline.scope, await pipeline.get_existing(hostile), 1, "original", instance())
    await pipeline.upload(harmless, text_of(2, "Bolts"))
    await pipeline.run(hostile, waits=False)
    await pipeline.run(harmless, waits=False)
    version = (await pipeline.get_existing(hostile)).latest
    if version.status is not VersionStatus.READY:
        assert version.status is VersionStatus.FAILED
        assert version.error_code in REASONS
        assert version.error
    assert (await pipeline.get_existing(harmless)).latest.status is VersionStatus.READY
