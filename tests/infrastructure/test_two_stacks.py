"""Two stages can live in one account and region: nothing of one stack is the other's, or the account's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from baton_local.stack.intrinsics import Intrinsics
from tests.infrastructure.stack import Stack

REGION = "us-east-1"

OF_ONE_STACK = {
    "AWS::ApiGateway::Deployment",
    "AWS::ApiGateway::RestApi",
    "AWS::ApiGateway::Stage",
    "AWS::ApiGatewayV2::Api",
    "AWS::ApiGatewayV2::Authorizer",
    "AWS::ApiGatewayV2::Deployment",
    "AWS::ApiGatewayV2::Integration",
    "AWS::ApiGatewayV2::Route",
    "AWS::ApiGatewayV2::Stage",
    "AWS::ApiGateway::BasePathMapping",
    "AWS::ApiGateway::DomainName",  # the name is a parameter
    "AWS::ApiGatewayV2::ApiMapping",
    "AWS::ApiGatewayV2::DomainName",
    "AWS::Route53::RecordSet",
    "AWS::WAFv2::WebACL",
    "AWS::WAFv2::WebACLAssociation",
    "AWS::CloudFront::Distribution",
    "AWS::CloudFront::Function",  # a hundred in an account; a stack that serves the console has one
    "AWS::CloudFront::OriginAccessControl",
    "AWS::CloudFront::ResponseHeadersPolicy",  # twenty in an account; a stack that serves the widget has one
    "AWS::CloudWatch::Alarm",
    "AWS::CloudWatch::Dashboard",
    "AWS::Events::Rule",
    "AWS::CodeDeploy::Application",
    "AWS::CodeDeploy::DeploymentGroup",
    "AWS::DynamoDB::Table",
    "AWS::IAM::Policy",
    "AWS::IAM::Role",
    "AWS::IAM::RolePolicy",
    "AWS::Lambda::Alias",
    "AWS::Lambda::EventInvokeConfig",
    "AWS::Lambda::EventSourceMapping",
    "AWS::Lambda::Function",
    "AWS::Lambda::LayerVersion",
    "AWS::Lambda::Permission",
    "AWS::Lambda::Version",
    "AWS::Logs::LogGroup",
    "AWS::Logs::MetricFilter",
    "AWS::Logs::ResourcePolicy",  # ten in a region; a stack with a separate search domain has one
    "AWS::OpenSearchService::Domain",
    "AWS::S3::Bucket",
    "AWS::S3::BucketPolicy",
    "AWS::SQS::Queue",
    "AWS::Scheduler::Schedule",
    "AWS::SecretsManager::Secret",
    "AWS::StepFunctions::StateMachine",
    "Custom::SearchIndices",
}
"""Types of which an account has as many as it likes. What is missing here may be a setting of the whole account, as
AWS::ApiGateway::Account, AWS::Logs::AccountPolicy or AWS::XRay::TransactionSearchConfig are: look before adding one."""

NAMED_BY_PARAMETERS = {"RestDomainName", "SocketDomainName", "RestRecord", "SocketRecord"}
"""Resources that have the host names of parameters, and are made only where these name some."""

Identity = tuple[str, str]
"""A type, and the values by which CloudFormation distinguishes its resources."""


def identities(template: dict[str, Any], stack_name: str) -> dict[Identity, str]:
    """The resources to which the template gives names, of a stack of this name; -> their logical ids."""
    parameters = {name: item.get("Default", "given") for name, item in template.get("Parameters", {}).items()}
    parameters["AWS::StackName"] = stack_name
    parameters["AWS::StackId"] = f"arn:aws:cloudformation:us-east-1:123456789012:stack/{stack_name}/id-of-{stack_name}"
    # Names that CloudFormation makes up, and attributes, belong to the stack.
    resolver = Intrinsics(
        template, parameters, lambda logical_id, attribute: f"<{stack_name} {logical_id} {attribute}>"
    )
    results = {}
    for logical_id, resource in template["Resources"].items():
        names = list_identifying_properties(resource["Type"])
        options = {name: value for name, value in resource.get("Properties", {}).items() if name in names}
        if any(name.endswith("Name") for name in options):
            results[resource["Type"], str(sorted(resolver.resolve(options).items()))] = logical_id
    return results


def list_identifying_properties(resource_type: str) -> set[str]:
    """Return the properties whose change replaces the resource, and its name."""
    from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER  # takes seconds, which every process would spend

    schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema(REGION, resource_type).schema
    pointers = {*schema.get("primaryIdentifier", ()), *schema.get("createOnlyProperties", ())}
    pointers.update(*schema.get("additionalIdentifiers", ()))
    pointers -= set(schema.get("readOnlyProperties", ()))
    return {"Name"} | {pointer.removeprefix("/properties/") for pointer in pointers}


def list_shared(template: dict[str, Any]) -> set[str]:
    """Return the logical ids of the resources that two stacks of the template would share."""
    dev, prod = (identities(template, name) for name in ("baton-dev", "baton-prod"))
    return {dev[identity] for identity in dev.keys() & prod.keys()}


def test_no_two_stacks_give_something_the_same_name(stack: Stack) -> None:
    assert list_shared(stack.template) - NAMED_BY_PARAMETERS == set()


def test_a_stack_changes_no_setting_of_the_account(stack: Stack) -> None:
    assert {resource["Type"] for resource in stack.resources.values()} <= OF_ONE_STACK


def test_names_that_do_not_distinguish_stacks_would_be_found() -> None:
    assert list_shared(dict(resources_with_names())) == {"Alarm", "Group", "Layer", "Schedule", "Table"}


def resources_with_names() -> Iterator[tuple[str, Any]]:
    """A template with resources of one name in every stack, and others of separate names."""
    own = {"Fn::Sub": "${AWS::StackName}-own"}
    yield "Parameters", {"TableName": {"Type": "String", "Default": "threads"}}
    yield (
        "Resources",
        {
            "Alarm": {
                "Type": "AWS::CloudWatch::Alarm",
                "Properties": {"AlarmName": {"Fn::Join": ["-", ["it", "fails"]]}},
            },
            "Group": {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": "/baton"}},
            "Layer": {"Type": "AWS::Lambda::LayerVersion", "Properties": {"LayerName": "SharedLayer"}},
            "Schedule": {"Type": "AWS::Scheduler::Schedule", "Properties": {"Name": "every-minute"}},
            "Table": {"Type": "AWS::DynamoDB::Table", "Properties": {"TableName": {"Ref": "TableName"}}},
            "OwnTable": {"Type": "AWS::DynamoDB::Table", "Properties": {"TableName": own}},
            "Unnamed": {"Type": "AWS::SQS::Queue", "Properties": {"FifoQueue": True}},
            "Alias": {
                "Type": "AWS::Lambda::Alias",
                "Properties": {"Name": "live", "FunctionName": {"Ref": "Function"}},
            },
        },
    )
