"""Routes and their functions."""

from __future__ import annotations

import pytest

from tests.infrastructure.stack import Stack, find_references, text

STREAMED = {
    ("POST", "/a2a"),
    ("POST", "/a2a/{agent_id}"),
    ("POST", "/a2a/v1"),
    ("ANY", "/a2a/v1/{proxy+}"),
    ("ANY", "/a2a/{agent_id}/v1/{proxy+}"),
    ("POST", "/mcp"),
    ("POST", "/v1/runs"),
    ("POST", "/v1/messages"),
    ("POST", "/v1/models/check"),
    ("POST", "/v1/threads/{thread_id}/exit"),
    ("POST", "/v1/threads/{thread_id}/continue"),
    ("POST", "/v1/threads/{thread_id}/desk"),
    ("POST", "/v1/threads/{thread_id}/desk/{proxy+}"),
    ("GET", "/v1/desk/events"),
    ("POST", "/v1/threads/{thread_id}/merge"),
    ("POST", "/v1/threads/{thread_id}/branches/{branch_id}/select"),
    ("POST", "/v1/threads/{thread_id}/turns/{run_id}/rerun"),
    ("GET", "/v1/threads/{thread_id}/events"),
    ("POST", "/v1/episodes/import"),
    ("GET", "/v1/users/{user_id}/export"),
    ("GET", "/v1/tenant-export"),
}


def find_answering_function(stack: Stack, method: str, path: str) -> str:
    """The function that API Gateway picks, should only a resource's own children be caught by its ``{proxy+}``.

    The strictest reading of AWS's documentation: literal segments first, then a variable, then a greedy one,
    and never back up to a parent's catch-all.
    """
    routes = stack.routes()
    here = ""
    rest = [segment for segment in path.split("/") if segment]
    while rest:
        children = {
            entry[len(here) + 1 :].split("/")[0] for _, entry in routes if entry.startswith(here + "/") and entry != "/"
        }
        variable = next((child for child in children if child.startswith("{") and not child.endswith("+}")), None)
        segment = rest[0] if rest[0] in children else variable or "{proxy+}"
        assert segment in children, f"nothing at {path}"
        here = f"{here}/{segment}"
        rest = [] if segment == "{proxy+}" else rest[1:]
    integration = routes.get((method, here or "/")) or routes[("ANY", here or "/")]
    return next(name for name in find_references(integration["uri"]) if "Function" in name).removesuffix("Aliaslive")


@pytest.mark.parametrize(
    ("method", "path", "function"),
    [
        ("POST", "/a2a", "StreamsFunction"),
        ("POST", "/a2a/assistant", "StreamsFunction"),
        ("POST", "/a2a/v1/message:stream", "StreamsFunction"),
        ("GET", "/a2a/v1/tasks/t1", "StreamsFunction"),
        ("POST", "/a2a/assistant/v1/tasks/t1:cancel", "StreamsFunction"),
        ("GET", "/a2a/assistant/.well-known/agent-card.json", "HttpFunction"),
        ("GET", "/a2a/v1", "HttpFunction"),
        ("GET", "/a2a/assistant/v1", "HttpFunction"),
        ("POST", "/v1/runs", "StreamsFunction"),
        ("POST", "/v1/messages", "StreamsFunction"),
        ("POST", "/v1/models/check", "StreamsFunction"),
        ("GET", "/v1/models", "HttpFunction"),
        ("OPTIONS", "/v1/models/check", "HttpFunction"),
        ("GET", "/v1/models/unknown", "HttpFunction"),
        ("GET", "/v1/threads/t1/events", "StreamsFunction"),
        ("POST", "/v1/threads/t1/exit", "StreamsFunction"),
        ("POST", "/v1/threads/t1/continue", "StreamsFunction"),
        ("POST", "/v1/threads/t1/merge", "StreamsFunction"),
        ("POST", "/v1/threads/t1/desk", "StreamsFunction"),
        ("POST", "/v1/threads/t1/desk/take", "StreamsFunction"),
        ("GET", "/v1/threads/t1/desk", "HttpFunction"),
        ("GET", "/v1/desk/events", "StreamsFunction"),
        ("GET", "/v1/desk", "HttpFunction"),
        ("GET", "/v1/desk/desks", "HttpFunction"),
        ("POST", "/v1/threads/t1/turns/r1/rerun", "StreamsFunction"),
        ("GET", "/v1/threads/t1/turns/r1/context", "HttpFunction"),
        ("GET", "/v1/threads/t1/turns", "HttpFunction"),
        ("OPTIONS", "/v1/threads/t1/exit", "HttpFunction"),
        ("GET", "/v1/threads/t1/continue", "HttpFunction"),
        ("OPTIONS", "/v1/threads/t1/merge", "HttpFunction"),
        ("OPTIONS", "/v1/runs", "HttpFunction"),
        ("OPTIONS", "/v1/threads/t1/events", "HttpFunction"),
        ("GET", "/v1/runs", "HttpFunction"),
        ("GET", "/", "HttpFunction"),
        ("GET", "/health", "HttpFunction"),
        ("GET", "/openapi.json", "HttpFunction"),
        ("GET", "/.well-known/agent-card.json", "HttpFunction"),
        ("GET", "/.well-known/oauth-protected-resource", "HttpFunction"),
        ("GET", "/.well-known/oauth-protected-resource/mcp", "HttpFunction"),
        ("POST", "/mcp", "StreamsFunction"),
        ("GET", "/mcp", "HttpFunction"),
        ("DELETE", "/mcp", "HttpFunction"),
        ("OPTIONS", "/mcp", "HttpFunction"),
        ("GET", "/v1/threads", "HttpFunction"),
        ("GET", "/v1/threads/t1", "HttpFunction"),
        ("GET", "/v1/threads/t1/messages", "HttpFunction"),
        ("POST", "/v1/threads/t1/files", "HttpFunction"),
        ("GET", "/v1/threads/t1/runs/r1/context", "HttpFunction"),
        ("POST", "/v1/threads/t1/close", "HttpFunction"),
        ("POST", "/v1/threads/t1/fork", "HttpFunction"),
        ("GET", "/v1/threads/t1/handoffs", "HttpFunction"),
        ("GET", "/v1/workflows", "HttpFunction"),
        ("GET", "/v1/threads/t1/tool-calls", "HttpFunction"),
        ("GET", "/v1/threads/t1/tasks/task-1", "HttpFunction"),
        ("GET", "/v1/agents/assistant", "HttpFunction"),
        ("POST", "/v1/agents/assistant/documents", "HttpFunction"),
        ("DELETE", "/v1/agents/assistant/documents/d1", "HttpFunction"),
        ("POST", "/v1/agents/assistant/sources/s1/refresh", "HttpFunction"),
        ("GET", "/v1", "HttpFunction"),
        ("DELETE", "/v1/threads/t1", "HttpFunction"),
        ("DELETE", "/v1/users/me/memory", "HttpFunction"),
        ("GET", "/v1/forget-requests/r1", "HttpFunction"),
        ("PUT", "/v1/retention", "HttpFunction"),
        ("POST", "/v1/episodes/import", "StreamsFunction"),
        ("OPTIONS", "/v1/episodes/import", "HttpFunction"),
        ("GET", "/v1/episodes", "HttpFunction"),
        ("GET", "/v1/episodes/e1", "HttpFunction"),
        ("POST", "/v1/episodes/search", "HttpFunction"),
        ("GET", "/v1/users/me/export", "StreamsFunction"),
        ("OPTIONS", "/v1/users/me/export", "HttpFunction"),
        ("GET", "/v1/tenant-export", "StreamsFunction"),
        ("OPTIONS", "/v1/tenant-export", "HttpFunction"),
        ("GET", "/v1/tenant/limits", "HttpFunction"),
        ("POST", "/v1/tenant/removal/confirm", "HttpFunction"),
        ("GET", "/v1/users", "HttpFunction"),
        ("GET", "/v1/users/me", "HttpFunction"),
    ],
)
def test_a_request_reaches_its_function(stack: Stack, method: str, path: str, function: str) -> None:
    assert find_answering_function(stack, method, path) == function


def test_exactly_the_long_routes_are_streamed_for_as_long_as_their_function_may_run(stack: Stack) -> None:
    streamed = {route: item for route, item in stack.routes().items() if item.get("responseTransferMode") == "STREAM"}
    assert set(streamed) == STREAMED
    for integration in streamed.values():
        assert "/2021-11-15/functions/" in text(integration["uri"])
        assert "/response-streaming-invocations" in text(integration["uri"])
        assert integration["timeoutInMillis"] == 900_000 == stack["StreamsFunction"]["Timeout"] * 1000


def test_no_two_variables_stand_at_one_place(stack: Stack) -> None:
    """API Gateway allows one variable child for each resource, greedy or not."""
    variables: dict[str, set[str]] = {}
    for _, path in stack.routes():
        segments = path.split("/")
        for index, segment in enumerate(segments):
            if segment.startswith("{"):
                variables.setdefault("/".join(segments[:index]), set()).add(segment)
    assert {parent: names for parent, names in variables.items() if len(names) > 1} == {}


def test_the_rest_api_is_regional(stack: Stack) -> None:
    """Edge-optimised endpoints end a stream after 30 s of silence."""
    assert stack["RestApi"]["EndpointConfiguration"]["Types"] == ["REGIONAL"]


def test_frames_reach_sockets_and_only_connecting_asks_the_authorizer(stack: Stack) -> None:
    routes = {item["RouteKey"]: item for item in stack.of_type("AWS::ApiGatewayV2::Route").values()}
    assert set(routes) == {"$connect", "$disconnect", "$default"}
    for integration in stack.of_type("AWS::ApiGatewayV2::Integration").values():
        assert "SocketsFunction" in set(find_references(integration["IntegrationUri"]))
    assert {key for key, route in routes.items() if route.get("AuthorizationType") == "CUSTOM"} == {"$connect"}
    (authorizer,) = stack.of_type("AWS::ApiGatewayV2::Authorizer").values()
    assert authorizer["IdentitySource"] == ["route.request.header.Sec-WebSocket-Protocol"]
    assert "AuthorizerFunction" in set(find_references(authorizer["AuthorizerUri"]))


def test_streams_runs_behind_the_web_adapter(stack: Stack) -> None:
    function = stack["StreamsFunction"]
    variables = function["Environment"]["Variables"]
    assert function["Handler"] == "run.sh"
    assert variables["AWS_LAMBDA_EXEC_WRAPPER"] == "/opt/bootstrap"
    assert variables["AWS_LWA_INVOKE_MODE"] == "response_stream"
    assert variables["AWS_LWA_READINESS_CHECK_PATH"] == "/health"
    assert any("layer:LambdaAdapterLayerArm64:" in text(layer) for layer in function["Layers"])
