"""The widget on a foreign page with a strict policy, against the local cloud."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import httpx
import pytest
from playwright.async_api import Browser, Page, Response, Route, expect

from baton_local import web
from tests.browser.accessibility import violations
from tests.browser.guides import card_script
from tests.browser.screens import HostApplication
from tests.browser.widget import GUIDE, Widget, foreign_site
from tests.e2e.cloud import RunningCloud
from tests.e2e.gates import Gate
from tests.fault_model import FaultModel, answers, calls_tools, unauthorized
from tests.unit.docs.pages import block

expect.set_options(timeout=60_000)


@pytest.fixture(scope="session", autouse=True)
def built() -> None:
    """The local cloud serves a build of the current sources."""
    web.build()


@pytest.fixture
def site(built: None, cloud: RunningCloud, model: FaultModel, tmp_path: Path) -> Iterator[HostApplication]:
    with foreign_site(tmp_path, cloud.url) as running:
        yield running


@pytest.fixture
async def widget(page: Page, site: HostApplication) -> Widget:
    """The widget, open and connected."""
    screen = Widget(page, site.url)
    await screen.open()
    return screen


async def test_an_answer_comes_in_front_of_the_readers_eyes(widget: Widget, model: FaultModel) -> None:
    gate = Gate("It was a dark ", "and stormy night.")
    model.script(gate.behaviour)
    await widget.say("Tell me a story")
    await expect(widget.locate_bodies("user")).to_have_text(["Tell me a story"])
    await expect(widget.locate_bodies("assistant")).to_have_text(["It was a dark"])
    await expect(widget.locate_bodies("assistant")).to_have_attribute("aria-busy", "true")
    gate.open()
    await expect(widget.locate_bodies("assistant")).to_have_text([gate.text])
    await expect(widget.locate_bodies("assistant")).to_have_attribute("aria-busy", "false")
    await expect(widget.stop).to_be_hidden()


@pytest.mark.nightly
async def test_messages_carry_the_time_zone_of_the_browser(
    browser: Browser, site: HostApplication, model: FaultModel
) -> None:
    context = await browser.new_context(locale="en-US", timezone_id="Pacific/Auckland")
    screen = Widget(await context.new_page(), site.url)
    await screen.open()
    model.script(answers("Kia ora."))
    await screen.say("Hello")
    await expect(screen.locate_bodies("assistant")).to_have_text(["Kia ora."])
    await context.close()
    assert "(Pacific/Auckland)." in str(model.requests[-1].prompts[-2])


async def test_a_reload_in_the_middle_of_an_answer_keeps_it_and_its_question(widget: Widget, model: FaultModel) -> None:
    gate = Gate("It was a dark ", "and stormy night.")
    model.script(answers("Hello."), gate.behaviour, answers("The next morning."))
    await widget.say("Hello")
    await expect(widget.locate_bodies("assistant")).to_have_text(["Hello."])
    await widget.say("Tell me a story")
    await expect(widget.locate_bodies("assistant")).to_have_text(["Hello.", "It was a dark"])
    await widget.say("And then?")  # waits behind the running one
    await widget.open()
    await expect(widget.locate_bodies("assistant")).to_have_text(["Hello.", "It was a dark"])
    await expect(widget.locate_bodies("user")).to_have_text(["Hello", "Tell me a story", "And then?"])
    gate.open()
    await expect(widget.locate_bodies("assistant")).to_have_text(["Hello.", gate.text, "The next morning."])
    assert len(model.requests) == 3


@pytest.mark.nightly
async def test_escape_stops_an_answer(widget: Widget, model: FaultModel) -> None:
    gate = Gate("It was a dark ", "and stormy night.")
    model.script(gate.behaviour)
    await widget.say("Tell me a story")
    await expect(widget.locate_bodies("assistant")).to_have_text(["It was a dark"])
    await expect(widget.stop).to_be_visible()
    await widget.page.keyboard.press("Escape")
    await expect(widget.stop).to_be_hidden()
    await expect(widget.page.locator("article.assistant .mark")).to_have_text("Stopped")
    await widget.open()
    await expect(widget.locate_bodies("assistant")).to_have_text(["It was a dark"])
    gate.open()


@pytest.mark.nightly
async def test_another_window_shows_the_same(widget: Widget, site: HostApplication, model: FaultModel) -> None:
    gate = Gate("It was a dark ", "and stormy night.")
    model.script(gate.behaviour)
    await widget.say("Tell me a story")
    await expect(widget.locate_bodies("assistant")).to_have_text(["It was a dark"])
    other = Widget(await widget.page.context.new_page(), site.url)
    await other.open()
    await expect(other.locate_bodies("user")).to_have_text(["Tell me a story"])
    await expect(other.locate_bodies("assistant")).to_have_text(["It was a dark"])
    gate.open()
    await expect(other.locate_bodies("assistant")).to_have_text([gate.text])
    await other.say("Thanks")
    await expect(widget.locate_bodies("user")).to_have_text(["Tell me a story", "Thanks"])


@pytest.mark.nightly
async def test_a_failed_answer_says_why_and_the_next_one_is_shown(widget: Widget, model: FaultModel) -> None:
    model.script(unauthorized(), answers("Here I am."))
    await widget.say("Anybody there?")
    await expect(widget.page.locator("[part=failure]")).to_contain_text("The model did not accept the request.")
    await widget.say("And now?")
    await expect(widget.locate_bodies("assistant")).to_have_text(["Here I am."])


MARKDOWN = """\
Three **steps**, and a [link](https://example.com/handbook).

1. Open *Settings*.
   - one
   - two
2. Save.

| Plan | Price |
| --- | ---: |
| Team | $12 and $14 |

```python
def greet() -> str:
    return "Hello"
```

The area is $A = \\pi r^2$.
"""


@pytest.mark.nightly
async def test_markdown_is_shown_with_code_and_formulas(widget: Widget, model: FaultModel) -> None:
    model.script(answers(MARKDOWN))
    await widget.say("How?")
    answer = widget.locate_bodies("assistant")
    await expect(answer.locator("ol > li > ul > li")).to_have_text(["one", "two"])
    await expect(answer.locator("td")).to_have_text(["Team", "$12 and $14"])
    await expect(answer.locator("pre .hljs-keyword")).to_have_text(["def", "return"])
    await expect(answer.locator("math")).to_be_visible()
    await expect(answer.get_by_role("link", name="link")).to_have_attribute("rel", "noopener noreferrer nofollow")


HOSTILE = """\
<img src=x onerror="document.title = 'run'"><script>document.title = 'run'</script>

[a](javascript:document.title='run') [b](data:text/html,<script>document.title='run'</script>)

![cat](https://evil.test/cat.png) <img src="https://evil.test/dog.png"> <iframe src="https://evil.test/"></iframe>

<p style="position:fixed;inset:0" class="panel" id="send">All of the page</p> <form action="https://evil.test"><button>x</button></form>

<svg><a xlink:href="javascript:document.title='run'"><text>svg</text></a></svg> &lt;b&gt;bold&lt;/b&gt; <b>really</b>

$\\href{javascript:document.title='run'}{x}$ $\\includegraphics{https://evil.test/i.png}$
"""


async def test_what_a_model_says_neither_runs_nor_calls_home(widget: Widget, model: FaultModel) -> None:
    requests: list[str] = []
    widget.page.on("request", lambda request: requests.append(request.url))
    model.script(answers(HOSTILE), answers("Good."))
    await widget.say("Be evil")
    answer = widget.locate_bodies("assistant").first
    await expect(answer.locator("b")).to_have_text(["really"])
    await expect(answer).to_contain_text("<b>bold</b>")
    await widget.say("Be good")
    await expect(widget.locate_bodies("assistant").last).to_have_text("Good.")
    assert await widget.page.title() == "Order 4711"
    assert [url for url in requests if "evil.test" in url] == []
    for what in ["img", "script", "iframe", "form", "svg", "[style]", "[class=panel]", "#send", "a[href^=javascript]"]:
        await expect(answer.locator(what)).to_have_count(0)
    await expect(answer.locator("a[data-image]")).to_have_text(["cat", "https://evil.test/dog.png"])


@pytest.mark.parametrize(
    ("button", "value"), [("Approve", True), pytest.param("Refuse", False, marks=pytest.mark.nightly)]
)
async def test_a_call_waits_for_an_answer_also_after_a_reload(
    page: Page, site: HostApplication, cloud: RunningCloud, model: FaultModel, button: str, value: bool
) -> None:
    model.script(calls_tools(("delete_page", {"page": "p-1"}), text="One moment."), answers("That is settled."))
    authorization = {"Authorization": f"Bearer {site.token}"}
    request = {"sessionId": site.session_id, "message": "Delete page 1", "agentId": "careful"}
    async with httpx.AsyncClient(base_url=cloud.url, headers=authorization, timeout=60, trust_env=False) as product:
        assert (await product.post("/v1/messages", json=request)).json()["outcome"]["type"] == "interrupt"
        widget = Widget(page, site.url)
        await widget.open()
        await page.get_by_role("button", name=button, exact=True).click()
        await expect(widget.locate_bodies("assistant")).to_contain_text(["One moment.", "That is settled."])
        await expect(page.get_by_role("button", name=button, exact=True)).to_be_hidden()
        calls = (await product.get(f"/v1/threads/{site.session_id}/tool-calls")).json()["items"]
    assert [call["toolName"] for call in calls] == ["delete_page"]
    assert ("refused" in (calls[0]["errorMessage"] or "")) is not value


@pytest.mark.nightly
async def test_cards_tools_and_colours_of_the_guides_work_under_its_policy(
    page: Page, cloud: RunningCloud, model: FaultModel, tmp_path: Path
) -> None:
    scripts = {"tools.js": block(GUIDE, "widget_tools"), "card.js": card_script().replace("book_bike", "delete_page")}
    with foreign_site(tmp_path, cloud.url, scripts=scripts, styles=block(GUIDE, "widget_style")) as site:
        model.script(calls_tools(("delete_page", {"page": "p-1"})), answers("That is settled."))
        request = {"sessionId": site.session_id, "message": "Delete page 1", "agentId": "careful"}
        authorization = {"Authorization": f"Bearer {site.token}"}
        async with httpx.AsyncClient(base_url=cloud.url, headers=authorization, timeout=60, trust_env=False) as product:
            assert (await product.post("/v1/messages", json=request)).json()["outcome"]["type"] == "interrupt"
        widget = Widget(page, site.url)
        await widget.open()
        await page.locator("baton-chat > .booking").get_by_role("button", name="Book now").click()
        await expect(widget.locate_bodies("assistant")).to_contain_text(["That is settled."])
        style = "getComputedStyle(document.querySelector('baton-chat')).getPropertyValue('--baton-accent')"
        assert await page.evaluate(style) == "light-dark(#0a7d5a, #4cc9a0)"
        model.script(calls_tools(("show_order", {"number": "1"})))
        await widget.say("Show order 1")
        await page.wait_for_url("**/orders/1")


@pytest.mark.nightly
async def test_earlier_messages_come_when_the_reader_scrolls_up(
    page: Page, site: HostApplication, cloud: RunningCloud, model: FaultModel
) -> None:
    authorization = {"Authorization": f"Bearer {site.token}"}
    texts = [f"Message {number}" for number in range(70)]
    messages = [
        {"role": role, "content": text, "timestamp": f"2026-03-14T10:{number // 60:02}:{number % 60:02}Z"}
        for number, text in enumerate(texts)
        for role in ["user" if number % 2 == 0 else "assistant"]
    ]
    async with httpx.AsyncClient(base_url=cloud.url, headers=authorization, timeout=60, trust_env=False) as product:
        imported = {"sessionId": site.session_id, "messages": messages}
        assert (await product.post("/v1/episodes/import", json=imported)).status_code == 202
    widget = Widget(page, site.url)
    await widget.open()
    await expect(widget.locate_bodies("assistant").last).to_have_text("Message 69")
    await expect(page.locator("article")).to_have_count(50)
    # The page draws itself again between the reader's scrolling and the event that reports it.
    scrolls = "box => { box.scrollTop = 0; return box.closest('baton-chat-transcript').requestUpdate() }"
    await page.locator(".scroller").evaluate(scrolls)
    await expect(page.locator("article")).to_have_count(70)
    assert await page.locator("article .body").all_text_contents() == texts


@pytest.mark.nightly
async def test_files_travel_with_a_message(widget: Widget, model: FaultModel) -> None:
    model.script(answers("A shopping list."))
    chooser = widget.page.locator("input.chooser")
    await chooser.set_input_files(
        [
            {"name": "list.txt", "mimeType": "text/plain", "buffer": b"Milk, eggs, flour"},
            {"name": "wrong.txt", "mimeType": "text/plain", "buffer": b"Oops"},
        ]
    )
    await widget.page.get_by_role("button", name="Remove wrong.txt").click()
    await widget.say("What is this?")
    await expect(widget.locate_bodies("assistant")).to_have_text(["A shopping list."])
    await expect(widget.page.locator("article.user [part=file]")).to_have_text(["list.txt"])
    assert "Milk, eggs, flour" in str(model.requests[-1].prompts[-1])


async def test_the_widget_is_accessible_and_announces_an_answer_once(
    page: Page, widget: Widget, model: FaultModel
) -> None:
    announced = "document.querySelector('baton-chat').shadowRoot.querySelector('[aria-live=polite]')"
    await page.evaluate(
        f"window.heard = []; new MutationObserver(() => heard.push({announced}.textContent))"
        f".observe({announced}, {{childList: true, characterData: true, subtree: true}})"
    )
    model.script(answers(MARKDOWN))
    await widget.say("How?")
    await expect(widget.locate_bodies("assistant").locator("math")).to_be_visible()
    assert await page.evaluate("heard.length") == 1
    await page.evaluate("document.documentElement.style.colorScheme = 'light dark'")
    for scheme in ["light", "dark"]:
        await page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        assert await violations(page) == []


async def becomes_true(page: Page, expression: str) -> None:
    """Wait for something in the page. Its policy forbids Playwright's own way, which needs eval."""
    async with asyncio.timeout(60):
        while not await page.evaluate(expression):
            await page.wait_for_timeout(50)


@pytest.mark.nightly
@pytest.mark.parametrize(("locale", "button"), [("de", "Senden"), ("es", "Enviar"), ("zh-CN", "发送"), ("ar", "إرسال")])
async def test_the_widget_speaks_the_language_of_the_page(
    page: Page, site: HostApplication, locale: str, button: str
) -> None:
    await page.goto(site.url)
    await page.evaluate("locale => document.querySelector('baton-chat').locale = locale", locale)
    await page.locator("[part=launcher]").click()
    await expect(page.get_by_role("button", name=button)).to_be_visible()
    direction = "rtl" if locale == "ar" else "ltr"
    await expect(page.locator("baton-chat .root")).to_have_attribute("dir", direction)


async def test_a_first_answer_takes_at_most_62_kb(page: Page, site: HostApplication, model: FaultModel) -> None:
    loaded: dict[str, int] = {}

    async def weigh(response: Response) -> None:
        if "/widget/" in response.url:
            loaded[response.url] = len(gzip.compress(await response.body(), 9))

    page.on("response", weigh)
    model.script(answers("**Hello**"))
    widget = Widget(page, site.url)
    await widget.open()
    await widget.say("Hi")
    await expect(widget.locate_bodies("assistant").locator("strong")).to_have_text("Hello")
    assert sum(loaded.values()) <= 62 * 1024, loaded


@pytest.mark.nightly
@pytest.mark.parametrize("session_id", [None, "order-1"])
async def test_a_visitor_who_is_not_signed_in_gets_a_button_and_no_more_requests(
    page: Page, site: HostApplication, model: FaultModel, session_id: str | None
) -> None:
    is_out, requests = True, 0

    async def answer(route: Route) -> None:
        nonlocal requests
        requests += 1
        await (route.fulfill(status=403) if is_out else route.fallback())

    await page.route("**/baton-token", answer)
    await page.clock.install()
    await page.goto(site.url)
    await page.evaluate(
        """(id) => {
            const chat = document.querySelector("baton-chat");
            if (id) chat.sessionId = id; else chat.removeAttribute("session-id");
            const link = Object.assign(document.createElement("a"), { slot: "sign-in", href: "#login" });
            chat.append(link);
            link.append("Sign in");
        }""",
        session_id,
    )
    await page.get_by_role("button", name="Open chat").click()
    widget = Widget(page, site.url)
    await expect(widget.status).to_contain_text("Please sign in to chat.")
    await expect(page.get_by_role("link", name="Sign in")).to_be_visible()
    before = requests
    # The messages of a conversation that may exist are asked for once.
    asks_more = page.expect_response("**/baton-token") if session_id else nullcontext()
    async with asks_more:
        await page.clock.fast_forward("02:00")
    assert requests <= before + 1
    is_out = False
    await page.evaluate("document.querySelector('baton-chat').retry()")
    await widget.wait_until_connected()
    await widget.say("Hello")
    await expect(widget.locate_bodies("assistant")).to_have_text(["Hello"])


@pytest.mark.nightly
async def test_a_token_route_that_fails_is_asked_again(page: Page, site: HostApplication, model: FaultModel) -> None:
    fails = True

    async def answer(route: Route) -> None:
        await (route.fulfill(status=500) if fails else route.fallback())

    await page.route("**/baton-token", answer)
    await page.goto(site.url)
    await page.evaluate(
        "window.told = []; addEventListener('baton-token-error', ({ detail }) => told.push(detail.code))"
    )
    await page.get_by_role("button", name="Open chat").click()
    await becomes_true(page, "told.includes('token_failed')")
    fails = False
    widget = Widget(page, site.url)
    await widget.wait_until_connected()
    await widget.say("Hello")
    await expect(widget.locate_bodies("assistant")).to_have_text(["Hello"])


@pytest.mark.nightly
async def test_the_client_alone_regenerates_edits_and_selects(
    page: Page, site: HostApplication, cloud: RunningCloud, model: FaultModel
) -> None:
    model.script(answers("First."), answers("Second."), answers("Third."))
    await page.goto(site.url)
    await page.evaluate(
        """async ([endpoint, threadId]) => {
          const { BatonClient } = await import(`${endpoint}/widget/baton-client.js`);
          const token = async () => (await fetch("/baton-token")).text();
          window.chat = new BatonClient({ endpoint, token }).chat({ threadId });
          window.said = () => chat.snapshot.items.map(({ content }) => content).join(" ");
          chat.start();
          window.id = chat.send("Hello");
        }""",
        [cloud.url, site.session_id],
    )
    await becomes_true(page, "said() === 'Hello First.' && !chat.snapshot.run")
    await page.evaluate("chat.regenerate(id)")
    await becomes_true(page, "said() === 'Hello Second.' && !chat.snapshot.run")
    await page.evaluate("chat.edit(id, 'Good day')")
    await becomes_true(page, "said() === 'Good day Third.' && !chat.snapshot.run")
    branches = await page.evaluate("chat.branches()")
    assert [branch["selected"] for branch in branches] == [False, False, True]
    await page.evaluate("branchId => chat.selectBranch(branchId)", branches[0]["branchId"])
    await becomes_true(page, "said() === 'Hello First.'")


@pytest.mark.nightly
async def test_an_answer_is_regenerated_a_question_edited_and_alternatives_are_switched(
    widget: Widget, model: FaultModel
) -> None:
    model.script(answers("First."), answers("Second."), answers("Third."))
    page = widget.page
    await widget.say("Hello")
    await expect(widget.locate_bodies("assistant")).to_have_text(["First."])
    await page.get_by_role("button", name="Answer again").click()
    await expect(widget.locate_bodies("assistant")).to_have_text(["Second."])
    await expect(page.get_by_role("group", name="Version 2 of 2")).to_be_visible()
    await page.get_by_role("button", name="Edit message").click()
    await page.get_by_role("textbox", name="Edit message").fill("Good day")
    await page.keyboard.press("Enter")
    await expect(widget.locate_bodies("user")).to_have_text(["Good day"])
    await expect(widget.locate_bodies("assistant")).to_have_text(["Third."])
    await expect(page.get_by_role("group", name="Version 3 of 3")).to_be_visible()
    assert await violations(page) == []
    for question, answer in [("Hello", "Second."), ("Hello", "First.")]:
        await page.get_by_role("button", name="Previous version").click()
        await expect(widget.locate_bodies("user")).to_have_text([question])
        await expect(widget.locate_bodies("assistant")).to_have_text([answer])
    await expect(page.get_by_role("button", name="Previous version")).to_be_disabled()
    await widget.open()
    await expect(page.get_by_role("group", name="Version 1 of 3")).to_be_visible()
