"""The page of the local cloud shows which tools have failed."""

from __future__ import annotations

import logging

from baton_local.log_lines import MOST_FAILURES, kept_tool_failures

LOG = logging.getLogger("baton.adapters.tools.toolbox")


def test_the_newest_failures_of_tools_are_kept() -> None:
    with kept_tool_failures() as failures:
        for number in range(MOST_FAILURES + 2):
            LOG.warning("Tool %s (%s) failed: %s", "book", "python", number)
        LOG.warning("%s", "rental.yaml: book cannot be used.")
        assert [failure["text"] for failure in failures] == [
            f"Tool book (python) failed: {number}" for number in reversed(range(2, MOST_FAILURES + 2))
        ]
        assert failures[0]["at"].endswith("+00:00")
    LOG.warning("Tool %s (%s) failed: %s", "book", "python", "later")
    assert len(failures) == MOST_FAILURES
