"""Addresses that clients name for notifications: which are called, and what their answers are."""

from __future__ import annotations

from collections.abc import Sequence

import httpx
import jwt
import pytest

from baton.adapters.egress import EgressPolicy, make_http_client
from baton.adapters.egress.webhooks import HttpWebhooks
from baton.adapters.tokens.signing_keys import DerivedSigningKey
from baton.domain.errors import InternalError, NotFound
from baton.ports.agents.a2a import WebhookRefused, WebhookUnreachable


def webhooks(policy: EgressPolicy, *, resolves_to: str = "93.184.216.34") -> HttpWebhooks:
    async def resolve(host: str, port: int) -> Sequence[str]:
        return [resolves_to]

    return HttpWebhooks(
        lambda: policy, lambda seconds: make_http_client(policy, timeout_seconds=seconds, resolve=resolve)
    )


DEPLOYED = EgressPolicy.of(["*"])


@pytest.mark.parametrize(
    "url",
    [
        "http://client.example/",
        "https://127.0.0.1/",
        "https://[::1]/",
        "https://[::ffff:10.0.0.1]/",
        "https://169.254.169.254/latest/meta-data/",
        "https://10.0.0.1:8443/",
        "file:///etc/passwd",
        "https://[nonsense/",
    ],
)
def test_a_deployment_takes_no_address_inside(url: str) -> None:
    assert webhooks(DEPLOYED).find_refusal(url) is not None


def test_a_deployment_may_name_the_hosts() -> None:
    some = webhooks(EgressPolicy.of(["*.client.example"]))
    assert some.find_refusal("https://hooks.client.example/") is None
    assert some.find_refusal("https://client.example.attacker.example/") is not None
    assert some.is_on
    assert not webhooks(EgressPolicy.of([])).is_on


@pytest.mark.parametrize("address", ["10.0.0.1", "127.0.0.1", "169.254.169.254", "fd00::1"])
async def test_a_name_that_leads_inside_is_refused_when_it_is_called(address: str) -> None:
    hooks = webhooks(DEPLOYED, resolves_to=address)
    assert hooks.find_refusal("https://rebound.example/") is None
    with pytest.raises(WebhookRefused) as refused:
        await hooks.post("https://rebound.example/", b"{}", {})
    assert address not in str(refused.value)


async def test_a_receiver_that_is_not_there_may_come_back() -> None:
    local = webhooks(EgressPolicy.of(["*"], allow_local=True), resolves_to="127.0.0.1")
    with pytest.raises(WebhookUnreachable):
        await local.post("http://127.0.0.1:9/", b"{}", {})


@pytest.mark.parametrize("status", [200, 302, 410, 500])
async def test_the_status_is_what_counts(status: int) -> None:
    requests: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(status, headers={"Location": "https://elsewhere.example/"}, content=b"x" * 10_000_000)

    hooks = HttpWebhooks(lambda: DEPLOYED, lambda seconds: httpx.AsyncClient(transport=httpx.MockTransport(answer)))
    assert await hooks.post("https://client.example/hook", b"{}", {"X-A2A-Notification-Token": "t"}) == status
    assert [(request.method, str(request.url)) for request in requests] == [("POST", "https://client.example/hook")]
    assert requests[0].headers["X-A2A-Notification-Token"] == "t"


class OneText:
    """A secret that is this text."""

    def __init__(self, text: str | None) -> None:
        self._text = text

    def get(self, name: str) -> str:
        if self._text is None:
            raise NotFound(f"The secret {name} has no value.")
        return self._text

    renew = get


async def test_one_secret_is_one_key_and_another_is_another() -> None:
    keys = [DerivedSigningKey(OneText(text * 40), "key") for text in ("a", "a", "b")]
    published = [await key.read_public_keys() for key in keys]
    assert published[0] == published[1] != published[2]
    signed = await keys[0].sign({"iss": "baton"})
    own = jwt.PyJWKSet.from_dict(dict(published[0]))[jwt.get_unverified_header(signed)["kid"]]
    assert jwt.decode(signed, own) == {"iss": "baton"}
    with pytest.raises(jwt.InvalidSignatureError):
        jwt.decode(signed, jwt.PyJWKSet.from_dict(dict(published[2])).keys[0])


@pytest.mark.parametrize("text", [None, "", "short"])
async def test_a_secret_that_can_be_guessed_is_no_key(text: str | None) -> None:
    with pytest.raises(InternalError):
        await DerivedSigningKey(OneText(text), "key").sign({})
