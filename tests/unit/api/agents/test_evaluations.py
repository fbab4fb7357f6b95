"""Evaluations are published for the tenant, without personal data, and bounded."""

from __future__ import annotations

from typing import Any

import pytest

from baton.domain.tenants.evaluation import MAX_EVALUATIONS, RETENTION
from baton.domain.times import to_iso
from baton_testing.fakes.clock import FakeClock
from tests.contracts.evaluations import make_evaluation
from tests.harness.harness import Harness
from tests.unit.api.served import Served

WRITE = "agent:write"
PATH = "/evaluations"


def body(served: Served, **fields: Any) -> dict[str, Any]:
    metric = {"name": "passed", "mean": 0.5, "low": 0.1, "high": 0.9, "runs": 2, "notJudged": 0, "isRate": True}
    case = {
        "name": "Refund",
        "runs": 2,
        "judged": 2,
        "passes": 1,
        "metrics": {"contains": 0.5, "judge": None},
        "reasons": ["contains: it lacks 'sorry'"],
        "tags": ["a"],
    }
    return {
        "name": "5d0ad1c6d1b0",
        "label": "my-shop",
        "model": "gpt-6-luna",
        "beganAt": to_iso(served.harness.clock.now()),
        "seconds": 1.5,
        "tokens": 100,
        "usd": None,
        "metrics": [metric],
        "cases": [case],
        **fields,
    }


async def test_a_published_evaluation_is_listed_and_read_by_those_who_write_agents() -> None:
    served = Served()
    request = body(served)
    published = await served.post(PATH, request, WRITE, user="boss")
    assert published.status_code == 201
    entry = published.json()
    assert entry["details"]["cases"] == request["cases"]
    assert entry["details"]["metrics"] == request["metrics"]
    assert (entry["passed"], entry["low"], entry["publishedBy"], entry["runs"]) == (0.5, 0.1, "boss", 2)
    assert (await served.get(f"{PATH}/{entry['id']}", WRITE)).json() == entry
    del entry["details"]
    assert (await served.get(PATH, WRITE)).json() == {"items": [entry], "nextCursor": None}
    [record] = [record for record in served.harness.audit.records if record.action == "evaluation.publish"]
    assert (record.outcome, record.detail["evaluationId"]) == ("published", entry["id"])


async def test_a_repetition_gets_the_stored_one() -> None:
    served = Served()
    first = await served.post(PATH, body(served), WRITE)
    second_answer = await served.post(PATH, body(served, label="other"), WRITE, user="bob")
    assert (second_answer.status_code, second_answer.json()) == (200, first.json())
    assert len((await served.get(PATH, WRITE)).json()["items"]) == 1


async def test_personal_data_is_replaced_before_it_is_stored() -> None:
    served = Served()
    request = body(served, label="of ada@example.com")
    request["cases"][0] |= {"name": "Mail to bob@example.com", "reasons": ["it lacks 'carl@example.com'"]}
    results = (await served.post(PATH, request, WRITE)).text
    assert "example.com" not in results
    assert "[email]" in results


async def test_numbers_that_look_like_personal_data_stay() -> None:
    served = Served()
    means = {"phone": 0.4155552671, "card of ada@example.com": 0.6666666666666666, "zip": None}
    request = body(served, tokens=415_552_671)
    request["cases"][0]["metrics"] = means
    published = await served.post(PATH, request, WRITE)
    assert published.status_code == 201
    [case] = published.json()["details"]["cases"]
    assert case["metrics"] == {"phone": 0.4155552671, "card of [email]": 0.6666666666666666, "zip": None}
    assert published.json()["details"]["tokens"] == 415_552_671


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "x"},
        {"name": "../5d0ad1c6d1b0"},
        {"name": "5d0ad1c6d1b0\n"},
        {"name": "a" * 2_000},
        {"label": ""},
        {"metrics": []},
        {"cases": []},
        {"cases": [{"name": "a", "runs": 1, "judged": 2, "passes": 0}]},
        {"cases": [{"name": "a", "runs": 1, "judged": 1, "passes": 1, "reasons": ["x" * 500] * 20}] * 100},
        {"beganAt": "2999-01-01T00:00:00Z"},
        {"beganAt": "1960-01-01T00:00:00Z"},
        {"metrics": [{"name": "passed", "mean": 1.5, "low": None, "high": None, "runs": 1}]},
        {"usd": -1},
    ],
)
async def test_what_cannot_be_right_or_is_too_large_is_refused(wrong: dict[str, Any]) -> None:
    served = Served()
    assert (await served.post(PATH, body(served, **wrong), WRITE)).status_code == 422
    assert (await served.get(PATH, WRITE)).json()["items"] == []


async def test_everything_needs_the_permission() -> None:
    served = Served()
    answers = [
        await served.post(PATH, body(served)),
        await served.get(PATH),
        await served.get(f"{PATH}/001773480413589-5d0ad1c6d1b0"),
        await served.request("DELETE", f"{PATH}/001773480413589-5d0ad1c6d1b0"),
    ]
    assert [answer.status_code for answer in answers] == [403] * 4


async def test_a_deleted_one_is_gone_and_unknown_ids_are_not_found() -> None:
    served = Served()
    made_id = (await served.post(PATH, body(served), WRITE)).json()["id"]
    for _ in range(2):
        assert (await served.request("DELETE", f"{PATH}/{made_id}", WRITE)).status_code == 204
    for unknown in (made_id, "no-id", "..%2F"):
        assert (await served.get(f"{PATH}/{unknown}", WRITE)).status_code == 404
    assert (await served.request("DELETE", f"{PATH}/no-id", WRITE)).status_code == 404


async def test_the_oldest_make_room_and_all_expire() -> None:
    harness = Harness()
    served = Served(harness)
    assert isinstance(harness.clock, FakeClock)
    for number in range(1, MAX_EVALUATIONS + 3):
        await harness.evaluations.put(harness.ada, make_evaluation(harness.clock, number))
    await served.post(PATH, body(served), WRITE)
    entries, cursor = await harness.evaluations.page(harness.ada, limit=1000, cursor=None)
    assert (len(entries), cursor) == (MAX_EVALUATIONS, None)
    assert entries[0].label == "my-shop"
    harness.clock.advance(RETENTION.total_seconds())
    assert (await served.get(PATH, WRITE)).json()["items"] == []


async def test_a_publisher_with_many_evaluations_pushes_no_others_out() -> None:
    harness = Harness()
    served = Served(harness)
    assert isinstance(harness.clock, FakeClock)
    published = (await served.post(PATH, body(served, label="bob's"), WRITE, user="bob")).json()
    for number in range(MAX_EVALUATIONS + 2):
        harness.clock.advance(1)
        name = f"{number:012x}"
        await served.post(PATH, body(served, name=name), WRITE, user="flood")
    assert (await served.get(f"{PATH}/{published['id']}", WRITE)).status_code == 200
    entries, _ = await harness.evaluations.page(harness.ada, limit=1000, cursor=None)
    assert len(entries) == MAX_EVALUATIONS


async def test_names_of_models_and_judges_are_kept_without_personal_data() -> None:
    served = Served()
    mail = "ada@example.com"
    request = body(served, label=f"of {mail}", model=f"model of {mail}", judge=f"judge of {mail}")
    published = await served.post(PATH, request, WRITE)
    assert published.status_code == 201
    assert mail not in published.text
    assert (published.json()["model"], published.json()["judge"]) == ("model of [email]", "judge of [email]")
