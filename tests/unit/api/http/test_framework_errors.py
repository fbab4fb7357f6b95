"""Errors that the framework raises by their status are answered as errors of the same class."""

from __future__ import annotations

from http import HTTPStatus

import httpx
import pytest
from fastapi import APIRouter, FastAPI
from starlette.exceptions import HTTPException

from baton.api.a2a.bindings.rest_errors import STATUSES, RestRoute
from baton.api.http import problems
from baton.domain.errors import BatonError

REFUSALS = [status for status in HTTPStatus if status >= 400]
SAME = {400, 401, 403, 404, 405, 413, 422, 429, 500}
"""Statuses that errors of Baton have, and the framework may raise."""


async def answer(path: str) -> httpx.Response:
    app = FastAPI()
    problems.install(app)
    router = APIRouter(route_class=RestRoute)

    @app.get("/{status}")
    @router.get("/a2a/{status}")
    async def refuse(status: int) -> None:
        raise HTTPException(status)

    app.include_router(router)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://baton") as client:
        return await client.get(path)


@pytest.mark.parametrize("status", REFUSALS)
@pytest.mark.parametrize("path", ["", "/a2a"])
async def test_a_status_is_answered_by_one_of_its_class(path: str, status: HTTPStatus) -> None:
    result = await answer(f"{path}/{status.value}")
    assert result.status_code == (status if status in SAME else 422 if status < 500 else 500)


def test_each_error_has_a_name_of_its_class_in_the_http_binding_of_a2a() -> None:
    def classes(of: type[BatonError]) -> list[type[BatonError]]:
        return [of, *(error for cls in of.__subclasses__() for error in classes(cls))]

    assert {error.status for error in classes(BatonError)} - STATUSES.keys() - {500} == set()
