"""What the steps of ingestion keep for each other: the text of parts, and batches of chunks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from pydantic import TypeAdapter

from baton.domain.extracted import Chunk, ExtractedText
from baton.off_loop import off_loop

BATCH = 128
"""Chunks that are embedded and indexed at once: up to a dozen requests of the embedder, four at the same time."""


def part_name(index: int) -> str:
    """Return the file with the text of a part, counted from 0."""
    return f"parts/{index:05d}.json"


def batch_name(index: int) -> str:
    """Return the file with a batch of chunks, counted from 0."""
    return f"chunks/{index:05d}.json"


def batches_of(chunks: Sequence[Chunk]) -> list[Sequence[Chunk]]:
    """Divide chunks into batches."""
    return [chunks[start : start + BATCH] for start in range(0, len(chunks), BATCH)]


def packed_text(text: ExtractedText) -> bytes:
    return _texts().dump_json(text)


async def unpacked_text(body: bytes) -> ExtractedText:
    """Return the text of ``packed_text``."""
    return await off_loop(len(body), _texts().validate_json, body)


def packed_chunks(chunks: Sequence[Chunk]) -> bytes:
    return _chunks().dump_json(list(chunks))


async def unpacked_chunks(body: bytes) -> list[Chunk]:
    """Return the chunks of ``packed_chunks``."""
    return await off_loop(len(body), _chunks().validate_json, body)


@lru_cache(maxsize=1)
def _texts() -> TypeAdapter[ExtractedText]:
    return TypeAdapter(ExtractedText)


@lru_cache(maxsize=1)
def _chunks() -> TypeAdapter[list[Chunk]]:
    return TypeAdapter(list[Chunk])
