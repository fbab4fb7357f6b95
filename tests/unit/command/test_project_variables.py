"""The variables that the command takes from a project's ``.env``."""

from __future__ import annotations

from pathlib import Path

import pytest

from baton_client.command.session import Environment


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pyproject.toml").write_text("[tool.baton]\n")
    monkeypatch.chdir(tmp_path)
    for name in ("BATON_URL", "BATON_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("address", "token", "used"),
    [
        ("https://other.example", None, True),
        ("https://other.example", "secret", False),
        ("http://127.0.0.1:8190", "secret", True),
    ],
)
def test_a_token_of_the_shell_goes_to_no_other_machine_that_a_folder_names(
    project: Path, monkeypatch: pytest.MonkeyPatch, address: str, token: str | None, used: bool
) -> None:
    (project / ".env").write_text(f"BATON_URL={address}\n")
    if token:
        monkeypatch.setenv("BATON_TOKEN", token)
    assert Environment.of_process().variables.get("BATON_URL") == (address if used else None)


def test_a_project_whose_settings_are_damaged_gets_no_variables_of_a_folder_above(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / ".env").write_text("BATON_URL=https://other.example\n")
    inner = project / "inner"
    inner.mkdir()
    (inner / "pyproject.toml").write_text("[tool.baton\n")
    monkeypatch.chdir(inner)
    assert "BATON_URL" not in Environment.of_process().variables


def test_a_folder_puts_no_variable_of_the_shell_into_an_address(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_SECRET", "hush")
    (project / ".env").write_text("BATON_URL=https://other.example/${A_SECRET}\n")
    assert Environment.of_process().variables["BATON_URL"] == "https://other.example/${A_SECRET}"
