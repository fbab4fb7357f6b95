"""A check of the default provider of models: one request for its list of models, with the stage's key."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
from botocore.exceptions import ClientError

from baton_deployment.account import Account, read_code
from baton_deployment.checks import Check, fails, fine, note, unknown
from baton_deployment.template import DeployedTemplate

NAME = "model"
SECONDS = 15.0
"""The time limit of the request."""


def check_model(account: Account | None, template: DeployedTemplate) -> Iterator[Check]:
    """Yield whether the provider accepts the key and has the models.

    No answer is generated, so the check costs nothing. ``account`` is None if AWS cannot be asked.
    Raises errors of AWS.
    """
    values = template.values
    base = values["ModelBaseUrl"]
    models = {name: values[name] for name in ("ChatModel", "LightModel") if values[name] and "/" not in values[name]}
    if not base or not models:
        yield note(NAME, "only the default provider is asked, and ChatModel and LightModel name no model of it")
    elif account is None:
        yield unknown(NAME, "its key is in the account")
    else:
        secret = values["ModelKeySecret"]
        try:
            key = account.client("secretsmanager").get_secret_value(SecretId=secret).get("SecretString", "")
        except ClientError as problem:
            if read_code(problem) != "ResourceNotFoundException":
                raise
            yield unknown(NAME, f"there is no secret {secret}, which has the provider's key")
            return
        yield from _ask(base, key, models, secret)


def _ask(base: str, key: str, models: dict[str, str], secret: str) -> Iterator[Check]:
    """Yield a row for each model, or the reason why the provider at ``base`` does not list its models."""
    if not key.isascii() or not key.isprintable():
        yield fails(NAME, f"the key of {secret} has characters that no HTTP header may have")
        return
    try:
        answer = httpx.get(f"{base}/models", headers={"Authorization": f"Bearer {key}"}, timeout=SECONDS)
    except (httpx.HTTPError, httpx.InvalidURL) as problem:
        yield fails(NAME, f"{base} cannot be reached from here ({type(problem).__name__})", "Is ModelBaseUrl right?")
        return
    if answer.is_server_error or answer.status_code in {408, 429}:
        yield unknown(NAME, f"{base} does not answer at the moment ({answer.status_code})", "Repeat the check later.")
        return
    if answer.status_code in {401, 403}:
        yield fails(NAME, f"{base} refuses the key of {secret} ({answer.status_code})")
        return
    try:
        served_ids = {str(served_model["id"]) for served_model in answer.json()["data"]}
    except (ValueError, KeyError, TypeError):
        yield note(NAME, f"{base} has no list of models ({answer.status_code}), so only a conversation can show it")
        return
    for parameter, model in models.items():
        if model in served_ids:
            yield fine(NAME, f"{base} accepts the key and has {model}")
        else:
            yield fails(NAME, f"{base} accepts the key, but does not list {model} ({parameter})")
