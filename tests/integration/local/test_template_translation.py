"""The translation of a template is kept, because AWS's translator takes a second to load."""

import shutil
from pathlib import Path

import pytest

from baton_local.errors import TemplateProblem
from baton_local.stack import template_translation
from baton_local.stack.declarations import read_stack
from baton_local.stack.template import Endpoints

HERE = Endpoints("http://127.0.0.1:1", "ws://127.0.0.1:1/ws", "http://127.0.0.1:1/c", "http://127.0.0.1:2")


@pytest.fixture
def template(stand_in_template: Path, tmp_path: Path) -> Path:
    shutil.copytree(stand_in_template.parent, tmp_path / "project")
    return tmp_path / "project" / stand_in_template.name


@pytest.fixture
def translated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The translated templates."""
    calls: list[str] = []
    original = template_translation._run_translator

    def count_call(source: dict[str, object]) -> dict[str, object]:
        calls.append(str(source.get("Description")))
        return original(source)

    monkeypatch.setattr(template_translation, "_run_translator", count_call)
    return calls


def test_a_template_is_translated_once(template: Path, tmp_path: Path, translated: list[str]) -> None:
    cache = tmp_path / "cache"
    stacks = [read_stack(template, {"Stage": "local"}, HERE, cache) for _ in range(3)]
    assert stacks[0] == stacks[1] == stacks[2] == read_stack(template, {"Stage": "local"}, HERE)
    assert len(translated) == 2  # once for the folder, once without one
    assert [file.suffix for file in cache.iterdir()] == [".json"]


def test_a_changed_template_is_translated_again(template: Path, tmp_path: Path, translated: list[str]) -> None:
    cache = tmp_path / "cache"
    before = read_stack(template, {}, HERE, cache)
    template.write_text(template.read_text().replace("Timeout: 900", "Timeout: 800"))
    after = read_stack(template, {}, HERE, cache)
    assert (before.functions["TurnsFunction"].timeout, after.functions["TurnsFunction"].timeout) == (900, 800)
    assert len(translated) == 2
    assert len(list(cache.iterdir())) == 1


@pytest.mark.parametrize("stored", [b"", b"{", b"\xff", b'{"checksum": "other"}', None])
def test_a_file_that_cannot_be_used_is_written_again(
    template: Path, tmp_path: Path, translated: list[str], stored: bytes | None
) -> None:
    cache = tmp_path / "cache"
    stack = read_stack(template, {}, HERE, cache)
    file = next(cache.iterdir())
    of_another_version = file.read_bytes().replace(b'"checksum":"', b'"checksum":"0', 1)
    file.write_bytes(of_another_version if stored is None else stored)
    assert read_stack(template, {}, HERE, cache) == read_stack(template, {}, HERE, cache) == stack
    assert len(translated) == 2


def test_a_value_that_cannot_be_written_as_json_is_refused(template: Path) -> None:
    template.write_text(template.read_text() + "\nMetadata:\n  Picture: !!binary /w==\n")
    with pytest.raises(TemplateProblem, match="JSON"):
        read_stack(template, {}, HERE)


def test_a_folder_that_cannot_be_written_is_reported_and_not_needed(
    template: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "cache").write_text("a file")
    assert read_stack(template, {}, HERE, tmp_path / "cache") == read_stack(template, {}, HERE)
    assert "not kept for the next run" in caplog.text
