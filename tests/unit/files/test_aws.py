"""Blocking calls in threads, and what becomes of their failures."""

from __future__ import annotations

import contextvars
import threading

import pytest
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    ParamValidationError,
    ReadTimeoutError,
)

from baton.adapters.aws import blocking_calls as aws
from baton.domain.errors import StoreUnavailable

request_id = contextvars.ContextVar("request_id", default="none")


def make_error(code: str, status: int) -> ClientError:
    return ClientError({"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}, "GetItem")  # type: ignore[typeddict-item]


def fail(error: Exception) -> None:
    raise error


async def test_a_call_runs_in_another_thread_with_the_callers_context() -> None:
    def where(name: str) -> tuple[str, str, int]:
        return name, request_id.get(), threading.get_ident()

    request_id.set("r1")
    name, seen, thread = await aws.call(where, name="x")
    assert (name, seen) == ("x", "r1")
    assert thread != threading.get_ident()


@pytest.mark.parametrize(
    "error",
    [
        make_error("ProvisionedThroughputExceededException", 400),
        make_error("ThrottlingException", 400),
        make_error("RequestLimitExceeded", 400),
        make_error("SlowDown", 503),
        make_error("InternalServerError", 500),
        make_error("Whatever", 429),
        make_error("502", 502),
        EndpointConnectionError(endpoint_url="http://127.0.0.1:1"),
        ConnectTimeoutError(endpoint_url="http://127.0.0.1:1"),
        ReadTimeoutError(endpoint_url="http://127.0.0.1:1"),
        NoCredentialsError(),
    ],
)
async def test_throttling_and_outages_are_an_unavailable_store(error: Exception) -> None:
    with pytest.raises(StoreUnavailable) as unavailable:
        await aws.call(fail, error)
    assert unavailable.value.__cause__ is error


@pytest.mark.parametrize("code", ["ConditionalCheckFailedException", "TransactionCanceledException", "NoSuchKey"])
async def test_every_other_answer_goes_to_the_caller(code: str) -> None:
    with pytest.raises(ClientError) as answered:
        await aws.call(fail, make_error(code, 400))
    assert aws.error_code(answered.value) == code


@pytest.mark.parametrize("error", [ParamValidationError(report="bug")])
async def test_a_mistake_of_ours_is_not_an_outage(error: BotoCoreError) -> None:
    with pytest.raises(type(error)):
        await aws.call(fail, error)


def test_a_client_has_limits_and_keeps_them_under_more_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    client = aws.create_client("sqs", config=Config(read_timeout=25))
    config = client.meta.config
    assert (config.connect_timeout, config.read_timeout, config.max_pool_connections) == (1, 25, 64)
    assert config.retries == {"mode": "standard", "total_max_attempts": 3}
