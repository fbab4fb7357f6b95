"""Verification of JSON Web Tokens: of OIDC issuers, by JWKS, and embed tokens, which host applications sign."""

from baton.adapters.tokens.embed_keys import EMBED_ISSUER, EmbedKeys, read_embed_keys
from baton.adapters.tokens.verifier import JwtVerifier

__all__ = ["EMBED_ISSUER", "EmbedKeys", "JwtVerifier", "read_embed_keys"]
