"""Region, credentials and guardrail of a deployment's requests to models on Amazon Bedrock."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from botocore.session import Session

from baton.adapters.aws.session import replace_session
from baton.adapters.models.bedrock.embedder import BedrockEmbedder
from baton.adapters.models.bedrock.failures import NoCredentials
from baton.adapters.models.bedrock.request import BedrockGuardrail
from baton.composition.models.bedrock import find_guardrail, find_region, make_connection, select_credential_source
from baton.composition.ports import Ports
from baton.domain.agents.model_providers import Provider, ProviderKind

BEDROCK = Provider(kind=ProviderKind.BEDROCK)
ELSEWHERE = Provider(kind=ProviderKind.BEDROCK, region="us-west-2")
ARN = "arn:aws:bedrock:eu-west-1:123456789012:guardrail/gr1abc"


@pytest.fixture(autouse=True)
def _in_a_function(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, value in {
        "AWS_DEFAULT_REGION": "eu-west-1",
        "AWS_ACCESS_KEY_ID": "AKIDFUNCTION",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "BATON_STAGE": "dev",
        "BATON_CHAT_MODEL": "bedrock/eu.amazon.nova-pro-v1:0",
        "TIKTOKEN_CACHE_DIR": "tokenizer",
    }.items():
        monkeypatch.setenv(name, value)
    former = replace_session(None)
    yield
    replace_session(former)


def test_the_functions_region_is_asked_with_its_credentials() -> None:
    assert make_connection(BEDROCK).endpoint == "https://bedrock-runtime.eu-west-1.amazonaws.com"
    assert select_credential_source().get_credentials().access_key == "AKIDFUNCTION"


def test_a_provider_may_be_in_another_region(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_region(ELSEWHERE) == "us-west-2"
    monkeypatch.setenv("BATON_BEDROCK_REGION", "eu-central-1")
    assert (find_region(BEDROCK), find_region(ELSEWHERE)) == ("eu-central-1", "us-west-2")


def test_without_any_region_the_setting_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    with pytest.raises(ValueError, match="BATON_BEDROCK_REGION: is missing"):
        find_region(BEDROCK)


def test_an_endpoint_takes_the_place_of_the_regions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATON_BEDROCK_ENDPOINT", "http://127.0.0.1:9000")
    assert make_connection(BEDROCK).endpoint == "http://127.0.0.1:9000"
    own = BEDROCK.model_copy(update={"base_url": "https://vpce-1.bedrock-runtime.eu-west-1.vpce.amazonaws.com"})
    assert make_connection(own).endpoint.startswith("https://vpce-1")


def test_the_local_cloud_asks_with_the_developers_profile(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    config, credentials = tmp_path / "config", tmp_path / "credentials"
    config.write_text("[profile work]\nregion = ap-southeast-2\n")
    credentials.write_text("[work]\naws_access_key_id = AKIDDEVELOPER\naws_secret_access_key = secret\n")
    monkeypatch.setenv("BATON_STAGE", "local")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    monkeypatch.setenv("BATON_BEDROCK_PROFILE", "work")
    monkeypatch.setenv("BATON_BEDROCK_CONFIG_FILE", str(config))
    monkeypatch.setenv("BATON_BEDROCK_CREDENTIALS_FILE", str(credentials))
    session = select_credential_source()
    assert session.get_credentials().access_key == "AKIDDEVELOPER"
    assert make_connection(BEDROCK).endpoint == "https://bedrock-runtime.ap-southeast-2.amazonaws.com"
    assert isinstance(session, Session)
    assert session.create_client("sts").meta.endpoint_url.endswith("amazonaws.com")


def test_the_local_cloud_without_a_profile_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATON_STAGE", "local")
    with pytest.raises(NoCredentials, match="BATON_BEDROCK_PROFILE"):
        select_credential_source().get_credentials()
    assert find_region(BEDROCK) == "eu-west-1"
    monkeypatch.setenv("BATON_BEDROCK_ENDPOINT", "http://127.0.0.1:9000")
    assert select_credential_source().get_credentials().access_key == "AKIDFUNCTION", (
        "of a stand-in, which are invented"
    )


def test_a_guardrail_has_its_id_and_version(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_guardrail(BEDROCK) is None
    monkeypatch.setenv("BATON_BEDROCK_GUARDRAIL", "gr1abc:3")
    assert find_guardrail(BEDROCK) == BedrockGuardrail("gr1abc", "3")
    monkeypatch.setenv("BATON_BEDROCK_GUARDRAIL", f"{ARN}:DRAFT")
    assert find_guardrail(BEDROCK) == BedrockGuardrail(ARN, "DRAFT")


def test_no_provider_in_another_region_escapes_the_guardrail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATON_BEDROCK_GUARDRAIL", "gr1abc:3")
    with pytest.raises(ValueError, match="us-west-2 has no `guardrail`"):
        find_guardrail(ELSEWHERE)
    assert find_guardrail(ELSEWHERE.model_copy(update={"guardrail": "gr2:1"})) == BedrockGuardrail("gr2", "1")
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    assert find_guardrail(ELSEWHERE.model_copy(update={"guardrail": "gr2:1"})) == BedrockGuardrail("gr2", "1")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    in_the_functions_region = Provider(kind=ProviderKind.BEDROCK, region="eu-west-1")
    assert find_guardrail(in_the_functions_region) == BedrockGuardrail("gr1abc", "3")
    monkeypatch.setenv("BATON_BEDROCK_REGION", "us-west-2")
    assert find_guardrail(ELSEWHERE) == BedrockGuardrail("gr1abc", "3")


def test_embeddings_come_from_the_provider_that_the_models_name_begins_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATON_EMBEDDING_MODEL", "bedrock/amazon.titan-embed-text-v2:0")
    monkeypatch.setenv("BATON_EMBEDDING_DIMENSIONS", "1024")
    deferred = Ports().deferred_embedder
    assert deferred is not None
    embedder = deferred.load()
    assert isinstance(embedder, BedrockEmbedder)
    assert embedder.name == deferred.name == "bedrock/amazon.titan-embed-text-v2:0"


def test_the_family_of_a_profile_may_be_named_for_embeddings_too(monkeypatch: pytest.MonkeyPatch) -> None:
    arn = "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/ab12"
    monkeypatch.setenv("BATON_EMBEDDING_MODEL", f"bedrock/{arn}")
    monkeypatch.setenv("BATON_MODEL_PROFILES", '{"ab12": {"family": "amazon.titan-embed-text-v2:0"}}')
    deferred = Ports().deferred_embedder
    assert deferred is not None
    assert isinstance(deferred.load(), BedrockEmbedder)
