"""Published results of evaluations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton_client.addresses import path
from baton_client.asynchronous.pages import AsyncPager
from baton_client.asynchronous.resource import AsyncResource
from baton_client.models import PublishedEvaluation, WholeEvaluation

EVALUATIONS = "/v1/evaluations"
EVALUATION = EVALUATIONS + "/{evaluation_id}"


class AsyncEvaluations(AsyncResource):
    """``client.evaluations``. All methods need ``agent:write``."""

    def list(self, *, limit: int | None = None) -> AsyncPager[PublishedEvaluation]:
        """List evaluations, the most recently begun first."""
        return self._list(EVALUATIONS, PublishedEvaluation, limit=limit)

    async def get(self, evaluation_id: str) -> WholeEvaluation:
        """Return an evaluation with its metrics and cases."""
        return await self._get(path(EVALUATION, evaluation_id=evaluation_id), WholeEvaluation)

    async def publish(self, evaluation: Mapping[str, Any]) -> WholeEvaluation:
        """Publish an evaluation, with the fields of the HTTP API. ``baton eval --publish`` makes one."""
        return await self._post(EVALUATIONS, WholeEvaluation, dict(evaluation))

    async def delete(self, evaluation_id: str) -> None:
        """Delete an evaluation."""
        await self._delete(path(EVALUATION, evaluation_id=evaluation_id), None)
