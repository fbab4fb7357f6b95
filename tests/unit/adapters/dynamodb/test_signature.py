"""Requests are signed as botocore signs them."""

from __future__ import annotations

from datetime import UTC, datetime
from unittest import mock

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st

from baton.adapters.aws.signature import AwsSignature

REGION = "eu-central-1"
ENDPOINTS = ["https://dynamodb.eu-central-1.amazonaws.com", "http://127.0.0.1:8000", "http://[::1]:8000"]
paths = st.sampled_from(["/", "/prod/@connections/L0SM9cOFvHcCIhw%3D", "/a~b/c-d_e.f"])
values = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=20)
headers = st.dictionaries(st.sampled_from(["X-Amz-Target", "Content-Type", "X-Amzn-Trace-Id"]), values)
moments = st.integers(1_600_000_000, 4_000_000_000).map(lambda seconds: datetime.fromtimestamp(seconds, UTC))


@pytest.mark.parametrize("endpoint", ENDPOINTS)
@given(headers=headers, path=paths, body=st.binary(min_size=1), moment=moments, token=st.none() | st.just("session"))
def test_a_request_is_signed_as_by_botocore(
    endpoint: str, headers: dict[str, str], path: str, body: bytes, moment: datetime, token: str | None
) -> None:
    credentials = Credentials("AKID", "secret", token)
    request = AWSRequest("POST", f"{endpoint}{path}", headers=headers, data=body)
    with mock.patch("botocore.auth.get_current_datetime", return_value=moment.replace(tzinfo=None)):
        SigV4Auth(credentials, "dynamodb", REGION).add_auth(request)
    signed = AwsSignature(REGION, "dynamodb", endpoint).sign(
        "POST", path, headers, body, credentials.get_frozen_credentials(), now=moment.timestamp()
    )
    assert signed["Authorization"] == request.headers["Authorization"]
    assert signed["X-Amz-Date"] == request.headers["X-Amz-Date"]
    assert signed.get("X-Amz-Security-Token") == token


def test_another_day_and_another_secret_have_another_key() -> None:
    stored = AwsSignature(REGION, "dynamodb", ENDPOINTS[0])
    for secret, now in (("one", 0.0), ("one", 90_000.0), ("two", 90_000.0), ("one", 0.0)):
        credentials = Credentials("AKID", secret).get_frozen_credentials()
        alone = AwsSignature(REGION, "dynamodb", ENDPOINTS[0]).sign("POST", "/", {}, b"{}", credentials, now=now)
        assert stored.sign("POST", "/", {}, b"{}", credentials, now=now) == alone
