"""How this suite is spread over processes."""

from __future__ import annotations

import pytest
from xdist.remote import Producer  # type: ignore[import-untyped]
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]


class OneCloud(LoadScopeScheduling):  # type: ignore[misc]
    """Under pytest-xdist: each test goes to whichever process is free, all that kills workers to one.

    Marks for groups would say the same, but pytest-xdist 3.8 does not see them under pytest 9.
    """

    def _split_scope(self, nodeid: str) -> str:
        return "killable cloud" if "/processes/" in nodeid else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """Used when this suite runs by itself, which is how ``make test`` runs it."""
    return OneCloud(config, log)
