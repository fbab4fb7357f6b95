"""A small OpenID Connect issuer that exchanges its users' tokens for narrower ones (RFC 8693)."""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, unquote

import jwt
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.card_keys import private_jwk, public_jwk

CLIENT, CLIENT_SECRET = "baton:client", "client secret %+ of baton"
GRANT = "urn:ietf:params:oauth:grant-type:token-exchange"


class TokenEndpoint:
    """The issuer, and what it noticed. ``answer`` replaces its next answers."""

    def __init__(self) -> None:
        self.key = private_jwk("RS256", "issuer-key")
        self.forms: list[Mapping[str, str]] = []
        """The form of each request."""
        self.issued: list[str] = []
        self.answer: tuple[int, Any] | None = None
        self.lifetime: float | None = 300
        self.url = ""

    def app(self) -> Starlette:
        routes = [Route("/jwks", self._jwks), Route("/token", self._token, methods=["POST"])]
        return Starlette(routes=routes)

    def subject_token(self, user: str = "ada", tenant: str = "acme", *, seconds: float = 600, **claims: Any) -> str:
        """A token of a user's, as a front end gets it."""
        return self._sign({"sub": user, "tenant": tenant, "aud": "baton-api", **claims}, seconds)

    def read(self, token: str, audience: str) -> dict[str, Any]:
        """The claims of a token that this issuer has signed for ``audience``."""
        claims: dict[str, Any] = jwt.decode(
            token, jwt.PyJWK(public_jwk(self.key)), algorithms=["RS256"], audience=audience
        )
        return claims

    def _sign(self, claims: dict[str, Any], seconds: float) -> str:
        whole = {"iss": self.url, "exp": int(time.time() + seconds), "jti": str(len(self.issued)), **claims}
        return jwt.encode(whole, jwt.PyJWK(self.key).key, algorithm="RS256", headers={"kid": "issuer-key"})

    async def _jwks(self, request: Request) -> Response:
        return JSONResponse({"keys": [public_jwk(self.key)]})

    async def _token(self, request: Request) -> Response:
        form = {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}
        self.forms.append(form)
        if self.answer is not None:
            status, body = self.answer
            return body if isinstance(body, Response) else JSONResponse(body, status)
        scheme, _, credentials = request.headers["authorization"].partition(" ")
        client, _, secret = base64.b64decode(credentials).decode().partition(":")
        if (scheme, unquote(client), unquote(secret)) != ("Basic", CLIENT, CLIENT_SECRET):
            return JSONResponse({"error": "invalid_client"}, 401)
        if form["grant_type"] != GRANT:
            return JSONResponse({"error": "unsupported_grant_type"}, 400)
        try:
            subject = self.read(form["subject_token"], "baton-api")
        except jwt.PyJWTError:
            return JSONResponse({"error": "invalid_grant"}, 400)
        claims = {"sub": subject["sub"], "aud": form["audience"], "act": {"sub": CLIENT}, "scope": form.get("scope")}
        token = self._sign(claims, self.lifetime or 300)
        self.issued.append(token)
        reported = {
            "access_token": token,
            "issued_token_type": "urn:ietf:params:oauth:token-type:access_token",
            "token_type": "Bearer",
        }
        return JSONResponse(reported | ({"expires_in": self.lifetime} if self.lifetime is not None else {}))
