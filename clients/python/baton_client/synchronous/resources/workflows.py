# Generated from ``baton_client.asynchronous`` by ``make client``; do not edit.

"""Guided workflows that were left unfinished."""

from __future__ import annotations

from baton_client.models import Workflow
from baton_client.synchronous.resource import Resource


class Workflows(Resource):
    """``client.workflows``."""

    def list(self) -> list[Workflow]:
        """Return the caller's unfinished workflows, which ``client.threads.continue_workflow`` takes up again."""
        return (self._list("/v1/workflows", Workflow).page()).items
