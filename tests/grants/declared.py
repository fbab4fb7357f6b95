"""The roles of the translated template, and the calls of AWS's services in their name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from baton_local.account import ACCOUNT, REGION
from baton_local.root import ROOT
from baton_local.settings import default_cache_dir
from baton_local.stack.declarations import read_attached_policies
from baton_local.stack.template import Endpoints, Template
from tests.grants.simulator import Asked, Json

CONSUMING = ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes")
"""Permissions that Lambda wants of a role to take from a queue (Lambda Developer Guide, "Using Lambda with SQS")."""
LOGGING = ("logs:CreateLogStream", "logs:PutLogEvents")
TRACING = ("xray:PutTraceSegments", "xray:PutTelemetryRecords")
DELIVERING = (
    *("logs:CreateLogDelivery", "logs:GetLogDelivery", "logs:UpdateLogDelivery", "logs:DeleteLogDelivery"),
    *("logs:ListLogDeliveries", "logs:PutResourcePolicy", "logs:DescribeResourcePolicies", "logs:DescribeLogGroups"),
)
"""Permissions of a state machine that logs (Step Functions Developer Guide, "Logging using CloudWatch Logs")."""
DOMAIN = "search"
SAMPLING = ("xray:GetSamplingRules", "xray:GetSamplingTargets")


def template(**parameters: str) -> Template:
    """The product's template as the local cloud reads it: what the recordings speak of."""
    nowhere = Endpoints(gateway="", sockets="", connections="", queues="http://queues.invalid")
    return Template(ROOT / "template.yaml", {"Stage": "local"} | parameters, nowhere, default_cache_dir())


def roles(declared: Template) -> dict[str, list[Json]]:
    """The policy documents of every role that the template writes itself, by its logical id."""
    documents = {
        name: [policy["PolicyDocument"] for policy in role["Policies"]]
        for name, role in declared.of_type("AWS::IAM::Role")
        if "Policies" in role
    }
    for name, attached in read_attached_policies(declared).items():
        documents[name] += map(dict, attached)
    return documents


def searching(**parameters: str) -> Template:
    """The template with an existing search domain."""
    return template(OpenSearchEndpoint="https://search.example.com", OpenSearchDomainName=DOMAIN, **parameters)


def bucket_policy(declared: Template) -> Json:
    """The bucket's own policy."""
    policies = dict(declared.of_type("AWS::S3::BucketPolicy"))
    document: Json = policies["BucketPolicy"]["PolicyDocument"]
    return document


def list_implied(declared: Template) -> Iterator[Asked]:
    """Calls of AWS's services in the name of the roles."""
    functions = dict(declared.of_type("AWS::Lambda::Function"))
    for name, function in functions.items():
        group = function["LoggingConfig"]["LogGroup"]
        stream = f"arn:aws:logs:{REGION}:{ACCOUNT}:log-group:{group}:log-stream:2026/01/01/[1]abc"
        for action in LOGGING:
            yield Asked(name, _role(function["Role"]), action, stream)
        if function.get("TracingConfig", {}).get("Mode") == "Active":
            yield from (Asked(name, _role(function["Role"]), action, "*") for action in TRACING)
    for _, mapping in declared.of_type("AWS::Lambda::EventSourceMapping"):
        name = mapping["FunctionName"].partition(":function:")[2].partition(":")[0] or mapping["FunctionName"]
        for action in CONSUMING:
            yield Asked(name, _role(functions[name]["Role"]), action, mapping["EventSourceArn"])
    for name, machine in declared.of_type("AWS::StepFunctions::StateMachine"):
        yield from _of_machine(name, machine, ROOT / declared.definition_files[name])
    for name, schedule in declared.of_type("AWS::Scheduler::Schedule"):
        yield Asked(name, _role(schedule["Target"]["RoleArn"]), "lambda:InvokeFunction", schedule["Target"]["Arn"])


def _of_machine(name: str, machine: Json, definition: Path) -> Iterator[Asked]:
    role = _role(machine["RoleArn"])
    text = definition.read_text()
    for placeholder, value in machine["DefinitionSubstitutions"].items():
        text = text.replace(f"${{{placeholder}}}", value)
    for state in json.loads(text)["States"].values():
        if state["Type"] == "Task":
            assert ":function:" in state["Resource"], "a task that calls no function: say here what it asks for"
            yield Asked(name, role, "lambda:InvokeFunction", state["Resource"])
    if machine["LoggingConfiguration"]["Level"] != "OFF":
        yield from (Asked(name, role, action, "*") for action in DELIVERING)
    if machine.get("TracingConfiguration", {}).get("Enabled"):
        yield from (Asked(name, role, action, "*") for action in (*TRACING, *SAMPLING))


def _role(arn: str) -> str:
    return arn.rpartition("/")[2]
