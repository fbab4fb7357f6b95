"""The OpenID Connect issuers that a deployment trusts, as operators configure them."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from baton.domain.identity import TENANT_ID
from baton.domain.signature_algorithms import SignatureAlgorithm
from baton.domain.web_url import WebUrl, WithoutCredentials

_Text = Annotated[str, Field(min_length=1)]


class OidcIssuer(BaseModel):
    """One trusted issuer, as an operator writes it in ``BATON_TOKEN_ISSUERS``.

    An issuer without ``tenant`` is trusted for every tenant that its tokens name.
    """

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
