"""The demo model as a guided workflow's specialist: what it asks, what it makes of answers, and how it ends."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baton.agents.builtin_tools import RETURN_TO_MAIN
from baton.domain.agent import AgentDefinition
from baton.domain.sentences import SENTENCES
from baton.domain.skill import collected_fields, draft_from, try_skill
from baton.domain.skill_markdown import skill_markdown
from baton.domain.tool_call import RETURN
from baton.domain.workflow import WorkflowStatus
from local.demo_model.conversation import Conversation
from local.demo_model.rules import answer
from local.demo_model.wire import ChatMessage, OfferedFunction
from tests.unit.demo_model.guided import Guided, skill_creation

SLACK = "I want to create a skill that sends Slack alerts"
REQUIREMENTS = "Post them to #ops with the severity. Use the slack_post tool."
TRIGGERS_ASKED = "Which messages should start it?"
APPROVAL_ASKED = "Do you approve the skill as it is?"


@pytest.fixture
def guided() -> Guided:
    """A session about a new skill."""
    return Guided(skill_creation())


def booking(**properties: Any) -> AgentDefinition:
    """An agent with another workflow: it collects these, then whether that is right."""
    return AgentDefinition.model_validate(
        {
            "id": "booker",
            "name": "Booker",
            "description": "Books trips.",
            "system_prompt": "You are Booker.",
            "workflow": {
                "name": "booking a trip",
                "states": [
                    {
                        "name": "DETAILS",
                        "label": "Details",
                        "collects": {
                            "type": "object",
                            "additionalProperties": False,
                            "required": [name for name, schema in properties.items() if "optional" not in schema],
                            "properties": {
                                name: {key: value for key, value in schema.items() if key != "optional"}
                                for name, schema in properties.items()
                            },
                        },
                    },
                    {"name": "BOOKED", "label": "Booked", "final": True},
                ],
            },
        }
    )


def test_a_skill_is_made_step_by_step_of_what_the_user_says(guided: Guided) -> None:
    first = guided.say(SLACK)
    assert first.startswith("Hi! I'm here to help you create a skill that sends Slack alerts.")
    assert "“Slack Alert”" in first
    assert first.endswith("?")
    assert guided.known == {"name": "Slack Alert", "description": "Sends Slack alerts."}
    assert guided.state == "GATHERING_REQUIREMENTS"

    assert TRIGGERS_ASKED in guided.say(REQUIREMENTS)
    assert guided.state == "DEFINING_TRIGGERS"
    assert guided.known["requirements"] == ["Post them to #ops with the severity.", "Use the slack_post tool."]

    written = guided.say("send slack alert, alert the team")
    assert guided.state == "GENERATING_SKILL"
    assert guided.known["triggers"] == ["send slack alert", "alert the team"]
    assert guided.known["allowed_tools"] == ["slack_post"]
    assert skill_markdown(draft_from(collected_fields(guided.workflow.data))).strip() in written

    tried = guided.say("looks good")
    assert guided.state == "TESTING"
    assert APPROVAL_ASKED in tried
    for trial in try_skill(draft_from(collected_fields(guided.workflow.data)), guided.known["samples"]):
        assert f"“{trial.sample}” {'starts it' if trial.matches else 'does not start it'}" in tried
    assert "does not start it" in tried

    assert guided.report is None
    assert guided.say("yes") == ""
    assert guided.workflow.status is WorkflowStatus.COMPLETED
    assert guided.report == {"summary": "The skill 'Slack Alert' is saved and active.", "outcome": "completed"}


@pytest.mark.parametrize(
    ("opening", "name", "description"),
    [
        (SLACK, "Slack Alert", "Sends Slack alerts."),
        ("Build me a skill to summarize Notion pages, please", "Notion Page Summary", "Summarizes Notion pages."),
        ("new skill that reminds me about invoices", "Invoice Reminder", "Reminds the user about invoices."),
        ("create a skill called Daily Digest that collects news", "Daily Digest", "Collects news."),
        (
            "Could you help me automate my weekly report as a skill?",
            "Weekly Report",
            "Automates the user's weekly report.",
        ),
        (
            "I need a new skill which translates emails into French",
            "Email Translation",
            "Translates emails into French.",
        ),
        ("I want to create a skill", None, None),
        ("I want to create a skill named “Tidy Up”", "Tidy Up", None),
        ("create a skill named X that sends Slack alerts", "X", "Sends Slack alerts."),
        ("Create a skill called ops-alarm, which sends Slack alerts", "ops-alarm", "Sends Slack alerts."),
        ("I need a skill named Weekly digest for my team", "Weekly digest", None),
        (f"create a skill named {'x' * 64} that sends mails", "x" * 64, "Sends mails."),
        ("Ich möchte einen neuen Skill", None, None),
    ],
)
def test_name_and_description_come_from_the_wish_alone(
    guided: Guided, opening: str, name: str | None, description: str | None
) -> None:
    guided.say(opening)
    assert guided.known.get("name") == name
    assert guided.known.get("description") == description


def test_requirements_become_steps_that_can_be_read(guided: Guided) -> None:
    guided.say(SLACK)
    guided.say("It needs the severity.\nIt should post to #ops.\nThe text is short.\nPost once.\nRed for outages")
    guided.say("yes")
    assert [step["text"] for step in guided.known["steps"]] == [
        "Ask for the details of the Slack alerts.",
        "Use the severity.",
        "Post to #ops.",
        "Keep in mind that the text is short.",
        "Post once.",
        "Keep in mind: Red for outages.",
        "Send Slack alerts.",
        "Tell the user what was done.",
    ]


def test_a_wish_that_only_the_summary_tells_is_known_too() -> None:
    guided = Guided(skill_creation(), summary="User wants to create a skill that sends Slack alerts.")
    guided.say("Yes please")
    assert guided.known["name"] == "Slack Alert"


@pytest.mark.parametrize(
    "reply", ["hm", "What?", "I don't know", "not sure", "???", "", "whatever", "yes", "ok", "why?"]
)
def test_what_is_no_answer_is_asked_again_and_kept_nowhere(guided: Guided, reply: str) -> None:
    guided.say("create skill")
    again = guided.say(reply)
    assert "What should the skill do?" in again
    assert guided.known == {}
    assert guided.calls == []
    guided.say("It should send Slack alerts")
    assert guided.known == {"name": "Slack Alert", "description": "Sends Slack alerts."}


def test_nothing_to_add_is_an_answer_where_nothing_is_needed(guided: Guided) -> None:
    guided.say(SLACK)
    assert TRIGGERS_ASKED in guided.say("that's all")
    assert "requirements" not in guided.known


def test_a_suggestion_is_taken_only_when_the_user_agrees(guided: Guided) -> None:
    guided.say(SLACK)
    assert "“send slack alert”" in guided.say("nothing")
    guided.say("maybe")
    assert "triggers" not in guided.known
    guided.say("yes, that one")
    assert guided.known["triggers"] == ["send slack alert"]


def test_a_trigger_that_is_none_is_told_and_asked_again(guided: Guided) -> None:
    guided.say(SLACK)
    guided.say("nothing")
    told = guided.say("send (slack")
    assert guided.state in ("DEFINING_TRIGGERS", "GENERATING_SKILL")
    assert "That does not work yet: " in told


def test_steps_are_changed_as_the_user_says(guided: Guided) -> None:
    for text in (SLACK, "nothing", "yes"):
        guided.say(text)
    before = guided.known["steps"]
    assert "Check the spelling" in guided.say("add: check the spelling (skip if the message is a test)")
    assert guided.known["steps"] == [
        *before,
        {"text": "Check the spelling", "condition": "skip if the message is a test"},
    ]
    guided.say("remove step 1")
    guided.say("step 1: post the alert to #ops")
    assert guided.known["steps"][0] == {"text": "Post the alert to #ops"}
    kept = guided.known["steps"]
    assert "which step" in guided.say("hmm, rather not like this")
    assert guided.known["steps"] == kept
    assert guided.state == "GENERATING_SKILL"


def test_who_does_not_approve_is_asked_what_to_change(guided: Guided) -> None:
    for text in (SLACK, "nothing", "yes", "yes"):
        guided.say(text)
    assert "What should I change?" in guided.say("no")
    assert guided.known["approved"] is False
    assert TRIGGERS_ASKED in guided.say("the triggers")
    assert guided.state == "DEFINING_TRIGGERS"
    guided.say("page the team")
    assert guided.known["triggers"] == ["page the team"]
    assert "“Page the team, please” starts it" in guided.say("ok")
    guided.say("I approve")
    assert guided.report is not None


def test_a_name_is_changed_from_any_step(guided: Guided) -> None:
    guided.say(SLACK)
    guided.say("call it Ops Alarm")
    assert guided.state == "GATHERING_REQUIREMENTS"
    for text in ("nothing", "yes", "change the name to Alarm"):
        said = guided.say(text)
    assert "name: Alarm" in said
    assert guided.state == "GENERATING_SKILL"
    assert guided.workflow.name == "your Alarm skill"


def test_the_users_own_samples_are_tried_too(guided: Guided) -> None:
    for text in (SLACK, "nothing", "yes", "yes"):
        guided.say(text)
    said = guided.say("try “please send the slack alert now”")
    assert "“please send the slack alert now” starts it" in said
    assert APPROVAL_ASKED in said


@pytest.mark.parametrize(
    "text", ["never mind", "Back to the main assistant, please", "I changed my mind", "bye", "stop"]
)
def test_whoever_wants_to_leave_is_handed_back(guided: Guided, text: str) -> None:
    guided.say(SLACK)
    assert guided.say(text) == ""
    assert guided.report is not None
    assert guided.report["outcome"] == "cancelled"


def test_it_goes_on_where_it_was_left(guided: Guided) -> None:
    for text in (SLACK, "nothing", "yes"):
        guided.say(text)
    later = Guided(skill_creation(), "User wants to continue your Slack Alert skill.", guided.workflow)
    said = later.say("I would like to continue your Slack Alert skill.")
    assert said.startswith("Let's go on with “Slack Alert”.")
    assert "Here is the SKILL.md:" in said
    assert later.known == guided.known
    later.say("yes")
    later.say("yes")
    assert later.report is not None


def test_other_workflows_are_led_through_by_their_schemas() -> None:
    agent = booking(
        details={"type": "string"},
        city={"type": "string", "description": "Where the trip goes.", "maxLength": 60},
        nights={"type": "integer", "minimum": 1},
        travel_class={"enum": ["first", "second"]},
        guests={"type": "array", "items": {"type": "string"}},
        address={"type": "object", "properties": {"street": {"type": "string"}, "town": {"type": "string"}}},
        refundable={"type": "boolean"},
        note={"type": "string", "optional": True},
    )
    guided = Guided(agent)
    first = guided.say("I want to go on a trip to Paris")
    assert first.startswith("Hi! I'm here to help you with booking a trip.")
    assert "What are the details?" in first
    assert guided.known == {}
    assert "What is the city? (Where the trip goes.)" in guided.say("with a view")
    assert "How many nights, as a number?" in guided.say("It's Vienna.")
    assert "number" in guided.say("a few")
    assert "first or second" in guided.say("3 nights")
    assert "first or second" in guided.say("the good one")
    assert "guests" in guided.say("Second class, please")
    assert "address" in guided.say("Ada, Bob and the dog")
    assert "refundable" in guided.say("street: Main Street 1, town: Graz")
    assert "refundable" in guided.say("perhaps")
    assert "none" in guided.say("yes")
    assert guided.say("none") == ""
    assert guided.known == {
        "details": "with a view",
        "city": "Vienna",
        "nights": 3,
        "travel_class": "second",
        "guests": ["Ada", "Bob and the dog"],
        "address": {"street": "Main Street 1", "town": "Graz"},
        "refundable": True,
    }
    assert guided.report is not None
    assert guided.report["outcome"] == "completed"
    assert "city: Vienna" in guided.report["summary"]


def test_what_the_schema_refuses_is_told_and_asked_again() -> None:
    guided = Guided(booking(nights={"type": "integer", "minimum": 1}))
    guided.say("Hello")
    assert "as a number?" in guided.say("0")
    assert guided.known == {}
    guided.say("2")
    assert guided.report is not None


replies = st.one_of(
    st.sampled_from(
        [
            *("yes", "no", "hm", "nothing", "why?", "steps", "a, b", "the triggers", "create skill", "it sends mails"),
            *("change the name", "call it X", "add: one more", "remove step 1", "step 2: x", "try 'a b'"),
        ]
    ),
    st.text(max_size=60),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(replies, max_size=8))
def test_whatever_is_said_it_answers_and_never_speaks_for_baton(said: list[str]) -> None:
    guided = Guided(skill_creation())
    own = {*SENTENCES.values(), *guided.agent.sentences["en"].values(), *guided.agent.sentences["de"].values()}
    for text in [SLACK, *said]:
        answered = guided.say(text)
        assert answered or guided.report is not None
        assert not any(sentence in answered for sentence in own)
        if guided.report is not None:
            break


@pytest.mark.parametrize("piece", ["yes ", "“", " ,", "skip if (", "step 1 ", "skill that ", "change the ", "\n"])
def test_long_replies_are_read_too(guided: Guided, piece: str) -> None:
    for text in (SLACK, piece * 20_000, "nothing", piece * 20_000, "yes", piece * 20_000):
        guided.say(text)


@pytest.mark.parametrize(("text", "is_returned"), [("I'm done", True), ("bye", True), ("What is 2 + 2?", False)])
def test_a_specialist_without_a_workflow_hands_back_when_the_user_is_done(text: str, is_returned: bool) -> None:
    tools = {RETURN: OfferedFunction(name=RETURN, parameters=RETURN_TO_MAIN.parameters)}
    messages = [
        ChatMessage(role="system", content="You are a specialist."),
        ChatMessage(role="user", content=text),
    ]
    reply = answer(Conversation.of(messages, tools))
    assert [call.name for call in reply.calls] == ([RETURN] if is_returned else [])
    assert bool(reply.text) is not is_returned
