"""The inspector: what a turn's models were sent and why, what differs from another turn, and a dry run beside it."""

from __future__ import annotations

import uuid

import pytest
from playwright.async_api import Page, expect

from baton_local import web
from tests.browser.console import ADMINISTRATOR, Console, say
from tests.e2e.cloud import RunningCloud
from tests.fault_model import FaultModel, answers

pytestmark = pytest.mark.nightly

expect.set_options(timeout=60_000)
HOSTILE = '<img src=x onerror="alert(1)"> </text-viewer><script>alert(2)</script>'
LONG = 400_000


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    """The local cloud serves a build of the current sources."""
    web.build()


async def test_a_turn_is_inspected_compared_with_the_one_before_and_run_again(
    page: Page, cloud: RunningCloud, model: FaultModel
) -> None:
    tenant, session = f"t{uuid.uuid4().hex[:8]}", str(uuid.uuid4())
    first = await say(cloud, tenant, "ada", session, HOSTILE)
    second = await say(cloud, tenant, "ada", session, "And now something else")
    console = Console(page, cloud.url)
    main = console.main
    await console.open(f"/threads/{session}/turns/{second}")
    await console.sign_in(tenant)

    await expect(main.get_by_role("img", name="Tokens of each block")).to_be_visible()
    await main.locator("summary").filter(has_text="History").click()
    await expect(main.get_by_text(HOSTILE).first).to_be_visible()
    await main.get_by_role("button", name="1: Messages").click()
    await expect(main.get_by_role("cell").get_by_text("And now something else")).to_be_visible()

    await main.get_by_role("combobox", name="With").select_option(value=first)
    await expect(main.locator("context-diff").get_by_text("came").first).to_be_visible()
    await main.get_by_role("button", name="Compare the messages").click()
    await expect(main.locator("console-diff .cm-mergeView")).to_be_visible()
    await page.reload()
    await expect(main.locator("context-diff").get_by_text("came").first).to_be_visible()

    await main.get_by_role("checkbox", name="Run again without this").first.wait_for(state="hidden")
    await main.locator("summary").filter(has_text="History").click()
    await main.get_by_role("checkbox", name="Run again without this").first.check()
    await expect(main.get_by_text("1 item is left out")).to_be_visible()
    await main.get_by_role("button", name="Run again").click()
    await expect(main.get_by_role("heading", name="Answer of now")).to_be_visible()
    await expect(main.locator("run-again context-diff").get_by_text("went").first).to_be_visible()
    await main.get_by_role("textbox", name="Model").or_(main.get_by_role("combobox", name="Model")).fill("of-others")
    await main.get_by_role("button", name="Run again").click()
    await expect(main.get_by_role("alert")).to_contain_text("model_not_offered")


async def test_a_long_prompt_stays_usable_and_a_record_that_is_not_there_says_so(
    page: Page, cloud: RunningCloud, model: FaultModel
) -> None:
    tenant, session = f"t{uuid.uuid4().hex[:8]}", str(uuid.uuid4())
    model.script(answers("That is long."))
    run_id = await say(cloud, tenant, "ada", session, "word " * (LONG // 5))
    console = Console(page, cloud.url)
    await console.open(f"/threads/{session}/turns/{run_id}")
    await console.sign_in(tenant, "admin", *ADMINISTRATOR)
    await console.main.get_by_role("button", name="1: Messages").click()
    await expect(console.main.get_by_role("button", name="Show all").first).to_be_visible()
    assert len(await console.main.inner_text()) < LONG / 10

    await console.open(f"/threads/{session}/turns/none-such")
    await expect(console.main.get_by_role("alert").first).to_contain_text("no record of this run")


async def test_without_the_permission_nothing_is_asked_for(page: Page, cloud: RunningCloud, model: FaultModel) -> None:
    session = str(uuid.uuid4())
    run_id = await say(cloud, "demo", "ada", session, "A secret")
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    console = Console(page, cloud.url)
    await console.open(f"/threads/{session}/turns/{run_id}")
    await console.sign_in("demo", "admin", "thread:read_all")
    await expect(console.main.get_by_text("context:inspect")).to_be_visible()
    assert not [url for url in requests if "/turns" in url]
