"""Adapters against real engines. A folder keeps to one process: moto's servers in a process share their state."""

from __future__ import annotations

import pytest
from xdist.remote import Producer  # type: ignore[import-untyped]
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]


class FolderByFolder(LoadScopeScheduling):  # type: ignore[misc]
    """Under pytest-xdist: the tests of a folder stay together and in their order."""

    def _split_scope(self, nodeid: str) -> str:
        return "/".join(nodeid.split("/")[:3])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """Used when these tests run by themselves, which is how ``make test`` runs them."""
    return FolderByFolder(config, log)
