"""The key of the local cloud's tokens outlives a run."""

from __future__ import annotations

from pathlib import Path

from baton_local.tokens import EmbedKey


def test_a_key_is_kept_and_made_again_after_a_run_that_was_killed_while_it_made_one(tmp_path: Path) -> None:
    (tmp_path / "embed-key").touch()
    key = EmbedKey.load_or_make(tmp_path)
    assert key.key
    assert EmbedKey.load_or_make(tmp_path) == key
