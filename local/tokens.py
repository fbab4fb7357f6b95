"""POST /local/token: a signed token for any tenant and user, for trying things out on this machine only."""

import json
import secrets as random
import time
from dataclasses import dataclass
from pathlib import Path

import jwt
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

KEY_ID = "local"
ISSUER = "baton-embed"
LIFETIME_SECONDS = 8 * 3600


class TokenRequest(BaseModel):
    """Who the token is for."""

    model_config = ConfigDict(extra="forbid")

    tenant: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")
    user: str = Field(min_length=1, max_length=256)
    permissions: list[str] = []

    @field_validator("permissions", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return value.split() if isinstance(value, str) else value


@dataclass(frozen=True)
class EmbedKey:
    """The key that signs tokens of every tenant on this machine."""

    key: str

    @classmethod
    def kept_in(cls, folder: Path | None) -> "EmbedKey":
        """Return the key kept in ``folder``, made on first use; without a folder, a new one."""
        file = folder / "embed-key" if folder else None
        if file and file.exists():
            return cls(file.read_text())
        key = cls(random.token_urlsafe(48))
        if file:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch(mode=0o600)
            file.write_text(key.key)
        return key

    def as_secret(self) -> str:
        """Return the value of the embed keys secret."""
        return json.dumps({KEY_ID: {"tenant": "*", "algorithm": "HS256", "key": self.key}})

    def sign(self, request: TokenRequest) -> str:
        """Return a token with the claims of ``request``."""
        now = int(time.time())
        claims = {
            "iss": ISSUER,
            "sub": request.user,
            "tenant": request.tenant,
            "permissions": request.permissions,
            "iat": now,
            "exp": now + LIFETIME_SECONDS,
        }
        return jwt.encode(claims, self.key, algorithm="HS256", headers={"kid": KEY_ID})

    async def answer(self, request: Request) -> Response:
        """Serve POST /local/token."""
        try:
            wanted = TokenRequest.model_validate_json(await request.body())
        except ValidationError as problem:
            return _problem(problem)
        return JSONResponse({"token": self.sign(wanted)})


def _problem(problem: ValidationError) -> Response:
    errors = [
        f"{'.'.join(map(str, error['loc'])) or 'body'}: {error['msg']}" for error in problem.errors(include_url=False)
    ]
    return JSONResponse(
        {
            "type": "about:blank",
            "title": "The request is not valid",
            "status": 422,
            "detail": "; ".join(errors),
            "code": "invalid_request",
            "retryable": False,
            "requestId": None,
        },
        status_code=422,
        media_type="application/problem+json",
    )
