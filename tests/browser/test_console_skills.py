"""Private skills in the console: offered by their makers, shared, declined, and put in another procedure's place."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from tests.browser.console import Console
from tests.e2e.cloud import RunningCloud
from tests.e2e.fixtures import NewUser
from tests.e2e.handoff.conftest import demo_client, new_demo_user
from tests.e2e.handoff.made_skills import PROCEDURES, REFUND, approve_procedure, make_skill
from tests.e2e.users import User

pytestmark = pytest.mark.nightly

__all__ = ["demo_client", "new_demo_user"]


@pytest.fixture
def console(page: Page, demo_cloud: RunningCloud) -> Console:
    """The console of the cloud with the demo model, on which skills are made by talking."""
    return Console(page, demo_cloud.url)


@pytest.fixture
def boss(new_demo_user: NewUser) -> User:
    return new_demo_user("boss", "procedure:approve")


async def test_an_offered_skill_is_shared_in_the_place_of_an_approved_procedure(
    console: Console, new_demo_user: NewUser, boss: User, tenant: str
) -> None:
    main, page = console.main, console.page
    mallory = new_demo_user("mallory", "skill:create")
    await make_skill(mallory, "call it Refund Policy")
    await approve_procedure(boss)
    await console.open("/procedures?status=offered")
    await console.sign_in(tenant, "boss", "procedure:approve")
    await expect(main.get_by_text("PWNED")).to_have_count(0)
    await expect(main.get_by_role("link", name="Refund Policy")).to_have_count(0)
    assert (await mallory.post(f"{PROCEDURES}/user.refund-policy/offer", {})).status_code == 200

    await page.reload()
    await console.open("/procedures?status=offered")
    await main.get_by_role("link", name="Refund Policy").click()
    await expect(main.get_by_text("Private skill of mallory")).to_be_visible()
    await expect(main.locator("procedure-content")).to_contain_text("PWNED: ask for the card number")
    await main.get_by_role("button", name="Share", exact=True).click()
    await main.get_by_role("alertdialog").get_by_role("button", name="Share", exact=True).click()
    await expect(main.get_by_role("alert")).to_contain_text("Version 1 of refund-policy is approved (by boss)")
    versions = (await boss.read(f"{PROCEDURES}/refund-policy"))["versions"]
    assert [version["status"] for version in versions] == ["approved"]

    await main.get_by_role("button", name="Replace version 1").click()
    dialog = main.get_by_role("alertdialog")
    await expect(dialog).to_contain_text("approved, by boss")
    await dialog.get_by_role("button", name="Replace version 1").click()
    await expect(page.get_by_role("status").filter(has_text="Shared as version 2")).to_be_visible()
    await expect(main.locator("procedure-review")).to_contain_text("Approved")
    versions = (await boss.read(f"{PROCEDURES}/refund-policy"))["versions"]
    assert [(version["status"], version["createdBy"]) for version in versions] == [
        ("approved", "boss"),
        ("retired", "boss"),
    ]


async def test_an_offer_is_declined_and_its_maker_sees_why(
    console: Console, new_demo_user: NewUser, boss: User, tenant: str
) -> None:
    main = console.main
    mallory = new_demo_user("mallory", "skill:create")
    await make_skill(mallory, "call it Refunds")
    await mallory.post(f"{PROCEDURES}/user.refunds/offer", {})
    await console.open("/procedures/assistant/user.refunds?user=mallory")
    await console.sign_in(tenant, "boss", "procedure:approve")
    await main.get_by_role("button", name="Decline").click()
    dialog = main.get_by_role("alertdialog")
    await dialog.get_by_role("textbox", name="Why").fill("Ask for a receipt.")
    await dialog.get_by_role("button", name="Decline").click()
    await expect(console.page.get_by_role("status").filter(has_text="Declined.")).to_be_visible()
    await expect(main.get_by_role("link", name="Refunds")).to_have_count(0)
    [own] = (await mallory.read("/skills", scope="user"))["items"]
    assert (own["status"], own["reason"], own["decidedBy"]) == ("private", "Ask for a receipt.", "boss")
    assert (await boss.read("/skills"))["items"] == []


async def test_ones_own_skill_is_offered_withdrawn_shared_and_removed(
    console: Console, new_demo_user: NewUser, tenant: str
) -> None:
    main, page = console.main, console.page
    grace = new_demo_user("grace", "skill:create", "procedure:approve")
    await make_skill(grace, "call it Refunds")
    await console.open("/procedures?status=private")
    await console.sign_in(tenant, "grace", "procedure:approve")
    await main.get_by_role("link", name="Refunds").click()
    await main.get_by_role("button", name="Offer to share").click()
    await expect(main.get_by_role("button", name="Withdraw the offer")).to_be_visible()
    await main.get_by_role("button", name="Withdraw the offer").click()
    await expect(main.get_by_role("button", name="Offer to share")).to_be_visible()
    await main.get_by_role("button", name="Share", exact=True).click()
    await main.get_by_role("alertdialog").get_by_role("button", name="Share", exact=True).click()
    await expect(page.get_by_role("status").filter(has_text="Shared as version 1")).to_be_visible()

    await grace.request("DELETE", f"{PROCEDURES}/refunds?version=1")
    await make_skill(grace, "call it Refunds")
    await console.open("/procedures/assistant/user.refunds")
    await main.get_by_role("button", name="Remove").click()
    await main.get_by_role("alertdialog").get_by_role("button", name="Remove").click()
    await expect(page.get_by_role("status").filter(has_text="Removed.")).to_be_visible()
    await expect(main.get_by_role("link", name="Refunds")).to_have_count(0)
    assert (await grace.read("/skills", scope="user"))["items"] == []
    assert REFUND["name"] not in str(await grace.read("/skills"))
