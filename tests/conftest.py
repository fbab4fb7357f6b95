"""Fixtures for every test."""

import gc
import os
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

from baton_local.garbage import without_collection
from tests.environment import reset_environment
from tests.examples import EXAMPLES

# Machines are busy: how long an example takes says nothing about the code.
settings.register_profile("baton", max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("baton")

# The checks that tests share explain themselves as tests do.
pytest.register_assert_rewrite("tests.e2e", "tests.contracts", "tests.faults.state_machines", "tests.harness")

pytest_plugins = [
    "tests.compiled",
    "tests.distribution",
    "tests.durations",
    "tests.nightly",
    "tests.repeats",
    "tests.unchanged",
    "tests.engines",
    "tests.e2e.fixtures",
    "tests.faults.counts",
]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage while tests are collected: all this stays, and looking for garbage takes half of the time."""
    with without_collection():
        result = yield
        if os.environ.get("PYTEST_XDIST_WORKER", "gw0") == "gw0":  # all processes collect the same
            gc.collect()  # what is frozen is never collected, and a file that it left open would not be reported
        return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, None, None]:
    """Fail the last test of a folder whose tests have changed the environment, and restore it for those after it."""
    changed: list[str] = []
    try:
        yield
    finally:
        if nextitem is None or nextitem.path.parent != item.path.parent:
            changed = reset_environment()
    folder = item.path.parent.relative_to(item.config.rootpath)
    assert not changed, f"A test of {folder} has changed variables of the process and not restored them: {changed}"
