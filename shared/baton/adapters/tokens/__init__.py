"""JSON Web Tokens: OIDC issuers by JWKS, and the embed tokens that host applications sign themselves."""

from baton.adapters.tokens.embed_keys import EMBED_ISSUER, EmbedKeys, read_embed_keys
from baton.adapters.tokens.verifier import JwtVerifier

__all__ = ["EMBED_ISSUER", "EmbedKeys", "JwtVerifier", "read_embed_keys"]
