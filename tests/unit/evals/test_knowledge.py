"""The documents of a project, as an evaluation reads them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from baton.domain.errors import EmbedderUnavailable
from baton_testing.errors import CannotRun
from baton_testing.evals.targets.embedding import RealTimeEmbedder
from baton_testing.evals.targets.knowledge import read_knowledge
from baton_testing.fakes.clock import NOON
from baton_testing.fakes.documents.embedder import FakeEmbedder


@dataclass
class ClosableEmbedder(FakeEmbedder):
    """An embedder that counts how often it is closed."""

    closed: int = 0

    async def aclose(self) -> None:
        self.closed += 1


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    (tmp_path / "assistant").mkdir()
    (tmp_path / "assistant" / "returns.md").write_text("# Returns\n\nYou have 30 days.")
    return tmp_path


async def test_the_connections_of_an_embedding_model_that_fails_are_closed(documents: Path) -> None:
    embedder = ClosableEmbedder(failure=EmbedderUnavailable())
    with pytest.raises(CannotRun, match=r"returns\.md: the embedding model failed"):
        await read_knowledge(documents, {"assistant"}, {"acme"}, NOON, lambda: RealTimeEmbedder(embedder))  # type: ignore[arg-type]
    assert embedder.closed == 1


async def test_a_file_that_cannot_be_read_is_reported_with_the_others(
    documents: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (documents / "assistant" / "song.mp3").write_text("x")

    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(CannotRun) as raised:
        await read_knowledge(documents, {"assistant"}, {"acme"}, NOON)
    assert "returns.md: it cannot be read: Permission denied" in str(raised.value)
    assert "song.mp3: its ending is of no kind of document" in str(raised.value)
