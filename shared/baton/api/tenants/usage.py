"""The route of the usage of the caller's tenant, for billing."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import Field

from baton.api.http.dependencies import Caller, UseCases, query
from baton.api.http.problems import responses
from baton.api.http.schemas import COST, describe
from baton.api.tenants.overview import MAX_CURSOR, TurnCounts
from baton.api.threads.access import make_once_for_reads
from baton.domain.tenants.identity import Permission
from baton.domain.wire_model import WireModel
from baton.threads.sessions.usage_counts import Month, UsagePage, UsagePosition

router = APIRouter(prefix="/v1/usage", tags=["usage"])


class AgentUsage(TurnCounts):
    """The turns of an agent."""

    agent_id: str | None = describe("The agent that answered last; null for turns without an answer.", "assistant")


class ModelTokens(WireModel):
    """The tokens of a model, of the turns whose models are known."""

    model: str = Field(examples=["gpt-5-mini"])
    input_tokens: int = Field(examples=[17_304])
    output_tokens: int = Field(examples=[2_436])
    cached_input_tokens: int = Field(examples=[9_216])
    cost: float | None = COST


class ServedStorage(WireModel):
    """The tenant's objects: documents, uploads, and texts that are too large for the table."""

    objects: int = Field(examples=[412])
    bytes: int = Field(examples=[73_400_320])


class ServedTenantUsage(TurnCounts):
    """A part of the tenant's usage in a month. The parts of all pages add up."""

    month: str = describe("The month in UTC.", "2026-03")
    threads: int = describe("Conversations of this page that were active in the month or since.", 20)
    agents: list[AgentUsage]
    models: list[ModelTokens]
    storage: ServedStorage = describe("The objects of this page that are stored now.")
    metered_cost: float | None = describe(
        "The cost of all model calls in the month, including titles, memory and deleted conversations. It is counted "
        "for tenants with a spending limit, and is only on the first page; null otherwise.",
        12.5,
    )
    next_cursor: str | None = describe("The `cursor` of the next page; null on the last page.", None)

    @classmethod
    def from_page(cls, page: UsagePage) -> ServedTenantUsage:
        """Return the served form of a page."""
        return cls.from_record(
            page.total,
            month=str(page.month),
            threads=page.threads,
            agents=[
                AgentUsage.from_record(counts, agent_id=agent_id or None)
                for agent_id, counts in sorted(page.agents.items())
            ],
            models=[
                ModelTokens(
                    model=model,
                    input_tokens=tokens.usage.input_tokens,
                    output_tokens=tokens.usage.output_tokens,
                    cached_input_tokens=tokens.usage.cached_input_tokens,
                    cost=tokens.cost,
                )
                for model, tokens in sorted(page.models.items())
            ],
            storage=ServedStorage(objects=page.stored.objects, bytes=page.stored.size),
            metered_cost=page.metered_cost,
            next_cursor=page.following.encode() if page.following is not None else None,
        )


@router.get("", summary="Usage of the tenant in a month", responses=responses("forbidden store_unavailable"))
async def get_usage(
    caller: Caller,
    app: UseCases,
    month: Annotated[
        str | None, query("The month in UTC, such as `2026-03`; default: the present one.", max_length=7)
    ] = None,
    cursor: Annotated[
        str | None, query("`nextCursor` of the previous page, whose month it keeps.", max_length=2 * MAX_CURSOR)
    ] = None,
) -> ServedTenantUsage:
    """Return turns, failures, tokens, cost and storage, of one page of conversations and objects.

    Add up all pages for a bill. Needs `tenant:manage`; it is audited, once for all pages. The answer has sums, and no
    content.
    """
    caller.require(Permission.TENANT_MANAGE, "usage.read")
    now = app.ports.clock.now()
    if cursor is not None:
        position = UsagePosition.decode(cursor)
    else:
        position = UsagePosition.first(Month.parse(month) if month is not None else Month.of(now))
    detail = {"month": str(position.month)}
    once = make_once_for_reads(caller, f"usage {detail}", now)
    await app.ports.audit.record(caller, "usage.read", thread_id=None, outcome="allowed", detail=detail, once=once)
    return ServedTenantUsage.from_page(await app.sessions.usage_counts.read_page(caller, position))
