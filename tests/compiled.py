"""A pytest plugin that lets one process of a run compile the tests of a fresh clone before the others collect them.

pytest compiles each module of tests with rewritten assertions, and stores the result in ``__pycache__``. Processes that
start together would each compile all modules.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from baton_local.root import ROOT

COLLECTED = "BATON_TEST_COLLECTED"
"""The variable with the path of a file that exists once the first process has collected the tests."""
FIRST = "gw0"
PATIENCE_SECONDS = 300.0
"""The time after which the others compile too, because the first process may have ended."""


def pytest_configure(config: pytest.Config) -> None:
    """In the process that distributes the tests, make the others wait if the tests are not compiled."""
    spreads = config.getoption("numprocesses", None) and not hasattr(config, "workerinput")
    if spreads and not sys.dont_write_bytecode and not _is_compiled():
        folder = tempfile.TemporaryDirectory()
        os.environ[COLLECTED] = str(Path(folder.name) / "collected")
        config.add_cleanup(lambda: os.environ.pop(COLLECTED, None))
        config.add_cleanup(folder.cleanup)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect the tests, in other processes than the first one after it."""
    worker, named = os.environ.get("PYTEST_XDIST_WORKER"), os.environ.get(COLLECTED)
    if worker is None or named is None:
        return (yield)
    if worker != FIRST:
        gives_up_at = time.monotonic() + PATIENCE_SECONDS
        while not Path(named).exists() and time.monotonic() < gives_up_at:
            time.sleep(0.05)
        return (yield)
    try:
        return (yield)
    finally:
        Path(named).touch()


def _is_compiled() -> bool:
    """Return whether this pytest has compiled tests of the last folder."""
    last = max((ROOT / "tests" / "unit").glob("*/test_*.py")).parent
    ending = f"{sys.implementation.cache_tag}-pytest-{pytest.__version__}.pyc"
    return any(last.glob(f"__pycache__/*.{ending}"))
