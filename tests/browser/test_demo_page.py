"""The demo page of ``make run``, as somebody uses it who has just started Baton."""

from __future__ import annotations

from playwright.async_api import Locator, Page, expect

from tests.e2e.cloud import RunningCloud
from tests.e2e.gates import Gate
from tests.fault_model import FaultModel, answers, unauthorized

expect.set_options(timeout=60_000)


async def say(page: Page, text: str) -> None:
    """Type a message and send it."""
    await page.get_by_role("textbox", name="Your message").fill(text)
    await page.keyboard.press("Enter")


def said(page: Page, role: str) -> Locator:
    """The bodies of what was said by "user" or "assistant"."""
    return page.locator(f"article.{role} .body")


async def test_a_message_is_answered_in_front_of_the_readers_eyes(
    page: Page, cloud: RunningCloud, model: FaultModel
) -> None:
    gate = Gate("It was a dark ", "and stormy night.")
    model.script(gate.behaviour)
    await page.goto(cloud.url)
    await say(page, "Tell me a story")
    await expect(said(page, "user")).to_have_text(["Tell me a story"])
    await expect(said(page, "assistant")).to_have_text(["It was a dark"])
    await expect(said(page, "assistant")).to_have_attribute("aria-busy", "true")
    gate.open()
    await expect(said(page, "assistant")).to_have_text([gate.text])
    await expect(said(page, "assistant")).to_have_attribute("aria-busy", "false")


async def test_a_reload_keeps_the_conversation(page: Page, cloud: RunningCloud, model: FaultModel) -> None:
    model.script(answers("Hello Ada."), answers("You are Ada."))
    await page.goto(cloud.url)
    await say(page, "I am Ada.")
    await expect(said(page, "assistant")).to_have_text(["Hello Ada."])
    await page.reload()
    await expect(said(page, "user")).to_have_text(["I am Ada."])
    await expect(said(page, "assistant")).to_have_text(["Hello Ada."])
    await say(page, "Who am I?")
    await expect(said(page, "assistant")).to_have_text(["Hello Ada.", "You are Ada."])
    assert [content for _, content in model.requests[-1].prompts[1:]] == ["I am Ada.", "Hello Ada.", "Who am I?"]


async def test_a_reload_in_the_middle_of_an_answer_shows_all_of_it(
    page: Page, cloud: RunningCloud, model: FaultModel
) -> None:
    gate = Gate("It was a dark ", "and stormy night.")
    model.script(gate.behaviour)
    await page.goto(cloud.url)
    await say(page, "Tell me a story")
    await expect(said(page, "assistant")).to_have_text(["It was a dark"])
    await page.reload()
    await expect(said(page, "assistant")).to_have_text(["It was a dark"])
    gate.open()
    await expect(said(page, "assistant")).to_have_text([gate.text])
    await expect(said(page, "user")).to_have_text(["Tell me a story"])
    assert len(model.requests) == 1


async def test_an_answer_that_is_stopped_keeps_what_was_said(
    page: Page, cloud: RunningCloud, model: FaultModel
) -> None:
    gate = Gate("It was a dark ", "and stormy night.")
    model.script(gate.behaviour, answers("Another one."))
    await page.goto(cloud.url)
    await say(page, "Tell me a story")
    await expect(said(page, "assistant")).to_have_text(["It was a dark"])
    await page.get_by_role("button", name="Stop").click()
    await expect(page.locator("article.assistant small")).to_have_text("Stopped")
    await expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    await page.reload()
    await expect(page.locator("article.assistant small")).to_have_text("Stopped")
    await say(page, "Another one, please")
    await expect(said(page, "assistant")).to_have_text(["It was a dark", "Another one."])
    gate.open()


async def test_a_conversation_that_was_ended_says_so_and_reopens(
    page: Page, cloud: RunningCloud, model: FaultModel
) -> None:
    closed = page.get_by_text("This conversation is closed. Write a message to reopen it.")
    await page.goto(cloud.url)
    await say(page, "That is all")
    await expect(said(page, "assistant")).to_have_text(["That is all"])
    await page.get_by_role("button", name="End conversation").click()
    await expect(closed).to_be_visible()
    await expect(page.get_by_role("navigation").get_by_role("button").first).to_contain_text("closed")
    await page.reload()
    await expect(closed).to_be_visible()
    await expect(page.locator("#transcript > *").last).to_have_text("You ended the conversation.")
    await say(page, "One more thing")
    await expect(said(page, "assistant")).to_have_text(["That is all", "One more thing"])
    await expect(closed).to_be_hidden()


async def test_ends_are_in_the_audit_that_the_page_shows(page: Page, cloud: RunningCloud, model: FaultModel) -> None:
    await page.goto(cloud.url)
    await say(page, "That is all")
    await page.get_by_role("button", name="End conversation").click()
    await expect(page.locator("#closed")).to_be_visible()
    await page.get_by_role("button", name="Audit").click()
    await expect(page.get_by_role("dialog", name="Audit")).to_contain_text("thread.close closed, ada")


async def test_a_failed_answer_can_be_asked_for_again(page: Page, cloud: RunningCloud, model: FaultModel) -> None:
    model.script(unauthorized(), answers("Here I am."))
    await page.goto(cloud.url)
    await say(page, "Anybody there?")
    await expect(page.locator(".failed")).to_contain_text("The model did not accept the request.")
    await say(page, "And now?")
    await expect(said(page, "assistant")).to_have_text(["Here I am."])


async def test_what_the_model_says_is_never_run(page: Page, cloud: RunningCloud, model: FaultModel) -> None:
    attack = "<img src=x onerror=\"document.title='taken'\"> <script>document.title='taken'</script>"
    model.script(answers(attack))
    await page.goto(cloud.url)
    await say(page, attack)
    await expect(said(page, "assistant")).to_have_text([attack])
    await expect(said(page, "user")).to_have_text([attack])
    assert await page.title() == "Baton"


async def test_the_reader_can_be_somebody_else_with_permissions(
    page: Page, cloud: RunningCloud, model: FaultModel
) -> None:
    await page.goto(cloud.url)
    await page.get_by_text("Be somebody else").click()
    await page.get_by_label("User").fill("grace")
    await page.get_by_label("Permissions").fill("agent:write audit:read")
    async with page.expect_request("**/local/token") as asked:
        await page.get_by_role("button", name="Use these").click()
    request = await asked.value
    assert request.post_data_json == {"tenant": "demo", "user": "grace", "permissions": "agent:write audit:read"}
    await expect(page.locator("#who")).to_have_text("grace of tenant demo")


async def test_another_user_does_not_see_the_conversation(page: Page, cloud: RunningCloud, model: FaultModel) -> None:
    await page.goto(cloud.url)
    await say(page, "For my eyes only")
    await expect(said(page, "assistant")).to_have_text(["For my eyes only"])
    await page.evaluate("localStorage.setItem('baton.user', 'somebody else')")
    await page.reload()
    await expect(page.locator("#status")).to_have_attribute("data-state", "open")
    await expect(said(page, "assistant")).to_have_count(0)


async def test_the_description_of_the_api_needs_no_other_host(page: Page, cloud: RunningCloud) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    await page.goto(f"{cloud.url}/v1/docs")
    await expect(page.get_by_role("heading", name="Baton").first).to_be_visible()
    await expect(page.get_by_text("/v1/threads/{thread_id}/close")).to_be_visible()
    assert [url for url in asked if not url.startswith((cloud.url, "data:"))] == []
