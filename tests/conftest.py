"""Fixtures for every test."""

import gc
import os
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

from baton_local.garbage import without_collection
from tests.environment import reset_environment
from tests.examples import EXAMPLES

OBJECTS_BETWEEN_COLLECTIONS = 500_000
"""The number of new objects after which a test process collects garbage. With a tenth of it, as in functions, garbage
collection takes a tenth of the time of tests."""

gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)

# Machines may be busy, so the time of an example says nothing about the code.
settings.register_profile("baton", max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("baton")

# Rewrite the assertions of shared checks, so that their failures are explained as in tests.
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
    """Collect tests without garbage collection, which would take half of the time and find hardly any garbage."""
    with without_collection():
        result = yield
        # One process is enough, because all collect the same tests.
        if os.environ.get("PYTEST_XDIST_WORKER", "gw0") == "gw0":
            gc.collect()  # frozen objects are never collected, and files that they leave open would not be reported
    gc.collect(0)  # after its first collection, the product sets the threshold of functions
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, None, None]:
    """Restore the environment after the last test of a folder, and fail this test if tests have changed it."""
    changed: list[str] = []
    try:
        yield
    finally:
        if nextitem is None or nextitem.path.parent != item.path.parent:
            changed = reset_environment()
    folder = item.path.parent.relative_to(item.config.rootpath)
    assert not changed, f"A test of {folder} has changed variables of the process and not restored them: {changed}"
