"""The configuration of the channel: a file, and secrets from the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, SecretStr, StringConstraints, ValidationError

SECRETS = {
    "botToken": "SLACK_BOT_TOKEN",
    "signingSecret": "SLACK_SIGNING_SECRET",
    "webhookSecret": "BATON_WEBHOOK_SECRET",
    "embedKey": "BATON_EMBED_KEY",
}
"""The environment variables of secrets, which the file must not have."""

SlackId = Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9]{2,30}$")]
Permission = Annotated[str, StringConstraints(min_length=1, max_length=128)]


class ConfigurationError(Exception):
    """The configuration cannot be used. The message names each field and what to change; it quotes no secret."""


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class PeopleChannel(_Section):
    """A channel whose members act in Baton."""

    channel: SlackId
    """Slack's id of the channel. Use a private one: its members read what users write."""
    permissions: tuple[Permission, ...] = ()
    """Permissions in the tokens of the channel's people, besides those that the actions need."""
    people: frozenset[SlackId] = frozenset()
    """Slack's ids of the members who may act; empty: all full members of the workspace who are in the channel."""


class Users(_Section):
    """Users who talk to agents in Slack."""

    agent_id: str | None = Field(None, alias="agentId")
    """The main agent of new conversations; None: the deployment's default agent."""
    permissions: tuple[Permission, ...] = ()
    """Permissions in the tokens of users."""


class Configuration(_Section):
    """The settings of one Slack workspace and one tenant of Baton."""

    url: str = "http://127.0.0.1:8080"
    """The address of Baton."""
    tenant: Annotated[str, StringConstraints(min_length=1, max_length=63)]
    team: SlackId
    """Slack's id of the workspace. Requests of other workspaces are refused."""
    identify: Literal["slack", "email"] = "slack"
    """The user ids in Baton: ``slack-<team>-<user>``, or the e-mail address of the profile."""
    key_id: str | None = Field(None, alias="keyId")
    """The id of the embed key that signs tokens; None if the host makes the tokens."""
    algorithm: Literal["HS256", "EdDSA", "ES256", "RS256"] = "HS256"
    desks: dict[str, PeopleChannel] = Field(default_factory=dict)
    """The channels of desks, by the ids of the desks."""
    approvals: PeopleChannel | None = None
    """The channel for approvals of calls in conversations outside Slack. Tokens of its people get `tool:approve`."""
    users: Users | None = None
    """The users who talk to agents in Slack; None: nobody can."""
    bot_token: SecretStr = Field(alias="botToken")
    signing_secret: SecretStr = Field(alias="signingSecret")
    webhook_secret: SecretStr = Field(alias="webhookSecret")
    embed_key: SecretStr | None = Field(None, alias="embedKey")


def read_configuration(path: Path, environment: Mapping[str, str] = os.environ) -> Configuration:
    """Return the configuration of a YAML file, with secrets from the environment.

    Raises ``ConfigurationError``.
    """
    try:
        values: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as problem:
        raise ConfigurationError(f"{path} cannot be read: {type(problem).__name__}") from None
    if not isinstance(values, dict):
        raise ConfigurationError(f"{path} must be a mapping of fields.")
    misplaced = sorted(SECRETS.keys() & values.keys())
    if misplaced:
        raise ConfigurationError(f"{path}: {misplaced[0]} is a secret: set {SECRETS[misplaced[0]]} instead.")
    secrets = {name: environment[variable] for name, variable in SECRETS.items() if environment.get(variable)}
    try:
        return Configuration.model_validate(values | secrets)
    except ValidationError as invalid:
        problems = (
            f"{_name_field(problem['loc'])}: {problem['msg']}" for problem in invalid.errors(include_input=False)
        )
        raise ConfigurationError(f"{path}: " + "; ".join(problems)) from None


def _name_field(location: tuple[int | str, ...]) -> str:
    name = ".".join(str(part) for part in location)
    return SECRETS.get(name, name)
