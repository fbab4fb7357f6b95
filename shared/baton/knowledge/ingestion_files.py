"""Files that steps of ingestion write for later ones: the text of parts, and batches of chunks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from pydantic import TypeAdapter

from baton.concurrency.tasks import off_loop
from baton_documents.chunks.chunk import Chunk
from baton_documents.results import ExtractedText

MIN_BATCH, MAX_BATCH = 16, 64
"""The number of chunks that are embedded and indexed at once."""
MANY_BATCHES = 25
"""The number of batches of a document, unless they would be too small or too large. Progress is stored after each."""


def make_part_name(index: int) -> str:
    """Return the name of the file with the text of a part, counted from 0."""
    return f"parts/{index:05d}.json"


def make_batch_name(index: int) -> str:
    """Return the name of the file with a batch of chunks, counted from 0."""
    return f"chunks/{index:05d}.json"


def divide_into_batches(chunks: Sequence[Chunk]) -> list[Sequence[Chunk]]:
    """Divide chunks into about ``MANY_BATCHES`` batches of ``MIN_BATCH`` to ``MAX_BATCH`` chunks."""
    size = min(MAX_BATCH, max(MIN_BATCH, len(chunks) // MANY_BATCHES))
    return [chunks[start : start + size] for start in range(0, len(chunks), size)]


def pack_text(text: ExtractedText) -> bytes:
    """Return the content of the file with a part's text, as JSON."""
    return _make_text_adapter().dump_json(text)


async def unpack_text(body: bytes) -> ExtractedText:
    """Return the text of ``pack_text``."""
    return await off_loop(len(body), _make_text_adapter().validate_json, body)


def pack_chunks(chunks: Sequence[Chunk]) -> bytes:
    """Return the content of the file with a batch of chunks, as JSON."""
    return _make_chunk_adapter().dump_json(list(chunks))


async def unpack_chunks(body: bytes) -> list[Chunk]:
    """Return the chunks of ``pack_chunks``."""
    return await off_loop(len(body), _make_chunk_adapter().validate_json, body)


@lru_cache(maxsize=1)
def _make_text_adapter() -> TypeAdapter[ExtractedText]:
    return TypeAdapter(ExtractedText)


@lru_cache(maxsize=1)
def _make_chunk_adapter() -> TypeAdapter[list[Chunk]]:
    return TypeAdapter(list[Chunk])
