"""Guided workflows: those that were left unfinished, and completed ones."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from baton_client.asynchronous.pages import AsyncPager
from baton_client.asynchronous.resource import AsyncResource
from baton_client.models import CompletedWorkflow, Workflow


class AsyncWorkflows(AsyncResource):
    """``client.workflows``."""

    async def list(self) -> list[Workflow]:
        """Return the caller's unfinished workflows, which ``baton.threads.continue_workflow`` continues."""
        return (await self._list("/v1/workflows", Workflow).page()).items

    def completed(
        self,
        *,
        scope: Literal["tenant"] | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        state: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int | None = None,
    ) -> AsyncPager[CompletedWorkflow]:
        """List completed workflows with their data, the newest first.

        They are the caller's. With ``scope="tenant"``, which needs ``thread:read_all`` and may name ``user_id``, they
        are those of all users.
        """
        params = {
            "scope": scope,
            "userId": user_id,
            "agentId": agent_id,
            "state": state,
            "from": since.isoformat() if since else None,
            "to": until.isoformat() if until else None,
        }
        return self._list("/v1/workflows/completed", CompletedWorkflow, **params, limit=limit)
