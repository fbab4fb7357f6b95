"""Sub-agents as agents' files declare them."""

from __future__ import annotations

from typing import Any

import pytest

from baton.domain.agents.agent_checks import Problem, check_agent

AGENT = {"id": "a", "name": "A", "description": "A.", "system_prompt": "A."}


def test_an_entry_may_say_that_its_agent_works_in_the_background() -> None:
    entries = ["wiki", {"agent": "search", "background": True}]
    definition, problems = check_agent(AGENT | {"sub_agents": entries, "background_agents": ["wiki"]})
    assert definition is not None
    assert not problems
    assert (definition.sub_agents, definition.background_agents) == (("wiki", "search"), ("wiki", "search"))


@pytest.mark.parametrize("declared", [None, 5, "wiki"])
def test_background_agents_that_are_no_list_are_a_problem_of_their_field(declared: Any) -> None:
    entries = [{"agent": "wiki", "background": True}]
    definition, problems = check_agent(AGENT | {"sub_agents": entries, "background_agents": declared})
    assert definition is None
    assert problems == [Problem(("background_agents",), "must be a list")]
