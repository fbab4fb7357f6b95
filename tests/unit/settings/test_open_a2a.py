"""Calls without a token are for the local cloud."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from baton.settings.identity import ApiSettings


@pytest.mark.parametrize(("stage", "value"), [("local", "1"), ("local", ""), ("dev", "0"), ("prod", "")])
def test_where_calls_without_a_token_may_be_let_in(monkeypatch: pytest.MonkeyPatch, stage: str, value: str) -> None:
    monkeypatch.setenv("BATON_STAGE", stage)
    monkeypatch.setenv("BATON_LOCAL_OPEN_A2A", value)
    assert ApiSettings().open_a2a == (value == "1")


def test_a_deployment_does_not_start_if_it_were_to_let_them_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATON_STAGE", "dev")
    monkeypatch.setenv("BATON_LOCAL_OPEN_A2A", "1")
    with pytest.raises(ValidationError, match="BATON_LOCAL_OPEN_A2A"):
        ApiSettings()
