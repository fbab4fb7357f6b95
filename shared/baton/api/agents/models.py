"""The models of the deployment, and trials of what they can do."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import Field

from baton.api.http.dependencies import Caller, UseCases
from baton.api.http.problems import responses
from baton.api.http.schemas import Asked, Listing, describe
from baton.domain.agents.model_providers import Ability, ModelKind, ModelUse
from baton.domain.tenants.identity import Permission
from baton.domain.wire_model import WireModel

router = APIRouter(prefix="/v1/models", tags=["models"], responses=responses("forbidden"))

MODEL = "gpt-6-luna"


class ModelCheckRequest(Asked):
    """The model to check."""

    model: str = describe("Its name, as `GET /v1/models` has it.", MODEL, min_length=1, max_length=2_048)


class ServedConfiguredModel(WireModel):
    """A model that the deployment or its agents use."""

    name: str = Field(examples=[MODEL])
    kind: ModelKind
    uses: list[ModelUse] = describe(
        "`chat`: agents that name no model ask it; `light`: titles and summaries; `embedding`: search.",
        ["chat", "light"],
    )
    agents: list[str] = describe("The agents that ask it.", ["assistant"])
    fallback_of: list[str] = describe("The agents that ask it when their own model is not available.", [])


class ServedAbilityCheck(WireModel):
    """The outcome of one trial."""

    ability: Ability
    works: bool | None = describe("null: not tried, because an earlier trial failed.", examples=[True])
    remark: str | None = describe("A remark, even if the ability works.", None)
    error: str | None = describe("The code of the error that ended the trial.", None)
    reason: str | None = describe("The text of the model's endpoint.", None)
    advice: str | None = describe("A change to make.", None)
    dropped: list[str] = describe(
        "Parts that the model did not get because it does not take them: settings, `images`, `documents`, "
        "or `answer_schema` where that stood in the prompt only.",
        ["temperature"],
    )


class ServedModelReport(WireModel):
    """A model's abilities, and changes to make."""

    model: ServedConfiguredModel
    works: bool = describe("Whether agents can work with it: with text and tool calls.", examples=[True])
    checks: list[ServedAbilityCheck]
    learned: dict[str, Any] = describe(
        "The profile that its refusals have taught this server, for `modelProfiles` of the settings.",
        {"dropped": ["temperature"]},
    )
    advice: list[str] = describe("Changes with which nothing is dropped or has to be learned again.", [])


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
