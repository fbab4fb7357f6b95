"""The endpoint of a remote agent, and the signature of its card."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints, model_validator

from baton.domain.definition import Definition
from baton.domain.tenants.secret import Headers

CardUrl = Annotated[
    str,
    StringConstraints(
        # Without a user, a password, a query or a fragment. Plain http is for localhost. The egress policy allows it in
        # the local cloud only.
        pattern=r"^(https://[A-Za-z0-9.\[\]:_-]+|http://(localhost|127\.0\.0\.1|\[::1\])(:[0-9]+)?)(/[!\"$->@-~]*)?$",
        max_length=2_000,
    ),
]


class CardSignature(Definition):
    """The signature that the card of a remote agent must have."""

    jwks_url: CardUrl | None = None
    """The address of the trusted keys (a JWK set)."""
    keys: tuple[dict[str, str], ...] = Field(default=(), max_length=20)
    """The trusted keys themselves, as public JWKs with a ``kid``."""

    @model_validator(mode="after")
    def _has_public_keys(self) -> CardSignature:
        if (self.jwks_url is None) == (not self.keys):
            raise ValueError("give either jwks_url or keys")
        for key in self.keys:
            if not key.get("kid") or key.get("kty") not in ("EC", "RSA", "OKP"):
                raise ValueError("each key needs a kid, and a kty of EC, RSA or OKP")
            if "d" in key:
                raise ValueError("a key is private: write down its public part only")
        return self


class RemoteAgent(Definition):
    """The A2A endpoint of a remote agent."""

    card_url: CardUrl
    """The address of its agent card (``.json``), or the base below which ``/.well-known/agent-card.json`` is."""
    headers: Headers = Field(default_factory=dict)
    """Sent with every request to the origin of the card, and to no other origin."""
    card_signature: CardSignature | None = None
    """The signature without which the card is not trusted, and the agent not asked."""
    sends_trace: bool = False
    """Whether requests carry the trace context of the turn (``traceparent``), to the origin of the card only."""
