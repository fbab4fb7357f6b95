"""The settings of the channel, and who is who."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from baton_slack import ConfigurationError, read_configuration
from baton_slack.command import main
from baton_slack.configuration import SECRETS
from baton_slack.identities import Member, make_user_id
from tests.slack_channel.conftest import WEBHOOK_SECRET
from tests.unit.docs.pages import ROOT, block

Json = dict[str, Any]


@pytest.mark.parametrize(
    ("fields", "user_id"),
    [
        ({"is_email_confirmed": True}, "anna@acme.example"),
        ({"is_email_confirmed": False}, None),
        ({"is_email_confirmed": "false"}, None),
        ({}, None),
    ],
)
def test_an_address_that_nobody_has_confirmed_makes_nobody_a_user(fields: Json, user_id: str | None) -> None:
    user = {"id": "U0ANNA", "team_id": "T0ACME", "profile": {"email": "Anna@acme.example"}, **fields}
    member = Member.of(user, "T0ACME")
    assert make_user_id(member, "email") == user_id
    assert make_user_id(member, "slack") == "slack-T0ACME-U0ANNA"


@pytest.mark.parametrize(
    "fields",
    [
        {"team_id": "T0OTHER"},
        *({flag: True} for flag in ("is_bot", "deleted", "is_restricted", "is_ultra_restricted", "is_stranger")),
        {"id": "USLACKBOT"},
    ],
)
def test_bots_guests_and_members_of_others_are_no_full_members(fields: Json) -> None:
    assert Member.of({"id": "U0ANNA", "team_id": "T0ACME"}, "T0ACME").is_full
    assert not Member.of({"id": "U0ANNA", "team_id": "T0ACME", **fields}, "T0ACME").is_full


def test_the_configuration_of_the_guide_is_valid(tmp_path: Path) -> None:
    file = tmp_path / "slack.yaml"
    file.write_text(block(ROOT / "docs" / "how-to" / "answer-from-slack.md", "slack"))
    configured = read_configuration(
        file, {**dict.fromkeys(SECRETS.values(), "x"), "BATON_WEBHOOK_SECRET": WEBHOOK_SECRET}
    )
    assert configured.desks["support"].permissions == ("desk:support",)


def test_a_file_of_jobs_that_cannot_be_opened_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "slack.yaml"
    file.write_text("tenant: acme\nteam: T0ACME\n")
    for variable in SECRETS.values():
        monkeypatch.setenv(variable, WEBHOOK_SECRET)
    monkeypatch.setattr("sys.argv", ["baton-slack", str(file), "--data", str(tmp_path)])
    assert main() == 2
    assert f"{tmp_path} cannot be used" in capsys.readouterr().err


def test_secrets_come_from_the_environment_and_are_never_quoted(tmp_path: Path) -> None:
    file = tmp_path / "slack.yaml"
    environment = dict.fromkeys(SECRETS.values(), "very-secret")
    file.write_text("tenant: acme\nteam: T0ACME\nbotToken: very-secret\n")
    with pytest.raises(ConfigurationError, match="set SLACK_BOT_TOKEN instead"):
        read_configuration(file, environment)
    file.write_text("tenant: acme\nteam: nonsense\n")
    with pytest.raises(ConfigurationError, match="team: ") as refused:
        read_configuration(file, environment)
    assert "very-secret" not in str(refused.value)
    file.write_text("tenant: acme\nteam: T0ACME\n")
    assert "very-secret" not in repr(read_configuration(file, environment))
    with pytest.raises(ConfigurationError, match="SLACK_SIGNING_SECRET"):
        read_configuration(file, {"SLACK_BOT_TOKEN": "very-secret"})
