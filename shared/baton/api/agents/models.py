"""The models of the deployment, and trials of what they can do."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import Field

from baton.api.http.dependencies import Caller, UseCases
from baton.api.http.problems import responses
from baton.api.http.schemas import Asked, Listing
from baton.domain.agents.model_providers import Ability, ModelKind, ModelUse
from baton.domain.tenants.identity import Permission
from baton.domain.wire_model import WireModel

router = APIRouter(prefix="/v1/models", tags=["models"], responses=responses("forbidden"))

MODEL = "gpt-6-luna"


class ModelCheckRequest(Asked):
    """The model to check."""

    model: str = Field(
        min_length=1, max_length=2_048, description="Its name, as `GET /v1/models` has it.", examples=[MODEL]
    )


class ServedConfiguredModel(WireModel):
    """A model that the deployment or its agents use."""

    name: str = Field(examples=[MODEL])
    kind: ModelKind
    uses: list[ModelUse] = Field(
        description="`chat`: agents that name no model ask it; `light`: titles and summaries; `embedding`: search.",
        examples=[["chat", "light"]],
    )
    agents: list[str] = Field(description="The agents that ask it.", examples=[["assistant"]])
    fallback_of: list[str] = Field(
        description="The agents that ask it when their own model is not available.", examples=[[]]
    )


class ServedAbilityCheck(WireModel):
    """The outcome of one trial."""

    ability: Ability
    works: bool | None = Field(description="null: not tried, because a trial before it failed.", examples=[True])
    remark: str | None = Field(description="A remark, also where it works.", examples=[None])
    error: str | None = Field(description="The code of the error that ended the trial.", examples=[None])
    reason: str | None = Field(description="The text of the model's endpoint.", examples=[None])
    advice: str | None = Field(description="A change to make.", examples=[None])
    dropped: list[str] = Field(
        description="Parts that the model did not get because it does not take them: settings, `images`, `documents`, "
        "or `answer_schema` where that stood in the prompt only.",
        examples=[["temperature"]],
    )


class ServedModelReport(WireModel):
    """A model's abilities, and changes to make."""

    model: ServedConfiguredModel
    works: bool = Field(description="Whether agents can work with it: with text and tool calls.", examples=[True])
    checks: list[ServedAbilityCheck]
    learned: dict[str, Any] = Field(
        description="The profile that its refusals have taught this server, for `modelProfiles` of the settings.",
        examples=[{"dropped": ["temperature"]}],
    )
    advice: list[str] = Field(
        description="Changes with which nothing is dropped or has to be learned again.", examples=[[]]
    )


@router.get("", summary="List the deployment's models")
async def list_models(caller: Caller, app: UseCases) -> Listing[ServedConfiguredModel]:
    """Return the models that the deployment and its own agents use, with who uses them. Needs `tenant:manage`."""
    caller.require(Permission.TENANT_MANAGE, "model.list")
    models = [ServedConfiguredModel.of(model) for model in app.model_checks.models()]
    return Listing[ServedConfiguredModel](items=models, next_cursor=None)


@router.post("/check", summary="Check a model", responses=responses("not_found rate_limited"))
async def check_model(body: ModelCheckRequest, caller: Caller, app: UseCases) -> ServedModelReport:
    """Try what one of these models can do, with a few short requests to it. Needs `tenant:manage`, and is audited.

    It takes up to 40 seconds. Another check while one is running: 429. It counts in the caller's rates as a message.
    """
    caller.require(Permission.TENANT_MANAGE, "model.check")
    await app.run_limits.admit(caller)
    report = await app.model_checks.check(body.model)
    await app.run_limits.spend(caller, report.tokens)
    outcome = "works" if report.works else "failed"
    await app.ports.audit.record(
        caller, "model.check", thread_id=None, outcome=outcome, detail={"model": report.model.name[:200]}
    )
    return ServedModelReport.of(report)
