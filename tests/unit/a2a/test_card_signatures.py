"""Signed agent cards: made by the deployment's signer, and checked as clients check them."""

from __future__ import annotations

import copy
from typing import Any

import httpx
import jwt
import pytest
from a2a.client.card_resolver import parse_agent_card
from a2a.utils.signing import create_signature_verifier
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from baton.adapters.a2a.cards import CARD_SECONDS, AgentCards
from baton.adapters.a2a.signatures import MIN_KEY_SECONDS, UntrustedCard, read_public_keys, verify_card
from baton.adapters.tokens.signing_keys import JwkCardSigner
from baton.domain.agents.agent_settings import CardSignature
from baton.domain.errors import InternalError
from tests.card_keys import Json, key_set, private_jwk, public_jwk

HOME = "https://agent.example"
KEYS_URL = f"{HOME}/keys.json"
CARD: Json = {
    "name": "Café ☕",
    "description": "",
    "version": "1",
    "url": f"{HOME}/a2a",
    "protocolVersion": "0.3.0",
    "supportedInterfaces": [{"url": f"{HOME}/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
    "capabilities": {"streaming": True, "pushNotifications": False, "multi_turn": True},
    "skills": [{"id": "s", "name": "S", "description": "Does.", "tags": ["one"]}],
    "workflow_states": [],
}
KEY = private_jwk()


async def sign(card: Json = CARD, key: Json = KEY) -> Json:
    signatures = await JwkCardSigner(lambda: key_set(key)).sign_card(card, KEYS_URL)
    return {**card, "signatures": signatures}


@pytest.mark.parametrize("algorithm", ["ES256", "EdDSA", "RS256"])
async def test_the_reference_sdk_accepts_a_signature(algorithm: str) -> None:
    key = private_jwk(algorithm)
    named: list[tuple[str | None, str | None]] = []

    def provide(kid: str | None, jku: str | None) -> Any:
        named.append((kid, jku))
        return jwt.PyJWK(public_jwk(key))

    create_signature_verifier(provide, [algorithm])(parse_agent_card(await sign(key=key)))
    assert named[0] == ("key-1", KEYS_URL)


def test_a_key_without_its_members_is_left_out() -> None:
    keys = read_public_keys({"keys": [{"kty": "oct", "kid": "damaged"}, public_jwk(KEY)]})
    assert [key.key_id for key in keys] == [public_jwk(KEY)["kid"]]


@pytest.mark.parametrize("algorithm", ["ES256", "EdDSA", "RS256"])
async def test_a_trusted_key_proves_the_card(algorithm: str) -> None:
    key = private_jwk(algorithm)
    card = await sign(key=key)
    verify_card(card, read_public_keys({"keys": [public_jwk(key)]}))
    for one in card["signatures"]:
        verify_card({**card, "signatures": [one]}, read_public_keys({"keys": [public_jwk(key)]}))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"name": "Other"}, "wrong"),
        ({"supportedInterfaces": [{"url": "https://evil.example", "protocolBinding": "JSONRPC"}]}, "wrong"),
        ({"signatures": []}, "not signed"),
        ({"signatures": None}, "not signed"),
        ({"signatures": "text"}, "not signed"),
        ({"signatures": [None, 1, {}, {"protected": "e30", "signature": "x"}]}, "no trusted key"),
        ({"signatures": [{"protected": "not base64!", "signature": "x"}]}, "no trusted key"),
        ({"signatures": [{"protected": "x" * 10_000, "signature": "x"}]}, "no trusted key"),
    ],
)
async def test_what_nobody_trusted_has_signed_is_refused(change: Json, reason: str) -> None:
    card = {**await sign(), **change}
    with pytest.raises(UntrustedCard, match=reason):
        verify_card(card, read_public_keys({"keys": [public_jwk(KEY)]}))


async def test_a_key_counts_by_its_id_and_algorithm() -> None:
    card = await sign()
    other = public_jwk(private_jwk())
    with pytest.raises(UntrustedCard, match="wrong"):
        verify_card(card, read_public_keys({"keys": [other]}))
    with pytest.raises(UntrustedCard, match="no trusted key"):
        verify_card(card, read_public_keys({"keys": [{**public_jwk(KEY), "kid": "key-2"}]}))


async def test_a_shared_secret_is_no_key() -> None:
    secret = {"kty": "oct", "k": "c2VjcmV0LXRoYXQtaXMtbG9uZy1lbm91Z2gtZm9yLUhTMjU2IQ", "kid": "key-1", "alg": "HS256"}
    assert read_public_keys({"keys": [secret, {"kty": "?"}, None]}) == []
    with pytest.raises(ValidationError):
        CardSignature.model_validate({"keys": [secret]})


@given(st.recursive(st.none() | st.booleans() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3)))
def test_any_signatures_are_refused_or_trusted_without_a_fault(given_signatures: Any) -> None:
    with pytest.raises(UntrustedCard):
        verify_card({**CARD, "signatures": given_signatures}, read_public_keys({"keys": [public_jwk(KEY)]}))


@pytest.mark.parametrize(
    "secret",
    ["", "text", "{}", "[]", '{"keys": []}', '{"keys": [1]}', key_set(public_jwk(KEY)), key_set({**KEY, "kid": ""})],
)
async def test_keys_that_are_none_are_an_error_that_does_not_quote_them(secret: str) -> None:
    signer = JwkCardSigner(lambda: secret)
    with pytest.raises(InternalError, match=r"key") as caught:
        await signer.sign_card(CARD, KEYS_URL)
    assert KEY["d"] not in str(caught.value)


async def test_public_keys_are_served_without_private_parts() -> None:
    signer = JwkCardSigner(lambda: key_set(KEY, public_jwk(private_jwk(kid="older"))))
    reported = await signer.read_public_keys()
    assert [key["kid"] for key in reported["keys"]] == ["key-1", "older"]
    assert all("d" not in key and key["use"] == "sig" for key in reported["keys"])
    verify_card(await sign(), read_public_keys(reported))


# The client


class Server:
    """A server of a card and keys."""

    def __init__(self, card: Json, keys: list[Json]) -> None:
        self.card, self.keys, self.now = card, keys, 0.0
        self.requested_paths: list[str] = []
        self.cards = AgentCards(monotonic=lambda: self.now)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requested_paths.append(request.url.path)
        if request.url.path == "/keys.json":
            return httpx.Response(200, json={"keys": [public_jwk(key) for key in self.keys]})
        return httpx.Response(200, json=copy.deepcopy(self.card))

    async def read(self, signature: CardSignature | None) -> str:
        async with httpx.AsyncClient(transport=httpx.MockTransport(self)) as client:
            return (await self.cards.get(f"{HOME}/card.json", client, signature=signature)).name


BY_URL = CardSignature(jwks_url=KEYS_URL)


async def test_keys_are_read_once_and_again_after_a_rotation() -> None:
    server = Server(await sign(), [KEY])
    assert await server.read(BY_URL) == CARD["name"]
    assert await server.read(BY_URL) == CARD["name"]
    assert server.requested_paths == ["/card.json", "/keys.json"]
    fresh = private_jwk(kid="key-2")
    server.card, server.keys = await sign(key=fresh), [fresh]
    server.now += CARD_SECONDS
    assert await server.read(BY_URL) == CARD["name"]


async def test_a_card_with_an_unknown_key_lets_keys_be_read_every_half_minute_only() -> None:
    server = Server(await sign(key=private_jwk(kid="unknown")), [KEY])
    for _ in range(3):
        with pytest.raises(UntrustedCard):
            await server.read(BY_URL)
    assert server.requested_paths.count("/keys.json") == 1
    server.now += MIN_KEY_SECONDS
    with pytest.raises(UntrustedCard):
        await server.read(BY_URL)
    assert server.requested_paths.count("/keys.json") == 2


async def test_a_card_that_was_trusted_by_nobody_proves_nothing_to_who_demands_a_signature() -> None:
    server = Server(CARD, [KEY])
    assert await server.read(None) == CARD["name"]
    with pytest.raises(UntrustedCard, match="not signed"):
        await server.read(BY_URL)


async def test_keys_may_be_written_down() -> None:
    server = Server(await sign(), [])
    assert await server.read(CardSignature(keys=(public_jwk(KEY),))) == CARD["name"]
    assert server.requested_paths == ["/card.json"]


@pytest.mark.parametrize(
    "declared",
    [
        {},
        {"jwks_url": KEYS_URL, "keys": [public_jwk(KEY)]},
        {"keys": [KEY]},
        {"keys": [{**public_jwk(KEY), "kid": ""}]},
        {"jwks_url": "http://keys.example/keys.json"},
    ],
)
def test_a_declaration_names_public_keys_or_their_address(declared: Json) -> None:
    with pytest.raises(ValidationError):
        CardSignature.model_validate(declared)
