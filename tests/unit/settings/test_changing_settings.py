"""Settings that change while the functions run: from the object in S3 to what a request is answered."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import boto3
import httpx
import pytest
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.response import StreamingBody
from moto import mock_aws

from baton.adapters.aws.s3_settings import SETTINGS_KEY, S3Settings
from baton.adapters.cached_value import RefreshedValue
from baton.api.application import create_app
from baton.api.mcp.access import McpAccess
from baton.composition.app import build
from baton.composition.current_settings import CurrentSettings
from baton.composition.ports import Ports
from baton.domain.errors import InternalError, StoreUnavailable, Unauthorized
from baton.domain.runs.usage import NO_PRICES
from baton.domain.tenants.identity import Scope
from baton.settings.document import MAX_SETTINGS_BYTES, DocumentVariables, SettingsDocument, read_document
from baton.settings.models import ModelVariables
from tests.fakes.ports import FakePorts
from tests.harness.harness import Harness
from tests.unit.identity.issuer import LocalIssuer, serving
from tests.unit.identity.signing import Monotonic, jwk, rsa_key, token

BUCKET = "baton-bucket"
KEYS = {name: rsa_key(name) for name in ("acme", "globex")}
GROQ = {"groq": {"baseUrl": "http://127.0.0.1:9/v1", "keySecret": "baton/local/models/groq"}}


class Deployment:
    """The settings of functions that run, in a bucket, and the time."""

    def __init__(self, s3: Any) -> None:
        self.s3 = s3
        self.time = Monotonic()
        self.waiting: list[Callable[[], None]] = []
        self.stored = S3Settings(lambda: s3, BUCKET, read_document, SettingsDocument(), max_bytes=MAX_SETTINGS_BYTES)
        self.cached = RefreshedValue(self.stored.read, monotonic=self.time, start=self.waiting.append)
        self.current = CurrentSettings(self.cached.get, is_local=True)

    def put(self, **fields: Any) -> None:
        self.write(json.dumps({"version": 1, **fields}).encode())

    def write(self, text: bytes) -> None:
        self.s3.put_object(Bucket=BUCKET, Key=SETTINGS_KEY, Body=text)

    def pass_five_minutes(self) -> None:
        """Let the copies expire, and the first request after that begin the read that runs behind it."""
        self.time.pass_(300)
        self.cached.get()
        while self.waiting:
            self.waiting.pop()()


@pytest.fixture
def deployment(monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployment]:
    for family in (DocumentVariables, ModelVariables):
        for field in family.model_fields.values():
            monkeypatch.delenv(str(field.validation_alias), raising=False)
    monkeypatch.delenv("BATON_EMBED_KEYS_SECRET", raising=False)
    monkeypatch.setenv("BATON_STAGE", "local")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    with mock_aws():
        s3 = boto3.client("s3", config=Config(retries={"total_max_attempts": 1}))
        s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
        s3.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
        yield Deployment(s3)


@pytest.fixture(scope="module")
def issuers() -> Iterator[dict[str, LocalIssuer]]:
    with serving() as acme, serving() as globex:
        servers = {"acme": acme, "globex": globex}
        for name, server in servers.items():
            server.publish(jwk(KEYS[name], name))
        yield servers


def test_a_new_issuer_is_trusted_and_a_removed_one_is_not_without_a_deployment(
    deployment: Deployment, issuers: dict[str, LocalIssuer]
) -> None:
    entries = {
        name: {"issuer": server.url, "audience": "baton", "jwksUrl": server.jwks_url, "tenant": name}
        for name, server in issuers.items()
    }
    tokens = {name: token(KEYS[name], "RS256", name, iss=server.url, aud="baton") for name, server in issuers.items()}
    verifier = Ports(settings=deployment.current).verifier
    deployment.put(tokenIssuers=[entries["acme"]])
    assert verifier.verify(tokens["acme"]).scope.tenant_id == "acme"
    with pytest.raises(Unauthorized):
        verifier.verify(tokens["globex"])

    deployment.put(tokenIssuers=[entries["acme"], entries["globex"]])
    with pytest.raises(Unauthorized):
        verifier.verify(tokens["globex"])  # the copy is still of use
    deployment.pass_five_minutes()
    assert verifier.verify(tokens["globex"]).scope.tenant_id == "globex"
    assert verifier.verify(tokens["acme"]).scope.tenant_id == "acme"
    assert issuers["acme"].count_requests() == 1  # keys of an issuer that has not changed stay cached

    deployment.put(tokenIssuers=[entries["globex"]])
    deployment.pass_five_minutes()
    with pytest.raises(Unauthorized):
        verifier.verify(tokens["acme"])
    assert verifier.verify(tokens["globex"]).scope.tenant_id == "globex"


def test_issuers_that_are_not_listed_are_trusted_and_not_published(deployment: Deployment) -> None:
    shared = {"issuer": "https://login.example.com/", "audience": "baton"}
    customers = {"issuer": "https://login.acme.example/", "audience": "baton", "tenant": "acme", "listed": False}
    deployment.put(tokenIssuers=[shared, customers])
    assert len(deployment.current.issuers) == 2
    assert deployment.current.listed_issuers == ("https://login.example.com/",)


async def test_everything_else_changes_too(deployment: Deployment) -> None:
    ports = Ports(settings=deployment.current)
    harness = Harness()
    app = create_app(
        lambda: harness.app,
        origins=deployment.current.list_known_origins,
        mcp=McpAccess(deployment.current.list_known_origins),
    )
    preflight = {"Origin": "https://app.example.com", "Access-Control-Request-Method": "POST"}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://baton.test") as client:
        assert (await client.options("/v1/runs", headers=preflight)).headers["access-control-allow-origin"] == "*"
        assert (ports.prices, ports.deployment_limits.thread_tokens) == (NO_PRICES, None)
        assert ports.webhooks.find_refusal("https://hooks.example.com/") is not None
        assert ports.source_rules.egress.hosts == ()

        deployment.put(
            allowedOrigins=["https://other.example.com"],
            allowedHosts=["api.example.com"],
            pushHosts=["hooks.example.com"],
            modelPrices={"m": {"input": 1, "output": 2}},
            tenantLimits={"threadTokens": 10},
        )
        deployment.pass_five_minutes()
        assert (await client.options("/v1/runs", headers=preflight)).status_code == 400
        preflight["Origin"] = "https://other.example.com"
        allowed = await client.options("/v1/runs", headers=preflight)
        assert allowed.headers["access-control-allow-origin"] == "https://other.example.com"
        assert ports.prices.of("m") is not None
        assert ports.deployment_limits.thread_tokens == 10
        assert ports.webhooks.find_refusal("https://hooks.example.com/") is None
        assert ports.source_rules.egress.hosts == ("api.example.com",)


async def test_a_use_case_that_exists_sees_new_limits(deployment: Deployment) -> None:
    class Deployed(FakePorts):
        @property
        def deployment_limits(self) -> Any:
            return deployment.current.limits

    limits, scope = build(Deployed()).limits.current, Scope("acme", "ada")
    assert (await limits.of(scope)).documents_per_agent is None
    deployment.put(tenantLimits={"documentsPerAgent": 7})
    deployment.pass_five_minutes()
    assert (await limits.of(scope)).documents_per_agent == 7


def test_providers_of_models_change_and_unusable_ones_leave_those_before(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BATON_CHAT_MODEL", "gpt")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "tokenizer")
    ports = Ports(settings=deployment.current)
    assert "groq" not in ports.model_providers
    before = ports.model_settings
    deployment.put(modelPrices={"m": {"input": 1, "output": 2}})
    deployment.pass_five_minutes()
    assert ports.model_settings is before  # clients and their connections stay

    deployment.put(modelProviders=GROQ, modelProfiles={"long*": {"contextTokens": 9_000}})
    deployment.pass_five_minutes()
    assert {"groq", "default", "bedrock"} == set(ports.model_providers)
    assert ports.find_context_limit("groq/long-1") == 9_000

    deployment.put(modelProfiles={"long*": {"contextTokenz": 9_000}})
    deployment.pass_five_minutes()
    assert "groq" in ports.model_providers
    assert ports.find_context_limit("groq/long-1") == 9_000


@pytest.mark.parametrize(
    "broken", [b"no JSON", b'{"version": 1, "tokenIssuer": []}', b'{"version": 2}', b" " * (MAX_SETTINGS_BYTES + 1)]
)
def test_an_unusable_document_leaves_the_last_good_one(deployment: Deployment, broken: bytes) -> None:
    deployment.put(allowedHosts=["api.example.com"])
    assert deployment.current.document.allowed_hosts == ("api.example.com",)
    deployment.write(broken)
    deployment.pass_five_minutes()
    assert deployment.current.document.allowed_hosts == ("api.example.com",)
    deployment.s3.delete_object(Bucket=BUCKET, Key=SETTINGS_KEY)  # by mistake: `make settings` deletes nothing
    deployment.time.pass_(30)
    deployment.pass_five_minutes()
    assert deployment.current.document.allowed_hosts == ("api.example.com",)


def test_a_process_that_starts_with_an_unusable_document_says_so_to_operators_only(
    deployment: Deployment, caplog: pytest.LogCaptureFixture
) -> None:
    deployment.put(tokenIssuers=[{"issuer": "https://login.example.com/"}])
    with pytest.raises(InternalError) as raised:
        _ = deployment.current.issuers
    assert BUCKET not in raised.value.detail
    assert "tokenIssuers.0.audience: is missing" in caplog.text
    assert deployment.current.list_known_origins() == ()
    deployment.current.prepare()


def test_an_outage_is_one_of_the_store(deployment: Deployment) -> None:
    deployment.s3.meta.events.register("before-send.s3.GetObject", _answer_unavailable)
    with pytest.raises(StoreUnavailable):
        _ = deployment.current.issuers


def test_without_a_document_the_defaults_hold_until_the_first_is_put(deployment: Deployment) -> None:
    assert deployment.current.document == SettingsDocument()
    deployment.put(pushHosts=["hooks.example.com"])
    deployment.pass_five_minutes()
    assert deployment.current.document.push_hosts == ("hooks.example.com",)


def test_a_document_that_has_not_changed_is_not_sent_again(deployment: Deployment) -> None:
    deployment.put(allowedHosts=["api.example.com"])
    first = deployment.current.document
    sent: list[int] = []
    deployment.s3.meta.events.register(
        "response-received.s3.GetObject", lambda response_dict, **_: sent.append(response_dict["status_code"])
    )
    deployment.pass_five_minutes()
    assert deployment.current.document is first
    assert sent == [304]


async def test_requests_over_http_read_no_settings_on_the_event_loop(deployment: Deployment) -> None:
    deployment.put(allowedOrigins=["https://app.example.com"])
    readers: list[threading.Thread] = []

    def read() -> SettingsDocument:
        readers.append(threading.current_thread())
        return deployment.stored.read()

    def pass_idle_time() -> None:
        deployment.time.pass_(600)

    cached = RefreshedValue(read, monotonic=deployment.time)
    harness = Harness()
    harness.settings = CurrentSettings(cached.get, is_local=True, must_read=cached.must_read)
    app = create_app(lambda: harness.app, origins=harness.settings.list_known_origins)
    page = {"Origin": "https://app.example.com"}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://baton.test") as client:
        assert (await client.get("/health")).status_code == 200
        assert not readers
        answer = await client.get("/health", headers=page)
        assert answer.headers["access-control-allow-origin"] == page["Origin"]
        pass_idle_time()
        await client.get("/v1/threads", headers={"Authorization": "Bearer ada"})
    assert len(readers) == 2
    assert threading.current_thread() not in readers


def test_what_needs_no_settings_reads_none(deployment: Deployment) -> None:
    def read() -> SettingsDocument:
        raise AssertionError("the document was read")

    ports = Ports(settings=CurrentSettings(read, is_local=True))
    with pytest.raises(Unauthorized):
        ports.verifier.verify("nonsense")


def _answer_unavailable(**_: Any) -> Any:
    return AWSResponse("https://s3", 503, {}, _Empty())


class _Empty:
    def stream(self, *_: Any) -> Iterator[bytes]:
        return iter(())


def test_the_connection_of_a_document_that_is_too_long_is_closed() -> None:
    raw = io.BytesIO(b"x" * 100)
    client: Any = SimpleNamespace(get_object=lambda **_: {"Body": StreamingBody(raw, 100), "ETag": "1"})
    stored = S3Settings(lambda: client, BUCKET, read_document, SettingsDocument(), max_bytes=10)
    with pytest.raises(InternalError, match="cannot be used"):
        stored.read()
    assert raw.closed
