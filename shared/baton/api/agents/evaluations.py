"""Routes of evaluations, whose results developers publish for people of the tenant who write agents."""

from __future__ import annotations

import json
from typing import Annotated, Any, Self

from fastapi import APIRouter, Path, Response
from pydantic import Field, StringConstraints, model_validator

from baton.api.http.dependencies import Caller, Cursor, Limit, UseCases
from baton.api.http.problems import responses
from baton.api.http.schemas import Asked, Listing, describe
from baton.domain.errors import InvalidRequest
from baton.domain.tenants.evaluation import (
    MAX_CASES,
    MAX_EVALUATION_BYTES,
    MAX_METRICS,
    NAME,
    Evaluation,
    EvaluationEntry,
    make_evaluation_id,
)
from baton.domain.tenants.identity import Permission
from baton.domain.text import count_bytes
from baton.domain.times import from_millis
from baton.domain.wire_model import TIMESTAMP, RequestTime, Timestamp, WireModel

MAX_COUNT = 10**9
"""The largest number of runs or tokens."""
EVALUATION_ID = "001773480413589-5d0ad1c6d1b0"

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=MAX_COUNT)]
Label = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Reason = Annotated[str, StringConstraints(max_length=500)]


class EvaluationMetricRequest(Asked):
    """The mean of a metric, with its 95% interval."""

    name: Label = describe("`passed` is the metric of whole runs.", "passed")
    mean: Share | None = describe("The mean; null if nothing was judged.", 0.9)
    low: Share | None = describe("The lower end of the interval; null with a single value.", 0.74)
    high: Share | None = Field(examples=[0.97])
    runs: Count = describe("Runs with a value.", 30)
    not_judged: Count = Field(default=0, examples=[0])
    is_rate: bool = describe("Whether every value is 0 or 1.", default=True)


class EvaluationCaseRequest(Asked):
    """The result of one case."""

    name: Label = Field(examples=["The state of an order"])
    runs: Count = Field(examples=[3])
    judged: Count = describe("Runs that passed or failed.", 3)
    passes: Count = Field(examples=[2])
    metrics: dict[Label, Share | None] = describe(
        "The mean of each metric.", {"contains": 0.6667}, default={}, max_length=MAX_METRICS
    )
    reasons: list[Reason] = describe(
        "The reasons for which runs did not pass.", ["contains: it lacks 'on its way'"], default=[], max_length=20
    )
    tags: list[Label] = Field(default=[], max_length=20, examples=[["orders"]])

    @model_validator(mode="after")
    def _check_counts(self) -> Self:
        if not self.passes <= self.judged <= self.runs:
            raise ValueError("passes must be at most judged, and judged at most runs")
        return self


class EvaluationRequest(Asked):
    """An evaluation to publish. Personal data in its texts is replaced before it is stored."""

    name: Annotated[str, StringConstraints(pattern=f"^{NAME.pattern}$")] = describe(
        "12 to 32 random hexadecimal digits. With `beganAt` they identify a repeated request.", "5d0ad1c6d1b0"
    )
    label: Label = describe("A label of the evaluated version.", "my-shop")
    model: Label = Field(examples=["gpt-6-luna"])
    judge: Label | None = Field(default=None, examples=["gpt-6-sol, prompt 1"])
    began_at: RequestTime = Field(examples=[TIMESTAMP])
    seconds: Annotated[float, Field(ge=0, le=10**7, allow_inf_nan=False)] = Field(examples=[41.5])
    tokens: Count = Field(default=0, examples=[120_400])
    usd: Annotated[float, Field(ge=0, le=10**9, allow_inf_nan=False)] | None = describe(
        "The cost; null if it is unknown.", 0.31, default=None
    )
    not_run: Count = describe("Runs that did not take place.", 0, default=0)
    metrics: list[EvaluationMetricRequest] = Field(min_length=1, max_length=MAX_METRICS)
    cases: list[EvaluationCaseRequest] = describe(
        "The results by case. If there are too many cases, send those that did not pass first.",
        min_length=1,
        max_length=MAX_CASES,
    )
    cases_left_out: Count = describe("Cases that are not in `cases`.", 0, default=0)
    agent_id: Label | None = describe("The tenant's own agent that was evaluated.", "tutor", default=None)
    agent_version: Annotated[int, Field(ge=1, le=999_999_999)] | None = describe(
        "The evaluated version of that agent. Send it together with `agentId`.", 5, default=None
    )

    @model_validator(mode="after")
    def _check_version(self) -> Self:
        if (self.agent_id is None) is not (self.agent_version is None):
            raise ValueError("agentId and agentVersion belong together: send both, or none")
        return self

    def to_entry(self, published_by: str) -> tuple[EvaluationEntry, dict[str, Any]]:
        """Return the entry and the details to store.

        Raises ``InvalidRequest`` if the evaluation began before 1970, or if the details are too large.
        """
        if self.began_at < from_millis(0):
            raise InvalidRequest("beganAt must be a time since 1970.")
        details = self.model_dump(mode="json", include=_DETAILS)
        if count_bytes(json.dumps(details, ensure_ascii=False)) > MAX_EVALUATION_BYTES:
            raise InvalidRequest(f"metrics and cases together may have at most {MAX_EVALUATION_BYTES} bytes.")
        passed = next((metric for metric in self.metrics if metric.name == "passed"), None)
        runs, passes = sum(case.runs for case in self.cases), sum(case.passes for case in self.cases)
        if passed is not None and self.cases_left_out:  # the metric has the runs of all cases
            runs = max(runs, passed.runs + passed.not_judged)
            passes = round((passed.mean or 0) * passed.runs)
        entry = EvaluationEntry(
            **self.model_dump(include={"label", "model", "judge", "began_at", "agent_id", "agent_version", "not_run"}),
            id=make_evaluation_id(self.began_at, self.name),
            published_by=published_by,
            published_at=self.began_at,  # replaced when it is stored
            cases=len(self.cases) + self.cases_left_out,
            runs=runs,
            passes=passes,
            passed=passed.mean if passed is not None else None,
            low=passed.low if passed is not None else None,
            high=passed.high if passed is not None else None,
        )
        return entry, details


_DETAILS = {"seconds", "tokens", "usd", "not_run", "metrics", "cases", "cases_left_out"}


class PublishedEvaluation(WireModel):
    """An evaluation in a list."""

    id: str = Field(examples=[EVALUATION_ID])
    label: str = describe("A label of the evaluated version.", "my-shop")
    model: str = Field(examples=["gpt-6-luna"])
    judge: str | None = describe("The model that judged, with the version of its prompt.", "gpt-6-sol, prompt 1")
    began_at: Timestamp = Field(examples=[TIMESTAMP])
    published_by: str = Field(examples=["alice"])
    published_at: Timestamp = Field(examples=[TIMESTAMP])
    expires_at: Timestamp = describe("The time after which the evaluation is no longer served.", TIMESTAMP)
    cases: int = Field(examples=[10])
    runs: int = Field(examples=[30])
    passed: float | None = describe(
        "The share of judged runs that passed; null if no run was judged, or there is no metric `passed`.", 0.9
    )
    low: float | None = describe("The lower end of its 95% interval.", 0.74)
    high: float | None = Field(examples=[0.97])
    agent_id: str | None = describe("The tenant's own agent that was evaluated.", None)
    agent_version: int | None = Field(examples=[None])


class EvaluationMetric(WireModel):
    """The mean of a metric, with its 95% interval."""

    name: str = describe("`passed` is the metric of whole runs.", "passed")
    mean: float | None = describe("The mean; null if nothing was judged.", 0.9)
    low: float | None = Field(examples=[0.74])
    high: float | None = Field(examples=[0.97])
    runs: int = describe("Runs with a value.", 30)
    not_judged: int = Field(examples=[0])
    is_rate: bool = describe("Whether every value is 0 or 1.")


class EvaluationCase(WireModel):
    """The result of one case."""

    name: str = Field(examples=["The state of an order"])
    runs: int = Field(examples=[3])
    judged: int = describe("Runs that passed or failed.", 3)
    passes: int = Field(examples=[2])
    metrics: dict[str, float | None] = describe("The mean of each metric.", {"contains": 0.6667})
    reasons: list[str] = Field(examples=[["contains: it lacks 'on its way'"]])
    tags: list[str] = Field(examples=[["orders"]])


class EvaluationDetails(WireModel):
    """The numbers and cases of an evaluation."""

    seconds: float = Field(examples=[41.5])
    tokens: int = Field(examples=[120_400])
    usd: float | None = Field(examples=[0.31])
    not_run: int = Field(examples=[0])
    metrics: list[EvaluationMetric]
    cases: list[EvaluationCase]
    cases_left_out: int = Field(examples=[0])


class WholeEvaluation(PublishedEvaluation):
    """An evaluation with its metrics and cases."""

    details: EvaluationDetails

    @classmethod
    def from_record(cls, evaluation: Evaluation) -> WholeEvaluation:
        """Return the served form of an evaluation."""
        details = EvaluationDetails.model_validate(dict(evaluation.details))
        return cls.of(evaluation.entry, details=details)


router = APIRouter(prefix="/v1/evaluations", tags=["evaluations"])

EvaluationId = Annotated[str, Path(description="The evaluation's id.", max_length=64, examples=[EVALUATION_ID])]


@router.post(
    "",
    status_code=201,
    summary="Publish an evaluation",
    responses={
        200: {"model": WholeEvaluation, "description": "The stored evaluation, after a repeated request."},
        **responses("forbidden not_found unknown_agent unknown_agent_version store_unavailable"),
    },
)
async def publish_evaluation(
    body: EvaluationRequest, caller: Caller, app: UseCases, response: Response
) -> WholeEvaluation:
    """Store the results of an evaluation for 180 days. Needs `agent:write`, and is audited.

    A repeated request gets 200 and the stored evaluation. A tenant has at most 200 evaluations. To make room, the
    oldest evaluation of the publisher with the most evaluations is deleted.
    """
    caller.require(Permission.AGENT_WRITE, "evaluation.publish")
    entry, details = body.to_entry(caller.user_id)
    if entry.agent_id is not None and entry.agent_version is not None:
        await app.agent_editing.read_version(caller, entry.agent_id, entry.agent_version)
    evaluation, is_new = await app.evaluations.publish(caller, entry, details)
    if not is_new:
        response.status_code = 200
    return WholeEvaluation.from_record(evaluation)


@router.get("", summary="List evaluations", responses=responses("forbidden store_unavailable"))
async def list_evaluations(
    caller: Caller, app: UseCases, limit: Limit = 50, cursor: Cursor = None
) -> Listing[PublishedEvaluation]:
    """Return the tenant's evaluations without metrics and cases, the latest beginning first. Needs `agent:write`."""
    caller.require(Permission.AGENT_WRITE, "evaluation.read")
    entries, next_cursor = await app.ports.evaluations.page(caller, limit=limit, cursor=cursor)
    return Listing[PublishedEvaluation](items=list(map(PublishedEvaluation.of, entries)), next_cursor=next_cursor)


@router.get(
    "/{evaluation_id}", summary="Read an evaluation", responses=responses("forbidden not_found store_unavailable")
)
async def get_evaluation(evaluation_id: EvaluationId, caller: Caller, app: UseCases) -> WholeEvaluation:
    """Return one evaluation with its metrics and cases. Needs `agent:write`."""
    caller.require(Permission.AGENT_WRITE, "evaluation.read")
    return WholeEvaluation.from_record(await app.evaluations.get(caller, evaluation_id))


@router.delete(
    "/{evaluation_id}",
    status_code=204,
    summary="Delete an evaluation",
    responses=responses("forbidden not_found store_unavailable"),
)
async def delete_evaluation(evaluation_id: EvaluationId, caller: Caller, app: UseCases) -> None:
    """Delete an evaluation. A repeated request gets the same answer. Needs `agent:write`, and is audited."""
    caller.require(Permission.AGENT_WRITE, "evaluation.delete")
    await app.evaluations.remove(caller, evaluation_id)
