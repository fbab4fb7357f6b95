"""Has the first process of a run compile the tests of a fresh clone before the others collect them: a pytest plugin.

pytest compiles each module of tests with assertions that explain themselves, and keeps the result in ``__pycache__``.
Processes that begin together would each compile all of them.
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
"""Names the file that is there as soon as the first process has collected the tests."""
FIRST = "gw0"
PATIENCE_SECONDS = 300.0
"""After this time the others compile too: the first may have ended."""


def pytest_configure(config: pytest.Config) -> None:
    """Make the processes of a run wait, in the one that spreads the tests, if little has been compiled."""
    spreads = config.getoption("numprocesses", None) and not hasattr(config, "workerinput")
    if spreads and not sys.dont_write_bytecode and not _is_compiled():
        folder = tempfile.TemporaryDirectory()
        os.environ[COLLECTED] = str(Path(folder.name) / "collected")
        config.add_cleanup(lambda: os.environ.pop(COLLECTED, None))
        config.add_cleanup(folder.cleanup)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect first, or after the first."""
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
    """Return whether tests of the folder that comes last have been compiled by this pytest."""
    last = max((ROOT / "tests" / "unit").glob("*/test_*.py")).parent
    ending = f"{sys.implementation.cache_tag}-pytest-{pytest.__version__}.pyc"
    return any(last.glob(f"__pycache__/*.{ending}"))
