"""Administrators see which models the deployment uses, and try what they can do."""

from __future__ import annotations

import asyncio

import pytest

from baton.domain.agents.model_providers import Ability
from baton.domain.errors import ModelMisconfigured
from tests.harness.able_model import AbleModel
from tests.harness.harness import Harness
from tests.unit.api.served import Served

MANAGE = "tenant:manage"


def serve_with(model: AbleModel) -> Served:
    return Served(Harness(model=model))


async def test_all_models_are_listed_with_their_uses() -> None:
    items, cursor = await serve_with(AbleModel()).items("/models", MANAGE)
    assert cursor is None
    assert {item["name"]: item["uses"] for item in items if item["uses"]} == {
        "test-model": ["chat"],
        "light-model": ["light"],
        "fake-embedder": ["embedding"],
    }
    assert "assistant" in items[0]["agents"]


async def test_a_report_has_a_row_for_each_ability_and_is_audited() -> None:
    served = serve_with(AbleModel(refused=frozenset({"images"})))
    answer = await served.post("/models/check", {"model": "test-model"}, MANAGE, user="boss")
    assert answer.status_code == 200
    report = answer.json()
    assert (report["model"]["name"], report["works"]) == ("test-model", True)
    assert [(check["ability"], check["works"]) for check in report["checks"]] == [
        ("text", True),
        ("tool_call", True),
        ("parallel_calls", True),
        ("structured_answer", True),
        ("image", False),
    ]
    assert report["learned"] == {"images": False}
    [record] = served.harness.audit.records
    assert (record.action, record.outcome, record.detail) == ("model.check", "works", {"model": "test-model"})


async def test_a_model_that_fails_is_an_answer_and_not_an_error() -> None:
    error = ModelMisconfigured()
    error.reason = "no such model"
    served = serve_with(AbleModel({Ability.TEXT: error}))
    answer = await served.post("/models/check", {"model": "test-model"}, MANAGE)
    assert (answer.status_code, answer.json()["works"]) == (200, False)
    assert answer.json()["checks"][0]["reason"] == "no such model"
    assert served.harness.audit.records[-1].outcome == "failed"


async def test_models_that_are_not_configured_are_never_asked() -> None:
    model = AbleModel()
    answer = await serve_with(model).post("/models/check", {"model": "gpt-6-astra"}, MANAGE)
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert model.requests == []


async def test_a_second_check_has_to_wait() -> None:
    gate = asyncio.Event()
    model = AbleModel(gate=gate)
    served = serve_with(model)
    first = asyncio.create_task(served.post("/models/check", {"model": "test-model"}, MANAGE))
    await model.was_asked.wait()
    second = await served.post("/models/check", {"model": "light-model"}, MANAGE)
    assert (second.status_code, second.json()["code"]) == (429, "rate_limited")
    gate.set()
    assert (await first).status_code == 200


@pytest.mark.parametrize("permission", ["user:manage", "audit:read"])
async def test_listing_and_checking_models_need_the_permission(permission: str) -> None:
    model = AbleModel()
    served = serve_with(model)
    assert (await served.get("/models", permission)).status_code == 403
    assert (await served.post("/models/check", {"model": "test-model"}, permission)).status_code == 403
    assert model.requests == []
    assert [(record.action, record.outcome) for record in served.harness.audit.records] == [
        ("model.list", "denied"),
        ("model.check", "denied"),
    ]
