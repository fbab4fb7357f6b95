"""Adapters against real engines. A folder keeps to one process: moto's servers in a process share their state."""

from __future__ import annotations

import pytest
from xdist.remote import Producer  # type: ignore[import-untyped]
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]
from xdist.workermanage import WorkerController  # type: ignore[import-untyped]

FIRST = (
    "tests/integration/make_run",
    "tests/integration/privacy",
    "tests/integration/store",
    "tests/integration/search",
    "tests/integration/local",
    "tests/integration/local/test_engines.py",
)
"""What takes longest. Begun last, it would keep one process busy when the others have ended."""
BY_THEMSELVES = {"test_engines.py"}
"""Files that share nothing with their folder and take long."""


class FolderByFolder(LoadScopeScheduling):  # type: ignore[misc]
    """Under pytest-xdist: the tests of a folder stay together and in their order."""

    def _split_scope(self, nodeid: str) -> str:
        parts = nodeid.partition("::")[0].split("/")
        return "/".join(parts if parts[-1] in BY_THEMSELVES else parts[:3])

    def _assign_work_unit(self, node: WorkerController) -> None:
        waiting = [scope for scope in FIRST if scope in self.workqueue]
        if waiting:
            self.workqueue.move_to_end(waiting[0], last=False)
        super()._assign_work_unit(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """Used when these tests run by themselves, which is how ``make test`` runs them."""
    return FolderByFolder(config, log)
