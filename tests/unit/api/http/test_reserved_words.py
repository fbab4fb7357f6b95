"""Words with a meaning in addresses are not ids: a name of a user or thing is never mistaken for another."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from baton.domain.definition import AGENT_ID, RESERVED_AGENT_ID
from baton.domain.errors import InvalidRequest
from baton.domain.memory.procedure import RESERVED_SLUG
from baton.domain.tenants.identity import DOT_SEGMENTS, ME, Scope, resolve_thread_ref
from tests.unit.api.served import Served, openapi

MANAGER = "user:manage"
NEVER_IDS = {
    "v1/users/{user_id}": {ME},
    "a2a/{agent_id}": {RESERVED_AGENT_ID},
    "v1/agents/{agent_id}/procedures/{procedure_id}": {RESERVED_SLUG},
    "v1/episodes/{episode_id}": {"import", "search"},  # ids of episodes are UUIDs
}
"""Words of routes that stand where other routes have an id. None of them can be such an id."""


def find_words_in_places_of_ids(paths: list[str]) -> dict[str, set[str]]:
    """Return the fixed segments that stand in the same place as a parameter, by the path up to that parameter."""
    results: dict[str, set[str]] = {}
    parts = [path.strip("/").split("/") for path in paths]
    for one in parts:
        for other in parts:
            for index, (word, name) in enumerate(zip(one, other, strict=False)):
                if name.startswith("{") and not word.startswith("{"):
                    results.setdefault("/".join(other[: index + 1]), set()).add(word)
                if word != name:
                    break
    return results


def test_every_word_that_stands_in_the_place_of_an_id_is_reserved() -> None:
    assert find_words_in_places_of_ids(list(openapi()["paths"])) == NEVER_IDS


@pytest.mark.parametrize("user", [ME, *sorted(DOT_SEGMENTS)])
def test_no_user_has_a_reserved_id(user: str) -> None:
    with pytest.raises(InvalidRequest, match="reserved"):
        Scope("acme", user)


@pytest.mark.parametrize("value", sorted(DOT_SEGMENTS))
async def test_no_conversation_has_an_id_that_addresses_cannot_hold(value: str) -> None:
    with pytest.raises(InvalidRequest):
        resolve_thread_ref(Scope("acme", "ada"), value)
    for path, body in {
        "/messages": {"sessionId": value, "message": "Hello"},
        "/episodes/import": {"sessionId": value, "messages": [{"role": "user", "content": "x"}]},
    }.items():
        assert (await Served().post(path, body)).status_code == 422


async def test_no_agent_has_the_id_of_an_address() -> None:
    values = {"name": "One", "description": "Helps.", "systemPrompt": "Help."}
    served = Served()
    refused = await served.put(f"/agents/{RESERVED_AGENT_ID}", values, "agent:write")
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_agent")
    assert "reserved" in refused.text
    assert (await served.put("/agents/v2", values, "agent:write")).status_code == 201
    assert AGENT_ID  # the pattern alone would take it


ENCODED = ["%6d%65", "%6De", "m%65", "%6D%65"]


@pytest.mark.parametrize("written", ENCODED)
async def test_an_encoded_me_is_nobody(written: str) -> None:
    served = Served()
    for method, path in (("DELETE", "memory"), ("GET", "export")):
        refused = await served.request(method, f"/users/{written}/{path}", MANAGER, user="boss")
        assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
    assert (await served.get(f"/users/{written}", user="boss")).status_code == 404
    assert served.harness.forgettings.started == []  # type: ignore[attr-defined]


@pytest.mark.parametrize("user", ["ME", "Me", "me ", " me", "%6d%65", "me/", "me/memory", "\uff4d\uff45", "me#", "me?"])
async def test_ids_that_look_like_me_are_other_users(user: str) -> None:
    served = Served()
    answer = await served.request("DELETE", f"/users/{quote(user, safe='')}/memory", MANAGER, user="boss")
    assert (answer.status_code, answer.json()["userId"]) == (202, user)
    assert (await served.request("DELETE", f"/users/{quote(user, safe='')}/memory", user="bob")).status_code == 403


@pytest.mark.parametrize("written", ["%2E%2E", "%2e", ".%2e"])
async def test_dots_name_no_user(written: str) -> None:
    served = Served()
    refused = await served.request("DELETE", f"/users/{written}/memory", MANAGER, user="boss")
    assert refused.status_code in (404, 422)
    assert served.harness.forgettings.started == []  # type: ignore[attr-defined]
