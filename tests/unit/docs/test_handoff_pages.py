"""The pages on handoffs, workflows and forks: their agents load, their snippets work, their events are those sent."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from baton.adapters.agents.agent_files import AgentFiles
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.agent_checks import check_agent
from baton.domain.agents.sentences import SENTENCES, write_sentence
from baton.domain.handoffs.triggers import find_first_match
from baton.domain.handoffs.workflow import measure_progress
from baton.domain.handoffs.workflow_moves import IllegalTransition, advance, begin, list_open_targets
from baton.domain.threads.events import Event
from baton.domain.threads.thread import Thread
from tests.fakes.chat_model import Answer
from tests.harness.handoffs import HandoffHarness, transfer
from tests.harness.handoffs import advance as advancing
from tests.harness.harness import Harness
from tests.unit.docs.pages import ROOT, blocks, table

SPECIALISTS = ROOT / "docs" / "how-to" / "hand-users-over.md"
WORKFLOWS = ROOT / "docs" / "how-to" / "guide-users-through-a-workflow.md"
FORKS = ROOT / "docs" / "how-to" / "fork-a-conversation.md"
EVENTS = ROOT / "docs" / "reference" / "events.md"
AGENTS = ROOT / "docs" / "reference" / "agents-yaml.md"
NOW = datetime(2026, 1, 2, tzinfo=UTC)


def find_marked(page: Path, mark: str) -> str:
    [text] = [block.text for block in blocks(page) if block.mark == mark]
    return text


def function(page: Path, mark: str, name: str) -> Callable[..., Awaitable[Any]]:
    """The definitions of a snippet of Python."""
    defined: dict[str, Any] = {}
    exec(compile(find_marked(page, mark), page.name, "exec"), defined)  # noqa: S102 - our own page
    instance: Callable[..., Awaitable[Any]] = defined[name]
    return instance


@pytest.fixture
def returns() -> AgentDefinition:
    return AgentDefinition.model_validate(yaml.safe_load(find_marked(WORKFLOWS, "workflow")))


def test_the_workflow_of_the_how_to_is_completed_by_its_tool() -> None:
    agent, completion = (yaml.safe_load(find_marked(WORKFLOWS, mark)) for mark in ("workflow", "completion"))
    workflow = agent["workflow"] | completion["workflow"]
    definition, problems = check_agent({**agent, **completion, "workflow": workflow})
    assert definition is not None
    assert problems == []


def test_the_specialist_and_the_main_agent_of_the_how_to_load(tmp_path: Path) -> None:
    main = {"id": "assistant", "name": "Assistant", "description": "Answers.", "system_prompt": "Answer.", "main": True}
    handoffs = yaml.safe_load(find_marked(SPECIALISTS, "handoffs"))
    (tmp_path / "assistant.yaml").write_text(yaml.safe_dump(main | handoffs))
    (tmp_path / "travel.yaml").write_text(find_marked(SPECIALISTS, "specialist"))

    travel = AgentFiles.load(tmp_path, "assistant").get("travel")
    assert travel is not None
    assert find_first_match(travel.triggers, "Could you book me a train to Turin?") == "book train"
    assert find_first_match(travel.triggers, "How do business trips work here?") is not None


def test_the_workflow_of_the_how_to_leads_a_damaged_order_past_the_photo(returns: AgentDefinition) -> None:
    assert returns.workflow is not None
    steps, workflow = returns.workflow, begin(returns.workflow, id="w", agent_id="returns", thread_id="t", now=NOW)
    for unfit in ({}, {"number": "1234567"}):
        with pytest.raises(IllegalTransition, match="number"):
            advance(steps, workflow, "REASON", unfit, NOW)
    workflow = advance(steps, workflow, "REASON", {"number": "123456"}, NOW)
    at = measure_progress(steps, workflow)
    assert (workflow.name, f"{at}: {at.label if at else ''}") == (
        "the return of order 123456",
        "Step 2 of 4: What Is Wrong",
    )
    stored = advance(steps, workflow, "REASON", {"reason": "unwanted"}, NOW)
    assert list_open_targets(steps, stored) == ("AGREEING", "ORDER")
    for state, data in (
        ("PHOTO", {"reason": "damaged"}),
        ("AGREEING", {"damage": "A crack."}),
        ("DONE", {"agreed": True}),
    ):
        workflow = advance(steps, workflow, state, data, NOW)
    assert workflow.status == "completed"


def test_the_workflow_of_the_how_to_reads_well_where_baton_names_it(returns: AgentDefinition) -> None:
    assert returns.workflow is not None
    message = write_sentence(returns, "busy", session=returns.workflow.name)
    assert message == "You're currently in a product return session. Would you like to finish that first?"
    assert message.partition(". ")[0] in WORKFLOWS.read_text()


def test_the_agents_of_the_how_tos_say_only_sentences_there_are(returns: AgentDefinition) -> None:
    travel = AgentDefinition.model_validate(yaml.safe_load(find_marked(SPECIALISTS, "specialist")))

    assert {name for agent in (travel, returns) for words in agent.sentences.values() for name in words} <= set(
        SENTENCES
    )


def test_every_sentence_is_listed_with_its_words() -> None:
    listed = {name: row[0] for name, row in table(AGENTS, "sentence").items()}

    assert listed == SENTENCES


async def test_the_snippet_on_forks_branches() -> None:
    research = AgentDefinition(id="research", name="Research", description="Looks.", system_prompt="Look.")
    harness = Harness(others=(research,))
    await harness.say("m1", "Hello")
    parent_id = harness.thread_id
    fork: Thread = await function(FORKS, "fork", "branch")(harness.forks, harness.ada, parent_id)

    assert (fork.agent_id, fork.parent_thread_id) == ("research", parent_id)


async def test_the_examples_of_events_have_the_fields_of_those_that_are_sent() -> None:
    harness = HandoffHarness(transfer(), Answer(("Name?",)), advancing("BUILD", name="Box"), Answer(("Building.",)))
    runs = [await harness.say(), await harness.say("m2", "Box"), await harness.exit()]
    sent = {_kind(event.body): _fields(event.body) for run in runs for event in run.events if _is_shown(event)}

    visible = [json.loads(block.text) for block in blocks(EVENTS) if block.language == "json"]
    assert {_kind(example): _fields(example) for example in visible} == sent


def _is_shown(event: Event) -> bool:
    """Return whether the page has an example of the event. Workflows at ``/resumable`` are on another page."""
    is_conversation = event.type in ("ACTIVITY_SNAPSHOT", "STATE_DELTA", "STEP_STARTED", "STEP_FINISHED")
    return is_conversation and _value(event.body) not in (None, []) and "/resumable" not in _kind(event.body)


def _kind(body: dict[str, Any]) -> str:
    return f"{body['type']} {body.get('activityType', '')}{body['delta'][0]['path'] if 'delta' in body else ''}"


def _value(body: dict[str, Any]) -> Any:
    return body["delta"][0]["value"] if "delta" in body else body.get("content", body.get("stepName"))


def _fields(body: dict[str, Any]) -> tuple[set[str], set[str]]:
    value = _value(body)
    return set(body) - {"metadata"}, set(value) if isinstance(value, dict) else set()
