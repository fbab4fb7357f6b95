"""Secrets by reference: agents' files name the secrets, and adapters read the values when they use them."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_serializer, model_validator

from baton.domain.web_url import WithoutCredentials

CREDENTIAL_HEADERS = frozenset({
    "api-key", "apikey", "authorization", "cookie", "ocp-apim-subscription-key", "proxy-authorization",
    "x-access-token", "x-amz-security-token", "x-api-key", "x-auth-token",
})  # fmt: skip
"""Headers with credentials. Their values must be references."""

HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
USER_IS_UNPROVEN = (
    "This acts for you with a token of yours, and none came with the request. Sign in again and repeat it."
)
"""The refusal of a call that acts for a user without a token of the user."""
_MESSAGE_HEADERS = frozenset(
    {"connection", "content-length", "host", "keep-alive", "te", "transfer-encoding", "upgrade"}
)
_STAGE = "{stage}"
"""The placeholder for the deployment's stage in names."""


class SecretReference(BaseModel):
    """The location of a header's value: Secrets Manager (``secret``) or the Parameter Store (``parameter``)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    secret: str | None = Field(default=None, pattern=r"^[A-Za-z0-9_/+=.@{}-]+$", max_length=200)
    """The secret's name; ``{stage}`` in it is the deployment's stage."""
    key: str | None = Field(default=None, min_length=1, max_length=200)
    """The field of a secret that is a JSON object."""
    parameter: str | None = Field(default=None, pattern=r"^/[A-Za-z0-9_/.{}-]+$", max_length=200)
    """The parameter's full name, with its first slash; ``{stage}`` as above."""
    format: str = Field(default="{}", max_length=200)
    """The header's value, with ``{}`` where the secret goes."""

    @model_validator(mode="after")
    def _names_one_place(self) -> SecretReference:
        if (self.secret is None) == (self.parameter is None):
            raise ValueError("give either secret or parameter")
        if self.key is not None and self.secret is None:
            raise ValueError("key is a field of a secret; a parameter has none")
        if self.format.count("{}") != 1 or re.search(r"[{}\r\n\0]", self.format.replace("{}", "")):
            raise ValueError("format must have {} once, where the secret goes, and no other braces")
        for name in (self.secret, self.parameter):
            if name is not None and re.search(r"[{}]", name.replace(_STAGE, "")):
                raise ValueError("the only placeholder in a name is {stage}")
        return self

    def resolve_name(self, stage: str) -> str:
        """Return the name of the secret or parameter in the deployment's ``stage``."""
        return (self.secret or self.parameter or "").replace(_STAGE, stage)

    @model_serializer
    def _as_in_the_file(self) -> dict[str, str]:
        """Return the reference as in the file. It contains no secret."""
        return {name: value for name, value in self if value is not None}


class ExchangeTarget(BaseModel):
    """An endpoint that exchanges a user's token for a narrower one (RFC 8693), and the requested token."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    token_url: str = Field(
        pattern=r"^(https://[A-Za-z0-9.\[\]:_-]+|http://(localhost|127\.0\.0\.1|\[::1\])(:[0-9]+)?)(/[!\"$->@-~]*)?$",
        max_length=2_000,
    )
    """The token endpoint. Its host must be allowed (``allowedHosts`` of the settings)."""
    client_id: str = Field(min_length=1, max_length=200)
    client_secret: SecretReference
    """The secret of Baton's own client at the token endpoint."""
    audience: str | None = Field(default=None, min_length=1, max_length=500)
    resource: Annotated[str, Field(pattern=r"^https?://[!-~]+$", max_length=2_000), WithoutCredentials] | None = None
    scope: str | None = Field(default=None, pattern=r"^[!#-\[\]-~]+( [!#-\[\]-~]+)*$", max_length=1_000)
    subject_token_type: Literal["access_token", "id_token", "jwt"] = "access_token"  # noqa: S105 - a kind of token
    """The type of the user's token, for the token endpoint."""

    @model_validator(mode="after")
    def _is_narrower(self) -> ExchangeTarget:
        if self.audience is None and self.resource is None and self.scope is None:
            raise ValueError("give an audience, a resource or a scope: the new token must be narrower than the user's")
        return self


class TokenExchange(BaseModel):
    """A header's value that acts for the user: a token for which the user's own token is exchanged."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    token_exchange: ExchangeTarget
    format: Literal["Bearer {}", "{}"] = "Bearer {}"
    """The header's value, with ``{}`` where the token goes."""


HeaderValue = str | SecretReference | TokenExchange


def _check_headers(headers: dict[str, HeaderValue]) -> dict[str, HeaderValue]:
    seen: set[str] = set()
    for name, value in headers.items():
        lower = name.lower()
        if HEADER_NAME.fullmatch(name) is None or lower in _MESSAGE_HEADERS:
            raise ValueError(f"{name!r} cannot be set as a header")
        if lower in seen:
            raise ValueError(f"the header {name} occurs twice: remove one")
        seen.add(lower)
        if not isinstance(value, str):
            continue
        if lower in CREDENTIAL_HEADERS:
            raise ValueError(f"{name} holds a credential: refer to a secret or a parameter instead of writing it down")
        if not value.isascii() or not value.isprintable():
            raise ValueError(f"the value of {name} must be printable ASCII")
    return headers


Headers = Annotated[dict[str, HeaderValue], AfterValidator(_check_headers)]
"""Headers of every request to a peer, by name."""
