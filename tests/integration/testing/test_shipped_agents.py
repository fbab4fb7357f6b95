"""The conversations of the shipped agents, held by the command as developers use it."""

from __future__ import annotations

import json

import pytest

from baton_local.root import ROOT
from baton_project.project import Project
from tests.unit.testing.command import run

TESTS = ROOT / "tests" / "agents"


def test_the_shipped_agents_pass_their_conversations() -> None:
    ran = run(Project.find(ROOT), str(TESTS), "--json")
    failed = [conversation for conversation in ran.report["conversations"] if not conversation["passed"]]
    assert (ran.code, json.dumps(failed, indent=1)) == (0, "[]")


@pytest.mark.nightly
def test_several_processes_give_the_results_of_one_in_order() -> None:
    path = str(TESTS / "assistant.yaml")
    one, two = (run(Project.find(ROOT), path, "--json", "--jobs", jobs).report for jobs in ("1", "2"))
    assert [conversation["name"] for conversation in two["conversations"]] == [
        conversation["name"] for conversation in one["conversations"]
    ]
    assert two["ok"]
