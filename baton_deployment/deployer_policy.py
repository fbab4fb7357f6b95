"""The policy that a deployer's role needs, and the questions to IAM's simulator that find missing permissions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from baton_deployment.policies import NAMES, read_policy

PATH = "docs/reference/deployer-policy.json"
ROLES = "Roles"
"""The statement about roles, whose boundary a deployer may have to set."""
BOUNDARY_KEY = "iam:PermissionsBoundary"
REMOVAL_OF_BOUNDARY = "iam:DeleteRolePermissionsBoundary"

# The simulator accepts no wildcards in actions, so these examples stand for the policy's wildcards.
EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "apigateway:*": ("apigateway:POST", "apigateway:PATCH", "apigateway:PUT", "apigateway:DELETE"),
    "cloudformation:*": ("CreateChangeSet", "DescribeChangeSet", "ExecuteChangeSet", "DescribeStacks", "GetTemplate"),
    "cloudfront:Create*": ("CreateDistribution", "CreateOriginAccessControl", "CreateResponseHeadersPolicy"),
    "cloudfront:Delete*": ("DeleteDistribution",),
    "cloudfront:Describe*": ("DescribeFunction",),
    "cloudfront:Get*": ("GetDistribution",),
    "cloudfront:List*": ("ListTagsForResource",),
    "cloudfront:Update*": ("UpdateDistribution",),
    "cloudwatch:*": ("PutMetricAlarm", "DescribeAlarms", "DeleteAlarms"),
    "codedeploy:*": ("CreateApplication", "CreateDeploymentGroup", "CreateDeployment", "GetDeployment"),
    "dynamodb:Describe*": ("DescribeTable", "DescribeTimeToLive", "DescribeContinuousBackups"),
    "es:DescribeDomain*": ("DescribeDomain",),
    "events:*": ("PutRule", "PutTargets", "DescribeRule", "RemoveTargets", "DeleteRule"),
    "lambda:*": ("CreateFunction", "UpdateFunctionCode", "GetFunction", "PublishVersion", "AddPermission"),
    "logs:*LogDelivery": ("CreateLogDelivery", "GetLogDelivery", "UpdateLogDelivery", "DeleteLogDelivery"),
    "logs:*RetentionPolicy": ("PutRetentionPolicy",),
    "logs:*Tag*": ("TagResource",),
    "s3:GetBucket*": ("GetBucketPolicy",),
    "s3:ListBucket*": ("ListBucket",),
    "s3:PutBucket*": ("PutBucketPolicy", "PutBucketVersioning", "PutBucketPublicAccessBlock"),
    "scheduler:*Schedule": ("CreateSchedule", "GetSchedule", "UpdateSchedule", "DeleteSchedule"),
    "states:*StateMachine": ("CreateStateMachine", "DescribeStateMachine", "UpdateStateMachine", "DeleteStateMachine"),
    "wafv2:*Resource": ("TagResource", "ListTagsForResource"),
    "wafv2:*WebACL*": ("CreateWebACL", "AssociateWebACL", "GetWebACL", "UpdateWebACL", "DeleteWebACL"),
    "sqs:*Queue*": ("CreateQueue", "GetQueueAttributes", "SetQueueAttributes", "DeleteQueue"),
}


@dataclass(frozen=True)
class Question:
    """A question whether actions on one resource are allowed."""

    actions: tuple[str, ...]
    resource: str
    context: Mapping[str, str] = field(default_factory=dict)
    """Values by condition keys."""


def make_questions(account: str, region: str, stack: str, boundary: str = "") -> list[Question]:
    """Return one question for each statement of the policy, about an example of the stack's resources.

    ``boundary`` is the ARN of the permissions boundary of the stack's roles, or empty. A deployer who must set it may
    not be allowed to remove it.
    """
    context = {BOUNDARY_KEY: boundary} if boundary else {}
    return [
        Question(
            tuple(
                action
                for pattern in statement["Action"]
                for action in _list_examples(pattern)
                if not (boundary and action == REMOVAL_OF_BOUNDARY)
            ),
            _make_example_resource(statement["Resource"], account, region, stack),
            {
                key: values[0]
                for conditions in statement.get("Condition", {}).values()
                for key, values in conditions.items()
            }
            | (context if statement["Sid"] == ROLES else {}),
        )
        for statement in read_policy("deployer")["Statement"]
    ]


def _list_examples(action: str) -> Iterator[str]:
    """Yield an action without a wildcard, or the examples of the actions that its wildcard stands for."""
    if "*" not in action:
        yield action
        return
    service = action.partition(":")[0]
    yield from (example if ":" in example else f"{service}:{example}" for example in EXAMPLES[action])


def _make_example_resource(resources: str | list[str], account: str, region: str, stack: str) -> str:
    """Return an ARN that the first of the patterns matches; ``*`` for a statement about all resources."""
    pattern = resources if isinstance(resources, str) else resources[0]
    if pattern == "*":
        return pattern
    arn, partition, service, of_region, of_account, name = pattern.split(":", 5)
    of_region = region if of_region == "*" else of_region
    of_account = account if of_account == "*" else of_account
    name = name.replace(NAMES, f"{stack}-example").replace("*", "example")
    return ":".join((arn, partition, service, of_region, of_account, name))
