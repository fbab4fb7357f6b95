"""Fixtures for every test."""

import gc
import os
import re
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer  # type: ignore[import-untyped]
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

from baton_local.garbage import without_collection
from tests.examples import EXAMPLES

# Local clouds of tests have only the documents that tests give them.
os.environ.setdefault("BATON_LOCAL_DOCS", "0")

# Machines are busy: how long an example takes says nothing about the code.
settings.register_profile("baton", max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("baton")

# The checks that tests share explain themselves as tests do.
pytest.register_assert_rewrite("tests.e2e", "tests.contracts", "tests.faults.state_machines", "tests.harness")

pytest_plugins = ["tests.engines", "tests.e2e.fixtures", "tests.faults.counts"]

CLOUDS = {
    r"tests/e2e/consulting/(?!test_demo_research)": "consulting",
    r"tests/e2e/(handoff/|test_memory_journey)|tests/browser/test_((handoff|research)_in_|examples_of)": "demo",
    r"tests/e2e/(test_|a2a/|command/)": "scripted",
    r"tests/browser/": "browsed",
}
"""Files whose tests share a running local cloud, by what its model is. It takes seconds to start."""


class FilesByCloud(LoadFileScheduling):  # type: ignore[misc]
    """Under ``pytest --dist loadfile``: files that share a local cloud stay together too."""

    def _split_scope(self, nodeid: str) -> str:
        for files, cloud in CLOUDS.items():
            if re.match(files, nodeid):
                return cloud
        return str(super()._split_scope(nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling | None:
    """Used where whole files are spread over processes."""
    return FilesByCloud(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage while tests are collected: all this stays, and looking for garbage takes half of the time."""
    with without_collection():
        result = yield
        gc.collect()  # what is frozen is never collected, and a file that it left open would not be reported
        return result
