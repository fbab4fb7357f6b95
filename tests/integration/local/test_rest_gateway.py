"""The REST API of the local cloud, over real HTTP."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from baton_local.cloud import LocalCloud
from baton_local.gateway.rest_routes import RestRoutes
from baton_local.stack.apis import RestRoute


@pytest.fixture
async def http(cloud: LocalCloud) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=cloud.url) as http:
        yield http


def event_of(response: httpx.Response) -> dict[str, Any]:
    event: dict[str, Any] = response.json()["event"]
    return event


async def test_a_function_gets_a_proxy_event(http: httpx.AsyncClient) -> None:
    response = await http.post(
        "/v1/a%20b/c?x=1&x=2&y=%C3%BC&z=", content="körper", headers={"X-Own": "value", "Content-Type": "text/plain"}
    )
    event = event_of(response)
    assert event["httpMethod"] == "POST"
    assert (event["path"], event["resource"]) == ("/v1/a%20b/c", "/{proxy+}")
    assert event["pathParameters"] == {"proxy": "v1/a b/c"}
    assert event["multiValueQueryStringParameters"] == {"x": ["1", "2"], "y": ["ü"], "z": [""]}
    assert event["queryStringParameters"] == {"x": "2", "y": "ü", "z": ""}
    assert event["headers"]["X-Own"] == "value"
    assert event["multiValueHeaders"]["Content-Type"] == ["text/plain"]
    assert (event["body"], event["isBase64Encoded"]) == ("körper", False)
    context = event["requestContext"]
    assert (context["stage"], context["path"]) == ("local", "/local/v1/a%20b/c")
    assert context["identity"]["sourceIp"] == "127.0.0.1"
    assert context["requestId"] == response.headers["x-amzn-requestid"]


async def test_a_request_without_body_or_query_has_nulls(http: httpx.AsyncClient) -> None:
    event = event_of(await http.get("/v1/x"))
    assert event["body"] is event["queryStringParameters"] is event["multiValueQueryStringParameters"] is None


async def test_the_context_knows_the_function_and_its_time(http: httpx.AsyncClient) -> None:
    body = (await http.get("/v1/x")).json()
    assert body["name"] == "HttpFunction"
    assert 0 < body["seconds"] <= 30


async def test_binary_media_types_travel_as_base64_both_ways(http: httpx.AsyncClient) -> None:
    event = event_of(await http.post("/v1/x", content=b"\xff", headers={"Content-Type": "application/octet-stream"}))
    assert (event["body"], event["isBase64Encoded"]) == ("/w==", True)
    response = await http.get("/binary", headers={"Accept": "application/octet-stream"})
    assert response.content == bytes(range(256))


async def test_headers_with_several_values_come_out_as_such(http: httpx.AsyncClient) -> None:
    response = await http.get("/cookies")
    assert response.status_code == 201
    assert response.headers.get_list("set-cookie") == ["a=1", "b=2"]


@pytest.mark.parametrize("path", ["/fail", "/malformed"])
async def test_a_function_that_fails_or_answers_nonsense_is_a_502(http: httpx.AsyncClient, path: str) -> None:
    response = await http.get(path)
    assert (response.status_code, response.json()) == (502, {"message": "Internal server error"})


async def test_a_body_over_ten_megabytes_is_refused(http: httpx.AsyncClient) -> None:
    response = await http.post("/v1/x", content=b"x" * (10 * 1024 * 1024 + 1))
    assert (response.status_code, response.json()) == (413, {"message": "Request Too Long"})


async def test_a_streaming_route_reaches_the_web_app_with_the_adapters_headers(http: httpx.AsyncClient) -> None:
    forged = {"x-amzn-request-context": '{"requestId": "forged"}'}
    async with http.stream("POST", "/v1/runs", content="körper", headers=forged) as response:
        lines = [line async for line in response.aiter_lines()]
    first = json.loads(lines[0])
    assert (first["alive"], first["path"], lines[1]) == (True, "/v1/runs", "körper")
    assert first["requestId"] != "forged"


async def test_another_method_of_a_streaming_path_is_not_routed_elsewhere(http: httpx.AsyncClient) -> None:
    response = await http.get("/v1/runs")
    assert (response.status_code, response.json()) == (403, {"message": "Missing Authentication Token"})


def test_the_more_literal_path_wins() -> None:
    paths = ("/{proxy+}", "/v1/{a}/{b}", "/v1/threads/{id}", "/v1/{proxy+}", "/v1/threads/all", "/")
    routes = RestRoutes(RestRoute("ANY", path, "F") for path in paths)

    def match_route(path: str) -> str | None:
        match = routes.find("GET", path)
        return match.route.path if match else None

    assert match_route("/v1/threads/all") == "/v1/threads/all"
    assert match_route("/v1/threads/x%2Fy") == "/v1/threads/{id}"
    assert match_route("/v1/x/y") == "/v1/{a}/{b}"
    assert match_route("/v1/x/y/z") == "/v1/{proxy+}"
    assert match_route("/other") == "/{proxy+}"
    assert match_route("/") == "/"
