"""What routes of many nouns depend on: the use cases, and the page of a list."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import Depends, Query, Request

from baton.composition.app import App

Limit = Annotated[int, Query(ge=1, le=100, description="Items a page.")]
Cursor = Annotated[str | None, Query(max_length=512, description="`nextCursor` of the page before.")]


# Like other dependencies async, although it waits for nothing: FastAPI calls other functions in a thread.
async def use_cases(request: Request) -> App:
    """Return the use cases. The first request that needs them gets them built; /health does not."""
    return cast("App", request.app.state.use_cases())


UseCases = Annotated[App, Depends(use_cases)]
