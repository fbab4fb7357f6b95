"""The README's example of chunks does what it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

README = Path(__file__).parents[2] / "extraction" / "README.md"
MANUAL = "# Pumps\n\n## Oil\n\n| Pump | Oil |\n| --- | --- |\n" + "".join(f"| M{n} | {n} l |\n" for n in range(200))


def test_the_example_of_chunks_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "manual.md").write_text(MANUAL)
    monkeypatch.chdir(tmp_path)
    _, _, section = README.read_text().partition("## Chunks for retrieval")
    [example] = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    names: dict[str, Any] = {}
    exec(example, names)  # noqa: S102 - the text of the page
    first, *others = names["entries"]
    assert first == {"text": first["text"], "section": "Pumps > Oil", "pages": (None, None), "columns": None}
    assert {entry["columns"] for entry in others} == {"| Pump | Oil |"}
    assert all(len(entry["text"]) <= 1_600 for entry in names["entries"])
