"""Agents, procedures and documents in the console, as administrators use it."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from local import web
from tests.browser.console import Console
from tests.e2e.cloud import RunningCloud
from tests.e2e.fixtures import NewUser
from tests.e2e.sockets import new_id
from tests.fault_model import FaultModel

expect.set_options(timeout=60_000)

TUTOR = "id: tutor\nname: Tutor\ndescription: Helps.\nsystem_prompt: |-\n  Ask one question.\n  Wait.\nmain: true\n"
EXPECTED = ("status of 404", "status of 422", "Applying inline style")
"""What the browser logs of itself: refusals, and styles that its own editing of text would leave behind."""
HOSTILE = "<img src=x onerror=alert(1)> {{name}} \u202eevil"


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    """What the local cloud serves is what the sources say."""
    web.build()


@pytest.fixture
def console(page: Page, cloud: RunningCloud) -> Console:
    """The console, nobody signed in."""
    return Console(page, cloud.url)


async def write(console: Console, text: str) -> None:
    """Replace what is in the editor."""
    editor = console.main.get_by_role("textbox", name="Definition of")
    await editor.click()
    await console.page.keyboard.press("ControlOrMeta+a")
    await console.page.keyboard.insert_text(text)


async def test_an_agent_is_made_edited_and_answers_as_it_was_edited(
    console: Console, new_user: NewUser, tenant: str, model: FaultModel
) -> None:
    told: list[str] = []
    console.page.on("console", lambda message: told.append(message.text) if message.type == "error" else None)
    page, main = console.page, console.main
    await console.open("/agents")
    await console.sign_in(tenant, "ada")
    await expect(main.get_by_role("link", name="assistant", exact=True)).to_be_visible()
    await main.get_by_role("textbox", name="Id of the new agent").fill("tutor")
    await main.get_by_role("button", name="Begin").click()

    # The server's problems stand at their lines, and nothing can be saved.
    await write(console, TUTOR + "memory:\n  semantic_top_k: 99\n")
    await expect(main.get_by_role("status").filter(has_text="1 problem")).to_be_visible()
    await expect(main.get_by_role("button", name="Line 9")).to_be_visible()
    await expect(main.get_by_role("button", name="Save", exact=True)).to_be_disabled()
    await expect(main.locator(".cm-lint-marker-error")).to_have_count(1)
    await write(console, "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n")
    await expect(main.get_by_text("aliases (*name) are not allowed")).to_be_visible()

    # Fields are completed by the schema.
    await write(console, TUTOR + "memory:\n")
    await page.keyboard.insert_text("  semantic")
    await page.keyboard.press("Control+Space")
    await expect(main.locator(".cm-tooltip-autocomplete")).to_contain_text("semantic_top_k")
    await page.keyboard.press("Escape")

    await write(console, TUTOR.replace("Helps.", f"'{HOSTILE}'"))
    await expect(main.get_by_role("status").filter(has_text="valid")).to_be_visible()
    await expect(main.get_by_role("region", name="What this changes")).to_contain_text("Ask one question.")
    await main.get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_role("status").filter(has_text="Version 1 is saved")).to_be_visible()

    user = new_user("ulla")
    await user.ask("Hello", sessionId=new_id(), agentId="tutor")  # of the function that answers over HTTP
    assert model.requests[-1].prompts[0][1].startswith("Ask one question.\nWait.")
    await write(console, TUTOR.replace("one question", "two questions"))
    await expect(main.get_by_role("region", name="What this changes")).to_contain_text("systemPrompt")
    await main.get_by_role("textbox", name="Why").fill("Two are better")
    await main.get_by_role("button", name="Save", exact=True).click()
    await expect(main.get_by_role("cell", name="Two are better")).to_be_visible()
    async with user.connect() as socket:  # of the worker, which has not read the agent within the last minute
        await socket.say("Hello", thread_id=new_id(), agentId="tutor")
    assert model.requests[-1].prompts[0][1].startswith("Ask two questions.")

    # Versions are compared and rolled back to.
    await main.get_by_role("button", name="Compare 1").click()
    await expect(main.locator("console-diff")).to_contain_text("Ask one question.")
    await main.get_by_role("button", name="Roll back to version 1").click()
    await main.get_by_role("button", name="Roll back to version 1").click()
    await expect(main.get_by_role("cell", name="Repeats version 1")).to_be_visible()
    await expect(main.get_by_role("textbox", name="Definition of tutor")).to_contain_text("Ask one question.")
    await main.get_by_role("button", name="Delete agent").click()
    await main.get_by_role("button", name="Delete agent").click()
    await expect(main.get_by_role("link", name="assistant", exact=True)).to_be_visible()
    await expect(main.get_by_role("link", name="tutor", exact=True)).to_have_count(0)
    assert [text for text in told if not any(known in text for known in EXPECTED)] == []


async def test_of_two_administrators_the_later_one_keeps_both_definitions(
    console: Console, new_user: NewUser, tenant: str, model: FaultModel
) -> None:
    main = console.main
    bob = new_user("bob", "agent:write")
    first = {"name": "Tutor", "description": "Helps.", "systemPrompt": "Be kind.", "main": True}
    assert (await bob.request("PUT", "/agents/tutor", body=first)).status_code == 201
    await console.open("/agents/tutor")
    await console.sign_in(tenant, "ada")
    await expect(main.get_by_role("textbox", name="Definition of tutor")).to_contain_text("Be kind.")
    await write(console, TUTOR.replace("Ask one question.", "Be brief."))
    await expect(main.get_by_role("status").filter(has_text="valid")).to_be_visible()
    changed = await bob.request("PUT", "/agents/tutor", body=first | {"systemPrompt": "Be exact."})
    assert changed.json()["version"] == 2
    await main.get_by_role("button", name="Save", exact=True).click()
    conflict = main.get_by_role("alert").filter(has_text="Somebody else has changed this agent")
    await expect(conflict).to_contain_text("bob has saved version 2")
    await expect(conflict.locator("console-diff")).to_contain_text("Be exact.")
    await expect(conflict.locator("console-diff")).to_contain_text("Be brief.")
    assert (await bob.read("/agents/tutor"))["systemPrompt"] == "Be exact."
    await conflict.get_by_role("button", name="Go on with what is on the right").click()
    await main.get_by_role("button", name="Save", exact=True).click()
    await expect(main.get_by_role("cell", name="ada")).to_be_visible()
    assert (await bob.read("/agents/tutor"))["systemPrompt"] == "Be brief.\nWait."
    assert [each["createdBy"] for each in (await bob.read("/agents/tutor/versions"))["items"]] == ["ada", "bob", "bob"]


async def test_what_is_too_large_or_not_permitted_any_more_stays_in_the_editor(
    console: Console, tenant: str, model: FaultModel
) -> None:
    main = console.main
    await console.open("/agents/tutor")
    await console.sign_in(tenant, "ada")
    await write(console, TUTOR + "# " + "x" * 1_000_000)
    await expect(main.get_by_text("A definition has at most 256 KB.")).to_be_visible()
    await write(console, TUTOR)
    await expect(main.get_by_role("status").filter(has_text="valid")).to_be_visible()

    forbidden = {"code": "forbidden", "title": "Not permitted", "status": 403, "retryable": False, "requestId": "r-1"}
    forbidden |= {"detail": "This needs the permission agent:write.", "type": "about:blank"}
    await console.page.route(
        "**/v1/agents/tutor", lambda route: route.fulfill(status=403, json=forbidden, content_type="application/json")
    )
    await main.get_by_role("button", name="Save", exact=True).click()
    await expect(main.get_by_role("alert")).to_contain_text("This needs the permission agent:write.")
    await expect(main.get_by_role("textbox", name="Definition of tutor")).to_contain_text("Ask one question.")
