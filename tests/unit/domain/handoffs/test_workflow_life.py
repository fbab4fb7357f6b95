"""Whatever a model and a user do with a workflow: it stands where it may, and nothing collected is lost."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from baton.domain.errors import WorkflowUnavailable
from baton.domain.handoffs.workflow import UNFINISHED, Workflow, WorkflowStatus, measure_progress
from baton.domain.handoffs.workflow_definition import WorkflowDefinition
from baton.domain.handoffs.workflow_moves import IllegalTransition, abandon, advance, begin, expire, resume, save
from baton.domain.schemas.json_schema import find_problems, make_partial
from tests.unit.domain.skill_creation import NOW, STATES, TEXT, collects, definition

DEFINITIONS = [
    definition(),
    definition(STATES[0], {"name": "MORE", "label": "More"}, *STATES[1:]),
    definition({**STATES[0], "name": "ASK"}, *STATES[1:]),
    definition({**STATES[0], "collects": collects("name", "owner", name=TEXT, owner=TEXT)}, *STATES[1:]),
    definition(on_exit="discard", expiry_days=1),
]
"""The same workflow as it was changed over time."""

states = st.sampled_from(["GATHER", "gather", "ASK", "MORE", "BUILD", "TEST", "DONE", "NOWHERE", ""])
datas: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["Slack", "", 7]),
        "purpose": st.just("Tells."),
        "owner": st.just("Ada"),
        "approved": st.sampled_from([True, True, False, "yes"]),
        "score": st.sampled_from([1, 0.5, float("nan")]),
    },
) | st.just({})


class WorkflowLife(RuleBasedStateMachine):
    """A workflow, and beside it what must be true of it."""

    workflow: Workflow
    definition: WorkflowDefinition

    def __init__(self) -> None:
        super().__init__()
        self.now = NOW
        self.accepted: dict[tuple[str, str], Any] = {}
        """The last accepted values, by state and field."""

    @initialize()
    def begins(self) -> None:
        self.definition = DEFINITIONS[0]
        self.workflow = begin(self.definition, id="w1", agent_id="maker", thread_id="t0", now=self.now)

    @rule(state=states, data=datas)
    def the_model_advances(self, state: str, data: dict[str, Any]) -> None:
        before = self.workflow
        remaining = before.state
        try:
            self.workflow = advance(self.definition, before, state, data, self.now)
        except IllegalTransition:
            assert self.workflow == before
            return
        assert before.status is WorkflowStatus.ACTIVE
        self.accepted |= {(remaining, field): value for field, value in data.items()}
        if self.workflow.state != remaining:
            assert self.workflow.state in [transition.to for transition in self.definition.list_transitions(remaining)]
            if self.definition.find_index(self.workflow.state) > self.definition.find_index(remaining):
                schema = self.definition.states[self.definition.find_index(remaining)].collects
                assert schema is None or not find_problems(
                    {**schema, "additionalProperties": True}, self.workflow.data[remaining]
                )

    @precondition(lambda self: self.workflow.status is WorkflowStatus.ACTIVE)
    @rule()
    def a_refusal_names_only_ways_that_are_open(self) -> None:
        with pytest.raises(IllegalTransition) as refusal:
            advance(self.definition, self.workflow, "NOWHERE", {}, self.now)
        for legal in refusal.value.legal:
            assert advance(self.definition, self.workflow, legal, {}, self.now).state == legal

    @rule()
    def the_user_leaves(self) -> None:
        before = self.workflow
        self.workflow = save(self.definition, before, self.now)
        if before.status is WorkflowStatus.ACTIVE:
            stored = self.definition.on_exit == "save"
            assert self.workflow.status is (WorkflowStatus.SAVED if stored else WorkflowStatus.ABANDONED)

    @rule(thread=st.sampled_from(["t1", "t2"]))
    def the_user_comes_back(self, thread: str) -> None:
        before = self.workflow
        try:
            resumed = resume(self.definition, before, thread_id=thread, now=self.now)
        except WorkflowUnavailable:
            assert not before.is_unfinished(self.now)
            return
        assert before.is_unfinished(self.now)
        self.workflow = resumed.workflow
        assert self.workflow.thread_id == thread
        assert (resumed.changed is None) is (before.version == self.definition.version)
        assert self.workflow.state in (before.state, self.definition.first.name)

    @rule(number=st.integers(0, len(DEFINITIONS) - 1))
    def the_agent_is_deployed_again(self, number: int) -> None:
        self.definition = DEFINITIONS[number]
        if self.workflow.status is WorkflowStatus.ACTIVE and self.workflow.version != self.definition.version:
            with pytest.raises(IllegalTransition):
                advance(self.definition, self.workflow, self.workflow.state, {}, self.now)
            self.workflow = resume(self.definition, self.workflow, thread_id="t0", now=self.now).workflow

    @rule(days=st.sampled_from([0.1, 0.1, 20, 31]))
    def time_passes(self, days: float) -> None:
        self.now += timedelta(days=days)
        before = self.workflow
        self.workflow = expire(before, self.now)
        if self.workflow != before:
            with pytest.raises(IllegalTransition):
                advance(self.definition, before, before.state, {}, self.now)

    @precondition(lambda self: self.workflow.status is WorkflowStatus.SAVED)
    @rule()
    def the_user_gives_up(self) -> None:
        self.workflow = abandon(self.workflow, self.now)

    @invariant()
    def it_stands_in_a_state_with_data_that_fit(self) -> None:
        if self.workflow.version != self.definition.version:
            return
        state = self.definition.find_state(self.workflow.state)
        assert state is not None
        assert measure_progress(self.definition, self.workflow) is not None
        assert state.final is (self.workflow.status is WorkflowStatus.COMPLETED)
        if state.collects is not None and self.workflow.state != self.definition.first.name:
            lenient = {**make_partial(state.collects), "additionalProperties": True}
            assert not find_problems(lenient, self.workflow.data[state.name])

    @invariant()
    def nothing_collected_is_lost(self) -> None:
        for (state, field), value in self.accepted.items():
            assert self.workflow.data[state][field] == value

    @invariant()
    def it_expires_only_after_it_was_left_alone(self) -> None:
        assert self.workflow.updated_at <= self.now
        if self.workflow.status in UNFINISHED:
            assert self.workflow.expires_at > self.workflow.updated_at


TestWorkflowLife = WorkflowLife.TestCase
