"""Secrets as Secrets Manager gives them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from baton.adapters.aws import blocking_calls as aws
from baton.adapters.aws.secrets import SecretsManager
from baton.domain.errors import InternalError, NotFound, StoreUnavailable
from tests.unit.identity.signing import Monotonic


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    with mock_aws():
        yield boto3.client("secretsmanager")


@pytest.fixture
def time() -> Monotonic:
    return Monotonic()


@pytest.fixture
def secrets(manager: Any, time: Monotonic) -> SecretsManager:
    return SecretsManager(lambda: manager, monotonic=time)


def test_a_secret_is_read_by_name_and_kept(manager: Any, secrets: SecretsManager, time: Monotonic) -> None:
    manager.create_secret(Name="keys", SecretString="first")
    assert secrets.get("keys") == "first"
    manager.put_secret_value(SecretId="keys", SecretString="second")
    assert secrets.get("keys") == "first"
    time.pass_(300)
    assert secrets.get("keys") == "second"


def test_a_rotated_secret_is_seen_when_it_is_asked_for(manager: Any, secrets: SecretsManager, time: Monotonic) -> None:
    manager.create_secret(Name="keys", SecretString="first")
    assert secrets.get("keys") == "first"
    manager.put_secret_value(SecretId="keys", SecretString="second")
    time.pass_(30)
    assert secrets.renew("keys") == "second"


def test_every_secret_is_kept_by_itself(manager: Any, secrets: SecretsManager) -> None:
    manager.create_secret(Name="a", SecretString="1")
    manager.create_secret(Name="b", SecretString="2")
    assert (secrets.get("a"), secrets.get("b")) == ("1", "2")


def test_a_secret_without_a_text_is_not_found(manager: Any, secrets: SecretsManager) -> None:
    manager.create_secret(Name="empty")
    manager.create_secret(Name="binary", SecretBinary=b"1")
    for name in ("unknown", "empty", "binary"):
        with pytest.raises(NotFound):
            secrets.get(name)


@pytest.mark.parametrize(
    ("code", "status", "error"),
    [
        ("ThrottlingException", 400, StoreUnavailable),
        ("InternalServiceError", 500, StoreUnavailable),
        ("AccessDeniedException", 400, InternalError),
        ("DecryptionFailure", 400, InternalError),
    ],
)
def test_what_aws_refuses_has_a_name(code: str, status: int, error: type[Exception]) -> None:
    class Refusing:
        def get_secret_value(self, SecretId: str) -> Any:  # noqa: N803 - boto3's own name
            answer: Any = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
            raise ClientError(answer, "GetSecretValue")

    with pytest.raises(error):
        SecretsManager(lambda: Refusing()).get("keys")  # type: ignore[arg-type,return-value]


def test_the_client_is_built_when_it_is_first_needed(monkeypatch: pytest.MonkeyPatch, manager: Any) -> None:
    built: list[str] = []

    def build(service: str, **settings: Any) -> Any:
        built.append(service)
        return manager

    monkeypatch.setattr(aws, "create_client", build)
    manager.create_secret(Name="keys", SecretString="text")
    secrets = SecretsManager()
    assert built == []
    assert secrets.get("keys") == secrets.get("keys") == "text"
    assert built == ["secretsmanager"]
