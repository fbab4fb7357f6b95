"""Variables that a test folder leaves in the environment of the process are found and removed."""

import os

import pytest

from tests.environment import INITIAL_ENVIRONMENT, reset_environment


def test_changed_variables_are_named_and_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATON_NEVER_SET", "x")
    monkeypatch.setenv("PATH", "/nowhere")
    assert reset_environment() == ["BATON_NEVER_SET", "PATH"]
    assert "BATON_NEVER_SET" not in os.environ
    assert os.environ["PATH"] == INITIAL_ENVIRONMENT["PATH"]
    assert reset_environment() == []
