"""The algorithms of JWS (RFC 7518, RFC 8037) by which signatures of others are accepted."""

from __future__ import annotations

from typing import Literal, get_args

SignatureAlgorithm = Literal[
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"
]  # fmt: skip
"""Asymmetric ones only: a key that verifies must not be able to sign, and a shared secret does not tell who signed."""
SIGNATURE_ALGORITHMS: frozenset[str] = frozenset(get_args(SignatureAlgorithm))
