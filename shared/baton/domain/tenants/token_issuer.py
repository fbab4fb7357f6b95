"""The OpenID Connect issuers that a deployment trusts, and the algorithms of signatures that are accepted."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from baton.domain.tenants.identity import TENANT_ID
from baton.domain.web_url import WebUrl, WithoutCredentials

SignatureAlgorithm = Literal[
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"
]  # fmt: skip
"""Asymmetric ones only: a key that verifies must not be able to sign, and a shared secret does not show who signed."""
SIGNATURE_ALGORITHMS: frozenset[str] = frozenset(get_args(SignatureAlgorithm))


_Text = Annotated[str, Field(min_length=1)]


class OidcIssuer(BaseModel):
    """A trusted issuer, as ``tokenIssuers`` has it; without ``tenant``, of every tenant that its tokens name."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)

    issuer: Annotated[_Text, WithoutCredentials]
    audience: _Text | Annotated[tuple[_Text, ...], Field(min_length=1)]
    jwks_url: WebUrl | None = None
    """The address of the keys; None to find it by OpenID Connect Discovery."""
    algorithms: Annotated[tuple[SignatureAlgorithm, ...], Field(min_length=1)] = ("RS256",)
    tenant: Annotated[str, Field(pattern=f"^{TENANT_ID.pattern}$")] | None = None
    """The tenant of this issuer's users. It overrides the tokens."""
    tenant_claim: _Text = "tenant"
    permissions_claim: _Text = "permissions"
    listed: bool = True
    """True if agent cards and metadata, which anybody may read, name this issuer."""
