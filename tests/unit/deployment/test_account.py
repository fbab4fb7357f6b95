"""Errors of AWS become lines that an operator can act on."""

from __future__ import annotations

from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from baton_deployment.account import Account, explain
from baton_deployment.errors import DeploymentError


def test_a_profile_that_does_not_exist_is_named_with_the_way_to_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_PROFILE", "nope")
    with pytest.raises(DeploymentError, match=r"\(nope\) could not be found.*aws configure list-profiles"):
        Account.here()


def test_a_page_in_place_of_an_answer_is_not_quoted() -> None:
    page = "<!doctype html>\n<html lang=en><title>404 Not Found</title>"
    problem = ClientError({"Error": {"Code": "404", "Message": page}}, "GetAccountSettings")
    assert explain(problem) == "404: the answer is a page, not AWS's (GetAccountSettings)"
