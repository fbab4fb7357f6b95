"""Skill creation as users see it: made to the end, given up, left alone, and asked for in other words."""

from __future__ import annotations

import pytest

from tests.e2e.fixtures import NewUser
from tests.e2e.handoff.doors import Door, OverMessages, OverSocket, ReceivedAnswer
from tests.e2e.handoff.workflow_states import REQUEST, STATES
from tests.e2e.sockets import new_id
from tests.e2e.users import User

MAIN, SPECIALIST = "Assistant", "Skill Creation Assistant"
CONNECTING = "Connecting you with Skill Creation Assistant..."
WELCOME = "Welcome back! Would you like to continue creating your Slack Alert skill, which you left on "


def check_place(received: ReceivedAnswer, step: int, label: str) -> None:
    """The user is with the specialist, and sees how far they are."""
    assert received.state["activeAgent"]["name"] == SPECIALIST
    assert received.state["activeAgent"]["isMain"] is False
    workflow = received.state["workflow"]
    assert (workflow["step"], workflow["steps"], workflow["label"]) == (step, 4, label)
    assert workflow["name"] == "your Slack Alert skill"
    assert workflow["canExit"] is True
    assert {name for name, _ in received.messages} == {SPECIALIST}


async def test_a_skill_is_made_in_a_conversation_and_works(door: Door, new_demo_user: NewUser) -> None:
    thread_id = new_id()
    received = await door.say(REQUEST, thread_id)
    check_place(received, 1, "Gathering Requirements")
    if received.events is not None:
        assert received.notices == [CONNECTING]
        assert received.steps == STATES[:1]
    assert "What should its result look like?" in received.last

    received = await door.say("Post them to #ops, with the severity.", thread_id)
    check_place(received, 2, "Defining Triggers")
    received = await door.say("send slack alert, page the team", thread_id)
    check_place(received, 3, "Generating Skill")
    assert "Here is the SKILL.md:" in received.last
    assert "name: Slack Alert" in received.last
    received = await door.say("looks good", thread_id)
    check_place(received, 4, "Testing")
    assert "'Send slack alert, please' starts it" in received.last
    assert "does not start it" in received.last
    assert "Only you can use it until it is shared." in received.last

    received = await door.say("yes", thread_id)
    assert received.messages == [
        (SPECIALIST, "Your skill is ready! Returning you to the main assistant."),
        (MAIN, "Great, your 'Slack Alert' skill is now active."),
    ]
    assert (received.state["activeAgent"]["name"], received.state["workflow"], received.state["resumable"]) == (
        MAIN,
        None,
        [],
    )
    if received.events is not None:
        assert received.steps == STATES[3:]
        assert received.notices == ["You are talking to Assistant again."]

    received = await door.say("Please send a Slack alert", thread_id)
    assert received.messages[0][1].startswith("I am following the skill **Slack Alert**:")
    received = await door.say("Could you page the whole team?", new_id())
    [(name, followed)] = received.messages
    assert name == MAIN
    assert followed.startswith("I am following the skill **Slack Alert**:")
    assert "Post them to #ops, with the severity." in followed
    assert "I am following" not in (await door.say("Tell me about the team", new_id())).last

    async with OverMessages.of(new_demo_user("eve", tenant=f"{door.user.tenant}-2")) as stranger:
        assert "I am following" not in (await stranger.say("Please send a Slack alert", new_id())).last
    async with OverMessages.of(new_demo_user("bob")) as colleague:
        assert "I am following" not in (await colleague.say("Please send a Slack alert", new_id())).last


@pytest.mark.nightly
async def test_a_skill_that_was_given_up_waits_to_be_continued(door: Door) -> None:
    thread_id = new_id()
    await door.say(REQUEST, thread_id)
    await door.say("nothing", thread_id)
    received = await door.say("cancel", thread_id)
    assert received.messages == [
        (SPECIALIST, "No problem! Returning you to the main assistant."),
        (MAIN, "Let me know if you'd like to continue creating that skill later."),
    ]
    assert (received.state["activeAgent"]["name"], received.state["workflow"]) == (MAIN, None)
    [unfinished] = received.state["resumable"]
    assert (unfinished["name"], unfinished["step"]) == ("your Slack Alert skill", 2)

    received = await door.say("What is 2 + 2?", thread_id)
    assert received.messages == [(MAIN, "2 + 2 = 4")]
    received = await door.say("I'd like to continue your Slack Alert skill", thread_id)
    check_place(received, 2, "Defining Triggers")
    assert received.state["resumable"] == []
    assert received.last.startswith("Let's go on with “Slack Alert”.")
    for text in ("yes", "ok"):
        await door.say(text, thread_id)
    received = await door.say("approved", thread_id)
    assert received.last == "Great, your 'Slack Alert' skill is now active."


@pytest.mark.nightly
async def test_a_user_who_left_a_moment_ago_is_offered_the_workflow_and_not_welcomed_back(ada: User) -> None:
    first = new_id()
    async with OverSocket.of(ada) as door:
        await door.say(REQUEST, first)
        await door.say("nothing", first)
    await close(ada, first)

    second = new_id()
    async with OverSocket.of(ada) as door:
        received = await door.say("Hello", second)
        assert received.messages[0][0] == MAIN
        assert received.messages[0][1].startswith("Hello!")
        assert received.state["activeAgent"]["name"] == MAIN
        assert [workflow["name"] for workflow in received.state["resumable"]] == ["your Slack Alert skill"]
        other = await door.say("Hello", new_id())
        assert not any(text.startswith(WELCOME) for _, text in other.messages)
        received = await door.say("continue", second)
        check_place(received, 2, "Defining Triggers")
        assert received.notices == [CONNECTING]
        for text in ("send slack alert", "go on"):
            await door.say(text, second)
        received = await door.say("yes", second)
        assert received.last == "Great, your 'Slack Alert' skill is now active."
        assert not any(text.startswith(WELCOME) for _, text in (await door.say("Hello", new_id())).messages)


@pytest.mark.nightly
async def test_without_the_permission_the_main_agent_stays(door: Door, new_demo_user: NewUser) -> None:
    async with type(door).of(new_demo_user("bob")) as denied:
        thread_id = new_id()
        received = await denied.say(REQUEST, thread_id)
        assert received.messages == [
            (MAIN, "You don't have permission to create skills. Can I help with something else?")
        ]
        assert (received.state["activeAgent"]["name"], received.state["workflow"]) == (MAIN, None)
        assert received.notices == []
        received = await denied.say("could you help me automate my weekly report as a skill?", thread_id)
        assert received.last == "You don't have permission to create skills. Can I help with something else?"
        assert (await denied.say("What is 2 + 2?", thread_id)).messages == [(MAIN, "2 + 2 = 4")]
        denials = [audit for audit in denied.user.cloud.audits(denied.user.tenant) if audit.get("outcome") == "denied"]
        assert len(denials) == 2


@pytest.mark.nightly
async def test_a_request_in_other_words_is_handed_over_by_the_main_agent(door: Door) -> None:
    received = await door.say("could you help me automate my weekly report as a skill?", new_id())
    assert {name for name, _ in received.messages} == {SPECIALIST}
    assert received.state["workflow"]["name"] == "your Weekly Report skill"
    if received.events is not None:
        assert received.notices == [CONNECTING]


@pytest.mark.nightly
async def test_german_words_lead_in_and_out(door: Door) -> None:
    thread_id = new_id()
    received = await door.say("Ich möchte einen neuen Skill", thread_id)
    assert received.state["activeAgent"]["name"] == SPECIALIST
    received = await door.say("Abbrechen", thread_id)
    assert received.messages == [
        (SPECIALIST, "Kein Problem! Ich bringe dich zurück zum Hauptassistenten."),
        (MAIN, "Sag Bescheid, wenn du den Skill später weiter erstellen möchtest."),
    ]


async def close(user: User, thread_id: str) -> None:
    """Close the thread, and return when it is closed."""
    async with user.connect() as socket:
        await socket.send("resume", threadId=thread_id, after=0)
        await socket.send("close", threadId=thread_id)
        await socket.receive_until(lambda event: event.get("name") == "thread_closed")
