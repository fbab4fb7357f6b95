"""Agents, procedures and documents in the console, as administrators use it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx
import pytest
from playwright.async_api import Page, expect

from baton.domain.documents.search import IndexName, SearchFilter
from baton.domain.tenants.identity import ProjectScope, Scope
from baton_local import web
from baton_local.engines.clients import client
from tests.browser.console import Console
from tests.browser.widget import Widget
from tests.contracts.search import document
from tests.documents import PDF, pdf
from tests.e2e.cloud import RunningCloud
from tests.e2e.consulting.peers import example_agents, example_server
from tests.e2e.fixtures import NewUser
from tests.e2e.sockets import PATIENCE_SECONDS, new_id
from tests.e2e.users import User
from tests.embedded_index import make_embedded_index
from tests.fault_model import FaultModel

pytestmark = pytest.mark.nightly

Json = dict[str, Any]

expect.set_options(timeout=60_000)

TUTOR = "id: tutor\nname: Tutor\ndescription: Helps.\nsystem_prompt: |-\n  Ask one question.\n  Wait.\nmain: true\n"
EXPECTED = ("status of 404", "status of 422", "Applying inline style")
"""The browser's own log lines: refusals, and styles that its editing of text would leave behind."""
HOSTILE = "<img src=x onerror=alert(1)> {{name}} \u202eevil"


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    """The local cloud serves a build of the current sources."""
    web.build()


@pytest.fixture
def console(page: Page, cloud: RunningCloud) -> Console:
    """The console, nobody signed in."""
    return Console(page, cloud.url)


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCloud]:
    """The product with the demo model, and the example's agents with their server: one of them learns."""
    with example_server() as server:
        agents = example_agents(tmp_path_factory.mktemp("agents"), server)
        with RunningCloud(agents=agents, settings={"BATON_DEMO_DELAY_MS": "1"}) as running:
            yield running


@pytest.fixture
async def reviewer(examples: RunningCloud) -> AsyncIterator[User]:
    """Bob, who decides on procedures over the API, in the tenant of the demo page."""
    async with httpx.AsyncClient(base_url=examples.url, timeout=PATIENCE_SECONDS, trust_env=False) as client:
        token = examples.token("demo", "bob", "procedure:approve", "context:inspect", "thread:read_all")
        yield User(examples, client, "demo", "bob", token)


async def poll_text(read: Callable[[], Any]) -> Any:
    """Return the text, once there is one."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            result = await read()
            if result:
                return result
            await asyncio.sleep(0.2)


async def faults(console: Console) -> list[str]:
    """Return the problems that axe finds in the page."""
    await console.page.evaluate((web.SOURCES / "node_modules" / "axe-core" / "axe.min.js").read_text())
    result = await console.page.evaluate("axe.run('baton-console')")
    return [f"{violation['id']}: {node['html']}" for violation in result["violations"] for node in violation["nodes"]]


async def write(console: Console, text: str) -> None:
    """Replace what is in the editor."""
    editor = console.main.get_by_role("textbox", name="Definition of")
    await editor.click()
    await console.page.keyboard.press("ControlOrMeta+a")
    await console.page.keyboard.insert_text(text)


async def test_an_agent_is_made_edited_and_answers_as_it_was_edited(
    console: Console, new_user: NewUser, tenant: str, model: FaultModel
) -> None:
    reported: list[str] = []
    console.page.on("console", lambda message: reported.append(message.text) if message.type == "error" else None)
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
    assert await faults(console) == []
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
    assert [text for text in reported if not any(entry in text for entry in EXPECTED)] == []


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
    assert [item["createdBy"] for item in (await bob.read("/agents/tutor/versions"))["items"]] == ["ada", "bob", "bob"]


async def test_a_candidate_gets_a_share_and_is_promoted_and_the_next_one_withdrawn(
    console: Console, new_user: NewUser, tenant: str, model: FaultModel
) -> None:
    main = console.main
    bob = new_user("bob", "agent:write")
    first = {"name": "Tutor", "description": "Helps.", "systemPrompt": "Be kind.", "main": True}
    await bob.request("PUT", "/agents/tutor", body=first)
    await new_user("ulla").ask("Hello", sessionId=new_id(), agentId="tutor")
    await bob.request("PUT", "/agents/tutor?share=10", body=first | {"systemPrompt": "Be brief."})
    await console.open("/agents/tutor")
    await console.sign_in(tenant, "ada")
    row = main.get_by_role("row").filter(has_text="Candidate: 10 % of new conversations")
    await expect(row).to_be_visible()
    await expect(main.get_by_role("cell", name="1, 0", exact=True)).to_be_visible()
    await main.get_by_role("spinbutton", name="Share of new conversations").fill("40")
    await main.get_by_role("button", name="Set the share of version 2").click()
    await expect(main.get_by_role("cell", name="Candidate: 40 % of new conversations")).to_be_visible()
    assert await faults(console) == []
    for _ in range(2):
        await main.get_by_role("button", name="Promote version 2").click()
    await expect(main.get_by_role("cell", name="Former")).to_be_visible()
    await expect(main.get_by_role("button", name="Promote version 2")).to_have_count(0)
    await bob.request("PUT", "/agents/tutor?share=10", body=first | {"systemPrompt": "Be exact."})
    await console.page.reload()
    for _ in range(2):
        await main.get_by_role("button", name="Withdraw version 3").click()
    await expect(main.get_by_role("cell", name="Withdrawn")).to_be_visible()


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


async def test_a_captured_procedure_is_reviewed_beside_its_task_approved_and_followed(
    page: Page, examples: RunningCloud, reviewer: User
) -> None:
    widget = Widget(page, examples.url)
    await page.goto(examples.url)
    await widget.wait_until_connected()
    await page.get_by_label("New conversations begin with").select_option(label="Operator")
    await widget.say("Please report an outage of Miller Ltd to #operations. Berta is at berta@miller.example.")
    await expect(widget.locate_bodies("assistant").last).to_contain_text("The outage at Miller Ltd")

    async def list_captured() -> list[Json]:
        results: list[Json] = (await reviewer.read("/procedures"))["items"]
        return results

    [captured] = await poll_text(list_captured)
    assert page.context.browser is not None
    office = await page.context.browser.new_page(locale="en-US")
    office.set_default_timeout(60_000)
    console = Console(office, examples.url)
    main = console.main
    await console.open("/procedures")
    await console.sign_in("demo", "grace", "procedure:approve", "context:inspect", "thread:read_all")
    await main.get_by_role("link", name="Report an outage").click()

    # The draft stands beside the task that it was made of, without what is personal.
    await expect(main.get_by_role("heading", name="Report an outage")).to_be_visible()
    await expect(main.locator("procedure-content")).to_contain_text("Call open_ticket")
    source = main.locator("procedure-source")
    await expect(source).to_contain_text("Please report an outage of Miller Ltd to #operations.")
    await expect(source).to_contain_text("is at [email]")
    await expect(source).to_contain_text("Calls open_ticket")
    await expect(source).to_contain_text("Personal data is replaced")
    await expect(main.get_by_text("berta@miller.example")).to_have_count(0)
    assert await faults(console) == []

    # Somebody else changes it meanwhile: an approval of the older text is refused.
    path = f"/agents/operator/procedures/{captured['id']}"
    content = {entry: captured[entry] for entry in ("name", "triggers", "steps", "allowedTools")}
    changed = await reviewer.request("PUT", path, body={**content, "description": "By bob.", "version": 1})
    assert changed.json()["version"] == 2
    await main.get_by_role("button", name="Approve").click()
    await expect(main.get_by_role("alert")).to_contain_text("Version 1 was retired by bob since you read it")
    assert [version["status"] for version in (await reviewer.read(path))["versions"]] == ["pending", "retired"]

    # Of two changes of one version, the later one meets the other, and both can be read.
    await main.get_by_role("link", name="2", exact=True).click()
    await main.get_by_role("button", name="Edit").click()
    editor = main.get_by_role("textbox", name="SKILL.md of")
    await expect(editor).to_contain_text("By bob.")
    text = await editor.inner_text()
    await editor.click()
    await office.keyboard.press("ControlOrMeta+a")
    await office.keyboard.insert_text(text.replace("By bob.", "By grace."))
    await reviewer.request("PUT", path, body={**content, "description": "By bob again.", "version": 2})
    await main.get_by_role("button", name="Save as a new version").click()
    conflict = main.get_by_role("alert").filter(has_text="Somebody else has changed")
    await expect(conflict.locator("console-diff")).to_contain_text("By bob again.")
    await expect(conflict.locator("console-diff")).to_contain_text("By grace.")
    await conflict.get_by_role("button", name="Go on with what is on the right").click()
    await main.get_by_role("button", name="Save as a new version").click()
    await expect(main.locator("procedure-content")).to_contain_text("By grace.")
    await main.get_by_role("button", name="Approve").click()
    await expect(main.get_by_role("status").filter(has_text="Approved")).to_be_visible()

    # The next similar request follows it; the record of the turn says so, and its use is counted.
    await page.get_by_role("button", name="New conversation").click()
    await widget.say("Report an outage of Contoso to #support")
    await expect(widget.locate_bodies("assistant").last).to_contain_text("I am following the skill Report an outage")

    async def read_use() -> Json | None:
        result: Json = await reviewer.read(path)
        return result if result["used"] == 1 else None

    await poll_text(read_use)
    thread = (await reviewer.read("/threads", scope="tenant"))["items"][0]["id"]
    run = (await reviewer.read(f"/threads/{thread}/turns"))["items"][0]["runId"]

    async def record() -> Json | None:
        answer = await reviewer.get(f"/threads/{thread}/turns/{run}/context")
        return answer.json() if answer.status_code == 200 else None

    blocks = (await poll_text(record))["blocks"]
    [followed] = [item for block in blocks if block["kind"] == "procedure" for item in block["items"]]
    assert (followed["title"].startswith("Report an outage"), followed["included"]) == (True, True)
    await expect(main.get_by_role("heading", name="Report an outage")).to_be_visible()
    await office.reload()
    await expect(main.get_by_text("1, 1 went well").first).to_be_visible()
    await console.open(f"/threads/{thread}/turns/{run}")
    await main.locator("summary").filter(has_text="Procedure").click()
    await expect(main.get_by_text("Report an outage").first).to_be_visible()

    # A message is tried, and the procedure is retired with a reason.
    await console.open("/procedures?status=approved")
    await main.get_by_role("combobox", name="Agent").select_option("operator")
    await main.get_by_role("textbox", name="Message, as a user would say it").fill("please report an outage of X")
    await main.get_by_role("button", name="Try").click()
    await expect(main.get_by_role("status").filter(has_text="Would be followed")).to_contain_text("a trigger matches")
    await main.get_by_role("table").get_by_role("link", name="Report an outage").click()
    await main.get_by_role("button", name="Retire").click()
    await main.get_by_role("textbox", name="Why").fill("<b>Not any more</b>")
    await main.get_by_role("button", name="Retire").click()
    await expect(main.get_by_text("<b>Not any more</b>").first).to_be_visible()
    assert (await reviewer.read(path))["status"] == "retired"
    await office.close()


async def test_a_pdf_is_uploaded_followed_found_and_deleted(
    console: Console, tenant: str, model: FaultModel, new_user: NewUser
) -> None:
    main = console.main
    lines = ["The pump is started by opening the blue valve by hand.", "Never start it while the tank is empty."]
    pages = [("Pumps", ["Everything about pumps."]), ("Starting the pump", lines)]
    await console.open("/documents")
    await console.sign_in(tenant, "ada", "document:write")
    await main.get_by_role("link", name="Assistant", exact=True).click()
    await main.get_by_label("Choose files").set_input_files(
        [
            {"name": "<b>pumps.pdf", "mimeType": PDF, "buffer": pdf(pages)},
            {"name": "secret.md", "mimeType": "", "buffer": b"# Valves\n\nThe red valve is for emergencies."},
            {"name": "virus.exe", "mimeType": "", "buffer": b"MZ"},
        ]
    )
    uploads = main.get_by_role("list", name="Uploads")
    await expect(uploads.get_by_role("listitem").filter(has_text="<b>pumps.pdf")).to_contain_text("Uploaded")
    await expect(uploads.get_by_role("listitem").filter(has_text="virus.exe")).to_contain_text("not taken in")
    row = main.get_by_role("table", name="Documents").get_by_role("row")
    await expect(row.filter(has_text="<b>pumps.pdf")).to_contain_text("Ready")
    await expect(row.filter(has_text="<b>pumps.pdf")).to_contain_text("2 pages")
    await expect(row.filter(has_text="secret.md")).to_contain_text("Ready")

    await main.get_by_role("textbox", name="Question").fill("How is the pump started?")
    await main.get_by_role("button", name="Find").click()
    results = main.get_by_role("list", name="Try retrieval").get_by_role("listitem")
    await expect(results.filter(has_text="blue valve").first).to_contain_text("Page 2")
    await expect(results.filter(has_text="blue valve").first).to_contain_text("chunk.words")
    assert await faults(console) == []

    # A new version needs a permission that ada lacks: it is not found for her any more.
    await main.get_by_label("Permission that users need").first.fill("hr:read")
    await main.get_by_label("Replace secret.md").set_input_files(
        {"name": "secret.md", "mimeType": "", "buffer": b"# Valves\n\nThe red valve is for fires."}
    )
    await expect(row.filter(has_text="secret.md")).to_contain_text("hr:read")
    await expect(row.filter(has_text="version 2")).to_contain_text("Ready")
    await main.get_by_role("textbox", name="Question").fill("red valve")
    await main.get_by_role("button", name="Find").click()
    await expect(results.filter(has_text="blue valve").first).to_be_visible()
    await expect(results.filter(has_text="red valve")).to_have_count(0)

    await row.filter(has_text="<b>pumps.pdf").get_by_role("button", name="Delete").click()
    await main.get_by_role("alertdialog").get_by_role("button", name="Delete").click()
    await expect(row.filter(has_text="<b>pumps.pdf")).to_have_count(0)
    remaining = (await new_user("bob", "document:write").read("/agents/assistant/documents"))["items"]
    assert [item["name"] for item in remaining] == ["secret.md"]


async def test_an_index_that_is_nearly_full_is_announced_with_the_command_that_makes_room(
    console: Console, cloud: RunningCloud, tenant: str, new_user: NewUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("baton.adapters.sqlite_index.bounds.MAX_OWNER_DOCUMENTS", 100)
    here, main = cloud.environment, console.main
    index = make_embedded_index(client("s3", here["AWS_ENDPOINT_URL_S3"]), here["BATON_SEARCH_BUCKET"])

    async def fill(scope: Scope, owner: str, count: int) -> None:
        passages = [document(f"{owner}-{number}", "green", agent_id=owner) for number in range(count)]
        await index.put(scope, IndexName.KNOWLEDGE, passages)

    tutor = {"name": "Tutor", "description": "Helps.", "systemPrompt": "Ask.", "libraries": ["house"]}
    response = await new_user("bob", "agent:write").request("PUT", "/agents/tutor", body=tutor)
    assert response.status_code == 201, response.text
    await fill(Scope(tenant, "ada"), "tutor", 79)
    await fill(ProjectScope(), "house", 90)  # besides what the library has

    warnings = main.get_by_role("status").filter(has_text="search index")
    await console.open("/documents/tutor")
    await console.sign_in(tenant, "ada", "document:write")
    await expect(warnings).to_have_count(1)
    await expect(warnings).to_contain_text("% of the search index of house is used")
    await expect(warnings).to_contain_text("--tenant '~project' --agent house")

    await fill(Scope(tenant, "ada"), "tutor", 83)
    await console.page.reload()
    await expect(warnings).to_have_count(2)
    await expect(warnings.first).to_contain_text("83 % of the search index of tutor is used.")
    await expect(warnings.first).to_contain_text(f"baton search STAGE move --tenant {tenant} --agent tutor")
    assert await faults(console) == []
    await console.page.set_viewport_size({"width": 390, "height": 700})
    assert await console.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    monkeypatch.undo()
    await index.delete(ProjectScope(), IndexName.KNOWLEDGE, SearchFilter(agent_id="house", kinds=("message",)))
