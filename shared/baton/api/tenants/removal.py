"""Routes of the removal of the caller's tenant, which also answer callers of a removed tenant."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter
from pydantic import Field

from baton.api.http.dependencies import UseCases, VerifiedCaller
from baton.api.http.problems import responses
from baton.api.http.schemas import Asked, describe
from baton.domain.tenants.removal import RemovalStatus, TenantRemoval
from baton.domain.wire_model import TIMESTAMP, Timestamp, WireModel

router = APIRouter(prefix="/v1/tenant/removal", tags=["tenants"], responses=responses("forbidden store_unavailable"))

PLAN_ID = "2f6c1c1e-5f0e-4f0b-9f0a-3d0f6a1b2c3d"
COUNTS = {"conversations": 84, "messages": 1200, "objectVersions": 31}


class ServedRemoval(WireModel):
    """The removal of a tenant and its progress. It has ids and counts, but never content."""

    plan_id: str = Field(validation_alias="id", examples=[PLAN_ID])
    tenant_id: str = Field(examples=["acme"])
    status: RemovalStatus = describe(
        "`planned`: the counts are complete. `completed`: every store was searched and nothing is left. `failed`: "
        "confirm the plan again.",
        "planned",
    )
    audit: Literal["keep", "remove"] = describe("The treatment of audit records in the confirmation.", "keep")
    requested_by: str = Field(examples=["operator"])
    requested_at: Timestamp = Field(examples=[TIMESTAMP])
    planned_at: Timestamp | None = describe(
        "The time at which the counts were complete. The plan can be confirmed for a day from then.", TIMESTAMP
    )
    confirmed_by: str | None = Field(examples=["operator"])
    confirmed_at: Timestamp | None = describe("The time since which the tenant is closed.", TIMESTAMP)
    ended_at: Timestamp | None = Field(examples=[TIMESTAMP])
    plan: dict[str, int] = describe("The number of records before the removal, by kind.", COUNTS)
    counts: dict[str, int] = describe("The number of removed records, by kind.", COUNTS)
    residue: dict[str, int] = describe("The number of records that the last search has found, by kind.", {})

    @classmethod
    def from_removal(cls, removal: TenantRemoval) -> ServedRemoval:
        """Return the served form of a removal."""
        return cls.of(removal, audit="keep" if removal.keeps_audit else "remove")


class ConfirmationRequest(
    Asked, extra="forbid", json_schema_extra={"examples": [{"tenantId": "acme", "planId": PLAN_ID, "audit": "keep"}]}
):
    """The confirmation of a plan. It cannot be undone."""

    tenant_id: str = Field(max_length=63)
    """The tenant to remove: the caller's own, as a second confirmation."""
    plan_id: str = Field(max_length=64)
    audit: Literal["keep", "remove"] = "keep"
    """The treatment of audit records. Kept records lose their content."""


@router.get("", summary="Read the progress of a removal", responses=responses("not_found"))
async def get_removal(caller: VerifiedCaller, app: UseCases) -> ServedRemoval:
    """Return the tenant's removal, even after its end. Needs `tenant:remove`."""
    return ServedRemoval.from_removal(await app.privacy.removal_calls.get(caller))


@router.post("", summary="Plan the removal of the tenant", status_code=202, responses=responses("tenant_removed"))
async def plan_removal(caller: VerifiedCaller, app: UseCases) -> ServedRemoval:
    """Count the records that a removal of the caller's tenant would remove, in the background. Needs `tenant:remove`.

    Nothing is removed. A repeated request during the count returns the same plan, and later a new plan.
    """
    return ServedRemoval.from_removal(await app.privacy.removal_calls.plan(caller))


@router.post("/confirm", summary="Remove the tenant", status_code=202, responses=responses("removal_not_planned"))
async def confirm_removal(body: ConfirmationRequest, caller: VerifiedCaller, app: UseCases) -> ServedRemoval:
    """Close the tenant for ever and remove its data from every store. It cannot be undone. Needs `tenant:remove`.

    From then on, all other requests of the tenant are refused as `tenant_removed`. A repeated request does no harm.
    """
    keeps_audit = body.audit == "keep"
    removal = await app.privacy.removal_calls.confirm(caller, body.tenant_id, body.plan_id, keeps_audit=keeps_audit)
    return ServedRemoval.from_removal(removal)
