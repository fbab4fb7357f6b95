"""POST /local/token: a signed token for any tenant and user, on this machine only."""

import json
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import jwt
from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from baton.adapters.tokens.embed_keys import read_embed_keys
from baton.adapters.tokens.verifier import read_locale, read_name, read_picture
from baton.domain.definition import get_message
from baton.domain.tenants.identity import MAX_USER_NAME, is_reserved_user
from baton_local.errors import LocalCloudError
from baton_local.serving.asgi import AsgiApp

KEY_ID = "local"
ISSUER = "baton-embed"
LIFETIME_SECONDS = 8 * 3600
LOCAL_ORIGIN = r"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?"
"""The origins whose pages may request tokens: this machine's, with any port."""

_PROFILE: dict[str, tuple[Callable[[object], str | None], str]] = {
    "name": (read_name, f"use at most {MAX_USER_NAME} printable characters"),
    "picture": (read_picture, "use an https address"),
    "locale": (read_locale, "use a language tag such as de-AT"),
}
"""The readers of claims about the user, and the expected form, for error messages."""


class TokenRequest(BaseModel):
    """The tenant, user and permissions of a token, and claims about the user."""

    model_config = ConfigDict(extra="forbid")

    tenant: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")
    user: str = Field(min_length=1, max_length=256)
    permissions: list[str] = []
    name: str | None = None
    """The name that others see, such as the users whom a person of a desk answers."""
    picture: str | None = None
    """The https address of a picture, which others see beside the name."""
    locale: str | None = None
    """The language, such as ``de-AT``."""

    @field_validator("name", "picture", "locale")
    @classmethod
    def _readable(cls, value: str | None, info: ValidationInfo) -> str | None:
        read, expected = _PROFILE[str(info.field_name)]
        if value is not None and read(value) is None:  # the server would ignore it silently
            raise ValueError(expected)
        return value

    @field_validator("user")
    @classmethod
    def _unreserved(cls, user: str) -> str:
        if is_reserved_user(user):
            raise ValueError("this id is reserved; choose another one")
        return user

    @field_validator("permissions", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return value.split() if isinstance(value, str) else value


@dataclass(frozen=True)
class EmbedKey:
    """The key that signs tokens of every tenant on this machine."""

    key: str

    @classmethod
    def load_or_make(cls, folder: Path | None) -> "EmbedKey":
        """Return the key in ``folder``, which is made on first use; without a folder, return a new key."""
        file = folder / "embed-key" if folder else None
        if file and file.exists() and (stored := file.read_text()):  # empty if the process was killed here
            return cls(stored)
        key = cls(secrets.token_urlsafe(48))
        if file:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch(mode=0o600)
            file.write_text(key.key)
        return key

    def as_secret(self, developer_keys: str | None = None) -> str:
        """Return the value of the embed keys secret, with the keys in ``developer_keys``, a JSON object.

        Raises ``LocalCloudError``, which names the keys that cannot be used.
        """
        own = {KEY_ID: {"tenant": "*", "algorithm": "HS256", "key": self.key}}
        return json.dumps(_read_developer_keys(developer_keys or "{}") | own)

    def sign(self, request: TokenRequest) -> str:
        """Return a token with the claims of ``request``."""
        now = int(time.time())
        claims = {
            "iss": ISSUER,
            "sub": request.user,
            "tenant": request.tenant,
            "permissions": request.permissions,
            **request.model_dump(include=set(_PROFILE), exclude_none=True),
            "iat": now,
            "exp": now + LIFETIME_SECONDS,
        }
        return jwt.encode(claims, self.key, algorithm="HS256", headers={"kid": KEY_ID})

    def make_route(self) -> AsgiApp:
        """Return the app of POST /local/token, which pages of this machine's origins may call too."""
        return CORSMiddleware(
            Route("/local/token", self.answer, methods=["POST"]),
            allow_origin_regex=LOCAL_ORIGIN,
            allow_methods=["POST"],
            allow_headers=["Content-Type"],
        )

    async def answer(self, request: Request) -> Response:
        """Serve POST /local/token."""
        try:
            token_request = TokenRequest.model_validate_json(await request.body())
        except ValidationError as problem:
            return _make_problem(problem)
        return JSONResponse({"token": self.sign(token_request)})


def list_tenants(embed_keys: str) -> set[str]:
    """Return the tenants that have a key in the embed keys secret. The local cloud's own key is left out."""
    return {key["tenant"] for key_id, key in json.loads(embed_keys).items() if key_id != KEY_ID}


def _read_developer_keys(text: str) -> dict[str, object]:
    """Return the keys in a JSON object by their ids. Raises ``LocalCloudError``, which names wrong keys."""
    try:
        _, problems = read_embed_keys(text)
    except ValueError as problem:
        raise LocalCloudError(
            'BATON_EMBED_KEYS must be a JSON object: {"<key id>": {"tenant": ..., "algorithm": ..., "key": ...}}.'
        ) from problem
    keys: dict[str, object] = json.loads(text)
    if KEY_ID in keys:
        problems[KEY_ID] = "this key id is the local cloud's own; choose another"
    if problems:
        details = "; ".join(f"the key {kid}: {problem}" for kid, problem in problems.items())
        raise LocalCloudError(f"A key of BATON_EMBED_KEYS cannot be used: {details}.")
    return keys


def _make_problem(problem: ValidationError) -> Response:
    """Return the answer to a request that is not valid, as a problem document."""
    errors = [
        f"{'.'.join(map(str, error['loc'])) or 'body'}: {get_message(error)}"
        for error in problem.errors(include_url=False)
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
