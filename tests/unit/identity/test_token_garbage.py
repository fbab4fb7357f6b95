"""Whatever arrives as a token, the answer is an identity, ``Unauthorized`` or ``TokenExpired``."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from baton.adapters.tokens.embed_keys import EmbedKeys
from baton.adapters.tokens.verifier import JwtVerifier
from baton.domain.errors import TokenExpired, Unauthorized
from baton.domain.tenants.identity import OidcIssuer
from tests.unit.identity.issuer import serving
from tests.unit.identity.signing import SECRET, OneSecret, jwk, rsa_key, sign, token

ISSUER = "baton-embed"
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
claims = st.fixed_dictionaries(
    {},
    optional={
        "iss": st.just(ISSUER) | json_values,
        "sub": st.text(max_size=300) | json_values,
        "tenant": st.just("acme") | json_values,
        "permissions": st.lists(st.text(max_size=70), max_size=70) | json_values,
        "exp": st.integers(-(10**20), 10**20) | json_values,
        "iat": json_values,
        "nbf": json_values,
        "aud": json_values,
        "jti": json_values,
    },
)
headers = st.fixed_dictionaries(
    {},
    optional={
        "alg": st.sampled_from(["HS256", "none", "RS256", "EdDSA"]) | json_values,
        "kid": st.sampled_from(["host", "one", "../../key", "' OR 1=1"]) | json_values,
        "typ": json_values,
        "crit": json_values,
        "b64": json_values,
        "jwk": json_values,
        "jku": json_values,
    },
)


@pytest.fixture(scope="module")
def verifier() -> Iterator[JwtVerifier]:
    """A verifier that trusts one host and one OIDC issuer."""
    with serving() as issuer:
        issuer.publish(jwk(rsa_key("issuer"), "one"))
        secret = OneSecret({"host": {"tenant": "acme", "algorithm": "HS256", "key": SECRET}})
        oidc = OidcIssuer(issuer="https://issuer.example", audience="a", jwks_url=issuer.jwks_url)
        yield JwtVerifier(lambda: (oidc,), EmbedKeys(secret, "embed-keys"), allow_http=True)


def check_refusal(verifier: JwtVerifier, garbage: str) -> None:
    with pytest.raises(Unauthorized) as refused:
        verifier.verify(garbage)
    assert type(refused.value) in (Unauthorized, TokenExpired)


@given(st.text() | st.text(alphabet="abcXYZ019-_.="))
@example("")
@example("..")
@example("." * 8000)
@example("\ud800.\ud800.\ud800")
@example("a.b.c\n")
def test_text_is_refused(verifier: JwtVerifier, garbage: str) -> None:
    check_refusal(verifier, garbage)


@given(json_values | headers, json_values | claims, st.binary(max_size=80))
@example({"alg": "HS256", "kid": "host"}, {"iss": ISSUER}, b"")
@example({"alg": "RS256", "kid": "invented"}, {"iss": "https://issuer.example"}, b"x")
def test_unsigned_json_is_refused(verifier: JwtVerifier, header: Any, payload: Any, signature: bytes) -> None:
    parts = (json.dumps(header).encode(), json.dumps(payload).encode(), signature)
    check_refusal(verifier, ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts))


@given(claims | json_values)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_properly_signed_claims_never_break_the_door(verifier: JwtVerifier, payload: Any) -> None:
    try:
        identity = verifier.verify(sign(payload, SECRET, "HS256", {"kid": "host"}))
    except (Unauthorized, TokenExpired):
        return
    assert identity.scope.tenant_id == "acme"


@given(st.integers(0, 400), st.characters(codec="ascii"))
def test_a_token_with_one_changed_character_is_refused(verifier: JwtVerifier, position: int, character: str) -> None:
    good = token(SECRET)
    last = len(good) - 1  # of the last character of the signature four bits count, so that others spell the same bytes
    position %= last
    changed = good[:position] + character + good[position + 1 :]
    if changed != good:
        check_refusal(verifier, changed)


@pytest.mark.parametrize("nested", ["[" * 5000, '{"a":' * 1200])
def test_deep_nesting_is_refused(verifier: JwtVerifier, nested: str) -> None:
    deep = base64.urlsafe_b64encode(nested.encode()).rstrip(b"=").decode()
    good = token(SECRET).split(".")
    check_refusal(verifier, f"{deep}.{good[1]}.{good[2]}")
    check_refusal(verifier, f"{good[0]}.{deep}.{good[2]}")
