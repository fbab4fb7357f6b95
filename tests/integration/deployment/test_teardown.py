"""The removal of a stage deletes what is named, and nothing else."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from baton_deployment import teardown
from baton_deployment.account import Account
from baton_deployment.errors import DeploymentError
from baton_deployment.stages import Stage
from baton_deployment.teardown import KEPT, Teardown, tear_down
from baton_deployment.template import DeployedTemplate
from tests.command_line import make_project, run_baton
from tests.integration.deployment.conftest import REGION, SOURCE

KEY = {"AttributeName": "PK", "AttributeType": "S"}
TEMPLATE = {
    "Resources": {
        "Table": {
            "Type": "AWS::DynamoDB::Table",
            "DeletionPolicy": "Retain",
            "Properties": {
                "BillingMode": "PAY_PER_REQUEST",
                "DeletionProtectionEnabled": True,
                "AttributeDefinitions": [KEY],
                "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}],
            },
        },
        "Bucket": {
            "Type": "AWS::S3::Bucket",
            "DeletionPolicy": "Retain",
            "Properties": {"VersioningConfiguration": {"Status": "Enabled"}},
        },
        "TurnsLogs": {"Type": "AWS::Logs::LogGroup", "Properties": {}},
        "Queue": {"Type": "AWS::SQS::Queue", "Properties": {}},
    }
}


@pytest.fixture
def stage(aws: str, tmp_path: Path) -> Iterator[Stage]:
    """A deployed stage with a table, a bucket with versions, and a secret."""
    name = f"t-{uuid.uuid4().hex[:8]}"
    account = Account(REGION)
    account.client("cloudformation").create_stack(StackName=name, TemplateBody=json.dumps(TEMPLATE))
    bucket = map_physical_ids(account, name)["Bucket"]
    s3 = account.client("s3")
    for text in (b"1", b"2"):
        s3.put_object(Bucket=bucket, Key="acme/a.txt", Body=text)
    s3.delete_object(Bucket=bucket, Key="acme/a.txt")
    for secret in ("model-key", "embed-keys"):
        account.client("secretsmanager").create_secret(Name=f"{name}/{secret}", SecretString="{}")
    parameters = {"ModelKeySecret": f"{name}/model-key", "EmbedKeysSecret": f"{name}/embed-keys"}
    return Stage("dev", tmp_path, name, parameters)


def map_physical_ids(account: Account, stack: str) -> dict[str, str]:
    results = account.client("cloudformation").list_stack_resources(StackName=stack)["StackResourceSummaries"]
    return {resource["LogicalResourceId"]: resource["PhysicalResourceId"] for resource in results}


def make_teardown(stage: Stage) -> Teardown:
    return Teardown.of(Account(REGION), stage, DeployedTemplate(SOURCE, stage.parameters, stage.stack, REGION))


def never(question: str) -> str:
    raise AssertionError(question)


def make_answer(text: str) -> Callable[[str], str]:
    return lambda question: text


def tables() -> list[str]:
    results: list[str] = Account(REGION).client("dynamodb").list_tables()["TableNames"]
    return results


def test_without_a_choice_it_shows_what_there_is(stage: Stage) -> None:
    lines: list[str] = []
    names = map_physical_ids(Account(REGION), stage.stack)
    tear_down(make_teardown(stage), [], never, lines.append)
    text = "\n".join(lines)
    for expected in (names["Table"], names["Bucket"], f"{stage.stack}/model-key", "1 log groups with their entries"):
        assert expected in text
    assert lines[-1].endswith("of: baton teardown dev stack table bucket secrets")
    assert names["Table"] in tables()


def test_of_a_stage_that_does_not_exist_there_is_nothing_to_delete(aws: str, tmp_path: Path) -> None:
    lines: list[str] = []
    tear_down(make_teardown(Stage("dev", tmp_path, f"t-{uuid.uuid4().hex[:8]}", {})), [], never, lines.append)
    assert lines[-1].endswith("There is nothing to delete.")


@pytest.mark.parametrize(
    ("chosen", "warning"),
    [
        (["stack"], "It cannot be restored."),
        (["secrets"], "Secrets can be restored for 30 days. Type"),
        (["stack", "secrets"], "Secrets can be restored for 30 days. Nothing else can be restored."),
        (["stack", "table"], "DynamoDB keeps a backup of a deleted table with its conversations for 35 days. Nothing"),
    ],
)
def test_what_will_be_deleted_is_announced_and_can_be_refused(stage: Stage, chosen: list[str], warning: str) -> None:
    lines: list[str] = []
    questions: list[str] = []

    def refuse(question: str) -> str:
        questions.append(question)
        return ""

    with pytest.raises(DeploymentError, match="nothing was deleted"):
        tear_down(make_teardown(stage), chosen, refuse, lines.append)
    assert warning in questions[0]
    assert [line.split()[3] for line in lines if line.startswith("will be deleted")] == [
        item for item in chosen for _ in range(2 if item == "secrets" else 1)
    ]
    assert not any(line.startswith("deleted") for line in lines)


def test_without_anybody_to_answer_it_is_said_how_to(stage: Stage, tmp_path: Path) -> None:
    project = make_project(tmp_path, f'[dev.deploy.parameters]\nstack_name = "{stage.stack}"\n')
    process = run_baton("teardown", "dev", "stack", "--folder", project)
    assert (process.exit_code, f"`--confirm {stage.stack}` answers" in process.stderr) == (1, True)
    assert make_teardown(stage).exists
    process = run_baton("teardown", "dev", "stack", "--folder", project, "--confirm", stage.stack)
    assert (process.exit_code, make_teardown(stage).exists) == (0, False)


def test_another_answer_than_the_stacks_name_deletes_nothing(stage: Stage) -> None:
    with pytest.raises(DeploymentError, match="nothing was deleted"):
        tear_down(make_teardown(stage), ["stack"], make_answer("yes"), lambda line: None)
    assert make_teardown(stage).exists


@pytest.mark.parametrize(("chosen", "reason"), [(["table"], "delete the stack too"), (["tabel"], "There is no tabel")])
def test_a_choice_that_cannot_be_is_refused(stage: Stage, chosen: list[str], reason: str) -> None:
    with pytest.raises(DeploymentError, match=reason):
        tear_down(make_teardown(stage), chosen, never, lambda line: None)


def test_the_stack_goes_and_its_data_stays_until_it_is_named(stage: Stage) -> None:
    account = Account(REGION)
    names = map_physical_ids(account, stage.stack)
    tear_down(make_teardown(stage), ["stack"], make_answer(stage.stack), lambda line: None)
    assert names["Table"] in tables()
    later = make_teardown(stage)
    assert not later.exists
    assert {"table", "bucket"} <= set(later.choices)
    lines: list[str] = []
    tear_down(later, ["table", "bucket", "secrets"], make_answer(stage.stack), lines.append)
    assert names["Table"] not in tables()
    assert names["Bucket"] not in [bucket["Name"] for bucket in account.client("s3").list_buckets()["Buckets"]]
    assert "DeletedDate" in account.client("secretsmanager").describe_secret(SecretId=f"{stage.stack}/model-key")
    assert f"Deleted {names['Bucket']}" in lines
    assert make_teardown(stage).choices == ()


def test_what_earlier_stacks_of_the_name_have_left_can_be_named(stage: Stage) -> None:
    account = Account(REGION)
    names = map_physical_ids(account, stage.stack)
    remaining, others = f"{stage.stack}-Table-1ABCDEFGHIJKL", f"{stage.stack}-2-Table-1ABCDEFGHIJKL"
    for name in (remaining, others):
        account.client("dynamodb").create_table(
            TableName=name,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[KEY],
            KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}],
            DeletionProtectionEnabled=True,
        )
    bucket = f"{stage.stack}-widgetbucket-1abcdefghijkl"
    account.client("s3").create_bucket(Bucket=bucket)
    result = make_teardown(stage)
    assert {part.name for part in result.parts if part.choice == "left-over"} == {remaining, bucket}
    tear_down(result, ["left-over"], make_answer(stage.stack), lambda line: None)
    assert (remaining in tables(), others in tables(), names["Table"] in tables()) == (False, True, True)
    assert make_teardown(stage).exists


def test_a_caller_who_may_not_list_tables_sees_the_rest(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(account: Account) -> Iterator[str]:
        raise ClientError({"Error": {"Code": "AccessDeniedException"}}, "ListTables")

    monkeypatch.setattr(teardown, "_list_tables", refuse)
    result = make_teardown(stage)
    assert {"stack", "table", "bucket"} <= set(result.choices)
    assert any("the caller lacks dynamodb:ListTables" in line for line in result.lines([]))


def test_a_log_group_that_was_never_created_is_no_part(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    cancelled = {"LogicalResourceId": "A", "ResourceType": "AWS::Logs::LogGroup", "ResourceStatus": "CREATE_FAILED"}
    deleted = {**cancelled, "PhysicalResourceId": "/a", "ResourceStatus": "DELETE_COMPLETE"}
    monkeypatch.setattr(teardown, "_list_resources", lambda account, stack_id: iter([cancelled, deleted]))
    assert make_teardown(stage).log_groups == ()


def test_every_secret_that_a_parameter_names_can_be_named(aws: str, tmp_path: Path) -> None:
    names = {name: f"t/{name}" for name in SOURCE["Parameters"] if name.endswith("Secret")}
    assert not [
        part for part in make_teardown(Stage("dev", tmp_path, "t-none", names)).parts if part.choice == "secrets"
    ]
    for name in names.values():
        Account(REGION).client("secretsmanager").create_secret(Name=name, SecretString="{}")
    parts = make_teardown(Stage("dev", tmp_path, "t-none", names)).parts
    assert {part.content: part.name for part in parts if part.choice == "secrets"} == names


def test_every_resource_that_the_template_retains_can_be_named() -> None:
    retained: dict[str, Any] = {
        name: item for name, item in SOURCE["Resources"].items() if "Retain" in str(item.get("DeletionPolicy"))
    }
    assert {item["Type"] for item in retained.values()} == set(KEPT)
