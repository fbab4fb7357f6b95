"""The target of a smoke test, and the token of a user who exists for the test only."""

from __future__ import annotations

import os
import secrets
import time
from dataclasses import dataclass

import jwt

from baton.adapters.tokens.embed_keys import ANY_TENANT, EMBED_ISSUER, read_embed_keys
from baton_deployment.account import Account, problems_explained
from baton_deployment.deployed_stack import read_outputs
from baton_deployment.errors import DeploymentError
from baton_deployment.stages import Stage
from baton_deployment.template import DeployedTemplate
from baton_local.root import ROOT

ALGORITHM = "HS256"
"""The algorithm of keys that can sign as well as verify."""
LIFETIME_SECONDS = 3600
PREFERRED_TENANT = "smoke"
HOW_TO_GET_A_TOKEN = (
    "Set TOKEN= to a token of your issuer for a user without conversations, or add a key of the tenant "
    f"{PREFERRED_TENANT} to the secret."
)


@dataclass(frozen=True)
class Target:
    """The addresses of the server to test, and the user's token."""

    url: str
    """The base of ``/v1/...`` and ``/health``."""
    socket_url: str
    token: str | None
    reason: str = ""
    """The reason why there is no token."""
    has_search: bool = False
    no_document: str = "search is off"
    """The reason why no document is tested, unless ``has_search``."""
    is_own_user: bool = False
    """Whether the token is of a user who exists only for this test, and may be forgotten."""
    document_permission: str = ""
    """The permission that the document requires, so that other users' answers do not use it; empty: none."""


def find_target(account: Account, stage: Stage, token: str | None = None) -> Target:
    """Return a deployed stage as a target. If ``token`` is None, one is signed with a key of the embed keys' secret.

    If none can be signed, the target has a ``reason`` and no token. Raises ``DeploymentError`` if there is no stack.
    """
    outputs = read_outputs(account, stage.stack)
    own = signed = reason = None
    permission = f"smoke:{secrets.token_hex(4)}"
    if token is None:
        template = DeployedTemplate.read(ROOT / "template.yaml", stage.parameters, stage.stack, account.region)
        name = template.values["EmbedKeysSecret"]
        try:
            with problems_explained(f"The secret {name} cannot be read"):
                text = account.client("secretsmanager").get_secret_value(SecretId=name).get("SecretString", "")
            signed, own = sign_token(text, permission), True
        except DeploymentError as problem:
            reason = f"{problem} {HOW_TO_GET_A_TOKEN}"
    return Target(
        url=outputs["RestUrl"].rstrip("/"),
        socket_url=outputs["WebSocketUrl"],
        token=token or signed,
        reason=reason or "",
        has_search="SearchFunctionName" in outputs,
        is_own_user=bool(own),
        document_permission=permission if own else "",
    )


def make_target(url: str, socket_url: str | None, token: str | None, *, has_search: bool) -> Target:
    """Return any server as a target. If ``socket_url`` is None, the local cloud's path is used."""
    base = url.rstrip("/")
    sockets = socket_url or "ws" + base.removeprefix("http") + "/ws"
    return Target(
        base,
        sockets,
        token,
        reason="Set TOKEN= to a token of the server.",
        has_search=has_search,
        no_document="add --document if the server's search is on",
    )


def sign_token(keys: str, *permissions: str) -> str:
    """Return a token of a new user, signed with one of the embed ``keys``. Raises ``DeploymentError`` without one."""
    try:
        embed_keys, _ = read_embed_keys(keys, allow_any_tenant=True)
    except ValueError:
        raise DeploymentError("The secret with the embed keys is no JSON object of keys.") from None
    usable = {kid: key for kid, key in embed_keys.items() if key.algorithm == ALGORITHM}
    if not usable:
        raise DeploymentError(f"The secret with the embed keys has no usable key for {ALGORITHM}, with which to sign.")
    # If possible, the user is in a tenant for smoke tests.
    kid = min(usable, key=lambda kid: usable[kid].tenant != PREFERRED_TENANT)
    now = int(time.time())
    tenant = usable[kid].tenant
    claims = {
        "iss": EMBED_ISSUER,
        "sub": f"smoke-{secrets.token_hex(8)}",
        "tenant": PREFERRED_TENANT if tenant == ANY_TENANT else tenant,
        "permissions": ["document:write", *permissions],
        "iat": now,
        "exp": now + LIFETIME_SECONDS,
    }
    return jwt.encode(claims, usable[kid].key, algorithm=ALGORITHM, headers={"kid": kid})


def read_token() -> str | None:
    """Return the token in the environment variable ``TOKEN``, or None."""
    return os.environ.get("TOKEN") or None
