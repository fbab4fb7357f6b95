"""Keys that sign agent cards."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

Json = dict[str, Any]


def private_jwk(algorithm: str = "ES256", kid: str = "key-1") -> Json:
    """Return a new private key."""
    make: dict[str, Callable[[], Any]] = {
        "ES256": lambda: ec.generate_private_key(ec.SECP256R1()),
        "EdDSA": ed25519.Ed25519PrivateKey.generate,
        "RS256": lambda: rsa.generate_private_key(65537, 2048),
    }
    jwk: Json = jwt.get_algorithm_by_name(algorithm).to_jwk(make[algorithm](), as_dict=True)
    return {name: value for name, value in jwk.items() if name != "key_ops"} | {"alg": algorithm, "kid": kid}


def public_jwk(private: Json) -> Json:
    """Return the public part of a key."""
    return {name: value for name, value in private.items() if name not in ("d", "p", "q", "dp", "dq", "qi")}


def key_set(*keys: Json) -> str:
    """Return a JWK set in the form of a secret."""
    return json.dumps({"keys": keys})
