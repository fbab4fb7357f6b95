"""Tokens that are refused."""

from __future__ import annotations

import time
from collections.abc import Callable

import jwt

from tests.e2e.cloud import EMBED_ISSUER, KEY_ID, RunningCloud

TokenMaker = Callable[[RunningCloud], str]


def make_expired(cloud: RunningCloud) -> str:
    return cloud.token("acme", "alice", seconds=-60)


def wrongly_signed(cloud: RunningCloud) -> str:
    return cloud.sign(cloud.claims("acme", "alice"), key="another key, which is also long enough for HS256")


def make_tampered(cloud: RunningCloud) -> str:
    head, _, signature = cloud.token("acme", "alice").split(".")
    _, claims, _ = cloud.token("acme", "mallory").split(".")
    return ".".join([head, claims, signature])


def make_unsigned(cloud: RunningCloud) -> str:
    return jwt.encode(cloud.claims("acme", "alice"), "", algorithm="none", headers={"kid": KEY_ID})


def unknown_key(cloud: RunningCloud) -> str:
    return cloud.sign(cloud.claims("acme", "alice"), kid="nobody")


def unknown_issuer(cloud: RunningCloud) -> str:
    return cloud.sign(cloud.claims("acme", "alice") | {"iss": "https://issuer.example"})


def without_tenant(cloud: RunningCloud) -> str:
    return cloud.sign({"iss": EMBED_ISSUER, "sub": "alice", "exp": int(time.time()) + 60})


def without_expiry(cloud: RunningCloud) -> str:
    return cloud.sign({"iss": EMBED_ISSUER, "sub": "alice", "tenant": "acme"})


def forge_tenant(cloud: RunningCloud) -> str:
    return cloud.token("acme#other", "alice")


def no_jwt(cloud: RunningCloud) -> str:
    return "not-a-token"


BAD_TOKENS: list[TokenMaker] = [
    make_expired,
    wrongly_signed,
    make_tampered,
    make_unsigned,
    unknown_key,
    unknown_issuer,
    without_tenant,
    without_expiry,
    forge_tenant,
    no_jwt,
]
