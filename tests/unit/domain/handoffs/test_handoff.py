"""Handoffs: how they are declared, recorded and refused."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from baton.api.threads.record_schemas import Handoff
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.handoff_rules import Refusal, RefusalReason, find_handoff_refusal, find_triggered
from baton.domain.agents.sentences import write_sentence
from baton.domain.handoffs.handoff import (
    ContextMode,
    HandoffDefinition,
    HandoffOutcome,
    HandoffRequest,
    derive_handoff_id,
)
from baton.domain.handoffs.workflow import Workflow
from baton.domain.handoffs.workflow_moves import save
from baton.domain.tenants.identity import Scope
from tests.unit.domain.skill_creation import FIELDS, NOW, begin_workflow, definition

THREAD = "550e8400-e29b-41d4-a716-446655440000"
ADA = Scope("acme", "ada", frozenset({"skill:create"}))
BOB = Scope("acme", "bob")


def agent(agent_id: str, **fields: Any) -> AgentDefinition:
    existing = {"id": agent_id, "name": agent_id.title(), "description": "D.", "system_prompt": "P."}
    return AgentDefinition.model_validate({**existing, **fields})


MAIN = agent("main", handoffs=["maker", "guide", "gone"], main=True)
MAKER = agent(
    "maker",
    triggers=["create skill", "new skill"],
    workflow=FIELDS,
    required_permissions=["skill:create"],
    handoffs=["guide"],
)
GUIDE = agent("guide", triggers=["show me around", "new skill"])
OTHER = agent("other", triggers=["create skill"])


def refusal(
    target: AgentDefinition | str,
    *,
    source: AgentDefinition = MAIN,
    workflow: Workflow | None = None,
    scope: Scope = ADA,
    **more: Any,
) -> Refusal | None:
    existing = target if isinstance(target, AgentDefinition) else None
    target_id = target if isinstance(target, str) else target.id
    return find_handoff_refusal(source, target_id, existing, scope, workflow=workflow, **more)


def request(**changes: Any) -> HandoffRequest:
    fields: dict[str, Any] = {
        "thread_id": THREAD,
        "tenant_id": "acme",
        "user_id": "ada",
        "ordinal": 4,
        "source_agent_id": "main",
        "target_agent_id": "maker",
        "context_mode": ContextMode.RECENT,
        "context_summary": "User wants to create a Notion summarization skill",
        "recent_messages": ("m1", "m2", "m3"),
        "handoff_reason": "skill_creation_workflow",
        "started_at": NOW,
    }
    return HandoffRequest(**{**fields, **changes})


def test_a_handoff_is_declared_by_the_targets_id_alone() -> None:
    assert MAIN.handoffs[0] == HandoffDefinition(agent="maker", context_mode=ContextMode.SUMMARY)
    declared = agent("a", handoffs=[{"agent": "b", "context_mode": "forked", "recent_messages": 3}])
    assert declared.model_dump(by_alias=True, mode="json")["handoffs"] == [
        {
            "agent": "b",
            "contextMode": "forked",
            "recentMessages": 3,
            "showToolCalls": False,
            "preserveState": True,
            "returnExpected": True,
            "reason": None,
            "requiredPermissions": [],
        }
    ]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"handoffs": ["a"]}, "cannot hand over to itself"),
        ({"handoffs": ["b", {"agent": "b"}]}, "two of the handoffs are to 'b'"),
        ({"handoffs": [{"agent": "b", "context_mode": "some"}]}, "context_mode"),
        ({"handoffs": [{"agent": "b", "recent_messages": 0}]}, "recent_messages"),
        ({"handoffs": ["Not-Ok"]}, "agent"),
        ({"triggers": ["(?=x)"]}, "lookahead"),
        ({"triggers": ["x"] * 51}, "at most 50"),
        ({"exit_words": {"en": ["!"]}}, "exit word"),
        ({"exit_words": {"English": ["exit"]}}, "pattern"),
        ({"workflow": FIELDS, "remote": {"card_url": "https://a.example.com"}}, "keeps its workflow to itself"),
    ],
)
def test_what_is_wrong_is_refused(fields: dict[str, Any], expected: str) -> None:
    with pytest.raises(ValidationError, match=expected):
        agent("a", **fields)


def test_a_request_is_shown_as_the_protocol_says() -> None:
    assert Handoff.of(request()).wire() == {
        "id": derive_handoff_id(THREAD, 4),
        "sourceAgentId": "main",
        "targetAgentId": "maker",
        "contextMode": "recent",
        "contextSummary": "User wants to create a Notion summarization skill",
        "conversationHistoryCount": 3,
        "handoffReason": "skill_creation_workflow",
        "preserveState": True,
        "returnExpected": True,
        "outcome": None,
        "childThreadId": None,
        "startedAt": "2026-03-14T09:26:00.000Z",
        "endedAt": None,
    }


def test_a_handoff_ends_once() -> None:
    end = request().end(HandoffOutcome.RETURNED, NOW + timedelta(minutes=1))
    assert end.end(HandoffOutcome.CLOSED, NOW + timedelta(minutes=2)) is end
    visible = Handoff.of(end).wire()
    assert (visible["outcome"], visible["endedAt"]) == ("returned", "2026-03-14T09:27:00.000Z")


def test_handoffs_of_one_place_are_one() -> None:
    assert request().id == request(started_at=NOW + timedelta(1), context_summary="Other.").id
    assert len({request().id, request(number=1).id, request(ordinal=6).id}) == 3


def test_an_agent_elsewhere_gets_the_request_in_a2a_metadata() -> None:
    sent = request().as_a2a([{"role": "user", "content": "Hi."}])
    assert (sent["type"], sent["thread_id"], sent["conversation_history_count"]) == ("handoff", THREAD, 1)
    assert all(name == name.lower() for name in sent)


def test_a_declared_target_may_be_handed_over_to() -> None:
    assert refusal(MAKER) is None
    assert refusal(GUIDE, scope=BOB) is None


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"target": "gone"}, RefusalReason.UNKNOWN),
        ({"target": "x" * 999}, RefusalReason.UNKNOWN),
        ({"target": OTHER}, RefusalReason.UNKNOWN),
        ({"target": MAIN}, RefusalReason.SELF),
        ({"target": MAKER, "source": MAKER, "session": MAKER, "workflow": begin_workflow()}, RefusalReason.SELF),
        ({"target": MAKER, "scope": BOB}, RefusalReason.FORBIDDEN),
        ({"target": MAKER, "scope": BOB, "workflow": begin_workflow()}, RefusalReason.FORBIDDEN),
        ({"target": MAKER, "workflow": begin_workflow()}, RefusalReason.SECOND_WORKFLOW),
        (
            {"target": GUIDE, "source": MAKER, "session": MAKER, "workflow": begin_workflow()},
            RefusalReason.SECOND_WORKFLOW,
        ),
        ({"target": GUIDE, "source": MAKER, "session": MAKER}, RefusalReason.NESTED),
    ],
)
def test_the_reason_that_lasts_longest_is_reported(value: dict[str, Any], reason: RefusalReason) -> None:
    refused = refusal(**value)
    assert refused is not None
    assert refused.reason is reason
    assert len(refused.explanation) < 200


def test_a_workflow_that_was_left_is_in_nobodys_way() -> None:
    assert refusal(MAKER, workflow=save(definition(), begin_workflow(), NOW)) is None


def test_a_workflow_of_the_main_agents_own_bars_only_other_workflows() -> None:
    assert refusal(GUIDE, workflow=begin_workflow()) is None


def test_a_handoff_may_need_a_permission_of_its_own() -> None:
    strict = agent("main", handoffs=[{"agent": "guide", "required_permissions": ["tour:take"]}])
    refused = refusal(GUIDE, source=strict)
    assert refused is not None
    assert (refused.reason, refused.permission) == (RefusalReason.FORBIDDEN, "tour:take")


def test_refusals_have_the_sentences_of_the_target_or_the_session() -> None:
    busy = refusal(GUIDE, source=MAIN, workflow=begin_workflow(), session=MAKER)
    assert busy is not None
    assert (busy.sentence, busy.session) == ("busy", "skill creation")
    reported = write_sentence(MAKER, "busy", session=busy.session or "")
    assert reported == "You're currently in a skill creation session. Would you like to finish that first?"
    nested = refusal(GUIDE, source=MAIN, session=MAKER)
    assert nested is not None
    assert (nested.sentence, nested.session) == ("busy", "Maker")
    unknown = refusal("gone")
    assert unknown is not None
    assert unknown.sentence is None


def test_a_message_triggers_the_first_declared_target_that_it_asks_for() -> None:
    everybody = [OTHER, GUIDE, MAKER, MAIN]
    assert find_triggered(MAIN, everybody, "I want to create a skill") == (MAKER, "create skill")
    assert find_triggered(MAIN, everybody, "A new skill please") == (MAKER, "new skill")
    assert find_triggered(MAIN, everybody, "Show me around!") == (GUIDE, "show me around")
    assert find_triggered(MAIN, everybody, "Hello") is None
    assert find_triggered(MAIN, [OTHER], "create a skill") is None


def test_the_active_specialists_own_triggers_mean_nothing() -> None:
    assert find_triggered(MAIN, [MAKER], "The new skill is called X.", active_agent_id="maker") is None
    assert find_triggered(MAIN, [MAKER, GUIDE], "a new skill", active_agent_id="maker") == (GUIDE, "new skill")
