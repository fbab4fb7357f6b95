"""Agent cards: what they say, to whom, and by which schemas."""

from __future__ import annotations

import json
from typing import Any

import httpx
import jwt
import pytest
from fastapi import Request

from baton.adapters.a2a.signatures import read_public_keys, verify_card
from baton.adapters.tokens.signing_keys import JwkCardSigner
from baton.api.a2a.access import A2AAccess, find_base_url
from baton.api.application import create_app
from baton.domain.agents.agent import AgentDefinition
from baton.domain.threads.a2a_task import EXTENSION_URI
from tests.a2a_schema import check_card
from tests.card_keys import key_set, private_jwk, public_jwk
from tests.harness.harness import ASSISTANT, Harness
from tests.unit.api.a2a_client import A2AServed, Json

GUIDE = AgentDefinition.model_validate(
    {
        "id": "skill-guide",
        "name": "Skill Guide",
        "description": "Builds skills.",
        "system_prompt": "Guide.",
        "required_permissions": ["skill:create"],
        "triggers": ["create skill", "^make .*"],
        "workflow": {
            "name": "skill creation",
            "states": [
                {"name": "GATHERING", "label": "Gathering"},
                {"name": "COMPLETE", "label": "Done", "final": True},
            ],
        },
    }
)
DESK = ASSISTANT.model_copy(update={"id": "desk", "name": "Desk", "main": False, "description": "Consulted."})


@pytest.fixture
def served() -> A2AServed:
    reported = ASSISTANT.model_dump() | {
        "handoffs": [{"agent": "skill-guide", "reason": "For skills."}],
        "sub_agents": ["desk"],
    }
    return A2AServed(Harness(assistant=AgentDefinition.model_validate(reported), others=(GUIDE, DESK)))


async def read(
    served: A2AServed,
    path: str = "/.well-known/agent-card.json",
    *permissions: str,
    user: str | None = None,
    **headers: str,
) -> httpx.Response:
    if user is not None:
        headers["Authorization"] = f"Bearer {','.join(['acme', user, *permissions])}"
    transport = httpx.ASGITransport(served.app)
    async with httpx.AsyncClient(transport=transport, base_url="https://baton.test") as client:
        return await client.get(path, headers=headers)


async def card(served: A2AServed, *arguments: Any, **fields: Any) -> Json:
    answer = await read(served, *arguments, **fields)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/json"
    reported: Json = answer.json()
    check_card(reported)
    return reported


async def test_the_card_of_the_default_agent_needs_no_token(served: A2AServed) -> None:
    reported = await card(served)
    assert (reported["name"], reported["protocolVersion"], reported["url"]) == (
        "Assistant",
        "0.3.0",
        "https://baton.test/a2a",
    )
    interfaces = reported["supportedInterfaces"]
    assert [
        (interface["protocolBinding"], interface["protocolVersion"], interface["url"]) for interface in interfaces
    ] == [
        ("JSONRPC", "1.0", reported["url"]),
        ("JSONRPC", "0.3.0", reported["url"]),
        ("HTTP+JSON", "1.0", f"{reported['url']}/v1"),
    ]
    assert reported["additionalInterfaces"] == [{"url": reported["url"], "transport": "JSONRPC"}]
    assert [skill["id"] for skill in reported["skills"]] == ["assistant", "desk"]
    assert reported["capabilities"]["streaming"] is True
    assert reported["capabilities"]["pushNotifications"] is True
    assert await card(served, "/.well-known/agent.json") == reported


async def test_a_card_is_also_at_the_address_that_it_names(served: A2AServed) -> None:
    assert await card(served, "/a2a") == await card(served)
    guide = {"user": "ada"}
    reported = await card(served, "/a2a/skill-guide", "skill:create", **guide)
    assert reported["url"] == "https://baton.test/a2a/skill-guide"
    assert reported == await card(served, "/a2a/skill-guide/.well-known/agent-card.json", "skill:create", **guide)


async def test_the_extended_card_is_also_where_older_clients_ask_for_it(served: A2AServed) -> None:
    reported = await card(served, "/agent/authenticatedExtendedCard", "skill:create", user="ada")
    assert [skill["id"] for skill in reported["skills"]] == ["assistant", "skill-guide", "desk"]


async def test_the_extended_card_is_refused_without_a_token_even_where_calls_are_not() -> None:
    open_served = A2AServed(Harness(), a2a=A2AAccess(is_open=True))
    for headers in ({}, {"Authorization": "Bearer nothing"}, {"Authorization": "Basic bm9ib2R5Og=="}):
        answer = await read(open_served, "/agent/authenticatedExtendedCard", **headers)
        assert (answer.status_code, "Bearer" in answer.headers["WWW-Authenticate"]) == (401, True)
    extended = await read(open_served, "/a2a/v1/extendedAgentCard", **{"A2A-Version": "1.0"})
    assert extended.status_code == 400


async def test_the_extension_says_what_the_agent_can_do(served: A2AServed) -> None:
    reported = await card(served, "/a2a/skill-guide/.well-known/agent-card.json", "skill:create", user="ada")
    (extension,) = reported["capabilities"]["extensions"]
    assert extension["uri"] == EXTENSION_URI
    assert extension["params"] == {
        "multi_turn": True,
        "hitl_support": True,
        "handoff_support": True,
        "stateful_workflows": True,
        "handoff_triggers": ["create skill"],
        "workflow_states": ["gathering", "complete"],
    }
    assert (reported["handoff_triggers"], reported["workflow_states"]) == (["create skill"], ["gathering", "complete"])
    assert reported["capabilities"]["stateful_workflows"] is True
    assert reported["skills"][0]["tags"] == ["conversation", "workflow"]
    assert reported["url"] == "https://baton.test/a2a/skill-guide"


async def test_a_user_who_may_see_more_agents_reads_of_them(served: A2AServed) -> None:
    reported = await card(served, "/.well-known/agent-card.json", "skill:create", user="ada")
    assert [skill["id"] for skill in reported["skills"]] == ["assistant", "skill-guide", "desk"]
    extended = await served.call("agent/getAuthenticatedExtendedCard", {}, "skill:create")
    assert [skill["id"] for skill in extended["result"]["skills"]] == ["assistant", "skill-guide", "desk"]
    current = await served.call("GetExtendedAgentCard", {}, "skill:create", path="/a2a/skill-guide")
    assert current["result"]["name"] == "Skill Guide"


@pytest.mark.parametrize("agent_id", ["skill-guide", "desk", "librarian", "nobody"])
async def test_the_card_of_an_agent_that_one_may_not_talk_to_does_not_exist(served: A2AServed, agent_id: str) -> None:
    assert (await read(served, f"/a2a/{agent_id}/.well-known/agent-card.json")).status_code == 404
    assert (await read(served, f"/a2a/{agent_id}")).status_code == 404


async def test_a_wrong_token_is_refused(served: A2AServed) -> None:
    assert (await read(served, Authorization="Bearer nothing")).status_code == 401


async def test_a_card_that_the_client_has_is_not_sent_again(served: A2AServed) -> None:
    first = await read(served)
    tag = first.headers["ETag"]
    for entry in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        second_answer = await read(served, **{"If-None-Match": entry})
        assert (second_answer.status_code, second_answer.content, second_answer.headers["ETag"]) == (304, b"", tag)
    assert (await read(served, **{"If-None-Match": '"other"'})).status_code == 200
    own_card = await read(served, "/.well-known/agent-card.json", "skill:create", user="ada")
    assert own_card.headers["ETag"] != tag
    assert "public" in first.headers["Cache-Control"]
    assert "private" in own_card.headers["Cache-Control"]


async def test_schemes_are_those_that_are_enforced(served: A2AServed) -> None:
    assert list((await card(served))["securitySchemes"]) == ["bearer"]
    services = served.app.state.use_cases
    served.app = create_app(services, a2a=A2AAccess(issuers=lambda: ("https://login.example.com/",)))
    reported = await card(served)
    assert reported["securitySchemes"]["oidc"] == {
        "type": "openIdConnect",
        "openIdConnectUrl": "https://login.example.com/.well-known/openid-configuration",
        "openIdConnectSecurityScheme": {
            "openIdConnectUrl": "https://login.example.com/.well-known/openid-configuration"
        },
    }
    assert reported["security"] == [{"bearer": []}, {"oidc": []}]
    served.app = create_app(services, a2a=A2AAccess(is_open=True))
    assert "securitySchemes" not in await card(served)


async def test_where_the_address_is_set_no_other_is_named(served: A2AServed) -> None:
    access = A2AAccess(public_url="https://api.example.com/v")
    served.app = create_app(served.app.state.use_cases, a2a=access)
    evil = {"Host": "evil.example", "X-Forwarded-Host": "evil.example", "Forwarded": "host=evil.example"}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(served.app), base_url="http://evil.example") as client:
        public = (await client.get("/.well-known/agent-card.json", headers=evil)).text
    call = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "GetExtendedAgentCard", "params": {}})
    extended = (await served.post_a2a(call.encode(), headers=evil)).text
    for reported in (public, extended):
        assert "evil.example" not in reported
        assert "https://api.example.com/v/a2a" in reported


@pytest.mark.parametrize(
    ("context", "has_stage", "expected"),
    [
        ({"path": "/prod/a2a/x", "domainName": "abc.execute-api.eu-west-1.amazonaws.com"}, True, "/prod"),
        ({"path": "/a2a/x", "domainName": "abc.execute-api.eu-west-1.amazonaws.com"}, True, ""),
        ({"path": "/local/a2a/x", "domainName": "abc.execute-api.eu-west-1.amazonaws.com"}, False, None),
        ({"path": 1}, True, None),
        ("nothing", True, None),
    ],
)
def test_the_address_is_that_by_which_the_client_came(context: Any, has_stage: bool, expected: str | None) -> None:
    headers = [(b"host", b"inside:8000"), (b"x-amzn-request-context", json.dumps(context).encode())]
    scope = {
        "type": "http",
        "scheme": "http",
        "path": "/a2a/x",
        "raw_path": b"/a2a/x",
        "query_string": b"",
        "headers": headers,
    }
    address, _ = find_base_url(Request(scope), A2AAccess(has_stage=has_stage))
    target = f"https://{context['domainName']}{expected}" if expected is not None else "http://inside:8000"
    assert address == target


# Signatures

KEY = private_jwk()


def make_signing_api(**access: Any) -> A2AServed:
    """The API of a deployment that signs its cards."""
    harness = Harness()
    harness.card_signer = JwkCardSigner(lambda: key_set(KEY))
    served = A2AServed(harness)
    served.app.state.a2a = A2AAccess(**access)
    return served


async def test_a_card_is_signed_at_an_address_that_the_deployment_vouches_for() -> None:
    served = make_signing_api(public_url="https://api.example.com/v")
    reported = await card(served)
    assert reported["url"] == "https://api.example.com/v/a2a"
    verify_card(reported, read_public_keys({"keys": [public_jwk(KEY)]}))
    header = jwt.utils.base64url_decode(reported["signatures"][0]["protected"])
    assert json.loads(header)["jku"] == "https://api.example.com/v/.well-known/agent-card-keys.json"
    keys = (await read(served, "/.well-known/agent-card-keys.json")).json()
    verify_card(reported, read_public_keys(keys))


async def test_nothing_is_signed_that_only_the_requests_host_says() -> None:
    served = make_signing_api()
    assert "signatures" not in await card(served)
    extended = await served.call("GetExtendedAgentCard", {})
    assert "signatures" not in extended["result"]


async def test_the_extended_card_is_signed_too() -> None:
    served = make_signing_api(public_url="https://api.example.com")
    extended = (await served.call("GetExtendedAgentCard", {}))["result"]
    verify_card(extended, read_public_keys({"keys": [public_jwk(KEY)]}))
    assert "result" in await served.call("agent/getAuthenticatedExtendedCard", {})


async def test_the_tag_of_a_signed_card_stays_and_differs_from_another_keys() -> None:
    served = make_signing_api(public_url="https://api.example.com")
    first, second = await read(served), await read(served)
    tag = first.headers["ETag"]
    assert tag == second.headers["ETag"]
    assert tag.startswith('W/"')
    assert (await read(served, **{"If-None-Match": tag})).status_code == 304
    served.harness.card_signer = JwkCardSigner(lambda: key_set(private_jwk(kid="key-2")))
    other = A2AServed(served.harness)
    other.app.state.a2a = served.app.state.a2a
    assert (await read(other)).headers["ETag"] != tag


async def test_without_readable_keys_cards_are_served_unsigned() -> None:
    served = make_signing_api(public_url="https://api.example.com")
    served.harness.card_signer = JwkCardSigner(lambda: "no keys")
    broken = A2AServed(served.harness)
    broken.app.state.a2a = served.app.state.a2a
    assert "signatures" not in await card(broken)
    assert (await read(broken, "/.well-known/agent-card-keys.json")).status_code == 500


async def test_a_deployment_that_does_not_sign_has_no_keys(served: A2AServed) -> None:
    assert (await read(served, "/.well-known/agent-card-keys.json")).status_code == 404
