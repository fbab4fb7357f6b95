"""Citations in the console: the passages of an answer and of its prompt, by number."""

from __future__ import annotations

import uuid

import pytest
from playwright.async_api import Page, expect

from baton_local import web
from tests.browser.console import Console, say
from tests.e2e.cloud import RunningCloud
from tests.e2e.documents import HANDBOOK, announce, upload_body, wait_for_end
from tests.e2e.fixtures import NewUser
from tests.fault_model import FaultModel, answers

pytestmark = pytest.mark.nightly

expect.set_options(timeout=60_000)


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    """The local cloud serves a build of the current sources."""
    web.build()


async def test_an_answer_shows_its_passages_by_number_and_the_prompt_the_same_numbers(
    page: Page, cloud: RunningCloud, model: FaultModel, new_user: NewUser, tenant: str
) -> None:
    session, editor = str(uuid.uuid4()), new_user("editor", "document:write")
    announced = await announce(editor, HANDBOOK, title="Handbook")
    assert await upload_body(announced["upload"], HANDBOOK) == 200
    assert (await wait_for_end(editor, announced["document"]["id"]))["status"] == "ready"
    model.script(answers("A night may cost 140 euros [1]."))
    run_id = await say(cloud, tenant, "ada", session, "What may a hotel room cost a night?")
    console = Console(page, cloud.url)
    await console.open(f"/threads/{session}/turns/{run_id}")
    await console.sign_in(tenant)
    await console.main.locator("summary").filter(has_text="Knowledge").click()
    await expect(console.main.locator("li").filter(has_text="[1]").first).to_contain_text("Handbook")

    await console.open(f"/threads/{session}")
    await console.main.get_by_text("A night may cost 140 euros [1].").first.click()
    sources = console.main.get_by_role("region", name="Sources")
    await expect(sources.get_by_role("listitem")).to_contain_text("[1] Handbook")
    await expect(sources.get_by_role("listitem")).to_contain_text("A hotel room may cost at most 140 euros a night.")
