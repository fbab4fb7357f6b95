"""The removal of a stage: its stack, and those of its retained resources that an operator names."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from baton_deployment.account import Account, is_denied, problems_explained, read_code
from baton_deployment.deployed_stack import describe_stack
from baton_deployment.errors import DeploymentError
from baton_deployment.preflight.secrets import NAME as SECRET
from baton_deployment.preflight.secrets import list_expected_secrets
from baton_deployment.stages import Stage
from baton_deployment.template import DeployedTemplate

Write = Callable[[str], None]
STACK = "stack"
LEFT_OVER = "left-over"
"""The choice for tables and buckets that earlier stacks of the same name have left."""
LISTING = {"ListTables": "dynamodb:ListTables", "ListBuckets": "s3:ListAllMyBuckets"}
"""IAM's actions by the operations that find left-over resources."""
TABLE = "AWS::DynamoDB::Table"
BUCKET = "AWS::S3::Bucket"
DOMAIN = "AWS::OpenSearchService::Domain"
KEPT = {TABLE: "the conversations", BUCKET: "files with all their versions", DOMAIN: "the search indices"}
"""The contents of retained resources, by their types."""
WAIT = {"Delay": 15, "MaxAttempts": 240}
"""A limit of one hour, because distributions and search domains take long."""


@dataclass(frozen=True)
class Part:
    """A resource that outlives the stack, and the name by which an operator chooses it for deletion."""

    choice: str
    name: str
    """The physical name of the resource."""
    kind: str
    """A resource type, or ``secret``."""
    content: str


@dataclass(frozen=True)
class Teardown:
    """The parts of a stage."""

    account: Account
    stage: Stage
    exists: bool
    """Whether the stack exists."""
    parts: tuple[Part, ...]
    log_groups: tuple[str, ...]
    """The log groups that are deleted with the stack."""
    unlisted: str = ""
    """The action that the caller lacks for listing resources of earlier stacks; empty if none."""

    @classmethod
    def of(cls, account: Account, stage: Stage, template: DeployedTemplate) -> Teardown:
        """Return the parts of the stack, or of the newest deleted stack of its name. Raises ``DeploymentError``."""
        with problems_explained(f"{stage.stack} cannot be read"):
            stack_id, exists = _find_stack(account, stage.stack)
            resources = list(_list_resources(account, stack_id)) if stack_id else []
            parts = [
                Part(
                    _name_choice(resource),
                    resource["PhysicalResourceId"],
                    resource["ResourceType"],
                    KEPT[resource["ResourceType"]],
                )
                for resource in resources
                if resource["ResourceType"] in KEPT
                and resource.get("PhysicalResourceId")
                and _is_retained(template, resource["LogicalResourceId"])
                and resource["ResourceStatus"] != "DELETE_COMPLETE"
            ]
            left_over, unlisted = _find_left_over(account, stage.stack, template, {part.name for part in parts})
            if not exists and not unlisted:
                parts = _drop_deleted(account, parts)
            parts.extend(left_over)
            secrets = [
                Part("secrets", expected_secret.name, SECRET, expected_secret.parameter)
                for expected_secret in list_expected_secrets(template, {})
                if _may_exist(account, expected_secret.name)
            ]
        logs = [
            resource["PhysicalResourceId"]
            for resource in resources
            if resource["ResourceType"] == "AWS::Logs::LogGroup"
            and resource.get("PhysicalResourceId")  # none if the creation was cancelled
            and resource["ResourceStatus"] != "DELETE_COMPLETE"
        ]
        return cls(account, stage, exists, (*parts, *secrets), tuple(logs) if exists else (), unlisted)

    @property
    def choices(self) -> tuple[str, ...]:
        """The names of the parts that can be deleted."""
        return tuple(dict.fromkeys([*([STACK] if self.exists else []), *(part.choice for part in self.parts)]))

    def lines(self, chosen: Collection[str]) -> Iterator[str]:
        """Yield the lines of the plan: the parts that will be deleted and those that stay."""
        name, region = self.stage.stack, self.account.region
        if self.exists:
            yield f"{_mark(STACK, chosen)} {STACK:<14} {name} in {region}: APIs, functions, queues, roles, alarms"
            logs = f"{len(self.log_groups)} log groups with their entries"
            yield f"{'':15} {'':<14} With it go {logs}: export first what is evidence."
            yield f"{'':15} {'':<14} With it goes {name}/push-key, which opens push configurations of the table."
        else:
            yield f"{'':15} {STACK:<14} {name} is not in {region}"
        for part in self.parts:
            yield f"{_mark(part.choice, chosen)} {part.choice:<14} {part.name} ({part.content})"
        if self.unlisted:
            yield f"{'':15} Tables and buckets of earlier stacks are not listed: the caller lacks {self.unlisted}"
        yield f"{'':15} The account's logging role stays, and so do SAM's uploads (aws-sam-cli-managed-default-...)"

    def delete(self, chosen: Collection[str], write: Write) -> None:
        """Delete the chosen parts, the stack first. Raises ``DeploymentError``."""
        with problems_explained("The removal has stopped"):
            if STACK in chosen and self.exists:
                cloudformation = self.account.client("cloudformation")
                cloudformation.delete_stack(StackName=self.stage.stack)
                write(f"Deleting {self.stage.stack}; a distribution or a domain takes up to an hour ...")
                waiter = cloudformation.get_waiter("stack_delete_complete")
                waiter.wait(StackName=self.stage.stack, WaiterConfig=WAIT)
                write(f"Deleted {self.stage.stack}")
            for part in self.parts:
                if part.choice in chosen:
                    write(f"{_delete(self.account, part)} {part.name}")


def tear_down(teardown: Teardown, chosen: Collection[str], ask: Callable[[str], str], write: Write) -> None:
    """Print the plan, ask, and delete. Without a choice, only print the plan.

    ``ask`` returns the operator's answer to a question, which must be the stack's name. Raises ``DeploymentError``.
    """
    if missing := sorted(set(chosen) - set(teardown.choices)):
        choices = ", ".join(teardown.choices) or "nothing"
        raise DeploymentError(f"There is no {', '.join(missing)} to delete. Available: {choices}.")
    used = set(chosen) - {STACK, "secrets", LEFT_OVER}
    if used and teardown.exists and STACK not in chosen:
        raise DeploymentError(f"The stack uses {', '.join(sorted(used))}: delete the stack too.")
    for line in teardown.lines(chosen):
        write(line)
    if not teardown.choices:
        write("\nThere is nothing to delete.")
        return
    if not chosen:
        command = f"baton teardown {teardown.stage.name} {' '.join(teardown.choices)}"
        write(f"\nNothing was deleted. Name what is to be deleted, of: {command}")
        return
    recovery = _describe_recovery([part for part in teardown.parts if part.choice in chosen], has_stack=STACK in chosen)
    answer = ask(f"\nDelete {', '.join(chosen)}? {recovery} Type the stack's name, {teardown.stage.stack}: ")
    if answer.strip() != teardown.stage.stack:
        raise DeploymentError("That is another name: nothing was deleted.")
    teardown.delete(chosen, write)


def _find_stack(account: Account, stack: str) -> tuple[str | None, bool]:
    """Return the id of the stack, or of the newest deleted stack of its name, and whether the stack exists.

    The id is None if there was no such stack. Raises errors of AWS.
    """
    description = describe_stack(account, stack)
    if description is not None:
        return str(description["StackId"]), True
    pages = (
        account.client("cloudformation").get_paginator("list_stacks").paginate(StackStatusFilter=["DELETE_COMPLETE"])
    )
    deleted = [
        stack_summary
        for page in pages
        for stack_summary in page["StackSummaries"]
        if stack_summary["StackName"] == stack
    ]
    newest = max(deleted, key=lambda summary: summary["CreationTime"], default=None)
    return (str(newest["StackId"]) if newest else None), False


def _list_resources(account: Account, stack_id: str) -> Iterator[Mapping[str, Any]]:
    """Yield CloudFormation's summaries of a stack's resources, including deleted ones."""
    pages = account.client("cloudformation").get_paginator("list_stack_resources").paginate(StackName=stack_id)
    for page in pages:
        yield from page["StackResourceSummaries"]


def _find_left_over(
    account: Account, stack: str, template: DeployedTemplate, current: Collection[str]
) -> tuple[list[Part], str]:
    """Return the parts that earlier stacks have left, and the action that the caller lacks for listing them, or ""."""
    try:
        return list(_recognise_left_over(account, stack, template, current)), ""
    except ClientError as problem:
        if not is_denied(problem):
            raise
        return [], LISTING.get(problem.operation_name, problem.operation_name)


def _drop_deleted(account: Account, parts: list[Part]) -> list[Part]:
    """Return the parts without tables and buckets that were deleted after their stack."""
    names = {*_list_tables(account), *_list_buckets(account)}
    return [part for part in parts if part.kind == DOMAIN or part.name in names]


def _recognise_left_over(
    account: Account, stack: str, template: DeployedTemplate, current: Collection[str]
) -> Iterator[Part]:
    """Yield tables and buckets of earlier stacks of the same name, recognised by their names.

    CloudFormation's names are ``<stack>-<logical id>-<random characters>``; those of buckets are in lower case.
    """
    retained = [
        (logical_id, kind)
        for kind in (TABLE, BUCKET)
        for logical_id, _ in template.list_resources(kind)
        if _is_retained(template, logical_id)
    ]
    names = {TABLE: list(_list_tables(account)), BUCKET: list(_list_buckets(account))}
    for logical_id, kind in retained:
        pattern = re.compile(rf"{re.escape(stack)}-{logical_id}-[a-z0-9]{{8,16}}", re.IGNORECASE)
        for name in names[kind]:
            if pattern.fullmatch(name) and name not in current:
                yield Part(LEFT_OVER, name, kind, f"{KEPT[kind]} of an earlier {stack}")


def _list_tables(account: Account) -> Iterator[str]:
    for page in account.client("dynamodb").get_paginator("list_tables").paginate():
        yield from page["TableNames"]


def _list_buckets(account: Account) -> Iterator[str]:
    """Yield the names of the buckets of the account in its region."""
    for page in account.client("s3").get_paginator("list_buckets").paginate(BucketRegion=account.region):
        yield from (bucket["Name"] for bucket in page["Buckets"])


def _may_exist(account: Account, secret: str) -> bool:
    """Return whether there may be a secret: False if it does not exist or is scheduled for deletion."""
    try:
        return "DeletedDate" not in account.client("secretsmanager").describe_secret(SecretId=secret)
    except ClientError as problem:
        if is_denied(problem):
            return True
        if read_code(problem) == "ResourceNotFoundException":
            return False
        raise


def _is_retained(template: DeployedTemplate, logical_id: str) -> bool:
    """Return whether a resource outlives the stack. One that this template lacks counts as retained."""
    policy = template.source["Resources"].get(logical_id, {}).get("DeletionPolicy", "Retain")
    return str(policy).startswith("Retain")


def _name_choice(resource: Mapping[str, Any]) -> str:
    """Return the name of the choice: ``table``, ``bucket``, ``search-bucket``, ``widget-bucket``, ``domain``."""
    if resource["ResourceType"] == DOMAIN:
        return "domain"
    words = re.findall("[A-Z][a-z]+", str(resource["LogicalResourceId"]))
    return "-".join(words).lower()


def _mark(choice: str, chosen: Collection[str]) -> str:
    return f"{'will be deleted' if choice in chosen else 'stays':15}"


def _describe_recovery(chosen: Collection[Part], *, has_stack: bool) -> str:
    """Return sentences about the time for which the chosen parts can be restored; ``has_stack`` adds the stack."""
    sentences = []
    kinds = {part.kind for part in chosen}
    if TABLE in kinds:
        sentences.append("DynamoDB keeps a backup of a deleted table with its conversations for 35 days.")
    if SECRET in kinds:
        sentences.append("Secrets can be restored for 30 days.")
    if not sentences:
        return "It cannot be restored."
    return " ".join(sentences) + (" Nothing else can be restored." if has_stack or kinds - {TABLE, SECRET} else "")


def _delete(account: Account, part: Part) -> str:
    """Delete a part, and return "Deleted", or "There was no" if it did not exist."""
    try:
        _DELETIONS[part.kind](account, part.name)
    except ClientError as problem:
        if read_code(problem) not in {"ResourceNotFoundException", "NoSuchBucket"}:
            raise
        return "There was no"
    return "Deleted"


def _delete_table(account: Account, name: str) -> None:
    """Delete a table, even if it is protected."""
    client = account.client("dynamodb")
    if client.describe_table(TableName=name)["Table"].get("DeletionProtectionEnabled"):
        client.update_table(TableName=name, DeletionProtectionEnabled=False)
        client.get_waiter("table_exists").wait(TableName=name)
    client.delete_table(TableName=name)


def _delete_bucket(account: Account, name: str) -> None:
    """Delete a bucket with all versions of its objects. Raises ``DeploymentError`` if one cannot be deleted."""
    client = account.client("s3")
    for page in client.get_paginator("list_object_versions").paginate(Bucket=name):
        versions = [*page.get("Versions", []), *page.get("DeleteMarkers", [])]
        if versions:
            objects = [{"Key": version["Key"], "VersionId": version["VersionId"]} for version in versions]
            answer = client.delete_objects(Bucket=name, Delete={"Objects": objects, "Quiet": True})
            if errors := answer.get("Errors"):
                raise DeploymentError(f"{name}: {errors[0]['Key']} cannot be deleted: {errors[0]['Message']}")
    client.delete_bucket(Bucket=name)


def _delete_domain(account: Account, name: str) -> None:
    account.client("opensearch").delete_domain(DomainName=name)


def _delete_secret(account: Account, name: str) -> None:
    account.client("secretsmanager").delete_secret(SecretId=name)  # can be restored for 30 days


_DELETIONS: Mapping[str, Callable[[Account, str], None]] = {
    TABLE: _delete_table,
    BUCKET: _delete_bucket,
    DOMAIN: _delete_domain,
    SECRET: _delete_secret,
}
