"""A check whether the stage can accept any token."""

from __future__ import annotations

import json
from collections.abc import Iterator

from botocore.exceptions import ClientError

from baton_deployment.account import Account, read_code
from baton_deployment.checks import Check, note
from baton_deployment.preflight.secrets import EMBED_KEYS
from baton_deployment.template import DeployedTemplate

TOKENS = "tokens"


def check_tokens(account: Account, template: DeployedTemplate, *, has_issuers: bool) -> Iterator[Check]:
    """Yield a note if there is no embed key, and the settings file has no token issuers.

    The check of secrets reports a secret that cannot be read, or is wrong.
    """
    if has_issuers:
        return
    name = template.values["EmbedKeysSecret"]
    verb = "put-secret-value --secret-id"
    try:
        text = account.client("secretsmanager").get_secret_value(SecretId=name).get("SecretString", "")
        if json.loads(text or "null") != {}:
            return
    except ValueError:
        return
    except ClientError as problem:
        if read_code(problem) != "ResourceNotFoundException":
            return
        verb = "create-secret --name"
    yield note(
        TOKENS,
        f"no token can be accepted: {name} has no key, and the settings file names no issuer (unless deployed ones do)",
        "Name an issuer in the settings file, or make a key:\n"
        f"aws secretsmanager {verb} {name} --secret-string {EMBED_KEYS} --region {account.region}",
    )
