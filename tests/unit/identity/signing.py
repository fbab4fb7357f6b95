"""Keys, secrets and tokens of tests."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from functools import cache
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from baton.domain.errors import NotFound

SECRET = "a host's secret of more than thirty-two bytes"

PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey


class Monotonic:
    """Seconds that pass only when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def pass_(self, seconds: float) -> None:
        self.now += seconds


class OneSecret:
    """A store of secrets with at most one of them; ``renew`` sees a change that ``get`` does not see yet."""

    def __init__(self, keys: Mapping[str, Any] | str | None) -> None:
        self.value = self._text(keys)
        self.cached = self.value
        self.times_renewed = 0

    def change(self, keys: Mapping[str, Any] | str | None) -> None:
        self.value = self._text(keys)

    def get(self, name: str) -> str:
        if self.cached is None:
            raise NotFound
        return self.cached

    def renew(self, name: str) -> str:
        self.times_renewed += 1
        self.cached = self.value
        return self.get(name)

    @staticmethod
    def _text(keys: Mapping[str, Any] | str | None) -> str | None:
        return keys if keys is None or isinstance(keys, str) else json.dumps(keys)


@cache
def rsa_key(name: str, bits: int = 2048) -> rsa.RSAPrivateKey:
    """Return the RSA key called ``name``. It is cached, because its generation is slow."""
    return rsa.generate_private_key(65537, bits)


@cache
def ec_key(name: str) -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


@cache
def get_ed_key(name: str) -> ed25519.Ed25519PrivateKey:
    return ed25519.Ed25519PrivateKey.generate()


def public_pem(key: PrivateKey) -> str:
    return (
        key.public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        .decode()
    )


def jwk(key: PrivateKey, kid: str, algorithm: str = "RS256", **more: Any) -> dict[str, Any]:
    """The public half as an issuer publishes it; ``alg=None`` leaves that member out."""
    public = jwt.get_algorithm_by_name(algorithm).to_jwk(key.public_key(), as_dict=True)
    members = {**public, "kid": kid, "use": "sig", "alg": algorithm, **more}
    return {name: value for name, value in members.items() if value is not None and name != "key_ops"}


def token(key: Any, algorithm: str = "HS256", kid: str | None = "host", **claims: Any) -> str:
    """Return a token for ada of acme, valid for ten minutes, with ``claims`` added; a claim of None is removed."""
    now = int(time.time())
    every = {"iss": "baton-embed", "sub": "ada", "tenant": "acme", "iat": now, "exp": now + 600, **claims}
    payload = {name: value for name, value in every.items() if value is not None}
    return sign(payload, key, algorithm, {} if kid is None else {"kid": kid})


def sign(payload: Any, key: Any, algorithm: str, headers: dict[str, Any]) -> str:
    """Sign any JSON value, also such as ``jwt.encode`` would not take for claims."""
    return jwt.PyJWS().encode(json.dumps(payload).encode(), key, algorithm, {"typ": "JWT", **headers})


def seconds_from_now(seconds: float) -> int:
    return int(time.time() + seconds)
