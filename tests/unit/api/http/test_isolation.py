"""Every operation of the API is closed to outsiders: to them nothing of a tenant exists, and they change nothing."""

from __future__ import annotations

import pytest

from tests.unit.api.probed import DIFFERENT, OPEN, OUTSIDERS, SECRET, UNKNOWN, ProbedTenant, list_probed_operations


@pytest.fixture(scope="module")
async def tenant() -> ProbedTenant:
    tenant = ProbedTenant()
    await tenant.begin()
    return tenant


@pytest.mark.parametrize("outsider", OUTSIDERS)
async def test_what_outsiders_ask_for_is_as_if_it_did_not_exist(tenant: ProbedTenant, outsider: str) -> None:
    caller, before, problems = OUTSIDERS[outsider], await tenant.read_visible_texts(), []
    for method, path, query in list_probed_operations():
        unknown = await tenant.probe(method, path, caller, UNKNOWN, query)
        real = await tenant.probe(method, path, caller, tenant.ids, query)
        is_alike = real == unknown or (method, path, query) in DIFFERENT
        is_closed = caller is not None or OPEN.match(path) or real[0] == 401
        if SECRET in real[1] + unknown[1] or real[0] >= 500 or not (is_alike and is_closed):
            problems.append((method, path, query, real, unknown))
    assert problems == []
    assert await tenant.read_visible_texts() == before


async def test_in_their_own_conversation_ids_of_others_lead_to_nothing(tenant: ProbedTenant) -> None:
    eve = ("acme", "eve")
    began = await tenant.ask("POST", "/v1/messages", eve, {"message": "Hello", "messageId": "e1"})
    own = {"thread_id": began.json()["sessionId"]}
    before, problems = await tenant.read_visible_texts(), []
    for method, path, query in list_probed_operations():
        if path.startswith("/v1/threads/{thread_id}") and path.count("{") > 1 and "{branch_id}" not in path:
            unknown = await tenant.probe(method, path, eve, UNKNOWN | own, query)
            real = await tenant.probe(method, path, eve, tenant.ids | own, query)
            if SECRET in real[1] or real != unknown:
                problems.append((method, path, real, unknown))
    assert problems == []
    assert await tenant.read_visible_texts() == before
