"""The console's desk, as people who answer use it: two of them at once, reloads, the user's typing and the way back."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.async_api import Browser, FilePayload, Page, Route, expect

from baton_local import web
from tests.browser.console import Console
from tests.browser.desks import PERMISSIONS, write_desks
from tests.e2e.cloud import RunningCloud
from tests.e2e.sockets import open_socket
from tests.fault_model import FaultModel, answers

expect.set_options(timeout=60_000)


@pytest.fixture(scope="module")
def desk_cloud(fault_model_server: FaultModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCloud]:
    """A cloud whose assistant hands over to two desks, and which serves a build of the current sources."""
    web.build()
    agents: Path = write_desks(tmp_path_factory.mktemp("agents"))
    with RunningCloud(fault_model_server.base_url, agents=agents) as running:
        yield running


@dataclass
class Customer:
    """A user who writes, with nothing but the HTTP API."""

    cloud: RunningCloud
    tenant: str
    id: str
    session: str

    @property
    def token(self) -> str:
        return self.cloud.token(self.tenant, self.id)

    async def say(self, text: str) -> Any:
        body = {"sessionId": self.session, "messageId": str(uuid.uuid4()), "message": text}
        headers = {"Authorization": f"Bearer {self.token}"}
        async with httpx.AsyncClient(base_url=self.cloud.url, timeout=120, headers=headers) as client:
            return (await client.post("/v1/messages", json=body)).raise_for_status().json()


@pytest.fixture
async def ada(desk_cloud: RunningCloud, model: FaultModel) -> Customer:
    """A customer who waits for a person."""
    customer = Customer(desk_cloud, f"t{uuid.uuid4().hex[:8]}", "ada", str(uuid.uuid4()))
    await customer.say("talk to a human: my parcel arrived broken")
    return customer


@pytest.fixture
async def other_page(browser: Browser) -> AsyncIterator[Page]:
    """The page of another person, on a phone with a dark colour scheme."""
    context = await browser.new_context(viewport={"width": 390, "height": 780}, color_scheme="dark")
    yield await context.new_page()
    await context.close()


async def at_the_desk(page: Page, ada: Customer, person: str) -> Console:
    """A person who looks at ada's conversation."""
    console = Console(page, ada.cloud.url)
    await console.open("/desk")
    await console.sign_in(ada.tenant, person, *PERMISSIONS)
    await console.main.get_by_role("link", name="my parcel arrived broken").click()
    await expect(console.main.get_by_role("log")).to_contain_text("my parcel arrived broken")
    return console


async def test_of_two_people_one_takes_the_conversation_and_the_other_reads_who(
    page: Page, other_page: Page, ada: Customer
) -> None:
    people = [await at_the_desk(page, ada, "anna"), await at_the_desk(other_page, ada, "ben")]
    takes = [person.main.get_by_role("button", name="Take") for person in people]
    await asyncio.gather(*(take.click() for take in takes))
    for person in people:
        await expect(person.main.get_by_role("button", name="Take")).to_have_count(0)
    held = [await person.main.get_by_role("button", name="Hand back").count() for person in people]
    assert sorted(held) == [0, 1]
    winner, loser = ("anna", people[1]) if held[0] else ("ben", people[0])
    await expect(loser.main).to_contain_text(f"{winner} answers this conversation.")


@pytest.mark.nightly
async def test_a_person_answers_with_a_draft_a_file_and_a_note_and_hands_the_conversation_back(
    page: Page, ada: Customer, model: FaultModel
) -> None:
    anna = await at_the_desk(page, ada, "anna")
    main, log = anna.main, anna.main.get_by_role("log")
    await main.get_by_role("button", name="Take").click()
    field = main.get_by_role("textbox", name="Message")
    await expect(field).to_be_focused()
    model.script(answers("I am sorry about the parcel."))
    await main.get_by_role("button", name="Draft").click()
    await expect(field).to_have_value("I am sorry about the parcel.")
    await expect(log.locator("article.person")).to_have_count(0)

    await page.reload()
    await expect(field).to_have_value("I am sorry about the parcel.")
    form = FilePayload(name="form.pdf", mimeType="application/pdf", buffer=b"%PDF-1.4")
    await main.locator("input[type=file]").set_input_files([form])
    await expect(main.get_by_role("button", name="Remove form.pdf")).to_be_visible()
    await field.press("Enter")
    await expect(log.locator("article.person")).to_contain_text("I am sorry about the parcel.")
    await expect(log.get_by_role("link", name="form.pdf")).to_be_visible()
    await expect(field).to_have_value("")

    await main.get_by_label("a note for people").check()
    await main.get_by_role("textbox", name="Note").fill("She has a photo.")
    await main.get_by_role("button", name="Leave note").click()
    await expect(log).to_contain_text("She has a photo.")
    await expect(field).to_have_value("")
    await main.get_by_label("a note for people").check()
    read = await ada.say("A refund, please")
    assert "photo" not in str(read)
    await expect(log).to_contain_text("A refund, please")

    await main.get_by_role("button", name="Hand back").click()
    await main.get_by_label("Note for the agent").fill("Refund granted.")
    await main.get_by_role("form", name="Hand back").get_by_role("button", name="Hand back").click()
    await expect(main).to_contain_text("No conversation is at your desks.")
    model.script(answers("Your refund is on its way."))
    await ada.say("Thank you")
    assert "Refund granted." in str(model.bodies[-1])

    await ada.say("talk to a human: my refund is late")
    await main.get_by_role("link", name="my refund is late").click()
    await main.get_by_role("button", name="Take").click()
    await expect(field).to_be_focused()
    await field.press_sequentially("Hello again!\n")
    await expect(log.locator("article.person").last).to_contain_text("Hello again!")


@pytest.mark.nightly
async def test_an_answer_that_arrived_unnoticed_leaves_the_field_and_may_be_repeated(page: Page, ada: Customer) -> None:
    anna = await at_the_desk(page, ada, "anna")
    main = anna.main
    await main.get_by_role("button", name="Take").click()

    async def lose(route: Route) -> None:
        await route.fetch()
        await route.abort()

    await page.route("**/desk/messages", lose, times=1)
    field = main.get_by_role("textbox", name="Message")
    await field.fill("I am here.")
    await field.press("Enter")
    await expect(page.get_by_role("status").filter(has_text="could not be reached")).to_be_visible()
    await page.reload()
    sent = main.get_by_role("log").locator("article.person")
    await expect(sent).to_have_count(1)
    await expect(field).to_have_value("")
    await field.fill("I am here.")
    await field.press("Enter")
    await expect(sent).to_have_count(2)


@pytest.mark.nightly
async def test_both_see_that_the_other_is_typing(page: Page, ada: Customer) -> None:
    anna = await at_the_desk(page, ada, "anna")
    await anna.main.get_by_role("button", name="Take").click()
    field = anna.main.get_by_role("textbox", name="Message")
    await expect(field).to_be_focused()
    async with open_socket(ada.cloud.socket_url, ada.token) as socket:
        await socket.send(action="resume", threadId=ada.session, after=0)
        await socket.receive_until(lambda event: event["type"] == "STATE_SNAPSHOT")
        await socket.send(action="typing", threadId=ada.session)
        await expect(anna.main).to_contain_text("ada is typing")
        await field.press_sequentially("Hello")
        await socket.receive_until(lambda event: event.get("name") == "typing" and event["value"] == {"who": "person"})


@pytest.mark.nightly
async def test_sound_is_off_until_somebody_wants_it(page: Page, ada: Customer) -> None:
    anna = await at_the_desk(page, ada, "anna")
    sound = anna.main.get_by_role("checkbox", name="Sound")
    await expect(sound).not_to_be_checked()
    await sound.check()
    await page.reload()
    await expect(sound).to_be_checked()
