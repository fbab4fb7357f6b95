"""Signing requests to Amazon Bedrock."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from botocore.credentials import Credentials, RefreshableCredentials
from botocore.exceptions import CredentialRetrievalError

from baton.adapters.models.bedrock.connection import Signer, make_model_url
from baton.adapters.models.bedrock.failures import NoCredentials

ENDPOINT = "https://bedrock-runtime.eu-west-1.amazonaws.com"
MODELS = (
    "anthropic.claude-haiku-4-5-20251001-v1:0",
    "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/ab12cd34ef56",
)


class Found:
    """A session that finds the same credentials each time, and counts the calls."""

    def __init__(self, *result: Any) -> None:
        self.results = list(result)
        self.calls = 0

    def get_credentials(self) -> Any:
        self.calls += 1
        return self.results[min(self.calls, len(self.results)) - 1]


async def sign(signer: Signer, model: str = MODELS[0], body: bytes = b"{}") -> dict[str, str]:
    url = make_model_url(ENDPOINT, model, "converse-stream")
    return await signer.sign(url, {"Content-Type": "application/json"}, body)


@pytest.mark.parametrize("model", MODELS)
async def test_a_request_is_signed_as_boto3_signs_it(monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    session = boto3.session.Session("AKIDEXAMPLE", "wJalrXUtnFEMI", "a-token", "eu-west-1")
    url, boto3_headers, body = _as_boto3_sends(session, model)
    moment = time.strptime(boto3_headers["X-Amz-Date"], "%Y%m%dT%H%M%SZ")
    monkeypatch.setattr("baton.adapters.aws.signature.time.gmtime", lambda seconds: moment)
    headers = await sign(Signer("eu-west-1", ENDPOINT, lambda: session), model, body)
    assert url == make_model_url(ENDPOINT, model, "converse-stream")
    assert headers["X-Amz-Security-Token"] == "a-token"
    assert parts(headers) == parts(boto3_headers)


def parts(headers: dict[str, str]) -> dict[str, str]:
    return dict(re.findall(r"(\w+)=([^,]+)", headers["Authorization"]))


async def test_credentials_are_found_once() -> None:
    session = Found(Credentials("AKID", "secret"))
    signer = Signer("eu-west-1", ENDPOINT, lambda: session)
    await sign(signer)
    assert "X-Amz-Security-Token" not in await sign(signer)
    assert session.calls == 1


async def test_forgotten_credentials_are_found_again() -> None:
    session = Found(Credentials("OLD", "secret"), Credentials("NEW", "secret"))
    signer = Signer("eu-west-1", ENDPOINT, lambda: session)
    assert "Credential=OLD/" in (await sign(signer))["Authorization"]
    signer.forget()
    assert "Credential=NEW/" in (await sign(signer))["Authorization"]


async def test_credentials_that_end_soon_are_renewed() -> None:
    issued = Issued()
    credentials = issued.credentials()
    issued.lasts = timedelta(hours=1)
    signer = Signer("eu-west-1", ENDPOINT, lambda: Found(credentials))
    assert "Credential=AKID2/" in (await sign(signer))["Authorization"]
    assert "Credential=AKID2/" in (await sign(signer))["Authorization"]


async def test_no_credentials_are_an_error_with_its_reason() -> None:
    with pytest.raises(NoCredentials, match="no AWS credentials"):
        await sign(Signer("eu-west-1", ENDPOINT, lambda: Found(None)))


async def test_credentials_that_cannot_be_found_are_an_error_with_its_reason() -> None:
    class Broken:
        def get_credentials(self) -> Any:
            raise CredentialRetrievalError(provider="sso", error_msg="Token has expired and refresh failed")

    with pytest.raises(NoCredentials, match="Token has expired"):
        await sign(Signer("eu-west-1", ENDPOINT, Broken))


class Issued:
    """Temporary credentials, numbered, that last for a while."""

    def __init__(self) -> None:
        self.lasts = timedelta(minutes=1)
        self._number = 0

    def credentials(self) -> RefreshableCredentials:
        return RefreshableCredentials.create_from_metadata(self._issue(), self._issue, "test", 900, 600)

    def _issue(self) -> dict[str, str]:
        self._number += 1
        expiry = datetime.now(UTC) + self.lasts
        return {"access_key": f"AKID{self._number}", "secret_key": "s", "token": "t", "expiry_time": expiry.isoformat()}


def _as_boto3_sends(session: boto3.session.Session, model: str) -> tuple[str, dict[str, str], bytes]:
    """Return the URL, headers and body of the request that boto3 makes for the same model."""
    client = session.client("bedrock-runtime", endpoint_url=ENDPOINT)
    sent: list[Any] = []

    def capture(request: Any, **_: Any) -> AWSResponse:
        sent.append(request)
        nothing: Any = None
        headers: Any = {}
        return AWSResponse(request.url, 400, headers, nothing)

    client.meta.events.register("before-send.bedrock-runtime.ConverseStream", capture)
    with pytest.raises(Exception):  # noqa: B017, PT011 - the answer is none
        client.converse_stream(modelId=model, messages=[{"role": "user", "content": [{"text": "Hello"}]}])
    [request] = sent
    headers = {
        name: header.decode() if isinstance(header, bytes) else header for name, header in request.headers.items()
    }
    return request.url, headers, request.body
