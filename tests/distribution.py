"""A pytest plugin that distributes tests over processes, and keeps tests together that share a slow fixture.

Marks for groups would do the same, but pytest-xdist 3.8 does not see them under pytest 9.
"""

from __future__ import annotations

import re

import pytest
from xdist.remote import Producer  # type: ignore[import-untyped]
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]
from xdist.workermanage import WorkerController  # type: ignore[import-untyped]

UNITS = {
    r"tests/e2e/consulting/(?!test_demo_research)": "the cloud of consulting",
    r"tests/e2e/handoff/": "the demo cloud",
    r"tests/e2e/test_(background_runs|ingestion|memory_journey|python_examples)\.": "the demo cloud",
    r"tests/e2e/test_(restore|smoke|titles)\.": "the demo cloud",
    r"tests/browser/test_((handoff|research)_in_|examples_of|console_skills)": "the demo cloud",
    r"tests/e2e/(test_|a2a/|command/)": "the scripted cloud",
    r"tests/browser/": "the browsed cloud",
    r"tests/faults/processes/": "the killable cloud",
    # This module takes long, and shares nothing with the rest of its folder.
    r"(tests/integration/local/test_engines\.py)": r"\1",
    # Moto's servers in a process share their state.
    r"(tests/integration/\w+)/": r"\1",
    # Each test of these takes long, and needs no slow fixture of its module.
    r"(tests/faults/(?:generated|lease_model|schedules|state_machines)/.*)": r"\1",
    # These tests share a build.
    r"tests/infrastructure/build/": "the build",
    r"([^:]+)": r"\1",
}
"""Patterns of test ids -> units. The tests of a unit run in one process, in their order."""
FIRST = (
    "the scripted cloud",
    "the demo cloud",
    "the browsed cloud",
    "tests/integration/search",
    "tests/integration/project",
    "tests/e2e/docs/test_snippets.py",
    "tests/infrastructure/test_template_rules.py",
    "tests/integration/make_run",
    "tests/integration/privacy",
    "the build",
    "tests/integration/store",
    "the killable cloud",
    "tests/faults/busy_loop/test_busy_loop.py",
    "tests/integration/local",
    "tests/integration/local/test_engines.py",
    "tests/unit/api/tenants/test_every_read.py",
    "tests/unit/demo_model/test_journeys.py",
    "tests/unit/api/mcp/test_mcp_calls.py",
    "tests/unit/memory/test_selecting.py",
)
"""The longest units, which begin first. Otherwise one process would still be busy when the others have ended."""
LAST = "tests/unit/"
"""The prefix of many short units, which begin last so that all processes end at about the same time."""


class LongUnitsFirst(LoadScopeScheduling):  # type: ignore[misc]
    """The schedule of pytest-xdist for whole units, the longest first."""

    def _split_scope(self, nodeid: str) -> str:
        for pattern, unit in UNITS.items():
            if match := re.match(pattern, nodeid):
                return match.expand(unit)
        raise AssertionError(f"No unit for {nodeid}")

    def _assign_work_unit(self, node: WorkerController) -> None:
        self.workqueue.move_to_end(min(self.workqueue, key=_rank), last=False)
        super()._assign_work_unit(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling | None:
    """Return the schedule for a run with ``-n``; None if ``--dist`` chooses another one."""
    return LongUnitsFirst(config, log) if config.getvalue("dist") == "load" else None


def _rank(unit: str) -> int:
    """Return the rank of a unit, lowest first. Among equal ranks, pytest-xdist prefers units with many tests."""
    return FIRST.index(unit) if unit in FIRST else len(FIRST) + unit.startswith(LAST)
