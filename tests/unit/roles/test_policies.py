"""Permissions of roles, and the record of calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from baton_local.functions import running
from baton_local.roles.guard import Guard, guarded
from baton_local.roles.policies import Policies
from baton_local.roles.recorder import Recorder
from baton_local.roles.requests import Names, Request


def allows(*statements: dict[str, Any]) -> bool:
    """Return whether a role with these statements may make the request ``GET``."""
    return Policies({"Role": [{"Statement": list(statements)}]}).allow("Role", GET)


def statement(action: str | list[str], resource: str | list[str], **more: object) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": action, "Resource": resource, **more}


GET = Request("s3:GetObject", "arn:aws:s3:::b/k/1")


@pytest.mark.parametrize(
    ("action", "resource", "allowed"),
    [
        ("s3:GetObject", "arn:aws:s3:::b/*", True),
        (["s3:PutObject", "S3:get*"], ["arn:aws:s3:::a/*", "arn:aws:s3:::?/k/1"], True),
        ("*", "*", True),
        ("s3:PutObject", "arn:aws:s3:::b/*", False),
        ("s3:GetObject", "arn:aws:s3:::b", False),
        ("s3:GetObject", "ARN:AWS:S3:::B/*", False),
        ("s3:GetObject", "arn:aws:s3:::[b]/*", False),
    ],
)
def test_patterns_are_those_of_iam(action: str | list[str], resource: str | list[str], *, allowed: bool) -> None:
    assert allows(statement(action, resource)) is allowed


def test_what_is_denied_is_denied_even_if_another_statement_allows_it() -> None:
    deny = {**statement("s3:*", "*"), "Effect": "Deny"}
    assert not allows(statement("*", "*"), deny)


def test_conditions_are_left_to_the_simulator() -> None:
    condition = {"Bool": {"aws:SecureTransport": "false"}}
    assert allows(statement("*", "*", Condition=condition))
    assert allows(statement("*", "*"), {**statement("*", "*", Condition=condition), "Effect": "Deny"})


def test_exceptions_are_excepted() -> None:
    assert not allows({"Effect": "Allow", "NotAction": "s3:*", "Resource": "*"})
    assert allows({"Effect": "Allow", "Action": "*", "NotResource": "arn:aws:s3:::other/*"})


def test_a_role_that_is_not_known_allows_nothing() -> None:
    assert not Policies({}).allow("Role", GET)


@pytest.fixture
def guard(tmp_path: Path) -> Guard:
    """A function that may read one bucket."""
    policies = Policies({"Role": [{"Statement": [statement("s3:GetObject", "arn:aws:s3:::b/*")]}]})
    return Guard(policies, {"Function": "Role"}, Names("api/local", "PK"), Recorder(tmp_path, Path("template.yaml")))


def record(folder: Path) -> list[tuple[str, str, str]]:
    lines = [json.loads(line) for file in folder.glob("*.jsonl") for line in file.read_text().splitlines()]
    return [(line["function"], line["action"], line["resource"]) for line in lines]


def test_a_call_is_refused_before_it_leaves(guard: Guard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "local")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "local")
    with guarded(guard), running("Function"):
        s3 = boto3.client("s3", region_name="us-east-1", endpoint_url="http://127.0.0.1:9")
        assert s3.generate_presigned_url("get_object", Params={"Bucket": "b", "Key": "1"})
        with pytest.raises(ClientError, match="Role/Function is not authorized to perform: s3:PutObject on resource"):
            s3.put_object(Bucket="b", Key="2", Body=b"")
        with pytest.raises(ClientError, match="s3:GetObject on resource: arn:aws:s3:::other/3"):
            s3.generate_presigned_url("get_object", Params={"Bucket": "other", "Key": "3"})
        s3.close()
    assert record(tmp_path) == [
        ("Function", "s3:GetObject", "arn:aws:s3:::b/1"),
        ("Function", "s3:PutObject", "arn:aws:s3:::b/2"),
        ("Function", "s3:GetObject", "arn:aws:s3:::other/3"),
    ]


def test_calls_that_differ_in_ids_only_are_written_down_once(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, Path("template.yaml"))
    for number in range(3):
        recorder.note("Function", "Role", Request("s3:GetObject", f"arn:aws:s3:::b/t-{number}/files/f{number}"))
    recorder.note("Function", "Role", Request("s3:GetObject", "arn:aws:s3:::b/t-1/bodies/f1"))
    recorder.note("Other", "Role", Request("s3:GetObject", "arn:aws:s3:::b/t-1/files/f1"))
    assert [resource for _, _, resource in record(tmp_path)] == [
        "arn:aws:s3:::b/t-0/files/f0",
        "arn:aws:s3:::b/t-1/bodies/f1",
        "arn:aws:s3:::b/t-1/files/f1",
    ]
