# Generated from ``baton_client.asynchronous`` by ``make client``; do not edit.

"""Published results of evaluations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton_client.addresses import path
from baton_client.models import PublishedEvaluation, WholeEvaluation
from baton_client.synchronous.pages import Pager
from baton_client.synchronous.resource import Resource

EVALUATIONS = "/v1/evaluations"
EVALUATION = EVALUATIONS + "/{evaluation_id}"


class Evaluations(Resource):
    """``client.evaluations``. All methods need ``agent:write``."""

    def list(self, *, limit: int | None = None) -> Pager[PublishedEvaluation]:
        """List evaluations, the one that began last first."""
        return self._list(EVALUATIONS, PublishedEvaluation, limit=limit)

    def get(self, evaluation_id: str) -> WholeEvaluation:
        """Return an evaluation with its metrics and cases."""
        return self._get(path(EVALUATION, evaluation_id=evaluation_id), WholeEvaluation)

    def publish(self, evaluation: Mapping[str, Any]) -> WholeEvaluation:
        """Publish an evaluation, with the fields of the HTTP API. ``baton eval --publish`` makes one."""
        return self._post(EVALUATIONS, WholeEvaluation, dict(evaluation))

    def delete(self, evaluation_id: str) -> None:
        """Delete an evaluation."""
        self._delete(path(EVALUATION, evaluation_id=evaluation_id), None)
