"""Hooks turn signed requests of other systems into events: only for signed bodies, in their own tenant, once."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from datetime import timedelta
from typing import Any

import httpx
import pytest
from standardwebhooks import Webhook as Signing

from baton.adapters.tokens.hook_signatures import SignatureVerifier
from baton.domain.errors import NotFound
from baton.domain.tenants.identity import Scope
from baton.domain.tenants.inbound_hook import HookSettings, InboundHook
from tests.harness.events import SHIPPED, EventSender
from tests.harness.local_clock import run_ahead
from tests.harness.removals import remove_tenant
from tests.unit.api.served import Served

KEY = "whsec_" + base64.b64encode(b"k" * 32).decode()
OTHER_KEY = "whsec_" + base64.b64encode(b"o" * 32).decode()
NAME = "baton/dev/hooks/shop"
BODY: dict[str, Any] = {"kind": SHIPPED, "order": {"id": 4711, "customer": "ada"}, "carrier": "DHL"}
HOOK: dict[str, Any] = {
    "id": "shop",
    "tenant": "acme",
    "type": "/kind",
    "secret": NAME,
    "user": "/order/customer",
    "thread": "/order/id",
}
HMAC_HOOK = HOOK | {"id": "git", "verify": "hmac", "header": "X-Hub-Signature-256", "prefix": "sha256="}


class Shop(EventSender):
    """A shop that signs its requests, and knows no token."""

    def __init__(self, *hooks: dict[str, Any], secrets: dict[str, str] | None = None) -> None:
        super().__init__()
        stored_secrets = {NAME: KEY} if secrets is None else secrets

        def read(name: str) -> str:
            if name not in stored_secrets:
                raise NotFound(name)
            return stored_secrets[name]

        self.harness.hook_settings = HookSettings(
            tuple(InboundHook.model_validate(hook, by_alias=True) for hook in hooks or (HOOK, HMAC_HOOK))
        )
        self.harness.hook_verifier = SignatureVerifier(read)
        self.served = Served(self.harness)

    def signed(
        self, body: bytes, event_id: str = "msg_1", *, key: str = KEY, age: float = 0, text: str | None = None
    ) -> list[tuple[str, str]]:
        """The headers of Standard Webhooks for a body, or for another ``text``."""
        at = self.harness.clock.now() - timedelta(seconds=age)
        signature = Signing(key).sign(event_id, at, text if text is not None else body.decode())
        return [
            ("webhook-id", event_id),
            ("webhook-timestamp", str(int(at.timestamp()))),
            ("webhook-signature", signature),
        ]

    async def post(
        self, body: bytes, headers: list[tuple[str, str]] | list[tuple[bytes, bytes]], hook_id: str = "shop"
    ) -> httpx.Response:
        """Post to a hook, without a token."""
        transport = httpx.ASGITransport(self.served.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://baton.test/v1") as client:
            return await client.post(f"/hooks/{hook_id}", content=body, headers=headers)

    async def deliver(self, body: Any = None, event_id: str = "msg_1", **signing: Any) -> httpx.Response:
        """Post a body as the shop signs it."""
        content = json.dumps(BODY if body is None else body).encode()
        return await self.post(content, self.signed(content, event_id, **signing))


def digest(body: bytes, key: str = KEY) -> bytes:
    return hmac.new(key.encode(), body, hashlib.sha256).digest()


@pytest.fixture
def shop() -> Shop:
    return Shop()


async def test_a_signed_request_begins_one_run_in_its_users_conversation(shop: Shop) -> None:
    taken = await shop.deliver()
    assert (taken.status_code, taken.content, await shop.run_queue()) == (202, b"", 1)
    cause, _ = await shop.messages("4711")
    assert json.loads(cause.text) == BODY
    assert cause.make_metadata()["source"] == {"kind": "event", "id": "msg_1", "type": SHIPPED}
    [(user, outcome, detail)] = shop.list_audits("event.send")
    assert (user, outcome, detail["userId"]) == ("hook:shop", "queued", "ada")


async def test_a_replay_is_taken_and_nothing_happens(shop: Shop) -> None:
    for _ in range(2):
        assert (await shop.deliver()).status_code == 202
    assert await shop.run_queue() == 1
    assert (await shop.deliver()).status_code == 202
    assert (await shop.deliver(BODY | {"carrier": "UPS"})).status_code == 202
    assert await shop.run_queue() == 0


async def test_a_request_is_signed_just_now_by_the_machine_when_the_local_clock_is_ahead(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_ahead(shop.harness, monkeypatch, seconds=7_200)
    assert (await shop.deliver(age=7_200)).status_code == 202
    assert (await shop.deliver(age=0)).status_code == 401


@pytest.mark.parametrize("age", [301, -301])
async def test_an_old_or_future_request_is_refused(shop: Shop, age: float) -> None:
    refused = await shop.deliver(age=age)
    assert (refused.status_code, refused.json()["code"]) == (401, "unauthorized")
    assert shop.harness.queue.sent == []


def with_header(headers: list[tuple[str, str]], name: str, *values: str) -> list[tuple[str, str]]:
    return [*((key, value) for key, value in headers if key != name), *((name, value) for value in values)]


async def test_a_request_that_is_not_signed_so_is_refused(shop: Shop) -> None:
    body = json.dumps(BODY).encode()
    right = shop.signed(body)
    [signature] = [value for name, value in right if name == "webhook-signature"]
    [at] = [value for name, value in right if name == "webhook-timestamp"]
    wrong: list[list[tuple[str, str]]] = [
        [],
        shop.signed(body, key=OTHER_KEY),
        shop.signed(body, text='{"kind": "other"}'),
        with_header(right, "webhook-id", "msg_2"),
        with_header(right, "webhook-id", "msg_1", "msg_1"),
        with_header(right, "webhook-id"),
        with_header(right, "webhook-timestamp", str(int(at) + 1)),
        with_header(right, "webhook-timestamp", "nan"),
        with_header(right, "webhook-timestamp", "1e9"),
        with_header(right, "webhook-timestamp", "9" * 12),
        with_header(right, "webhook-timestamp", "9" * 400),
        with_header(right, "webhook-timestamp", at, at),
        with_header(right, "webhook-signature", ""),
        with_header(right, "webhook-signature", "v1,"),
        with_header(right, "webhook-signature", signature.removeprefix("v1,")),
        with_header(right, "webhook-signature", "v2," + signature.removeprefix("v1,")),
        with_header(right, "webhook-signature", "v1,AAAA", signature),
    ]
    for headers in wrong:
        refused = await shop.post(body, headers)
        assert (refused.status_code, refused.json()["code"]) == (401, "unauthorized"), headers
    unicode_digits = [(name.encode(), value.encode()) for name, value in with_header(right, "webhook-timestamp")]
    refused = await shop.post(body, [*unicode_digits, (b"webhook-timestamp", "\u0661".encode())])
    assert refused.status_code == 401
    assert (await shop.post(b"\xff\xfe", right)).status_code == 401
    assert shop.harness.queue.sent == []
    assert shop.harness.audit.records == [], "who may send nothing writes nothing"


async def test_one_of_several_signatures_and_secrets_is_enough() -> None:
    shop = Shop(secrets={NAME: f"{OTHER_KEY}\n{KEY}"})
    body = json.dumps(BODY).encode()
    headers = shop.signed(body)
    [signature] = [value for name, value in headers if name == "webhook-signature"]
    assert (await shop.post(body, with_header(headers, "webhook-signature", f"v1,AAAA {signature}"))).status_code == 202


@pytest.mark.parametrize("encoding", ["hex", "base64"])
async def test_a_hook_may_be_signed_by_one_hmac(encoding: str) -> None:
    shop = Shop(HMAC_HOOK | {"encoding": encoding})
    body = json.dumps(BODY).encode()
    written = digest(body).hex() if encoding == "hex" else base64.b64encode(digest(body)).decode()
    for value in (written, "sha256=", f"sha1={written}", f"sha256={written[:-1]}", f"sha256={written}=="):
        assert (await shop.post(body, [("X-Hub-Signature-256", value)], "git")).status_code == 401
    assert (await shop.post(body + b" ", [("X-Hub-Signature-256", f"sha256={written}")], "git")).status_code == 401
    twice = [("X-Hub-Signature-256", f"sha256={written}"), ("x-hub-signature-256", "sha256=00")]
    assert (await shop.post(body, twice, "git")).status_code == 401
    for number in range(2):  # a header that is not signed gives a replay no other id
        headers = [("X-Hub-Signature-256", f"sha256={written}"), ("webhook-id", f"msg_{number}")]
        assert (await shop.post(body, headers, "git")).status_code == 202
    assert await shop.run_queue() == 1
    [cause, _] = await shop.messages("4711")
    assert cause.make_metadata()["source"]["id"] == hashlib.sha256(body).hexdigest()


async def test_an_unknown_hook_is_not_found(shop: Shop) -> None:
    body = json.dumps(BODY).encode()
    for hook_id in ("other", "shop%2F", "SHOP"):
        missing = await shop.post(body, shop.signed(body), hook_id)
        assert (missing.status_code, missing.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"kind": SHIPPED, "order": {"id": 4711}}, 422, "invalid_request"),
        (BODY | {"order": {"id": None, "customer": "ada"}}, 422, "invalid_request"),
        (BODY | {"order": {"id": True, "customer": "ada"}}, 422, "invalid_request"),
        (BODY | {"order": {"id": "", "customer": "ada"}}, 422, "invalid_request"),
        (BODY | {"order": {"id": 4711, "customer": {"tenant": "other"}}}, 422, "invalid_request"),
        (BODY | {"order": {"id": 4711, "customer": "me"}}, 422, "invalid_request"),
        (BODY | {"order": {"id": 4711, "customer": "a\x00b"}}, 422, "invalid_request"),
        (BODY | {"kind": "order.lost"}, 422, "event_not_taken"),
        (BODY | {"carrier": "x" * 20_000}, 413, "message_too_large"),
        (BODY | {"carrier": "\ud800"}, 422, "invalid_request"),
        ([1, 2], 422, "invalid_request"),
        ("text", 422, "invalid_request"),
    ],
)
async def test_a_signed_request_that_leads_nowhere_is_refused_and_audited(
    shop: Shop, body: Any, status: int, code: str
) -> None:
    refused = await shop.deliver(body)
    assert (refused.status_code, refused.json()["code"]) == (status, code)
    [(user, outcome, detail)] = shop.list_audits("event.send")
    assert (user, outcome, detail["code"], detail["eventId"]) == ("hook:shop", "refused", code, "msg_1")
    assert shop.harness.queue.sent == []


@pytest.mark.parametrize("body", [b"", b"{", b"[" * 100_000, b'{"a": NaN}', b'{"a": 1' + b"0" * 5_000 + b"}"])
async def test_a_signed_body_that_is_no_json_is_refused(shop: Shop, body: bytes) -> None:
    refused = await shop.post(body, shop.signed(body))
    assert (refused.status_code, refused.json()["code"]) == (400, "malformed_json")


async def test_a_long_body_is_refused_before_its_signature_is_looked_at(shop: Shop) -> None:
    refused = await shop.post(b" " * 300_000, [])
    assert (refused.status_code, refused.json()["code"]) == (413, "message_too_large")


async def test_a_hook_reaches_no_conversation_of_another_user_or_tenant(shop: Shop) -> None:
    harness = shop.harness
    await harness.say("m1")
    named = BODY | {"order": {"id": harness.thread_id, "customer": "bob"}}
    refused = await shop.deliver(named)
    assert (refused.status_code, refused.json()["code"]) == (404, "thread_unavailable")
    other = Shop(HOOK | {"tenant": "other"})
    assert (await other.deliver()).status_code == 202
    [(owner, _)] = other.harness.queue.sent
    assert (owner, owner.permissions) == (Scope("other", "ada"), frozenset())


async def test_user_conversation_and_type_may_be_fixed_and_the_data_a_part_of_the_body() -> None:
    shop = Shop(HOOK | {"user": "ada", "thread": "alerts", "type": SHIPPED, "data": "/order"})
    assert (await shop.deliver()).status_code == 202
    await shop.run_queue()
    cause, _ = await shop.messages("alerts")
    assert json.loads(cause.text) == BODY["order"]


async def test_a_secret_that_cannot_be_read_is_a_fault_of_the_deployment() -> None:
    for secrets in ({}, {NAME: "no-prefix"}, {NAME: " "}):
        failed = await Shop(secrets=secrets).deliver()
        assert (failed.status_code, NAME in failed.text) == (500, False), "anybody may ask"


@pytest.mark.parametrize(
    "fields",
    [
        {"verify": "hmac"},
        {"header": "X-Signature"},
        {"secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
        {"secret": "baton/dev/models/openai"},
        {"tenant": "ACME"},
        {"type": "order shipped"},
        {"user": "/a~b"},
        {"data": "order"},
        {"id": "a/b"},
        {"url": "https://example.com"},
    ],
)
async def test_a_hook_that_cannot_work_is_refused_in_the_settings(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"validation error"):
        InboundHook.model_validate(HOOK | fields, by_alias=True)


async def test_an_event_for_a_removed_tenant_is_refused_and_queues_nothing(shop: Shop) -> None:
    await remove_tenant(shop.harness)
    answer = await shop.deliver()
    assert (answer.status_code, answer.json()["code"]) == (410, "tenant_removed")
    assert shop.harness.queue.sent == []
