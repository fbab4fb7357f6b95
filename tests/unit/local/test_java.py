"""Artifacts of Maven are fetched once, and again after a failure has left a part of their index."""

from __future__ import annotations

from pathlib import Path

import pytest

from baton_local.engines import java

COORDINATE = "org.example:tool:1.0"


@pytest.mark.parametrize("content", ["", '["/tmp/to', "[]", '["/nowhere/tool.jar"]'])
def test_a_damaged_or_outdated_index_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str) -> None:
    jar = tmp_path / "tool.jar"
    jar.touch()
    (tmp_path / "org.example_tool_1.0.json").write_text(content)
    monkeypatch.setattr(java, "_download", lambda coordinate, cache_dir: [jar])
    assert java.resolve(COORDINATE, tmp_path, lambda line: None) == [jar]
    monkeypatch.delattr(java, "_download")
    assert java.resolve(COORDINATE, tmp_path, lambda line: None) == [jar]
