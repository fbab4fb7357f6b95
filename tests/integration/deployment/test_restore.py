"""The command that restores, against an account that moto serves."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from baton.adapters.dynamodb.table import Table
from baton_deployment.account import Account
from baton_deployment.deployed_stack import read_outputs
from baton_deployment.policies import render_policy
from baton_deployment.search import SearchRequest
from baton_deployment.stages import Stage
from baton_local.roles.requests import Names, find_requests
from tests.command_line import make_project, run_baton
from tests.integration.deployment.conftest import REGION, SOURCE

THREAD = "00000000-0000-4000-8000-000000000001"
STATE_MACHINE = {"StartAt": "Done", "States": {"Done": {"Type": "Succeed"}}}


@dataclass
class DeployedStage:
    """A stage with a table, a bucket with versions and the state machine that forgets."""

    name: str
    project: Path
    account: Account
    table: str
    bucket: str
    machine: str

    def begin_recovery(self) -> str:
        """Begin point-in-time recovery, and return the only time that moto can restore: the table's present."""
        recovery = {"PointInTimeRecoveryEnabled": True}
        self.dynamodb.update_continuous_backups(TableName=self.table, PointInTimeRecoverySpecification=recovery)
        window = self.dynamodb.describe_continuous_backups(TableName=self.table)["ContinuousBackupsDescription"]
        latest: datetime = window["PointInTimeRecoveryDescription"]["LatestRestorableDateTime"]
        # S3 counts in whole seconds: what is deleted in the next one was there at this time.
        while datetime.now(UTC).replace(microsecond=0) <= latest:
            time.sleep(0.05)
        return latest.isoformat()

    def put(self, *items: dict[str, Any]) -> None:
        for item in items:
            values = {name: {"N": str(v)} if isinstance(v, int) else {"S": v} for name, v in item.items()}
            self.dynamodb.put_item(TableName=self.table, Item=values)

    def lose(self, *keys: tuple[str, str]) -> None:
        for partition, sort in keys:
            self.dynamodb.delete_item(TableName=self.table, Key={"PK": {"S": partition}, "SK": {"S": sort}})

    def sort_keys(self, partition: str) -> list[str]:
        pages = self.dynamodb.scan(TableName=self.table, ConsistentRead=True)["Items"]
        return sorted(item["SK"]["S"] for item in pages if item["PK"]["S"] == partition)

    @property
    def dynamodb(self) -> Any:
        return self.account.client("dynamodb")

    def restore(self, *arguments: str) -> str:
        """Restore, and return what is printed."""
        process = run_baton("restore", "dev", "--folder", self.project, *arguments)
        assert process.exit_code == 0, process.output
        return process.stdout

    def refuse(self, *arguments: str) -> str:
        """Return the error of a command that is refused."""
        process = run_baton("restore", "dev", "--folder", self.project, *arguments)
        assert process.exit_code == 1, process.output
        return process.output


@pytest.fixture
def stage(aws: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DeployedStage]:
    account = Account(REGION)
    name = f"r-{uuid.uuid4().hex[:8]}"
    machine = account.client("stepfunctions").create_state_machine(
        name=name, definition=json.dumps(STATE_MACHINE), roleArn="arn:aws:iam::123456789012:role/any"
    )
    table: dict[str, Any] = {
        "Type": "AWS::DynamoDB::Table",
        "Properties": dict(SOURCE["Resources"]["Table"]["Properties"]),
    }
    table["Properties"]["DeletionProtectionEnabled"] = False
    template = {
        "Resources": {"Table": table, "Bucket": {"Type": "AWS::S3::Bucket"}},
        "Outputs": {
            "TableName": {"Value": {"Ref": "Table"}},
            "BucketName": {"Value": {"Ref": "Bucket"}},
            "ForgetUserArn": {"Value": machine["stateMachineArn"]},
        },
    }
    account.client("cloudformation").create_stack(StackName=name, TemplateBody=json.dumps(template, default=str))
    [stack] = account.client("cloudformation").describe_stacks(StackName=name)["Stacks"]
    outputs = {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}
    versioning = {"Status": "Enabled"}
    account.client("s3").put_bucket_versioning(Bucket=outputs["BucketName"], VersioningConfiguration=versioning)
    project = make_project(
        tmp_path, f'version = 0.1\n[dev.deploy.parameters]\nstack_name = "{name}"\nregion = "{REGION}"\n'
    )
    monkeypatch.setattr("baton_deployment.restoring.restored_table.POLL_SECONDS", 0.01)
    yield DeployedStage(name, project, account, outputs["TableName"], outputs["BucketName"], outputs["ForgetUserArn"])
    account.client("cloudformation").delete_stack(StackName=name)


def conversation(tenant: str = "acme", thread_id: str = THREAD) -> list[dict[str, Any]]:
    partition = f"{tenant}#{thread_id}"
    thread: dict[str, Any] = {
        "PK": partition,
        "SK": "THREAD",
        "user_id": "ada",
        "thread_status": "active",
        "agent_id": "assistant",
    }
    thread |= {"active_agent_id": "assistant", "fence": 2, "committed_fence": 2, "next_seq": 9, "last_seq": 8}
    thread |= {"next_ordinal": 1, "episode": 1, "created_at": 1, "last_activity_at": 1, "stored_tokens": 1}
    message = {"PK": partition, "SK": "MSG#000000000000", "body": "hello", "fence": 2}
    owner = {"PK": f"~THREAD#{thread_id}", "SK": "OWNER", "tenant_id": tenant}
    return [thread, message, owner]


def test_an_operator_plans_restores_and_repeats(stage: DeployedStage) -> None:
    stage.put(*conversation())
    s3 = stage.account.client("s3")
    s3.put_object(Bucket=stage.bucket, Key=f"acme/{THREAD}/files/file_1", Body=b"text")
    arguments = ("--at", stage.begin_recovery(), "--tenant", "acme")
    unanswered = stage.refuse(*arguments)
    assert "1 conversations are as they were" in unanswered
    assert "Nobody answers, so nothing was written. --yes answers." in unanswered

    stage.lose(*((item["PK"], item["SK"]) for item in conversation()))
    s3.delete_object(Bucket=stage.bucket, Key=f"acme/{THREAD}/files/file_1")
    planned = stage.restore(*arguments, "--plan")
    assert "1 conversations are missing: they come back whole" in planned
    assert "1 files to bring back" in planned
    assert "secrets" in planned
    assert stage.sort_keys(f"acme#{THREAD}") == []

    done = stage.restore(*arguments, "--yes")
    assert "Verified: 1 conversations with 1 messages." in done
    assert "Search is off" in done
    assert stage.sort_keys(f"acme#{THREAD}") == ["MSG#000000000000", "THREAD"]
    assert s3.get_object(Bucket=stage.bucket, Key=f"acme/{THREAD}/files/file_1")["Body"].read() == b"text"


def test_the_progress_of_an_interrupted_restore_is_kept_until_something_is_written(stage: DeployedStage) -> None:
    progress = stage.project / ".baton" / "restore-dev.json"
    progress.parent.mkdir(exist_ok=True)
    progress.write_text('{"restore": {"live"')
    at = stage.begin_recovery()
    assert "Repeat the command with --from-start" in stage.refuse("--at", at, "--plan")
    assert "Nothing was written" in stage.restore("--at", at, "--plan", "--from-start")
    assert progress.exists()
    stage.restore("--at", at, "--yes", "--from-start")
    assert not progress.exists()


def test_the_indices_of_the_chosen_tenant_are_rebuilt_though_it_has_nothing_in_the_table(
    stage: DeployedStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests: list[SearchRequest] = []

    def administer(client: object, outputs: object, request: SearchRequest) -> dict[str, Any]:
        requests.append(request)
        return {}

    monkeypatch.setattr(
        "baton_deployment.restoring.command.read_outputs",
        lambda account, name: {**read_outputs(account, name), "SearchFunctionName": "search"},
    )
    monkeypatch.setattr("baton_deployment.restoring.command.administer", administer)
    stage.restore("--at", stage.begin_recovery(), "--tenant", "acme", "--yes")
    assert [(request.command, list(request.tenants)) for request in requests] == [
        ("rebuild", ["acme"]),
        ("repair", ["acme"]),
        ("verify", ["acme"]),
    ]


def test_requests_since_then_are_repeated_and_their_subjects_stay_away(stage: DeployedStage) -> None:
    stage.put(*conversation())
    at = stage.begin_recovery()
    stage.restore("--at", at, "--plan")
    stage.lose(*((item["PK"], item["SK"]) for item in conversation()))
    now = round(datetime.now(UTC).timestamp() * 1000)
    request: dict[str, Any] = {
        "PK": "acme#~FORGET",
        "SK": "REQUEST#r1",
        "subject": "user",
        "user_id": "ada",
        "requested_by": "ada",
    }
    request |= {"requested_at": now, "cutoff_at": now, "ended_at": now, "request_status": "completed", "round": 2}
    stage.put(request | {"counts": "{}", "residue": "{}"})
    done = stage.restore("--at", at, "--yes")
    assert "1 conversations were forgotten since" in done
    assert "1 requests to forget since then are repeated" in done
    assert stage.sort_keys(f"acme#{THREAD}") == []
    [repeated] = [sort for sort in stage.sort_keys("acme#~FORGET") if sort.startswith("REQUEST#") and "r1" not in sort]
    executions = stage.account.client("stepfunctions").list_executions(stateMachineArn=stage.machine)["executions"]
    assert [execution["name"] for execution in executions] == [repeated.removeprefix("REQUEST#")]


def test_wrong_usage_says_what_to_do(stage: DeployedStage) -> None:
    for arguments, message in (
        ((), "Name the time to restore"),
        (("--at", "2026-11-26T09:30:00"), "has no time zone: write 2026-11-26T09:30:00Z"),
        (("--at", "yesterday"), "is not a time such as"),
        (("--at", "2020-01-01T00:00:00Z"), "Point-in-time recovery is off"),
        (("--from", "nowhere"), "There is no table nowhere"),
        (("--from", stage.table), "is the live table"),
        (("--from", "nowhere", "--conversation", THREAD), "Name the conversation's tenant too"),
        (("--from", "nowhere", "--tenant", "~project#"), "is not the id of a tenant"),
        (("--from", "nowhere", "--rate", "0"), "above 0"),
        (("--from", "nowhere", "--rate", "nan"), "above 0"),
    ):
        assert message in stage.refuse(*arguments)
    stage.begin_recovery()
    assert "The last five minutes or so are never among them" in stage.refuse("--at", "2020-01-01T00:00:00Z")


@pytest.fixture
def tokyo() -> Iterator[None]:
    """Let this process run in Tokyo, nine hours before UTC."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("tokyo")
def test_times_of_aws_are_shown_in_utc(stage: DeployedStage) -> None:
    at = datetime.fromisoformat(stage.begin_recovery())
    assert at.utcoffset() == timedelta(hours=9)
    visible = f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    assert f" to {visible}." in stage.refuse("--at", "2020-01-01T00:00:00Z")
    name = stage.restore("--at", at.isoformat(), "--plan").partition(" into ")[2].split()[0]
    read = stage.restore("--from", name, "--plan")
    assert f"from {name}, {at.astimezone(UTC):%Y-%m-%d %H:}" in read


RESTORING = [
    *("Query", "Scan", "GetItem", "PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem"),
    "RestoreTableToPointInTime",
]
"""Actions that DynamoDB asks the caller of a restoration for, on both tables."""


def test_the_documented_policy_grants_each_call(stage: DeployedStage, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = f"arn:aws:dynamodb:{REGION}:123456789012:table"
    calls: set[tuple[str, str]] = set()
    names = Names(socket_api="", partition_key="PK")

    def note(service: str, operation: str, params: dict[str, Any]) -> None:
        if operation == "RestoreTableToPointInTime":
            both = params["SourceTableName"], params["TargetTableName"]
            calls.update((f"dynamodb:{action}", f"{tables}/{name}") for action in RESTORING for name in both)
            return
        for request in find_requests(service, operation, params, names):
            is_version = operation == "DeleteObject" and "VersionId" in params
            calls.add(("s3:DeleteObjectVersion" if is_version else request.action, request.resource))
        if "CopySource" in params:
            source = params["CopySource"]
            calls.add(("s3:GetObjectVersion", f"arn:aws:s3:::{source['Bucket']}/{source['Key']}"))

    def make_watched_client(own: Account, service: str, **options: Any) -> Any:
        instance = clients(own, service, **options)
        instance.meta.events.register(
            "before-parameter-build",
            lambda params, model, **_: note(model.service_model.service_name, model.name, params),
        )
        return instance

    async def ask(table: Table, operation: str, **params: Any) -> Any:
        note("dynamodb", operation, params)
        return await direct(table, operation, **params)

    clients, direct = Account.client, Table._ask
    stage.put(*conversation())
    s3 = stage.account.client("s3")
    for name in ("removed", "replaced"):
        s3.put_object(Bucket=stage.bucket, Key=f"acme/{THREAD}/files/{name}", Body=b"text")
    at = stage.begin_recovery()
    stage.lose(*((item["PK"], item["SK"]) for item in conversation()))
    s3.put_object(Bucket=stage.bucket, Key=f"acme/{THREAD}/files/replaced", Body=b"other")
    for name in ("removed", "replaced"):
        s3.delete_object(Bucket=stage.bucket, Key=f"acme/{THREAD}/files/{name}")
    monkeypatch.setattr(Account, "client", make_watched_client)
    monkeypatch.setattr(Table, "_ask", ask)
    stage.restore("--at", at, "--yes")
    assert len({action for action, _ in calls}) > 10

    policy = json.loads(render_policy("restore", Stage("dev", stage.project / "samconfig.toml", stage.name, {})))
    for action, arn in calls:
        if action in {"cloudformation:DescribeStacks", "sts:GetCallerIdentity"}:
            continue  # of the stack by its name, and always allowed
        granting = [
            statement
            for statement in policy["Statement"]
            if action in statement["Action"] and any(fnmatchcase(arn, pattern) for pattern in statement["Resource"])
        ]
        assert granting, (action, arn)
