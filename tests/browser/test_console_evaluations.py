"""Published evaluations in the console: their list, one with its cases, and two compared."""

from __future__ import annotations

import uuid
from typing import Any

import httpx
import pytest
from playwright.async_api import Page, expect

from baton_local import web
from tests.browser.console import Console
from tests.e2e.cloud import RunningCloud

pytestmark = pytest.mark.nightly

expect.set_options(timeout=60_000)


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    """The local cloud serves a build of the current sources."""
    web.build()


def evaluation(name: str, label: str, minute: int, passes: int) -> dict[str, Any]:
    """Return an evaluation of two cases, of which one passed so often of three times."""
    share = (3 + passes) / 6
    cases = [
        {
            "name": "The state of an order",
            "runs": 3,
            "judged": 3,
            "passes": 3,
            "metrics": {"similarity.token_f1": 0.87},
        },
        {
            "name": "A refund",
            "runs": 3,
            "judged": 3,
            "passes": passes,
            "metrics": {"similarity.token_f1": 0.5},
            "reasons": ["contains: it lacks 'refunded'"] if passes < 3 else [],
        },
        {"name": "A judged one", "runs": 3, "judged": 0, "passes": 0, "reasons": ["judge: the judge gave no grade"]},
    ]
    metrics = [
        {"name": "passed", "mean": share, "low": share / 2, "high": (1 + share) / 2, "runs": 6, "notJudged": 3},
        {"name": "similarity.token_f1", "mean": 0.685, "low": 0.5, "high": 0.87, "runs": 6, "isRate": False},
    ]
    return {
        "name": name,
        "label": label,
        "model": "gpt-6-luna",
        "beganAt": f"2026-11-01T10:{minute:02}:00Z",
        "seconds": 12.5,
        "tokens": 40_210,
        "usd": 0.31,
        "metrics": metrics,
        "cases": cases,
    }


async def test_evaluations_are_listed_shown_and_compared(page: Page, cloud: RunningCloud) -> None:
    tenant = f"t{uuid.uuid4().hex[:8]}"
    headers = {"Authorization": f"Bearer {cloud.token(tenant, 'ci', 'agent:write')}"}
    async with httpx.AsyncClient(base_url=cloud.url, timeout=60, headers=headers) as client:
        for body in (evaluation("a" * 12, "before", 0, 1), evaluation("b" * 12, "after", 30, 3)):
            assert (await client.post("/v1/evaluations", json=body)).status_code == 201
    console = Console(page, cloud.url)
    await console.open("/evaluations")
    await console.sign_in(tenant)
    rows = console.main.get_by_role("table", name="Evaluations").locator("tbody tr")
    await expect(rows).to_have_count(2)
    await expect(rows.first).to_contain_text("after")
    await expect(rows.first).to_contain_text("100.0 %")
    await rows.last.get_by_role("link").click()
    cases = console.main.get_by_role("table", name="Cases").locator("tbody tr")
    await expect(cases.nth(1)).to_contain_text("flaky")
    await expect(cases.nth(1)).to_contain_text("contains: it lacks 'refunded'")
    await expect(cases.nth(2)).to_contain_text("not judged")
    await console.main.get_by_role("link", name="All evaluations").click()
    await rows.first.get_by_role("link").click()
    await console.main.get_by_label("Compare with").select_option(index=1)
    await expect(cases.first).to_contain_text("A refund")
    await expect(cases.first).to_contain_text("+66.7")
    await expect(console.main.get_by_role("status")).to_contain_text("1 case better, 0 worse. Chance may have made it")
    metrics = console.main.get_by_role("table", name="Metrics").locator("tbody tr")
    await expect(metrics.first).to_contain_text("1.000")
