"""OpenAI-compatible endpoints of Amazon Bedrock, whose requests are signed with the role of the function."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import cast

import httpx2 as httpx
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from baton.adapters.models.openai import OpenAIChatModel
from baton.adapters.models.openai.clients import AwsSigning
from baton.adapters.models.provider_models import ProviderModels
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import ModelChunk, ModelSettings, Prompt, TextDelta
from baton.ports.documents.files import ThreadFiles
from tests.fault_model import chunk
from tests.unit.adapters.models.responses_endpoint import answers, message

KEY = Credentials("AKIDEXAMPLE", "a-secret", "a-token")


class FunctionRole:
    """The role of a function."""

    def get_credentials(self) -> Credentials:
        return KEY


@dataclass
class Endpoint(httpx.AsyncBaseTransport):
    """Bedrock, which refuses a request that its signature is not for."""

    requests: list[httpx.Request] = field(default_factory=list)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if request.headers["authorization"] != await signature(request):
            return httpx.Response(403, json={"error": {"message": "The signature does not match."}})
        over_responses = request.url.path.endswith("/responses")
        events = answers(message("Hello.")) if over_responses else [chunk({"content": "Hello."}), chunk({}, "stop")]
        lines = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=lines.encode())


async def signature(request: httpx.Request) -> str:
    """Return the headers that botocore signs the request with at the same second."""
    parts = dict(part.split("=") for part in request.headers["authorization"].split(" ", 1)[1].split(", "))
    _, _, region, service, _ = parts["Credential"].split("/")
    signed = {name: request.headers[name] for name in parts["SignedHeaders"].split(";") if name != "host"}
    expected_request = AWSRequest(request.method, str(request.url), data=await request.aread(), headers=signed)
    expected_request.context["timestamp"] = request.headers["x-amz-date"]
    signer = SigV4Auth(KEY, service, region)
    signed_text = signer.string_to_sign(expected_request, signer.canonical_request(expected_request))
    return (
        f"AWS4-HMAC-SHA256 Credential={parts['Credential']}, SignedHeaders={parts['SignedHeaders']}, "
        f"Signature={signer.signature(signed_text, expected_request)}"
    )


async def ask(model: OpenAIChatModel, name: str = "openai.gpt-oss-120b-1:0") -> list[ModelChunk]:
    models = ProviderModels({"aws": lambda: model})
    settings = ModelSettings(model=f"aws/{name}")
    stream = models.stream(settings, [Prompt(Role.USER, "Hello")], thread_files=cast("ThreadFiles", None))
    return [item async for item in stream if isinstance(item, TextDelta)]


@pytest.mark.parametrize(
    ("base_url", "region", "question", "credential"),
    [
        (None, "eu-west-1", "https://bedrock-runtime.eu-west-1.amazonaws.com/openai/v1", "eu-west-1/bedrock/"),
        (None, "us-east-1", "https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1", "us-east-1/bedrock/"),
        (
            "https://bedrock-mantle.eu-west-1.api.aws/v1",
            "eu-west-1",
            "https://bedrock-mantle.eu-west-1.api.aws/v1",
            "eu-west-1/bedrock-mantle/",
        ),
        (
            "https://vpce-1.example.com/openai/v1",
            "eu-west-1",
            "https://vpce-1.example.com/openai/v1",
            "eu-west-1/bedrock/",
        ),
    ],
)
async def test_requests_are_signed_for_their_region_and_endpoint(
    base_url: str | None, region: str, question: str, credential: str
) -> None:
    endpoint = Endpoint()
    signing = AwsSigning(FunctionRole(), region)
    model = OpenAIChatModel(api_key="", base_url=base_url, signing=signing, transport=endpoint)
    assert await ask(model) == [TextDelta("Hello.")]
    [request] = endpoint.requests
    assert str(request.url) == f"{question}/chat/completions"
    assert f"/{credential}aws4_request" in request.headers["authorization"]
    assert request.headers["x-amz-security-token"] == "a-token"
    await model.aclose()


@pytest.mark.parametrize("base_url", [None, "https://bedrock-mantle.eu-west-1.api.aws/openai/v1"])
async def test_openais_models_are_asked_over_responses_with_a_signature(base_url: str | None) -> None:
    endpoint = Endpoint()
    model = OpenAIChatModel(
        api_key="", base_url=base_url, signing=AwsSigning(FunctionRole(), "eu-west-1"), transport=endpoint
    )
    pieces = await ask(model, "openai.gpt-6-sol")
    assert "".join(piece.text for piece in pieces if isinstance(piece, TextDelta)) == "Hello."
    [request] = endpoint.requests
    assert request.url.path == "/openai/v1/responses"
    await model.aclose()
