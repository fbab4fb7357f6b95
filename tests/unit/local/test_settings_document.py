"""The settings document of the local cloud."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from baton.adapters.aws.s3_settings import SETTINGS_KEY
from baton.settings.document import read_document
from baton_local.errors import LocalCloudError
from baton_local.project.settings_document import put_document


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        client = boto3.client("s3")
        client.create_bucket(Bucket="local")
        yield client


def test_a_developers_file_is_the_document_that_functions_read(s3: Any, tmp_path: Path) -> None:
    file = tmp_path / "settings.local.yaml"
    put_document(s3, "local", file)
    assert "Contents" not in s3.list_objects_v2(Bucket="local")
    file.write_text("version: 1 # of the form\nallowedHosts: [api.example.com]\n")
    put_document(s3, "local", file)
    document = read_document(s3.get_object(Bucket="local", Key=SETTINGS_KEY)["Body"].read())
    assert document.allowed_hosts == ("api.example.com",)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("allowedHosts: [https://api.example.com]", r"settings\.local\.yaml:2: allowedHosts\.0: "),
        ('modelProfiles: {"gpt*": {maxTool: 3}}', "there is no such fact"),
    ],
)
def test_a_wrong_line_stops_the_start(s3: Any, tmp_path: Path, line: str, problem: str) -> None:
    file = tmp_path / "settings.local.yaml"
    file.write_text(f"version: 1\n{line}\n")
    with pytest.raises(LocalCloudError, match=problem):
        put_document(s3, "local", file)


def test_keys_of_issuers_may_come_over_http_here(s3: Any, tmp_path: Path) -> None:
    file = tmp_path / "settings.local.yaml"
    file.write_text("version: 1\ntokenIssuers: [{issuer: 'http://127.0.0.1:9/', audience: baton}]\n")
    put_document(s3, "local", file)
    assert s3.list_objects_v2(Bucket="local")["KeyCount"] == 1
