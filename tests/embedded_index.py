"""The embedded index in a bucket of a local S3."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from baton.adapters.sqlite_index import SqliteIndex
from baton.adapters.sqlite_index.objects import IndexObjects
from baton.adapters.sqlite_index.owner_files import OwnerFiles
from baton_local.resources import create_bucket
from baton_testing.fakes.documents.embedder import DIMENSIONS

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client


def new_bucket(s3: S3Client) -> str:
    """Create a bucket, and return its name."""
    name = f"search-{uuid.uuid4()}"
    create_bucket(s3, name)
    return name


def make_embedded_index(s3: Any, bucket: str, dimensions: int = DIMENSIONS) -> SqliteIndex:
    """Return the index as in a new process, with nothing on its disk."""
    return SqliteIndex(OwnerFiles(IndexObjects(s3, bucket)), dimensions)


def list_stored_files(s3: S3Client, bucket: str) -> dict[str, bytes]:
    """Return the files of the index by key and version, including earlier versions that still exist."""
    results = {}
    for page in s3.get_paginator("list_object_versions").paginate(Bucket=bucket):
        for version in page.get("Versions", []):
            answer = s3.get_object(Bucket=bucket, Key=version["Key"], VersionId=version["VersionId"])
            results[f"{version['Key']} {version['VersionId']}"] = answer["Body"].read()
    return results
