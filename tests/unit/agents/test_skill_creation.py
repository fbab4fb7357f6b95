"""The specialist that ships: its steps, its triggers, and every sentence word for word."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from baton.adapters.agents.agent_files import AgentFiles
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.sentences import SENTENCES, write_sentence
from baton.domain.handoffs.handoff import ContextMode
from baton.domain.handoffs.triggers import find_exit_locale, find_first_match
from baton.domain.handoffs.workflow import WorkflowStatus
from baton.domain.handoffs.workflow_moves import advance, begin
from baton.domain.memory.procedure import parse_draft, select_collected_fields
from baton.domain.memory.skill_markdown import parse_skill_markdown, write_skill_markdown
from baton_local.root import ROOT

NOW = datetime(2026, 3, 14, tzinfo=UTC)
SKILL = "your Slack Alert skill"
FILLED = {
    "agent": "Skill Creation Assistant",
    "name": "Slack Alert",
    "workflow": "your Slack Alert skill",
    "label": "Testing",
    "date": "2026-11-28",
}


@pytest.fixture(scope="module")
def agent() -> AgentDefinition:
    result = AgentFiles.load(ROOT / "agents").get("skill-creation-agent")
    assert result is not None
    return result


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("connecting", "Connecting you with Skill Creation Assistant..."),
        (
            "unavailable",
            "The skill creation assistant is currently unavailable. Would you like me to help you with something else, "
            "or try again later?",
        ),
        ("forbidden", "You don't have permission to create skills. Can I help with something else?"),
        ("busy", "You're currently in a skill creation session. Would you like to finish that first?"),
        ("exit", "No problem! Returning you to the main assistant."),
        ("saved_for_later", "Let me know if you'd like to continue creating that skill later."),
        ("completed", "Your skill is ready! Returning you to the main assistant."),
        ("main_confirms", "Great, your 'Slack Alert' skill is now active."),
        (
            "welcome_back",
            "Welcome back! Would you like to continue creating your Slack Alert skill, which you left on 2026-11-28?",
        ),
        (
            "workflow_changed",
            "The steps of skill creation have changed since you were last here, so we go on with Testing.",
        ),
    ],
)
def test_the_sentences_of_the_agent_are_said_word_for_word(agent: AgentDefinition, name: str, text: str) -> None:
    assert write_sentence(agent, name, **FILLED) == text
    assert name in SENTENCES
    german = write_sentence(agent, name, locale="de-AT", **FILLED)
    assert german != text
    assert "{" not in german


def test_the_agent_needs_the_permission_to_create_skills(agent: AgentDefinition) -> None:
    assert agent.required_permissions == ("skill:create",)
    assert not agent.main


@pytest.mark.parametrize(
    "text",
    [
        "I want to create a new skill",
        "I want to create a skill that summarizes Notion pages",
        "I want to create a skill that sends Slack alerts",
        "Build me a skill!",
        "a new skill, please",
        "Kannst du mir einen Skill erstellen?",
    ],
)
def test_users_words_trigger_the_agent(agent: AgentDefinition, text: str) -> None:
    assert find_first_match(agent.triggers, text)


def test_users_words_leave_the_agent(agent: AgentDefinition) -> None:
    assert [find_exit_locale(agent.exit_words, text) for text in ("Cancel.", "exit!", "Abbrechen", "cancel it")] == [
        "en",
        "en",
        "de",
        None,
    ]


def test_the_steps_of_the_workflow_are_those_of_the_card(agent: AgentDefinition) -> None:
    assert agent.workflow is not None
    assert agent.workflow.card_states == [
        "gathering_requirements",
        "defining_triggers",
        "generating_skill",
        "testing",
        "complete",
    ]
    assert [state.can_exit for state in agent.workflow.states] == [True] * 5


def test_the_collected_data_makes_a_skill(agent: AgentDefinition) -> None:
    steps = agent.workflow
    assert steps is not None
    workflow = begin(steps, id="w", agent_id=agent.id, thread_id="t", now=NOW)
    assert workflow.name == "your new skill"
    for state, data in (
        ("DEFINING_TRIGGERS", {"name": "Slack Alert", "description": "Sends Slack alerts."}),
        ("GENERATING_SKILL", {"triggers": ["send slack alert"]}),
        ("TESTING", {"steps": [{"text": "Post it.", "condition": "skip if it is night"}], "allowed_tools": ["post"]}),
        ("COMPLETE", {"samples": ["Send a Slack alert"], "approved": True}),
    ):
        workflow = advance(steps, workflow, state, data, NOW)
    assert workflow.status is WorkflowStatus.COMPLETED
    assert workflow.name == "your Slack Alert skill"
    draft = parse_draft(select_collected_fields(workflow.data))
    assert parse_skill_markdown(write_skill_markdown(draft)) == draft


def test_the_main_agent_hands_over_and_the_workflow_makes_a_skill(agent: AgentDefinition) -> None:
    main = AgentFiles.load(ROOT / "agents").get_default_main()
    [handoff] = [handoff for handoff in main.handoffs if handoff.agent == agent.id]
    assert handoff.context_mode is ContextMode.SUMMARY
    assert handoff.reason
    assert agent.workflow is not None
    assert agent.workflow.produces == "skill"
