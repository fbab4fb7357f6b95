"""Vectors of texts are kept from one run of the local cloud to the next."""

from __future__ import annotations

from pathlib import Path

import pytest

from baton_local.project.vector_cache import VectorCache

BOATS, SAILS = {"boats": (1.0, 0.5)}, {"sails": (0.25, -1.0)}


def test_the_next_run_has_what_was_kept(tmp_path: Path) -> None:
    file = tmp_path / "cache" / "vectors.sqlite"
    VectorCache(file, "model", 2).put(BOATS)
    VectorCache(file, "model", 2).put(SAILS)
    assert VectorCache(file, "model", 2).get(["sails", "masts", "boats"]) == BOATS | SAILS


def test_only_the_named_texts_are_kept(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "vectors.sqlite", "model", 2)
    cache.put(BOATS | SAILS)
    cache.keep_only(["boats", "masts"])
    assert cache.get(["boats", "sails"]) == BOATS


def test_vectors_of_another_model_are_not_used(tmp_path: Path) -> None:
    file = tmp_path / "vectors.sqlite"
    VectorCache(file, "model", 2).put(BOATS)
    for name, dimensions in (("another", 2), ("model", 3)):
        assert VectorCache(file, name, dimensions).get(["boats"]) == {}


@pytest.mark.parametrize("body", [b"", b"SQLite format 3\0 nothing", b"text" * 1000])
def test_a_damaged_file_counts_as_empty(tmp_path: Path, body: bytes) -> None:
    (tmp_path / "vectors.sqlite").write_bytes(body)
    cache = VectorCache(tmp_path / "vectors.sqlite", "model", 2)
    assert cache.get(["boats"]) == {}
    cache.put(BOATS)
    assert cache.get(["boats"]) == BOATS


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = VectorCache(tmp_path / "file" / "vectors.sqlite", "model", 2)
    cache.put(BOATS)
    assert cache.get(["boats"]) == {}
