"""boto3 clients for engines on this machine: made-up credentials, one region, no waiting on a dead engine."""

import threading
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, overload

import boto3
from botocore.config import Config

from baton_local.account import ACCESS_KEY_ID, REGION, SECRET_ACCESS_KEY

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_s3.client import S3Client
    from mypy_boto3_secretsmanager.client import SecretsManagerClient
    from mypy_boto3_sqs.client import SQSClient


@overload
def client(service: Literal["dynamodb"], endpoint: str, **options: Any) -> "DynamoDBClient": ...
@overload
def client(service: Literal["s3"], endpoint: str, **options: Any) -> "S3Client": ...
@overload
def client(service: Literal["secretsmanager"], endpoint: str, **options: Any) -> "SecretsManagerClient": ...
@overload
def client(service: Literal["sqs"], endpoint: str, **options: Any) -> "SQSClient": ...
@overload
def client(service: Literal["ssm", "stepfunctions"], endpoint: str, **options: Any) -> Any: ...
def client(service: Any, endpoint: str, **options: Any) -> Any:
    """Return a client of ``service`` at the URL ``endpoint``. ``options`` are those of botocore's ``Config``.

    A request that fails is not repeated.
    """
    config = Config(
        **{
            "connect_timeout": 5,
            "read_timeout": 60,
            "retries": {"max_attempts": 0},
            "s3": {"addressing_style": "path"},
            **options,
        }
    )
    with _making:
        return _session().client(service, endpoint_url=endpoint, config=config)


_making = threading.Lock()
"""The lock of the session that makes clients. Clients are thread-safe, the session is not."""


@cache
def _session() -> boto3.session.Session:
    """Return the session of all clients: each session reads the descriptions of services, megabytes of JSON."""
    return boto3.session.Session(ACCESS_KEY_ID, SECRET_ACCESS_KEY, region_name=REGION)
