"""Guided workflows that were left unfinished."""

from __future__ import annotations

from baton_client.asynchronous.resource import AsyncResource
from baton_client.models import Workflow


class AsyncWorkflows(AsyncResource):
    """``client.workflows``."""

    async def list(self) -> list[Workflow]:
        """Return the caller's unfinished workflows, which ``baton.threads.continue_workflow`` takes up again."""
        return (await self._list("/v1/workflows", Workflow).page()).items
