"""Tokens of OpenID Connect issuers, whose keys are fetched from a real server."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import jwt
import pytest
from pydantic import ValidationError

from baton.adapters.tokens.timed_requests import TimedRequests
from baton.adapters.tokens.verifier import JwtVerifier
from baton.domain.errors import StoreUnavailable, TokenExpired, Unauthorized
from baton.domain.tenants.identity import OidcIssuer
from tests.unit.identity.issuer import DISCOVERY, LocalIssuer, serving
from tests.unit.identity.signing import Monotonic, ec_key, get_ed_key, jwk, public_pem, rsa_key, seconds_from_now, token

KEY = rsa_key("issuer")
NEXT_KEY = rsa_key("issuer's next")


@pytest.fixture(scope="module")
def server() -> Iterator[LocalIssuer]:
    with serving() as issuer:
        yield issuer


@pytest.fixture
def issuer(server: LocalIssuer) -> LocalIssuer:
    server.requested_paths.clear()
    server.documents.clear()
    server.redirects.clear()
    server.drips.clear()
    server.publish(jwk(KEY, "one"))
    return server


@pytest.fixture
def time() -> Monotonic:
    return Monotonic()


def verifier(
    server: LocalIssuer, time: Monotonic | None = None, *, allow_http: bool = True, **more: Any
) -> JwtVerifier:
    settings = {"issuer": server.url, "audience": "baton-api", "jwksUrl": server.jwks_url, **more}
    trusted = OidcIssuer.model_validate(settings)
    return JwtVerifier(lambda: (trusted,), None, allow_http=allow_http, monotonic=time or Monotonic())


def sign(issuer: LocalIssuer, key: Any = KEY, algorithm: str = "RS256", kid: str | None = "one", **claims: Any) -> str:
    return token(key, algorithm, kid, **{"iss": issuer.url, "aud": "baton-api", **claims})


def test_a_good_token_is_trusted(issuer: LocalIssuer) -> None:
    scope = verifier(issuer).verify(sign(issuer, permissions="audit:read")).scope
    assert (scope.tenant_id, scope.user_id, scope.permissions) == ("acme", "ada", frozenset({"audit:read"}))


def test_an_expired_token_is_distinguished(issuer: LocalIssuer) -> None:
    with pytest.raises(TokenExpired):
        verifier(issuer).verify(sign(issuer, exp=seconds_from_now(-1)))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"kid": "secret-kid"}, "its issuer publishes no key with the id in its kid"),
        ({"algorithm": "RS512"}, "its algorithm is not one that is set for its issuer"),
        (
            {"key": NEXT_KEY},
            "it was signed with another key than the one that its kid names; get a new token, or sign with that key",
        ),
        ({"aud": "secret-service"}, "its aud does not name this service"),
        ({"aud": None}, "it lacks the claim aud"),
        ({"tenant": None}, "it lacks the claim tenant"),
        ({"exp": seconds_from_now(-1)}, "it has expired"),
    ],
)
def test_why_a_token_is_refused_is_in_the_log(
    issuer: LocalIssuer, changes: dict[str, Any], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(Unauthorized):
        verifier(issuer).verify(sign(issuer, **changes))
    assert [record.getMessage() for record in caplog.records] == [f"Token refused: {reason}."]


@pytest.mark.parametrize(
    ("algorithm", "key"), [("PS256", KEY), ("ES256", ec_key("issuer")), ("EdDSA", get_ed_key("issuer"))]
)
def test_every_configured_algorithm_works(issuer: LocalIssuer, algorithm: str, key: Any) -> None:
    issuer.publish(jwk(KEY, "another"), jwk(key, "one", algorithm))
    both = verifier(issuer, algorithms=["RS256", algorithm])
    assert both.verify(sign(issuer, key, algorithm))


def test_a_published_key_without_an_algorithm_takes_the_configured_ones(issuer: LocalIssuer) -> None:
    issuer.publish(jwk(KEY, "one", alg=None, use=None))
    assert verifier(issuer, algorithms=["PS256"]).verify(sign(issuer, KEY, "PS256"))


class TestClaims:
    @pytest.mark.parametrize("audience", [None, "", "someone-else", ["a", "b"], 7, []])
    def test_a_token_for_another_audience_is_refused(self, issuer: LocalIssuer, audience: Any) -> None:
        with pytest.raises(Unauthorized):
            verifier(issuer).verify(sign(issuer, aud=audience))

    def test_an_issuer_may_have_several_audiences(self, issuer: LocalIssuer) -> None:
        several = verifier(issuer, audience=["web", "mobile"])
        assert several.verify(sign(issuer, aud=["mobile", "elsewhere"]))
        with pytest.raises(Unauthorized):
            several.verify(sign(issuer))

    @pytest.mark.parametrize("missing", [{"exp": None}, {"sub": None}, {"tenant": None}, {"iss": None}])
    def test_every_required_claim_is_required(self, issuer: LocalIssuer, missing: dict[str, Any]) -> None:
        with pytest.raises(Unauthorized):
            verifier(issuer).verify(sign(issuer, **missing))

    def test_claims_may_have_other_names(self, issuer: LocalIssuer) -> None:
        renamed = verifier(issuer, tenantClaim="https://x.example/org", permissionsClaim="scope")
        good = sign(issuer, tenant=None, scope="audit:read", **{"https://x.example/org": "globex"})
        scope = renamed.verify(good).scope
        assert (scope.tenant_id, scope.permissions) == ("globex", frozenset({"audit:read"}))

    def test_an_issuer_with_a_fixed_tenant_speaks_for_no_other(self, issuer: LocalIssuer) -> None:
        fixed = verifier(issuer, tenant="globex")
        assert fixed.verify(sign(issuer, tenant="acme")).scope.tenant_id == "globex"
        assert fixed.verify(sign(issuer, tenant=None)).scope.tenant_id == "globex"


class TestAlgorithms:
    def test_the_public_key_is_not_taken_for_a_shared_secret(self, issuer: LocalIssuer) -> None:
        head = _encode({"alg": "HS256", "kid": "one"})
        payload = sign(issuer).split(".")[1]
        for secret in (public_pem(KEY), public_pem(KEY).strip(), json.dumps(jwk(KEY, "one"))):
            signature = jwt.get_algorithm_by_name("HS256").sign(f"{head}.{payload}".encode(), secret.encode())
            forged = f"{head}.{payload}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"
            with pytest.raises(Unauthorized):
                verifier(issuer).verify(forged)

    def test_an_algorithm_that_is_not_configured_is_refused_without_asking_the_issuer(
        self, issuer: LocalIssuer
    ) -> None:
        for algorithm in ("RS384", "PS256"):
            with pytest.raises(Unauthorized):
                verifier(issuer).verify(sign(issuer, KEY, algorithm))
        with pytest.raises(Unauthorized):
            verifier(issuer).verify(sign(issuer, None, "none"))
        assert issuer.requested_paths == []

    def test_a_key_bound_to_one_algorithm_checks_no_other(self, issuer: LocalIssuer) -> None:
        lenient = verifier(issuer, algorithms=["RS256", "PS256"])
        assert lenient.verify(sign(issuer))
        with pytest.raises(Unauthorized):
            lenient.verify(sign(issuer, KEY, "PS256"))

    def test_keys_for_other_purposes_are_not_used(self, issuer: LocalIssuer) -> None:
        shared = {"kty": "oct", "k": "c2VjcmV0" * 10, "kid": "one"}
        for published in (
            [jwk(KEY, "one", use="enc")],
            [shared],
            [{"kid": "one"}],
            ["one"],
            [{**jwk(KEY, "one"), "kid": 1}],
        ):
            issuer.publish(*published)
            with pytest.raises(Unauthorized):
                verifier(issuer).verify(sign(issuer))

    def test_a_weak_key_is_not_used(self, issuer: LocalIssuer) -> None:
        weak = rsa_key("weak", 1024)
        issuer.publish(jwk(weak, "one"))
        with pytest.warns(jwt.InsecureKeyLengthWarning):
            weakly_signed = sign(issuer, weak)
        with pytest.raises(Unauthorized):
            verifier(issuer).verify(weakly_signed)


class TestKeys:
    def test_keys_are_fetched_once_for_many_tokens(self, issuer: LocalIssuer) -> None:
        trusting = verifier(issuer)
        for user in ("ada", "bob", "cleo"):
            trusting.verify(sign(issuer, sub=user))
        assert issuer.count_requests() == 1

    def test_a_rotated_key_is_found_when_a_token_first_names_it(self, issuer: LocalIssuer, time: Monotonic) -> None:
        trusting = verifier(issuer, time)
        trusting.verify(sign(issuer))
        issuer.publish(jwk(NEXT_KEY, "two"))
        time.pass_(30)

        assert trusting.verify(sign(issuer, NEXT_KEY, kid="two"))
        assert issuer.count_requests() == 2
        with pytest.raises(Unauthorized):
            trusting.verify(sign(issuer))

    def test_a_withdrawn_key_stops_working_within_five_minutes(self, issuer: LocalIssuer, time: Monotonic) -> None:
        trusting = verifier(issuer, time)
        trusting.verify(sign(issuer))
        issuer.publish(jwk(NEXT_KEY, "two"))
        time.pass_(300)
        with pytest.raises(Unauthorized):
            trusting.verify(sign(issuer))

    def test_invented_key_ids_do_not_hammer_the_issuer(self, issuer: LocalIssuer, time: Monotonic) -> None:
        trusting = verifier(issuer, time)
        for second in range(60):
            with pytest.raises(Unauthorized):
                trusting.verify(sign(issuer, kid=f"invented-{second}"))
            time.pass_(1)
        assert issuer.count_requests() == 2

    def test_an_unknown_issuer_is_never_asked(self, issuer: LocalIssuer) -> None:
        with pytest.raises(Unauthorized):
            verifier(issuer, issuer="https://trusted.example").verify(sign(issuer))
        assert issuer.requested_paths == []

    def test_the_address_a_token_names_is_never_asked(self, issuer: LocalIssuer) -> None:
        payload = jwt.decode(sign(issuer), options={"verify_signature": False})
        headers = {"kid": "one", "jku": f"{issuer.url}/evil", "x5u": f"{issuer.url}/evil"}
        verifier(issuer).verify(jwt.encode(payload, KEY, "RS256", headers))
        assert issuer.requested_paths == ["/jwks"]

    def test_without_a_jwks_address_discovery_finds_it(self, issuer: LocalIssuer) -> None:
        assert verifier(issuer, jwksUrl=None).verify(sign(issuer))
        assert issuer.requested_paths == [DISCOVERY, "/jwks"]


class TestOutages:
    @pytest.mark.parametrize(
        "answer",
        [
            500,
            404,
            b"<html>",
            b"[]",
            b"{}",
            b'{"keys": 7}',
            b"\xff",
            b"[" * 100_000,
            b'{"keys": []' + b" " * 600_000 + b"}",
        ],
        ids=["500", "404", "html", "list", "no keys", "keys of a wrong type", "not utf-8", "deep", "long"],
    )
    def test_keys_that_cannot_be_read_are_an_outage_and_not_the_callers_fault(
        self, issuer: LocalIssuer, answer: Any
    ) -> None:
        issuer.documents["/jwks"] = answer
        with pytest.raises(StoreUnavailable) as outage:
            verifier(issuer).verify(sign(issuer))
        assert outage.value.retryable

    def test_the_last_keys_serve_on_for_an_hour(self, issuer: LocalIssuer, time: Monotonic) -> None:
        trusting = verifier(issuer, time)
        trusting.verify(sign(issuer))
        issuer.documents["/jwks"] = 503
        time.pass_(3599)
        assert trusting.verify(sign(issuer))
        time.pass_(1)
        with pytest.raises(StoreUnavailable):
            trusting.verify(sign(issuer))

    def test_a_failing_issuer_is_asked_every_five_seconds_at_most(self, issuer: LocalIssuer, time: Monotonic) -> None:
        issuer.documents["/jwks"] = 503
        trusting = verifier(issuer, time)
        for _ in range(10):
            with pytest.raises(StoreUnavailable):
                trusting.verify(sign(issuer))
            time.pass_(1)
        assert issuer.count_requests() == 2
        issuer.publish(jwk(KEY, "one"))
        assert trusting.verify(sign(issuer))

    def test_the_reason_for_unreadable_keys_is_the_same_when_it_is_asked_again(self, issuer: LocalIssuer) -> None:
        issuer.documents["/jwks"] = []
        tokens = verifier(issuer)
        first, second = tokens.find_unreadable_issuers(), tokens.find_unreadable_issuers()
        assert first == second
        assert "is not a JSON object" in first[issuer.url]

    def test_an_issuer_that_is_not_there_is_an_outage(self) -> None:
        with serving() as gone:
            pass
        with pytest.raises(StoreUnavailable):
            verifier(gone).verify(sign(gone))

    @pytest.mark.parametrize(
        "document",
        [
            {"issuer": "https://other.example", "jwks_uri": "https://other.example/jwks"},
            {"issuer": None},
            {"jwks_uri": "/jwks"},
            {},
        ],
    )
    def test_a_discovery_document_must_be_the_issuers_own(self, issuer: LocalIssuer, document: Any) -> None:
        issuer.documents[DISCOVERY] = document
        with pytest.raises(StoreUnavailable):
            verifier(issuer, jwksUrl=None).verify(sign(issuer))

    @pytest.mark.parametrize("address", ["file:///etc/passwd", "ftp://127.0.0.1/jwks", "", "jwks", 7, None])
    def test_discovery_leads_to_web_addresses_only(self, issuer: LocalIssuer, address: Any) -> None:
        issuer.documents[DISCOVERY] = {"issuer": issuer.url, "jwks_uri": address}
        with pytest.raises(StoreUnavailable):
            verifier(issuer, jwksUrl=None).verify(sign(issuer))

    def test_redirects_are_not_followed(self, issuer: LocalIssuer) -> None:
        issuer.documents["/elsewhere"] = issuer.documents["/jwks"]
        issuer.redirects["/jwks"] = f"{issuer.url}/elsewhere"
        with pytest.raises(StoreUnavailable):
            verifier(issuer).verify(sign(issuer))
        assert issuer.requested_paths == ["/jwks"]

    @pytest.mark.parametrize("part", ["head", "body"])
    @pytest.mark.parametrize("path", [DISCOVERY, "/jwks"])
    def test_an_answer_that_comes_a_byte_at_a_time_ends_at_the_deadline(
        self,
        issuer: LocalIssuer,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
        path: str,
        part: str,
    ) -> None:
        monkeypatch.setattr("baton.adapters.tokens.issuer.FETCH_SECONDS", 0.3)
        issuer.drips[path] = part
        with pytest.raises(StoreUnavailable):
            verifier(issuer, jwksUrl=None).verify(sign(issuer))
        assert "too slowly" in caplog.text

    def test_no_request_is_sent_after_the_deadline(self, issuer: LocalIssuer) -> None:
        with TimedRequests(0.0) as requests:
            requests._timer.join()
            with pytest.raises(TimeoutError, match="too slowly"):
                requests.read(f"{issuer.url}/jwks", {}, 1000)
        assert issuer.requested_paths == []

    def test_http_is_for_the_local_cloud_only(self, issuer: LocalIssuer) -> None:
        with pytest.raises(StoreUnavailable):
            verifier(issuer, allow_http=False).verify(sign(issuer))
        assert issuer.requested_paths == []


@pytest.mark.parametrize(
    "settings",
    [
        {"issuer": "https://i.example"},
        {"issuer": "https://i.example", "audience": ""},
        {"issuer": "https://i.example", "audience": []},
        {"issuer": "", "audience": "a"},
        {"issuer": "https://i.example", "audience": "a", "algorithms": ["HS256"]},
        {"issuer": "https://i.example", "audience": "a", "algorithms": ["none"]},
        {"issuer": "https://i.example", "audience": "a", "algorithms": []},
        {"issuer": "https://i.example", "audience": "a", "tenant": "Acme"},
        {"issuer": "https://i.example", "audience": "a", "tenant": "acme\n"},
        {"issuer": "https://i.example", "audience": "a", "jwks": "https://i.example/jwks"},
    ],
)
def test_an_issuer_that_could_not_be_checked_safely_is_not_configured(settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        OidcIssuer.model_validate(settings)


def _encode(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()
