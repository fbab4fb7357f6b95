"""The widget shows each event of a turn; the server's part is played by the test."""

from __future__ import annotations

import re
from typing import Any

import pytest
from ag_ui.core import (
    ActivityDeltaEvent,
    ActivitySnapshotEvent,
    CustomEvent,
    Interrupt,
    RunErrorEvent,
    RunFinishedCancelledOutcome,
    RunFinishedInterruptOutcome,
    StateDeltaEvent,
    StateSnapshotEvent,
    SubagentErrorEvent,
    SubagentFinishedEvent,
    SubagentStartedEvent,
    TextMessageEndEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from playwright.async_api import Page, expect

from tests.browser.harness import SKILL, SPECIALIST, Harness, Json, answer, state

APPROVAL = Interrupt(id="i-1", reason="tool_approval", message="Send the invoice to Bob?", tool_call_id="c-1")
APPROVE = RunFinishedInterruptOutcome(interrupts=[APPROVAL])
STILL_WAITING = "This is taking longer than expected. I'll let you know when I have results..."


@pytest.fixture
async def harness(page: Page) -> Harness:
    """The page, open and connected."""
    return await Harness(page).open()


def research(label: str, *agents: str) -> ActivitySnapshotEvent:
    question = [{"id": name.lower(), "name": name, "status": "working"} for name in agents]
    content = {"label": label, "agents": question, "notice": None}
    return ActivitySnapshotEvent(message_id="a-1", activity_type="research", content=content)


def make_delta(**values: Any) -> ActivityDeltaEvent:
    patch = [{"op": "add", "path": f"/{name.replace('__', '/')}", "value": value} for name, value in values.items()]
    return ActivityDeltaEvent.model_validate({"messageId": "a-1", "activityType": "research", "patch": patch})


async def test_research_names_the_agents_and_what_became_of_them(page: Page, harness: Harness) -> None:
    await harness.begin("Where shall I go?")
    await harness.play(research("Asking others", "Weather", "Trains", "Hotels"))
    box = page.get_by_role("region", name="Consulted agents")
    await expect(box.locator(".label")).to_have_text("Asking others")
    await expect(box.get_by_role("listitem")).to_have_text(["Weather working…", "Trains working…", "Hotels working…"])

    await harness.play(
        SubagentStartedEvent(subagent_run_id="s-1", name="Weather", parent_tool_call_id="c-1"),
        SubagentStartedEvent(subagent_run_id="s-2", name="Trains", parent_tool_call_id="c-2"),
        SubagentFinishedEvent(subagent_run_id="s-1"),
        SubagentErrorEvent(subagent_run_id="s-2", message="It is too slow."),
    )
    await expect(box.get_by_role("listitem")).to_have_text(
        ["Weather done", "Trains failedIt is too slow.", "Hotels working…"]
    )
    await expect(box.locator("[data-progress=working]")).to_have_count(1)

    await harness.play(SubagentStartedEvent(subagent_run_id="s-3", name="Hotels"))
    await expect(box.get_by_role("listitem").nth(2)).to_have_text("Hotels working…")
    await harness.play(SubagentFinishedEvent(subagent_run_id="s-3"), *answer("Go to Vienna."))
    await harness.end()
    await expect(box.locator("[data-progress=working]")).to_have_count(0)


@pytest.mark.nightly
async def test_research_that_takes_long_says_so(page: Page, harness: Harness) -> None:
    await harness.begin("Where shall I go?")
    await harness.play(research("Asking others", "Weather", "Trains"), make_delta(waitedSeconds=8))
    await expect(harness.announced).to_have_text("Asking others")
    await harness.play(make_delta(waitedSeconds=30, notice=STILL_WAITING))
    await expect(page.locator(".research .notice")).to_have_text(STILL_WAITING)
    await expect(harness.announced).to_have_text(STILL_WAITING)
    await harness.play(make_delta(agents__0__status="timed_out"), make_delta(agents__1__status="completed"))
    await expect(page.locator(".research li")).to_have_text(["Weather took too long", "Trains done"])
    await expect(page.locator(".research [data-progress=working]")).to_have_count(0)


@pytest.mark.nightly
async def test_research_in_a_stopped_run_goes_on_no_more(page: Page, harness: Harness) -> None:
    await harness.begin("Where shall I go?")
    await harness.play(
        research("Asking others", "Weather", "Trains"), SubagentStartedEvent(subagent_run_id="s-1", name="Weather")
    )
    await harness.end(RunFinishedCancelledOutcome(type="cancelled"))
    await expect(page.locator(".research li")).to_have_text(["Weather Stopped", "Trains Stopped"])
    await expect(page.locator(".research [data-progress=working]")).to_have_count(0)
    await expect(page.locator(".note")).to_have_text("Stopped")


@pytest.mark.nightly
async def test_a_tool_call_is_a_line_that_opens(page: Page, harness: Harness) -> None:
    await harness.begin("How warm is it?")
    await harness.play(
        ToolCallStartEvent(tool_call_id="c-1", tool_call_name="get_weather"),
        ToolCallArgsEvent(tool_call_id="c-1", delta='{"city": '),
        ToolCallArgsEvent(tool_call_id="c-1", delta='"Vienna"}'),
        ToolCallEndEvent(tool_call_id="c-1"),
    )
    line = page.locator("details.tool")
    await expect(line.locator("summary")).to_have_text("Calling get_weather")
    await line.locator("summary").focus()
    await page.keyboard.press("Enter")
    await expect(line.locator("figure")).to_have_text([re.compile(r'Input\s*{\s*"city": "Vienna"\s*}')])

    await harness.play(
        ToolCallResultEvent(message_id="r-1", tool_call_id="c-1", content="21 degrees"), *answer("21 degrees.")
    )
    await harness.end()
    await expect(line.locator("summary")).to_have_text("Called get_weather")
    await expect(line.locator("figure").nth(1)).to_have_text("Result21 degrees")
    await expect(line.locator("figure").nth(1)).to_be_visible()


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("outcome", "label"),
    [("succeeded", "Called delete"), ("failed", "Call of delete failed"), ("refused", "Call of delete refused")],
)
async def test_a_tool_call_is_labelled_by_how_it_ended(page: Page, harness: Harness, outcome: str, label: str) -> None:
    await harness.begin("Delete it")
    await harness.play(
        ToolCallStartEvent(tool_call_id="c-1", tool_call_name="delete"),
        ToolCallEndEvent(tool_call_id="c-1"),
        ToolCallResultEvent(message_id="r-1", tool_call_id="c-1", content="Well.", metadata={"outcome": outcome}),
        *answer("So be it."),
    )
    await harness.end()
    await expect(page.locator("details.tool summary")).to_have_text(label)


@pytest.mark.nightly
async def test_a_call_that_the_user_talked_past_was_refused(page: Page, harness: Harness) -> None:
    await harness.begin("Delete it")
    call = ToolCallStartEvent(tool_call_id="c-1", tool_call_name="delete"), ToolCallEndEvent(tool_call_id="c-1")
    await harness.play(*call)
    await harness.end(APPROVE)
    await expect(page.locator("details.tool summary")).to_have_text("Wants to call delete")
    await harness.begin("Never mind")
    await expect(page.locator("details.tool summary")).to_have_text("Call of delete refused")


@pytest.mark.nightly
async def test_sources_stand_under_the_answer(page: Page, harness: Harness) -> None:
    await harness.begin("What is the limit?")
    await harness.play(
        *answer("28 KB.", {"kind": "document", "id": "d-1", "title": "Limits", "agentId": None, "score": 0.9})
    )
    await harness.end()
    await expect(page.locator("article.assistant .sources li")).to_have_text("Limits")


@pytest.mark.nightly
async def test_sources_and_tool_calls_of_stored_messages_are_shown(page: Page) -> None:
    thread_id = "550e8400-e29b-41d4-a716-446655440000"
    message = {"runId": "run-1", "status": "complete"}
    source = {"kind": "document", "id": "d-1", "title": "Limits", "score": 0.9}
    call = {"id": "c-1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
    unsafe = {"id": "c-2", "type": "function", "function": {"name": "delete", "arguments": "{}"}}
    refused = message | {"outcome": "refused"}
    messages: list[Json] = [
        {"id": "m-1", "role": "user", "content": "What is the limit?", "metadata": message | {"ordinal": 0}},
        {"id": "t-0", "role": "assistant", "content": None, "toolCalls": [call], "metadata": message | {"ordinal": 1}},
        {
            "id": "t-1",
            "role": "assistant",
            "content": "28 KB.",
            "metadata": message | {"ordinal": 2, "sources": [source]},
        },
        {"id": "t-2", "role": "assistant", "toolCalls": [unsafe], "metadata": message | {"ordinal": 3}},
        {"id": "r-2", "role": "tool", "toolCallId": "c-2", "content": "No.", "metadata": refused | {"ordinal": 4}},
        {"id": "r-0", "role": "tool", "toolCallId": "c-0", "content": "Of a call before.", "metadata": message},
    ]
    harness = Harness(page)
    harness.answers |= {
        f"/v1/threads/{thread_id}": {"id": thread_id, "state": state(), "run": None, "lastSeq": 12},
        f"/v1/threads/{thread_id}/messages": {"items": messages, "nextCursor": None, "lastSeq": 20},
    }
    await harness.remember(thread_id)
    await harness.open()
    await expect(page.locator(".items .item")).to_have_count(4)
    await expect(page.locator("details.tool summary")).to_have_text(["Called look_up", "Call of delete refused"])
    await expect(page.locator(".sources li")).to_have_text("Limits")


async def test_events_reported_again_after_a_reload_find_their_places(page: Page) -> None:
    thread_id = "550e8400-e29b-41d4-a716-446655440000"
    message = {"runId": "run-1", "status": "complete"}
    messages: list[Json] = [
        {"id": "m-1", "role": "user", "content": "How warm is it?", "metadata": message | {"ordinal": 0}},
        {"id": "t-1", "role": "assistant", "content": "21 degrees.", "metadata": message | {"ordinal": 1}},
        {"id": "m-2", "role": "user", "content": "And now?", "metadata": {"runId": "run-2", "ordinal": 2}},
        {"id": "t-2", "role": "assistant", "content": "22 degrees.", "metadata": {"runId": "run-2", "ordinal": 3}},
    ]
    harness = Harness(page, thread_id=thread_id)
    harness.answers |= {
        f"/v1/threads/{thread_id}": {"id": thread_id, "state": state(), "run": None, "lastSeq": 20},
        f"/v1/threads/{thread_id}/messages": {"items": messages, "nextCursor": None, "lastSeq": 20},
    }
    await harness.remember(thread_id)
    await harness.open()
    assert (await harness.take_frame("resume"))["after"] == 0
    await harness.run("m-1", "How warm is it?")
    await harness.play(
        ToolCallStartEvent(tool_call_id="c-1", tool_call_name="get_weather"),
        ToolCallEndEvent(tool_call_id="c-1"),
        ToolCallResultEvent(message_id="r-1", tool_call_id="c-1", content="21"),
        *answer("21 degrees."),
    )
    await harness.end()
    visible = page.locator(".items .item")
    await expect(visible).to_have_text(
        [re.compile("How warm"), re.compile("Called"), re.compile("21 degrees"), re.compile("now"), re.compile("22")]
    )


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("button", "status", "visible"), [("Approve", "resolved", "Approved"), ("Refuse", "cancelled", "Refused")]
)
async def test_an_approval_is_answered_by_a_button(
    page: Page, harness: Harness, button: str, status: str, visible: str
) -> None:
    question = await harness.begin("Send the invoice")
    await harness.end(APPROVE)
    card = page.get_by_role("region", name="Approval needed")
    await expect(card).to_contain_text("Send the invoice to Bob?")
    await expect(harness.announced).to_have_text("Send the invoice to Bob?")

    await card.get_by_role("button", name=button).click()
    frame = await harness.take_frame("answer")
    payload = {"payload": {"approved": True}} if status == "resolved" else {}
    expected = {"action": "answer", "threadId": harness.thread_id, "interruptId": "i-1", "status": status}
    assert frame == expected | payload
    await expect(card.get_by_role("button")).to_have_count(0)

    await harness.run("answer-1", "", parent=question)
    await harness.play(*answer("Done."))
    await harness.end()
    await expect(card.locator(".answer")).to_have_text(visible)


@pytest.mark.nightly
async def test_a_refused_answer_to_an_approval_can_be_given_again(page: Page, harness: Harness) -> None:
    await harness.begin("Send the invoice")
    await harness.end(APPROVE)
    await page.get_by_role("button", name="Approve").click()
    await harness.take_frame("answer")
    metadata = {"action": "answer", "threadId": harness.thread_id, "retryable": True, "requestId": "q-1"}
    await harness.send({"type": "RUN_ERROR", "message": "Not now.", "code": "busy", "metadata": metadata})
    await expect(page.get_by_role("alert")).to_have_text("Not now.")
    await expect(page.get_by_role("button", name="Approve")).to_be_visible()


@pytest.mark.nightly
async def test_a_message_instead_of_an_answer_gives_the_approval_up(page: Page, harness: Harness) -> None:
    await harness.begin("Send the invoice")
    await harness.end(APPROVE)
    await harness.begin("Never mind")
    await expect(page.locator(".interrupt .answer")).to_have_text("Not answered")


async def test_a_handoff_is_announced_and_changes_the_badge(page: Page, harness: Harness) -> None:
    await harness.begin("I want a skill")
    badge = harness.agent
    await expect(badge).to_have_text("Assistant")
    handoff = {"from": "assistant", "to": "skills", "label": "Connecting you with Skill Builder...", "reason": "skill"}
    await harness.play(
        ActivitySnapshotEvent(message_id="h-1", activity_type="handoff", content=handoff),
        StateDeltaEvent(delta=[{"op": "replace", "path": "/activeAgent", "value": SPECIALIST}]),
    )
    await expect(page.locator(".note.handoff")).to_have_text("Connecting you with Skill Builder...")
    await expect(badge).to_have_text("Skill Builder")

    back = {"from": "skills", "to": "assistant", "label": "Returning you to the main assistant."}
    await harness.play(
        ActivitySnapshotEvent(message_id="h-2", activity_type="return", content=back),
        StateSnapshotEvent(snapshot=state()),
    )
    await expect(page.locator(".note.return")).to_have_text("Returning you to the main assistant.")
    await expect(badge).to_have_text("Assistant")


async def test_a_workflow_shows_its_step_and_can_be_left(page: Page, harness: Harness) -> None:
    await harness.begin("I want a skill", state(activeAgent=SPECIALIST, workflow=SKILL))
    await expect(harness.step).to_have_text("Step 2 of 4: Triggers")
    changes = [
        {"op": "replace", "path": "/workflow/step", "value": 3},
        {"op": "replace", "path": "/workflow/label", "value": "Writing the skill"},
    ]
    await harness.play(StateDeltaEvent(delta=changes))
    await expect(harness.step).to_have_text("Step 3 of 4: Writing the skill")
    await expect(page.get_by_role("progressbar")).to_have_attribute("value", "3")
    await harness.end()

    await page.get_by_role("button", name="Exit").click()
    assert await harness.take_frame("exit") == {"action": "exit", "threadId": harness.thread_id}
    await harness.run("exit-1", "")
    await harness.end()
    await expect(harness.step).to_be_hidden()
    await expect(page.get_by_role("button", name="Exit")).to_be_hidden()


@pytest.mark.nightly
async def test_a_workflow_that_cannot_be_left_has_no_exit(page: Page, harness: Harness) -> None:
    await harness.begin("I want a skill", state(activeAgent=SPECIALIST, workflow=SKILL | {"canExit": False}))
    await expect(harness.step).to_be_visible()
    await expect(page.get_by_role("button", name="Exit")).to_be_hidden()


async def leave(harness: Harness) -> None:
    """Have a workflow begun and left."""
    await harness.begin("I want a skill", state(activeAgent=SPECIALIST, workflow=SKILL))
    await harness.play(StateSnapshotEvent(snapshot=state(resumable=[SKILL])))
    await harness.end()


@pytest.mark.nightly
async def test_work_that_was_left_is_offered(page: Page, harness: Harness) -> None:
    await leave(harness)
    offer = page.locator(".offers").get_by_role("button")
    await expect(offer).to_have_text("Continue: Create a skillStep 2 of 4: Triggers")
    await offer.click()
    assert await harness.take_frame("continue") == {
        "action": "continue",
        "threadId": harness.thread_id,
        "workflowId": "w-1",
    }


@pytest.mark.nightly
async def test_unfinished_work_is_not_offered_while_something_else_is_talked_about(
    page: Page, harness: Harness
) -> None:
    await leave(harness)
    offer = page.locator(".offers").get_by_role("button")
    await expect(offer).to_have_count(1)
    await harness.begin("Book an e-bike", state(resumable=[SKILL]))
    await expect(page.locator("article.user")).to_have_count(2)
    await expect(offer).to_have_count(0)


@pytest.mark.nightly
async def test_nothing_else_is_offered_while_a_specialist_is_active(page: Page, harness: Harness) -> None:
    await leave(harness)
    offers = page.locator(".offers").get_by_role("button")
    await expect(offers).to_have_count(1)
    await harness.begin("Go on", state(resumable=[SKILL]))
    await harness.play(StateDeltaEvent(delta=[{"op": "replace", "path": "/activeAgent", "value": SPECIALIST}]))
    await expect(offers).to_have_count(0)
    await expect(page.get_by_role("button", name="Exit")).to_be_visible()


async def test_a_run_can_be_stopped(page: Page, harness: Harness) -> None:
    stop = page.get_by_role("button", name="Stop")
    await expect(stop).to_be_hidden()
    run_id = await harness.begin("Tell me a story")
    start, started, _ = answer("It was a dark")
    await harness.play(start, started)
    await stop.click()
    assert await harness.take_frame("cancel") == {"action": "cancel", "threadId": harness.thread_id, "runId": run_id}
    await expect(stop).to_be_disabled()
    await harness.play(TextMessageEndEvent(message_id="t-1"))
    await harness.end(RunFinishedCancelledOutcome(type="cancelled"))
    await expect(stop).to_be_hidden()
    await expect(page.locator("article.assistant .mark")).to_have_text("Stopped")


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("UserClosed", "You ended the conversation."),
        ("PersonClosed", "Anna ended the conversation."),
        ("AgentClosed", "The assistant ended the conversation."),
        ("Timeout", "The conversation was closed because nothing was said for a while."),
    ],
)
async def test_a_closed_conversation_says_so_and_how_it_reopens(
    page: Page, harness: Harness, reason: str, words: str
) -> None:
    await harness.begin("That is all")
    await harness.end()
    await page.get_by_role("button", name="End conversation").click()
    assert await harness.take_frame("close") == {"action": "close", "threadId": harness.thread_id}
    person = {"person": {"kind": "person", "id": "anna", "name": "Anna"}} if reason == "PersonClosed" else {}
    value = {"reason": reason, "episodeId": None, **person}
    await harness.play(CustomEvent(name="thread_closed", value=value), run_id=None)
    await expect(page.locator(".note")).to_have_text(words)
    closed = page.get_by_text("This conversation is closed. Write a message to reopen it.")
    await expect(closed).to_be_visible()
    await expect(page.get_by_role("button", name="End conversation")).to_be_hidden()

    await harness.begin("One more thing")
    await expect(closed).to_be_hidden()
    await expect(page.get_by_role("button", name="End conversation")).to_be_visible()


@pytest.mark.nightly
async def test_documents_that_an_answer_rests_on_are_named_with_their_place(page: Page, harness: Harness) -> None:
    handbook = {
        "kind": "document",
        "id": "d1",
        "title": "Handbook",
        "agentId": "knowledge",
        "section": "Pumps > Starting",
    }
    await harness.begin("How is the pump started?")
    await harness.play(
        *answer(
            "By hand.",
            {"kind": "agent", "id": "knowledge", "title": "Knowledge"},
            handbook | {"page": 3, "url": "https://a.example/handbook.pdf"},
            handbook | {"page": 3, "chunk": "another on the same page"},
            handbook | {"id": "d2", "title": "Notes", "page": None, "url": "javascript:alert(1)"},
        )
    )
    sources = page.locator(".sources")
    await sources.locator("summary").click()
    await expect(sources.get_by_role("listitem")).to_have_text(
        ["Knowledge", "Handbook, page 3", "Notes, Pumps > Starting"]
    )
    await page.context.route("https://a.example/**", lambda route: route.fulfill(body="The handbook."))
    async with page.context.expect_page() as opened:
        await sources.get_by_role("link").click()
    document = await opened.value
    await expect(document.locator("body")).to_have_text("The handbook.")
    assert document.url == "https://a.example/handbook.pdf"
    assert await document.evaluate("window.opener") is None


@pytest.mark.nightly
async def test_trying_again_says_what_failed_once_more(page: Page, harness: Harness) -> None:
    run_id = await harness.begin("Hello")
    started, content, _ = answer("Good")
    await harness.play(started, content)
    failed = RunErrorEvent(message="The model failed.", code="model_error", metadata={"retryable": True})
    await harness.play(failed, run_id=run_id)
    failure = page.locator("article.assistant [part=failure]")
    await expect(failure).to_contain_text("The model failed.")
    await failure.get_by_role("button", name="Try again").click()
    assert (await harness.take_frame("message"))["content"] == "Hello"
    await expect(failure.get_by_role("button")).to_have_count(0)
    await expect(page.locator("article.user")).to_have_count(2)
