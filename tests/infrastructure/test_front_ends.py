"""Front ends under your own name, and the web adapter in regions without a public layer."""

from __future__ import annotations

import re
from typing import Any

import pytest

from baton_local.stack.intrinsics import Intrinsics
from tests.infrastructure.stack import Stack

CERTIFICATE = "arn:aws:acm:us-east-1:123456789012:certificate/12345678-1234-1234-1234-123456789012"
WEB_ACL = "arn:aws:wafv2:us-east-1:123456789012:global/webacl/chat/12345678-1234-1234-1234-123456789012"
ADAPTER = "arn:aws-cn:lambda:cn-north-1:123456789012:layer:web-adapter:3"
OWN_NAME = {"FrontEndDomain": "chat.example.com", "FrontEndCertificateArn": CERTIFICATE}


def resolver(source: Stack, **parameters: str) -> Intrinsics:
    """The template's functions with its parameters at their defaults, but for some."""
    defaults = {name: str(item.get("Default", "")) for name, item in source.template["Parameters"].items()}
    values = {**defaults, "AWS::Region": "eu-central-1", "AWS::Partition": "aws", **parameters}
    return Intrinsics(source.template, values, lambda logical_id, attribute: f"{logical_id}.{attribute}")


def refusals(source: Stack, **parameters: str) -> list[str]:
    """The rules that refuse a deployment with these parameters."""
    intrinsics = resolver(
        source, **{name.replace("Region", "AWS::Region"): value for name, value in parameters.items()}
    )
    return [
        name
        for name, rule in source.template["Rules"].items()
        if intrinsics.resolve(rule["RuleCondition"])
        and not all(intrinsics.resolve(assertion["Assert"]) for assertion in rule["Assertions"])
    ]


def distribution(source: Stack, **parameters: str) -> dict[str, Any]:
    config: dict[str, Any] = resolver(source, **parameters).resolve(source["WidgetDistribution"]["DistributionConfig"])
    return config


def test_a_name_of_ones_own_has_its_certificate_and_tls_1_2(source: Stack) -> None:
    config = distribution(source, **OWN_NAME)
    assert config["Aliases"] == ["chat.example.com"]
    assert config["ViewerCertificate"] == {
        "AcmCertificateArn": CERTIFICATE,
        "MinimumProtocolVersion": "TLSv1.2_2021",
        "SslSupportMethod": "sni-only",
    }
    assert "WebACLId" not in config


def test_without_one_cloudfronts_name_and_certificate_are_used(source: Stack) -> None:
    config = distribution(source)
    assert "Aliases" not in config
    assert config["ViewerCertificate"] == {"CloudFrontDefaultCertificate": True}


def test_a_web_acl_judges_requests_for_the_front_ends(source: Stack) -> None:
    assert distribution(source, FrontEndWebAclArn=WEB_ACL)["WebACLId"] == WEB_ACL


@pytest.mark.parametrize("output", ["WidgetUrl", "WidgetTag", "ConsoleUrl"])
def test_outputs_have_the_address_that_browsers_use(source: Stack, output: str) -> None:
    value = source.template["Outputs"][output]["Value"]
    assert "https://chat.example.com" in resolver(source, **OWN_NAME).resolve(value)
    assert "https://WidgetDistribution.DomainName" in resolver(source).resolve(value)


@pytest.mark.parametrize("value", OWN_NAME)
def test_name_and_certificate_need_each_other(source: Stack, value: str) -> None:
    assert refusals(source, **OWN_NAME) == []
    assert refusals(source, **{value: OWN_NAME[value]}) == ["FrontEndName"]


@pytest.mark.parametrize(
    ("parameter", "right", "wrong"),
    [
        ("FrontEndCertificateArn", CERTIFICATE, CERTIFICATE.replace("us-east-1", "eu-central-1")),
        ("FrontEndWebAclArn", WEB_ACL, WEB_ACL.replace("global", "regional")),
        ("FrontEndDomain", "chat.example.com", "https://chat.example.com"),
        ("WebAdapterLayerArn", ADAPTER, ADAPTER.removesuffix(":3")),
    ],
)
def test_what_cloudfront_and_lambda_do_not_take_is_refused_before_the_deployment(
    source: Stack, parameter: str, right: str, wrong: str
) -> None:
    pattern = source.template["Parameters"][parameter]["AllowedPattern"]
    assert re.fullmatch(pattern, right)
    assert re.fullmatch(pattern, "")
    assert not re.fullmatch(pattern, wrong)


@pytest.mark.parametrize("region", ["cn-north-1", "cn-northwest-1", "us-gov-west-1", "us-gov-east-1"])
def test_a_region_without_the_public_web_adapter_needs_a_layer(source: Stack, region: str) -> None:
    assert refusals(source, Region=region) == ["PublicWebAdapter"]
    assert refusals(source, Region=region, WebAdapterLayerArn=ADAPTER) == []


def test_the_adapter_of_ones_own_takes_the_place_of_the_public_one(source: Stack) -> None:
    def adapter(**parameters: str) -> str:
        layers: list[str] = resolver(source, **parameters).resolve(source["StreamsFunction"]["Layers"])
        return layers[-1]

    assert adapter(WebAdapterLayerArn=ADAPTER) == ADAPTER
    assert adapter() == "arn:aws:lambda:eu-central-1:753240598075:layer:LambdaAdapterLayerArm64:27"
