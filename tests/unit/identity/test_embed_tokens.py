"""Tokens that host applications sign for their own users."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest

from baton.adapters.tokens.embed_keys import EmbedKeys
from baton.adapters.tokens.verifier import JwtVerifier
from baton.domain.errors import TokenExpired, Unauthorized
from baton.domain.tenants.identity import PROJECT_TENANT, Scope
from baton.ports.tenants.identity import Identity
from tests.unit.identity.signing import (
    SECRET,
    OneSecret,
    ec_key,
    get_ed_key,
    public_pem,
    rsa_key,
    seconds_from_now,
    sign,
    token,
)

ACME = {"host": {"tenant": "acme", "algorithm": "HS256", "key": SECRET}}


def verifier(keys: Any = ACME, *, local: bool = False) -> JwtVerifier:
    secret = keys if isinstance(keys, OneSecret) else OneSecret(keys)
    return JwtVerifier(tuple, EmbedKeys(secret, "embed-keys", allow_any_tenant=local))


def test_a_good_token_proves_tenant_user_permissions_and_expiry() -> None:
    expiry = seconds_from_now(600)
    good = token(SECRET, permissions=["skill:create", "audit:read"], exp=expiry)

    identity = verifier().verify(good)

    scope = Scope("acme", "ada", frozenset({"skill:create", "audit:read"}))
    assert identity == Identity(scope, datetime.fromtimestamp(expiry, UTC))


@pytest.mark.parametrize(
    ("claim", "permissions"),
    [
        (None, set()),
        ([], set()),
        ("", set()),
        ("skill:create", {"skill:create"}),
        ("skill:create  audit:read", {"skill:create", "audit:read"}),
        (["a", "a"], {"a"}),
    ],
)
def test_permissions_come_as_a_list_or_as_words(claim: Any, permissions: set[str]) -> None:
    assert verifier().verify(token(SECRET, permissions=claim)).scope.permissions == permissions


@pytest.mark.parametrize(
    "claim", [["x"] * 65, "x " * 65, ["x" * 65], ["two words"], ["ü"], ['a"b'], [""], [1], 1, {"a": 1}, True]
)
def test_permissions_beyond_their_bounds_are_refused(claim: Any) -> None:
    with pytest.raises(Unauthorized):
        verifier().verify(token(SECRET, permissions=claim))


@pytest.mark.parametrize(
    ("algorithm", "private", "public"),
    [
        ("RS256", rsa_key("host"), public_pem(rsa_key("host"))),
        ("ES256", ec_key("host"), public_pem(ec_key("host"))),
        ("EdDSA", get_ed_key("host"), public_pem(get_ed_key("host"))),
    ],
)
def test_a_host_may_keep_its_private_key_to_itself(algorithm: str, private: Any, public: str) -> None:
    keys = {"host": {"tenant": "acme", "algorithm": algorithm, "key": public}}

    assert verifier(keys).verify(token(private, algorithm)).scope.user_id == "ada"


class TestTime:
    @pytest.mark.parametrize("seconds_ago", [1, 20, 3600])
    def test_an_expired_token_is_distinguished(self, seconds_ago: int) -> None:
        with pytest.raises(TokenExpired):
            verifier().verify(token(SECRET, exp=seconds_from_now(-seconds_ago)))

    def test_expiry_is_judged_by_the_clock_to_the_second(self) -> None:
        class Later:
            def now(self) -> datetime:
                return datetime.now(UTC) + timedelta(minutes=10)

            def new_id(self) -> str:
                return ""

        later = JwtVerifier(tuple, EmbedKeys(OneSecret(ACME), "embed-keys"), clock=Later())
        with pytest.raises(TokenExpired):
            later.verify(token(SECRET))

    @pytest.mark.parametrize("claim", ["iat", "nbf"])
    def test_a_token_from_the_future_is_refused(self, claim: str) -> None:
        future: dict[str, Any] = {claim: seconds_from_now(300)}
        with pytest.raises(Unauthorized) as refused:
            verifier().verify(token(SECRET, **future))
        assert not isinstance(refused.value, TokenExpired)

    @pytest.mark.parametrize("claim", ["iat", "nbf"])
    def test_a_host_clock_may_run_a_few_seconds_ahead(self, claim: str) -> None:
        ahead: dict[str, Any] = {claim: seconds_from_now(10)}
        assert verifier().verify(token(SECRET, **ahead))

    def test_an_expired_token_with_a_wrong_signature_is_not_called_expired(self) -> None:
        with pytest.raises(Unauthorized) as refused:
            verifier().verify(token(SECRET + "!", exp=seconds_from_now(-60)))
        assert not isinstance(refused.value, TokenExpired)


@pytest.mark.parametrize("missing", [{"exp": None}, {"sub": None}, {"tenant": None}, {"iss": None}])
def test_every_required_claim_is_required(missing: dict[str, Any]) -> None:
    with pytest.raises(Unauthorized):
        verifier().verify(token(SECRET, **missing))


@pytest.mark.parametrize(
    "claims",
    [
        {"tenant": "Acme"},
        {"tenant": ""},
        {"tenant": "acme#thread"},
        {"tenant": ["acme"]},
        {"tenant": 7},
        {"sub": ""},
        {"sub": "a" * 257},
        {"sub": "a\nb"},
        {"sub": "\ud800"},
        {"sub": 7},
        {"exp": "9999999999"},
        {"exp": 1e300},
        {"exp": float("inf")},
        {"exp": float("nan")},
        {"exp": 10**400},
        {"exp": [1]},
        {"iat": "soon"},
        {"nbf": {}},
        {"iss": "https://other.example"},
        {"iss": ["baton-embed"]},
        {"aud": "another-service"},
        {"aud": 7},
    ],
)
def test_claims_that_do_not_fit_are_unauthorized_and_say_no_more(claims: dict[str, Any]) -> None:
    any_tenant = {"host": {"tenant": "*", "algorithm": "HS256", "key": SECRET}}
    with pytest.raises(Unauthorized) as refused:
        verifier(any_tenant, local=True).verify(token(SECRET, **claims))
    assert type(refused.value) is Unauthorized
    assert refused.value.detail == "The token is not valid here. Ask the application that gave it to you for a new one."


@pytest.mark.parametrize("user", ["me", ".", ".."])
def test_a_user_with_a_reserved_id_is_refused_and_the_caller_learns_why(user: str) -> None:
    with pytest.raises(Unauthorized, match="user id in the token's sub is reserved"):
        verifier().verify(token(SECRET, sub=user))
    assert verifier().verify(token(SECRET, sub=user.upper() + "x")).scope.user_id == user.upper() + "x"


def test_a_token_may_name_baton_as_its_audience() -> None:
    assert verifier().verify(token(SECRET, aud=["baton", "host"]))


def test_an_overlong_token_is_refused() -> None:
    with pytest.raises(Unauthorized):
        verifier().verify(token(SECRET, padding="x" * 8192))


class TestKeys:
    def test_a_key_speaks_for_its_own_tenant_only(self) -> None:
        globex = {"tenant": "globex", "algorithm": "HS256", "key": "the other host's secret, long enough too"}
        both = verifier({**ACME, "other": globex})
        with pytest.raises(Unauthorized):
            both.verify(token(SECRET, tenant="globex"))
        with pytest.raises(Unauthorized):
            both.verify(token(SECRET, kid="other", tenant="globex"))
        assert both.verify(token(globex["key"], kid="other", tenant="globex")).scope.tenant_id == "globex"

    def test_a_key_for_every_tenant_works_in_the_local_cloud_only(self) -> None:
        keys = {"host": {"tenant": "*", "algorithm": "HS256", "key": SECRET}}
        assert verifier(keys, local=True).verify(token(SECRET, tenant="globex")).scope.tenant_id == "globex"
        with pytest.raises(Unauthorized):
            verifier(keys).verify(token(SECRET, tenant="globex"))
        with pytest.raises(Unauthorized):
            verifier(keys).verify(token(SECRET, tenant="*"))

    def test_a_key_that_was_just_added_works_at_once_and_a_removed_one_stops(self) -> None:
        secret = OneSecret(ACME)
        rotated = verifier(secret)
        new_secret = "the host's next secret, of enough bytes"
        secret.change({"next": {"tenant": "acme", "algorithm": "HS256", "key": new_secret}})

        assert rotated.verify(token(new_secret, kid="next"))
        with pytest.raises(Unauthorized):
            rotated.verify(token(SECRET))

    def test_a_known_key_does_not_make_the_secret_be_read_again(self) -> None:
        secret = OneSecret(ACME)
        verifier(secret).verify(token(SECRET))
        assert secret.times_renewed == 0

    @pytest.mark.parametrize("kid", [None, "", "unknown"])
    def test_the_key_must_be_named(self, kid: str | None) -> None:
        with pytest.raises(Unauthorized):
            verifier().verify(token(SECRET, kid=kid))

    @pytest.mark.parametrize(
        "broken",
        [
            {"tenant": "acme", "algorithm": "HS256", "key": "short"},
            {"tenant": "acme", "algorithm": "none", "key": SECRET},
            {"tenant": "acme", "algorithm": "HS512", "key": SECRET * 2},
            {"tenant": "acme", "algorithm": "HS256", "key": public_pem(rsa_key("host"))},
            {"tenant": "acme", "algorithm": "RS256", "key": SECRET},
            {"tenant": "acme", "algorithm": "RS256", "key": public_pem(rsa_key("weak", 1024))},
            {"tenant": "acme", "algorithm": "ES256", "key": public_pem(rsa_key("host"))},
            {"tenant": "Not A Tenant", "algorithm": "HS256", "key": SECRET},
            {"algorithm": "HS256", "key": SECRET},
            {"tenant": "acme", "algorithm": "HS256", "key": 7},
            {"tenant": ["acme"], "algorithm": ["HS256"], "key": SECRET},
            "not an object",
            None,
        ],
    )
    def test_one_hosts_unusable_key_is_logged_and_leaves_the_others_working(
        self, broken: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        keys = verifier({**ACME, "broken": broken})

        assert keys.verify(token(SECRET))
        assert "The embed key broken cannot be used" in caplog.text
        assert not any(words in caplog.text for words in ("expected string", "unhashable", "subscriptable", "indices"))
        assert SECRET not in caplog.text
        with pytest.raises(Unauthorized):
            keys.verify(token(SECRET, kid="broken"))

    @pytest.mark.parametrize("text", [None, "", "{", "[]", "null", "a random string"])
    def test_without_a_usable_secret_every_embed_token_is_refused(
        self, text: str | None, caplog: pytest.LogCaptureFixture
    ) -> None:
        with pytest.raises(Unauthorized):
            verifier(OneSecret(text)).verify(token(SECRET))
        assert [record.levelno for record in caplog.records if record.name.endswith("embed_keys")]

    def test_without_embed_keys_every_embed_token_is_refused(self) -> None:
        with pytest.raises(Unauthorized):
            JwtVerifier(tuple, None).verify(token(SECRET))


class TestAlgorithms:
    def test_no_algorithm_is_no_signature(self) -> None:
        with pytest.raises(Unauthorized):
            verifier().verify(token(None, "none"))

    def test_none_in_any_spelling_is_refused(self) -> None:
        head, payload, _ = token(SECRET).split(".")
        for spelling in ("none", "None", "NONE", "nOnE", "", None, 0, ["HS256"]):
            head = _encode({"alg": spelling, "kid": "host", "typ": "JWT"})
            for signature in ("", "AAAA"):
                with pytest.raises(Unauthorized):
                    verifier().verify(f"{head}.{payload}.{signature}")

    def test_a_public_key_is_not_taken_for_a_shared_secret(self) -> None:
        public = public_pem(rsa_key("host"))
        keys = {"host": {"tenant": "acme", "algorithm": "RS256", "key": public}}
        # PyJWT itself refuses to sign with it, so the forger does it by hand.
        forged = _hs256(public.encode())
        with pytest.raises(Unauthorized):
            verifier(keys).verify(forged)

    @pytest.mark.parametrize("algorithm", ["HS384", "HS512"])
    def test_the_right_key_under_another_algorithm_is_refused(self, algorithm: str) -> None:
        long = SECRET * 2
        keys = {"host": {"tenant": "acme", "algorithm": "HS256", "key": long}}
        assert verifier(keys).verify(token(long))
        with pytest.raises(Unauthorized):
            verifier(keys).verify(token(long, algorithm))

    def test_keys_that_the_token_brings_along_are_ignored(self) -> None:
        own = rsa_key("attacker")
        payload = jwt.decode(token(SECRET), options={"verify_signature": False})
        headers = {"kid": "host", "jwk": jwt.get_algorithm_by_name("RS256").to_jwk(own.public_key(), as_dict=True)}
        with pytest.raises(Unauthorized):
            verifier().verify(sign(payload, own, "RS256", headers))

    def test_critical_extensions_are_refused(self) -> None:
        payload = jwt.decode(token(SECRET), options={"verify_signature": False})
        with pytest.raises(Unauthorized):
            verifier().verify(sign(payload, SECRET, "HS256", {"kid": "host", "crit": ["exp"], "exp": 1}))


GLOBEX = {"tenant": "globex", "algorithm": "HS256", "key": SECRET}
REFUSED: dict[str, tuple[Callable[[], str], str]] = {
    # Signed when the test runs: that may be minutes after this module was read.
    "expired": (lambda: token(SECRET, exp=seconds_from_now(-60)), "it has expired"),
    "not yet valid": (lambda: token(SECRET, nbf=seconds_from_now(300)), "its iat or nbf lies in the future"),
    "another key": (lambda: token(SECRET + "!"), "it was signed with another key than the one that its kid names"),
    "unknown key id": (lambda: token(SECRET, kid="secret-kid"), "no usable embed key has the id in its kid"),
    "no key id": (lambda: token(SECRET, kid=None), "its iss, or kid or alg in its header, is missing or not a string"),
    "another algorithm": (lambda: token(SECRET * 2, "HS512"), "its algorithm is not the one of its key"),
    "unsigned": (lambda: token(None, "none"), "its algorithm is not the one of its key"),
    "another tenant": (lambda: token(SECRET, kid="globex"), "its tenant is not the one of its embed key"),
    "no tenant id": (lambda: token(SECRET, kid="any", tenant="Secret Tenant"), "its tenant is not a tenant id, or its"),
    "the project": (lambda: token(SECRET, kid="any", tenant=PROJECT_TENANT), "its tenant is not a tenant id, or its"),
    "no tenant": (lambda: token(SECRET, tenant=None), "it lacks the claim tenant"),
    "no user": (lambda: token(SECRET, sub=None), "it lacks the claim sub"),
    "no expiry": (lambda: token(SECRET, exp=None), "it lacks the claim exp"),
    "odd expiry": (lambda: token(SECRET, exp="9999999999"), "its tenant is not a string or its exp not a number"),
    "beyond time": (lambda: token(SECRET, exp=10**15), "its exp lies beyond the calendar"),
    "audience": (lambda: token(SECRET, aud="secret-service"), "its aud does not name this service"),
    "odd sub": (lambda: token(SECRET, sub=7), "its sub is not a string"),
    "reserved user": (lambda: token(SECRET, sub="me"), "its sub is me, . or .., which addresses give another"),
    "odd iat": (lambda: token(SECRET, iat="soon"), "its iat is not a time"),
    "issuer": (lambda: token(SECRET, iss="https://secret.example"), "its iss is neither baton-embed nor an issuer of"),
    "many permissions": (lambda: token(SECRET, permissions=["x"] * 65), "its permissions are not a list or a string"),
    "odd permission": (lambda: token(SECRET, permissions=["two words"]), "one of its permissions is not a scope token"),
    "overlong": (lambda: token(SECRET, padding="x" * 8192), "it is longer than 8192 characters"),
    "no token": (lambda: "secret-session-cookie", "it is not a signed JWT"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_is_logged_with_its_reason_and_without_the_token(case: str, caplog: pytest.LogCaptureFixture) -> None:
    signed, reason = REFUSED[case]
    bad = signed()
    keys = {**ACME, "globex": GLOBEX, "any": {**GLOBEX, "tenant": "*"}}

    with pytest.raises(Unauthorized) as refused:
        verifier(keys, local=True).verify(bad)

    [line] = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert line.getMessage().startswith(f"Token refused: {reason}")
    assert "\n" not in line.getMessage()
    assert not [part for part in [*bad.split("."), "secret", "Secret"] if part and part in caplog.text]
    assert reason not in refused.value.detail


def test_a_token_that_is_refused_by_the_clock_alone_is_logged_too(caplog: pytest.LogCaptureFixture) -> None:
    class Later:
        def now(self) -> datetime:
            return datetime.now(UTC) + timedelta(minutes=11)

        def new_id(self) -> str:
            return ""

    with pytest.raises(TokenExpired):
        JwtVerifier(tuple, EmbedKeys(OneSecret(ACME), "embed-keys"), clock=Later()).verify(token(SECRET))
    assert "Token refused: it has expired." in caplog.text


def _encode(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def _hs256(secret: bytes) -> str:
    signed = f"{_encode({'alg': 'HS256', 'kid': 'host'})}.{token(SECRET).split('.')[1]}"
    signature = jwt.get_algorithm_by_name("HS256").sign(signed.encode(), secret)
    return f"{signed}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"
