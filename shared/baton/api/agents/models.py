"""Routes of the deployment's models, and of checks of their abilities."""

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

    model: str = describe("The model's name in `GET /v1/models`.", MODEL, min_length=1, max_length=2_048)


class ServedConfiguredModel(WireModel):
    """A model that the deployment or its agents use."""

    name: str = Field(examples=[MODEL])
    kind: ModelKind
    uses: list[ModelUse] = describe(
        "`chat`: agents that name no model use it; `light`: titles and summaries; `embedding`: search.",
        ["chat", "light"],
    )
    agents: list[str] = describe("The agents that use it.", ["assistant"])
    fallback_of: list[str] = describe("The agents that use it if their own model is not available.", [])


class ServedAbilityCheck(WireModel):
    """The outcome of one trial."""

    ability: Ability
    works: bool | None = describe(
        "Whether the trial succeeded; null if it was not made, because an earlier trial failed.", examples=[True]
    )
    remark: str | None = describe("A remark, even if the ability works.", None)
    error: str | None = describe("The code of the error that ended the trial; null without one.", None)
    reason: str | None = describe("The error's text from the model's endpoint.", None)
    advice: str | None = describe("Advice about a change to make.", None)
    dropped: list[str] = describe(
        "Parts that were not sent because the model does not take them: settings, `images`, `documents`, or "
        "`answer_schema` if the schema was only in the prompt.",
        ["temperature"],
    )


class ServedModelReport(WireModel):
    """A model's abilities, and advice."""

    model: ServedConfiguredModel
    works: bool = describe("Whether agents can work with it: with text and tool calls.", examples=[True])
    checks: list[ServedAbilityCheck]
    learned: dict[str, Any] = describe(
        "The profile that this server has learned from the model's refusals, for `modelProfiles` of the settings.",
        {"dropped": ["temperature"]},
    )
    advice: list[str] = describe("Changes after which nothing is dropped or learned again.", [])


@router.get("", summary="List the deployment's models")
async def list_models(caller: Caller, app: UseCases) -> Listing[ServedConfiguredModel]:
    """Return the models that the deployment and its own agents use, with these agents. Needs `tenant:manage`."""
    caller.require(Permission.TENANT_MANAGE, "model.list")
    models = [ServedConfiguredModel.of(model) for model in app.model_checks.list_models()]
    return Listing[ServedConfiguredModel](items=models, next_cursor=None)


@router.post("/check", summary="Check a model", responses=responses("not_found rate_limited"))
async def check_model(body: ModelCheckRequest, caller: Caller, app: UseCases) -> ServedModelReport:
    """Check the abilities of one of these models with a few short requests. Needs `tenant:manage`, and is audited.

    This takes up to 40 seconds. A server that is carrying out another check refuses this one with 429. A check counts
    as a message in the caller's rates.
    """
    caller.require(Permission.TENANT_MANAGE, "model.check")
    await app.limits.runs.admit(caller)
    report = await app.model_checks.check(body.model)
    await app.limits.runs.spend(caller, report.tokens)
    outcome = "works" if report.works else "failed"
    await app.ports.audit.record(
        caller, "model.check", thread_id=None, outcome=outcome, detail={"model": report.model.name[:200]}
    )
    return ServedModelReport.of(report)
