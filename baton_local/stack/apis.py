"""The APIs of API Gateway that the template declares: the REST API and the WebSocket API."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from baton_local.errors import TemplateProblem
from baton_local.stack.template import Template, read_function_name


@dataclass(frozen=True)
class RestRoute:
    """One method and path of the REST API. ``function`` is ``None`` for a CORS preflight answered by the gateway."""

    method: str
    """Upper case, or ``ANY``."""
    path: str
    function: str | None
    streams: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)
    """The headers of the preflight's answer."""


@dataclass(frozen=True)
class GatewayResponse:
    """A gateway response: the REST API's own answer to one kind of error."""

    status: int | None
    """None: API Gateway's own status for this kind of error."""
    headers: Mapping[str, str]
    template: str | None
    """The template of the body; None: API Gateway's own."""


@dataclass(frozen=True)
class RestApi:
    """The REST API."""

    api_id: str
    stage: str
    routes: tuple[RestRoute, ...]
    binary_media_types: tuple[str, ...]
    responses: Mapping[str, GatewayResponse]


@dataclass(frozen=True)
class SocketApi:
    """The WebSocket API."""

    api_id: str
    stage: str
    routes: Mapping[str, str]
    """Functions by their route keys."""
    selection: str
    """Route selection expression."""
    authorizer: str | None
    """The authorizer's function; None without an authorizer."""
    identity_sources: tuple[str, ...]


def read_rest_api(template: Template) -> RestApi:
    """Return the template's REST API. Raises ``TemplateProblem``."""
    api_id, api = template.find_only("AWS::ApiGateway::RestApi")
    body = api["Body"]
    routes = [
        _read_rest_route(method, path, operation)
        for path, operations in body["paths"].items()
        for method, operation in operations.items()
        if "x-amazon-apigateway-integration" in operation
    ]
    responses = {
        kind: GatewayResponse(
            status=int(answer["statusCode"]) if "statusCode" in answer else None,
            headers={
                name.removeprefix("gatewayresponse.header."): value.strip("'")
                for name, value in answer.get("responseParameters", {}).items()
                if name.startswith("gatewayresponse.header.")
            },
            template=answer.get("responseTemplates", {}).get("application/json"),
        )
        for kind, answer in body.get("x-amazon-apigateway-gateway-responses", {}).items()
    }
    _, stage = template.find_only("AWS::ApiGateway::Stage")
    return RestApi(
        api_id=api_id,
        stage=stage["StageName"],
        routes=tuple(routes),
        binary_media_types=tuple(body.get("x-amazon-apigateway-binary-media-types", [])),
        responses=responses,
    )


def _read_rest_route(method: str, path: str, operation: Mapping[str, Any]) -> RestRoute:
    """Return the route of an operation in OpenAPI with API Gateway's extensions."""
    method = "ANY" if method == "x-amazon-apigateway-any-method" else method.upper()
    integration = operation["x-amazon-apigateway-integration"]
    if integration["type"].lower() == "mock":
        answer = integration["responses"]["default"]
        prefix = "method.response.header."
        headers = {
            name.removeprefix(prefix): str(value).strip("'")
            for name, value in answer.get("responseParameters", {}).items()
        }
        return RestRoute(method, path, None, headers=headers)
    streams = integration.get("responseTransferMode") == "STREAM"
    return RestRoute(method, path, read_function_name(integration["uri"]), streams=streams)


def read_socket_api(template: Template) -> SocketApi:
    """Return the template's WebSocket API. Raises ``TemplateProblem``."""
    api_id, api = next(
        (api for api in template.of_type("AWS::ApiGatewayV2::Api") if api[1].get("ProtocolType") == "WEBSOCKET"),
        (None, {}),
    )
    if api_id is None:
        raise TemplateProblem("The local cloud needs a WebSocket API in the template and found none.")
    integrations = dict(template.of_type("AWS::ApiGatewayV2::Integration"))
    authorizers = list(template.of_type("AWS::ApiGatewayV2::Authorizer"))
    authorizer = authorizers[0][1] if authorizers else None
    return SocketApi(
        api_id=api_id,
        stage=template.find_only("AWS::ApiGatewayV2::Stage")[1]["StageName"],
        routes={
            route["RouteKey"]: read_function_name(integrations[route["Target"].rpartition("/")[2]]["IntegrationUri"])
            for _, route in template.of_type("AWS::ApiGatewayV2::Route")
        },
        selection=api["RouteSelectionExpression"],
        authorizer=read_function_name(authorizer["AuthorizerUri"]) if authorizer else None,
        identity_sources=tuple(authorizer.get("IdentitySource", [])) if authorizer else (),
    )
