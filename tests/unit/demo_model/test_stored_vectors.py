"""Vectors of the documentation are kept from one run to the next."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from baton_local.demo_model.stored_vectors import StoredVectors

ROW, OTHER = (101, 7, 102), (101, 8, 102)


def vectors(*rows: tuple[int, ...]) -> dict[tuple[int, ...], np.ndarray]:
    return {row: np.array([float(row[1]), 1.0], dtype=np.float32) for row in rows}


def test_the_next_run_has_what_was_written_last(tmp_path: Path) -> None:
    StoredVectors(tmp_path / "cache" / "vectors.npz", 2).write(vectors(ROW, OTHER))
    StoredVectors(tmp_path / "cache" / "vectors.npz", 2).write(vectors(ROW))
    stored = StoredVectors(tmp_path / "cache" / "vectors.npz", 2)
    found = stored.get(ROW)
    assert found is not None
    assert found.tolist() == [7.0, 1.0]
    assert stored.get(OTHER) is None


@pytest.mark.parametrize("body", [b"", b"PK\x03\x04 nothing", b"text"])
def test_a_damaged_file_counts_as_empty(tmp_path: Path, body: bytes) -> None:
    (tmp_path / "vectors.npz").write_bytes(body)
    stored = StoredVectors(tmp_path / "vectors.npz", 2)
    assert stored.get(ROW) is None
    stored.write(vectors(ROW))
    assert StoredVectors(tmp_path / "vectors.npz", 2).get(ROW) is not None


def test_vectors_of_another_length_are_not_used(tmp_path: Path) -> None:
    StoredVectors(tmp_path / "vectors.npz", 2).write(vectors(ROW))
    assert StoredVectors(tmp_path / "vectors.npz", 3).get(ROW) is None


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    stored = StoredVectors(tmp_path / "file" / "vectors.npz", 2)
    stored.write(vectors(ROW))
    assert stored.get(ROW) is not None
