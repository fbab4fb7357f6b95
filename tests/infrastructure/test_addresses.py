"""Own names and rates of the APIs, as CloudFormation sees them: by parameter, and off by default."""

from __future__ import annotations

from typing import Any

import pytest

from baton_deployment.checks import Outcome
from baton_deployment.preflight.parameters import check_parameters
from baton_deployment.template import DeployedTemplate
from tests.infrastructure.stack import Stack

OF_NAMES = {"AWS::ApiGateway::DomainName", "AWS::ApiGatewayV2::DomainName", "AWS::Route53::RecordSet"}
OF_RATES = {"AWS::WAFv2::WebACL", "AWS::WAFv2::WebACLAssociation"}
CERTIFICATE = "arn:aws:acm:eu-central-1:123456789012:certificate/0f8b"
NAMES = {"RestDomain": "api.example.com", "SocketDomain": "sockets.example.com", "ApiCertificateArn": CERTIFICATE}
ACCOUNT_RATE = 10_000
"""Requests a second that API Gateway takes for all APIs of an account in a region."""


def of_stage(source: Stack, **parameters: str) -> DeployedTemplate:
    return DeployedTemplate(source.template, parameters, "baton-dev", "eu-central-1")


def list_made(stack: Stack, template: DeployedTemplate, kinds: set[str]) -> set[str]:
    """The logical ids of the resources of these types that a stage with the template's parameters has."""
    return {
        name
        for name, item in stack.resources.items()
        if item["Type"] in kinds and ("Condition" not in item or template.intrinsics.holds(item["Condition"]))
    }


def problems(template: DeployedTemplate) -> list[str]:
    return [check.detail for check in check_parameters(template) if check.outcome is Outcome.FAILS]


@pytest.mark.parametrize(
    ("parameters", "names"),
    [
        ({}, set()),
        (NAMES, {"RestDomainName", "SocketDomainName"}),
        (NAMES | {"SocketDomain": ""}, {"RestDomainName"}),
        (
            NAMES | {"ApiHostedZoneId": "Z0123456789ABC"},
            {"RestDomainName", "SocketDomainName", "RestRecord", "SocketRecord"},
        ),
    ],
)
def test_the_apis_have_own_names_where_parameters_name_them(
    source: Stack, stack: Stack, parameters: dict[str, str], names: set[str]
) -> None:
    template = of_stage(source, **parameters)
    assert problems(template) == []
    assert list_made(stack, template, OF_NAMES) == names


def test_functions_and_tags_have_the_own_name(source: Stack) -> None:
    template = of_stage(source, **NAMES)
    public = template.list_variables()["HttpFunction"]["BATON_PUBLIC_URL"]
    assert template.intrinsics.resolve(public) == "https://api.example.com"
    tag: Any = template.intrinsics.resolve(source.template["Outputs"]["WidgetTag"]["Value"])
    assert 'endpoint="https://api.example.com" socket="wss://sockets.example.com"' in tag
    other = of_stage(source, **NAMES, PublicUrl="https://chat.example.com/api")
    assert other.intrinsics.resolve(public) == "https://chat.example.com/api"


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ({"RestDomain": "api.example.com"}, "need ApiCertificateArn"),
        (NAMES | {"SocketDomain": "api.example.com"}, "are two names"),
        ({"RestRequestLimit": "9"}, "AWS WAF takes 10 or more"),
        (
            {"RestRequestLimit": "600", "RestWebAclArn": "arn:aws:wafv2:eu-central-1:123456789012:regional/webacl/a/b"},
            "A stage of an API has one web ACL",
        ),
    ],
)
def test_what_api_gateway_or_waf_would_refuse_fails_before(
    source: Stack, parameters: dict[str, str], problem: str
) -> None:
    [results] = problems(of_stage(source, **parameters))
    assert problem in results


@pytest.mark.parametrize(
    ("parameters", "rules"),
    [
        ({"RestRequestLimit": "60000"}, {"rate-of-all": 60_000}),
        ({"RestRequestLimitOfAddress": "600"}, {"rate-of-an-address": 600}),
        (
            {"RestRequestLimit": "60000", "RestRequestLimitOfAddress": "600"},
            {"rate-of-all": 60_000, "rate-of-an-address": 600},
        ),
    ],
)
def test_one_rate_holds_for_all_methods_together(
    source: Stack, stack: Stack, parameters: dict[str, str], rules: dict[str, int]
) -> None:
    template = of_stage(source, **parameters)
    assert list_made(stack, template, OF_RATES) == {"RestWebAcl", "RestWebAclAssociation"}
    web_acl = template.intrinsics.resolve(stack["RestWebAcl"])
    limits = {rule["Name"]: int(rule["Statement"]["RateBasedStatement"]["Limit"]) for rule in web_acl["Rules"]}
    assert limits == rules
    assert {rule["Action"]["Block"]["CustomResponse"]["ResponseCode"] for rule in web_acl["Rules"]} == {429}


def test_a_web_acl_of_the_operators_takes_its_place(source: Stack, stack: Stack) -> None:
    arn = "arn:aws:wafv2:eu-central-1:123456789012:regional/webacl/rates/0f8b"
    template = of_stage(source, RestWebAclArn=arn)
    assert list_made(stack, template, OF_RATES) == {"OwnWebAclAssociation"}
    assert template.intrinsics.resolve(stack["OwnWebAclAssociation"]["WebACLArn"]) == arn
    assert list_made(stack, of_stage(source), OF_RATES) == set()


def test_a_flood_of_all_routes_leaves_the_account_a_part_of_its_rate(source: Stack, stack: Stack) -> None:
    """API Gateway applies a stage's rate to each method and each route, not to their sum."""
    values = of_stage(source).values
    rest = len(stack.routes()) * int(values["HttpRequestsPerSecond"])
    sockets = len(stack.of_type("AWS::ApiGatewayV2::Route")) * int(values["SocketRequestsPerSecond"])
    assert rest + sockets < ACCOUNT_RATE
