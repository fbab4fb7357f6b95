"""Trusted issuers of tokens, as the environment names them."""

from __future__ import annotations

import pytest

from baton.settings.identity import IdentitySettings


def test_without_issuers_none_is_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATON_STAGE", "dev")
    monkeypatch.delenv("BATON_TOKEN_ISSUERS", raising=False)
    assert IdentitySettings().token_issuers == ()
    monkeypatch.setenv("BATON_TOKEN_ISSUERS", '[{"issuer": "https://id.example.com", "audience": "baton"}]')
    assert [issuer.issuer for issuer in IdentitySettings().token_issuers] == ["https://id.example.com"]
