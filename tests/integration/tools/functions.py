"""Functions that agents of the tests use as tools."""

import asyncio
import datetime
import threading
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from baton import tool
from baton.ports.agents.tools import CallContext, ToolFailed, ToolResult


class Place(BaseModel):
    """A place."""

    name: str
    zip: str | None = None


def greet(name: str, *, style: Literal["short", "long"] = "short") -> str:
    return f"Hello, {name}!" if style == "long" else f"Hi {name}"


async def days_until(day: datetime.date, place: Place, times: Annotated[int, Field(ge=1)] = 1) -> dict[str, Any]:
    assert isinstance(day, datetime.date)
    return {
        "weekday": day.strftime("%A"),
        "place": place.name,
        "times": times,
        "thread": threading.current_thread().name,
    }


def whoami(context: CallContext) -> str:
    return f"{context.scope.user_id} {context.idempotency_key}"


@tool(background={"expires_hours": 2})
async def prints(pages: int, context: CallContext) -> str:
    """Print a report."""
    await context.progress("1 of 2")
    return f"{pages} pages for {context.idempotency_key}"


def sourced() -> ToolResult:
    return ToolResult("found", ({"kind": "page", "id": "1", "title": "One"},))


def refuses() -> str:
    raise ToolFailed("Ask somebody else.")


def leaks() -> str:
    raise RuntimeError("password=hunter2")


def times_out() -> str:
    raise TimeoutError("the tool's own")


async def sleeps() -> str:
    await asyncio.sleep(3600)
    return "late"


def counts(model_name: str, schema: int = 1) -> str:
    return f"{model_name}{schema}"


def raw(**anything: Any) -> dict[str, Any]:
    return anything


def documented(number: int) -> str:
    """Look up an order. number: as printed on the invoice."""
    return str(number)


@tool(approval="always", required_permissions=["crm:write"])
def guarded(number: int) -> str:
    """Delete an order."""
    return str(number)


def untyped(name):  # type: ignore[no-untyped-def]
    return name


def unshowable() -> object:
    return object()
