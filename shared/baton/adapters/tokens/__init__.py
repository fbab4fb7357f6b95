"""JSON Web Tokens: OIDC issuers by JWKS, and the embed tokens that host applications sign themselves."""

from baton.adapters.tokens.embed_keys import EMBED_ISSUER, EmbedKeys
from baton.adapters.tokens.verifier import JwtVerifier

__all__ = ["EMBED_ISSUER", "EmbedKeys", "JwtVerifier"]
