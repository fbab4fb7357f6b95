"""The settings document: what it may hold, and what is said about one that it may not."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from baton.domain.runs.usage import Price
from baton.domain.tenants.inbound_hook import InboundHook
from baton.domain.tenants.tenant_limits import OperatorLimits
from baton.domain.tenants.webhook import Webhook
from baton.settings.document import (
    MAX_ISSUERS,
    MAX_PROBLEMS,
    MAX_SETTINGS_BYTES,
    DocumentVariables,
    InvalidDocument,
    SettingsDocument,
    apply_variables,
    check_deployed,
    check_document,
    read_document,
)
from baton.settings.models import ModelVariables

ISSUER = {"issuer": "https://login.example.com/", "audience": "baton"}
GROQ = {"baseUrl": "https://api.groq.com/openai/v1", "keySecret": "baton/prod/models/groq"}
ARN = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:baton/prod/webhooks/crm-AbCdEf"
HOOK: dict[str, Any] = {
    "id": "crm",
    "url": "https://crm.example.com/baton",
    "events": ["message.created", "desk.waiting"],
    "secretArn": ARN,
    "tenants": ["acme"],
}
INBOUND = {
    "id": "shop",
    "tenant": "acme",
    "type": "order.shipped",
    "secret": "baton/dev/hooks/shop",
    "user": "/user",
    "thread": "/order",
}
LOCAL_HOOK = {
    "id": "mine",
    "url": "http://localhost:9000/",
    "events": ["run.failed"],
    "secret": "whsec_MfKQ9r8GKYqrTw==",
}
FULL: dict[str, Any] = {
    "version": 1,
    "tokenIssuers": [ISSUER],
    "modelPrices": {"gpt-6-sol": {"input": 2, "output": 8}},
    "tenantLimits": {"agents": 20},
    "allowedOrigins": ["https://app.example.com", "http://[::1]:3000"],
    "allowedHosts": ["api.example.com", "*.example.org", "*"],
    "pushHosts": ["hooks.example.com"],
    "webhooks": [HOOK],
    "modelProviders": {"groq": GROQ},
    "modelProfiles": {"llama*": {"maxTools": 20}},
}


def issuers(number: int) -> list[dict[str, str]]:
    """Return ``number`` issuers, each about as long as one of Microsoft Entra."""
    tenant = "/00000000-0000-0000-0000-{:012d}/v2.0"
    return [
        {"issuer": f"https://login.microsoftonline.com{tenant.format(index)}", "audience": f"api://{index:036d}"}
        for index in range(number)
    ]


@pytest.fixture(autouse=True)
def without_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for family in (DocumentVariables, ModelVariables):
        for field in family.model_fields.values():
            monkeypatch.delenv(str(field.validation_alias), raising=False)


def test_a_whole_document_is_read() -> None:
    document = read_document(json.dumps(FULL).encode())
    assert [issuer.issuer for issuer in document.token_issuers] == ["https://login.example.com/"]
    assert document.prices.models == {"gpt-6-sol": Price(input=2, output=8)}
    assert document.tenant_limits == OperatorLimits(agents=20)
    assert document.allowed_origins == ("https://app.example.com", "http://[::1]:3000")
    assert document.allowed_hosts == ("api.example.com", "*.example.org", "*")
    assert document.push_hosts == ("hooks.example.com",)
    assert document.model_providers["groq"].base_url == GROQ["baseUrl"]
    assert document.model_profiles == {"llama*": {"maxTools": 20}}


def test_without_a_document_nobody_is_trusted_and_nothing_is_called() -> None:
    document = SettingsDocument()
    assert document == read_document('{"version": 1}')
    assert (document.token_issuers, document.allowed_hosts, document.push_hosts) == ((), (), ())


def test_hundreds_of_issuers_fit() -> None:
    document = read_document(json.dumps({"version": 1, "tokenIssuers": issuers(MAX_ISSUERS)}))
    assert len(document.token_issuers) == MAX_ISSUERS


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"tokenIssuer": []}, r"^tokenIssuer: is an unknown field: is tokenIssuers meant\?"),
        ({"tokenIssuers": {}}, r"^tokenIssuers: must be a list$"),
        ({"tokenIssuers": [ISSUER, {"issuer": "https://b.example"}]}, r"^tokenIssuers\.1\.audience: is missing"),
        (
            {"tokenIssuers": [ISSUER | {"tennant": "acme"}]},
            r"^tokenIssuers\.0\.tennant: is an unknown field: is tenant meant\?",
        ),
        ({"tokenIssuers": [ISSUER | {"algorithms": ["HS256"]}]}, r"^tokenIssuers\.0\.algorithms\.0: "),
        ({"tokenIssuers": [ISSUER, ISSUER]}, r"^tokenIssuers: .*'https://login\.example\.com/' occurs 2 times"),
        ({"tokenIssuers": issuers(10_000)}, r"^tokenIssuers: .*at most 2000 items"),
        ({"modelPrices": {"gpt": {"input": "cheap", "output": 1}}}, r"^modelPrices\.gpt\.input: "),
        ({"tenantLimits": {"agents": "20"}}, r"^tenantLimits\.agents: "),
        ({"tenantLimits": {"agentz": 20}}, r"^tenantLimits\.agentz: is an unknown field: is agents meant\?"),
        (
            {"allowedOrigins": ["https://app.example.com/"]},
            r"^allowedOrigins\.0: is not an origin: write scheme and host",
        ),
        ({"allowedOrigins": "*"}, r"^allowedOrigins: "),
        ({"allowedHosts": ["https://api.example.com"]}, r"^allowedHosts\.0: is not a host name: write api"),
        ({"allowedHosts": ["a.example\n"]}, r"^allowedHosts\.0: "),
        ({"pushHosts": [7]}, r"^pushHosts\.0: "),
        ({"modelProviders": {"groq": {"keySecret": "baton/prod/models/groq"}}}, r"^modelProviders: .*groq\.baseUrl"),
        ({"modelProviders": {"groq": {"baseUrl": GROQ["baseUrl"], "key": "gsk-1"}}}, r"^modelProviders: .*groq\.key"),
        ({"modelProfiles": {"gpt": 20}}, r"^modelProfiles\.gpt: must be a mapping of names"),
        ({"modelPrices": {"gpt": 20}}, r"^modelPrices\.gpt: must be a mapping of fields"),
        ({"modelProviders": {"groq": GROQ | {"url": 1}}}, r"^modelProviders\.groq\.url: is an unknown field"),
        ({"webhooks": [HOOK | {"evnts": []}]}, r"^webhooks\.0\.evnts: is an unknown field: is events meant\?"),
        (
            {"webhooks": [HOOK | {"events": ["message.create"]}]},
            r"^webhooks\.0\.events\.0: .*'message\.create' is not an event of webhooks: is message\.created meant\?",
        ),
        ({"webhooks": [HOOK | {"events": ["x"]}]}, r"^webhooks\.0\.events\.0: .*Available: approval\.requested, "),
        ({"webhooks": [HOOK | {"events": []}]}, r"^webhooks\.0\.events: "),
        ({"webhooks": [HOOK | {"tenants": []}]}, r"^webhooks\.0\.tenants: "),
        ({"webhooks": [HOOK | {"id": "a b"}]}, r"^webhooks\.0\.id: "),
        ({"webhooks": [HOOK, HOOK]}, r"^webhooks: .*'crm' occurs 2 times"),
        ({"webhooks": [HOOK | {"url": "crm"}]}, r"^webhooks\.0\.url: .*must be an absolute http"),
        ({"webhooks": [HOOK | {"url": "https://u:p@crm.example.com/"}]}, r"^webhooks\.0\.url: .*user name or password"),
        ({"webhooks": [HOOK], "allowedHosts": ["api.example.com"]}, r"^webhooks\.0\.url: .* is not among the hosts"),
        ({"webhooks": [HOOK | {"url": "http://crm.example.com/"}]}, r"^webhooks\.0\.url: .*must be called over https"),
        ({"webhooks": [HOOK | {"url": "https://10.0.0.1/"}]}, r"^webhooks\.0\.url: .* is not a public address"),
        ({"webhooks": [HOOK | {"url": "https://169.254.169.254/"}]}, r"^webhooks\.0\.url: .* is not a public address"),
        ({"webhooks": [HOOK | {"secretArn": None}]}, r"^webhooks\.0: .*give secretArn"),
        ({"webhooks": [HOOK | {"secret": "whsec_MfKQ9r8GKYqrTw=="}]}, r"^webhooks\.0: .*give secretArn"),
        ({"webhooks": [HOOK | {"secretArn": "crm"}]}, r"^webhooks\.0\.secretArn: "),
        ({"webhooks": [LOCAL_HOOK | {"secret": "gsk-1"}]}, r"^webhooks\.0: .*a secret of a webhook is whsec_"),
        ({"webhooks": [LOCAL_HOOK | {"secret": "whsec_é"}]}, r"^webhooks\.0: .*a secret of a webhook is whsec_"),
        ({"colour": 1}, r"^colour: is an unknown field\. Available: allowedHosts, "),
        ({"version": 2}, r"^version: Input should be 1"),
    ],
)
def test_what_is_wrong_is_named_by_its_path(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidDocument, match=complaint) as raised:
        check_document(FULL | change)
    assert "gsk-1" not in str(raised.value)
    assert "Value error" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (b"", "is not JSON"),
        (b"tokenIssuers: []", "is not JSON"),
        (b"\xff\xfe{}", "is not UTF-8"),
        (b"[]", "must be a JSON object"),
        (b'{"version": 1, "version": 1}', "'version' occurs twice"),
        (b'{"version": NaN}', "NaN is no JSON"),
        (b'{"version": ' + b"9" * 5_000 + b"}", "."),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b'{"version": 1}' + b" " * MAX_SETTINGS_BYTES, "is longer than"),
        (b"{}", "version: is missing"),
    ],
)
def test_a_text_that_is_no_document_is_refused(text: bytes, complaint: str) -> None:
    with pytest.raises(InvalidDocument, match=complaint):
        read_document(text)


def test_the_size_of_a_document_is_counted_in_bytes() -> None:
    with pytest.raises(InvalidDocument, match="is longer than"):
        read_document(json.dumps({"é" * (MAX_SETTINGS_BYTES // 2): 1}, ensure_ascii=False))


def test_a_receiver_on_this_machine_is_for_the_local_cloud() -> None:
    """Such a receiver needs neither https nor an allowed host in the local cloud, and cannot be deployed."""
    document = check_document({"version": 1, "webhooks": [LOCAL_HOOK]})
    assert document.webhooks == (Webhook.model_validate(LOCAL_HOOK),)
    with pytest.raises(
        InvalidDocument, match=r"webhooks\.0\.secret: is for the local cloud.*webhooks\.0\.url: "
    ) as raised:
        check_deployed(document)
    assert "MfKQ9r8GKYqrTw" not in str(raised.value)
    check_deployed(check_document(FULL))


def test_an_issuer_without_https_is_for_the_local_cloud() -> None:
    issuers = [
        {"issuer": "http://127.0.0.1:9000/", "audience": "baton"},
        {"issuer": "acme", "audience": "other", "jwksUrl": "https://login.acme.example/keys"},
    ]
    document = check_document({"version": 1, "tokenIssuers": issuers})
    with pytest.raises(InvalidDocument, match=r"^tokenIssuers\.0\.issuer: is no https address") as raised:
        check_deployed(document)
    assert "tokenIssuers.1" not in str(raised.value)


def test_a_hopeless_document_is_not_described_without_end() -> None:
    with pytest.raises(InvalidDocument) as raised:
        check_document({"version": 1, "allowedHosts": ["no host"] * 500})
    assert len(raised.value.problems) == MAX_PROBLEMS
    assert str(raised.value).endswith("; and 480 more")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.sampled_from(list(FULL)), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(list(FULL)), JSON))
def test_any_json_is_read_or_refused(value: dict[str, Any]) -> None:
    with suppress(InvalidDocument):
        document = check_document(value)
        assert read_document(document.model_dump_json(by_alias=True)) == document


@pytest.mark.parametrize(
    ("variable", "value", "field", "result"),
    [
        ("BATON_TOKEN_ISSUERS", "[]", "token_issuers", ()),
        ("BATON_MODEL_PRICES", '{"m": {"input": 1, "output": 1}}', "model_prices", {"m": Price(input=1, output=1)}),
        ("BATON_TENANT_LIMITS", '{"agents": 3}', "tenant_limits", OperatorLimits(agents=3)),
        ("BATON_ALLOWED_ORIGINS", "https://a.example, *", "allowed_origins", ("https://a.example", "*")),
        ("BATON_ALLOWED_HOSTS", "a.example", "allowed_hosts", ("a.example",)),
        ("BATON_PUSH_HOSTS", "a.example", "push_hosts", ("a.example",)),
        ("BATON_WEBHOOKS", json.dumps([LOCAL_HOOK]), "webhooks", (Webhook.model_validate(LOCAL_HOOK),)),
        ("BATON_HOOKS", json.dumps([INBOUND]), "hooks", (InboundHook.model_validate(INBOUND),)),
        ("BATON_MODEL_PROVIDERS", "{}", "model_providers", {}),
        ("BATON_MODEL_PROFILES", '{"x": {"maxTools": 1}}', "model_profiles", {"x": {"maxTools": 1}}),
    ],
)
def test_a_variable_replaces_its_field_of_the_document_and_no_other(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, field: str, result: object
) -> None:
    document = check_document(FULL)
    monkeypatch.setenv(variable, value)
    merged = apply_variables(document)
    assert getattr(merged, field) == result
    assert merged == document.model_copy(update={field: result})


def test_an_empty_variable_replaces_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    document = check_document(FULL)
    monkeypatch.setenv("BATON_ALLOWED_HOSTS", "")
    assert apply_variables(document) is document


def test_every_field_has_a_variable() -> None:
    fields = {*DocumentVariables.model_fields, *ModelVariables.model_fields}
    assert fields == {*SettingsDocument.model_fields} - {"version"}


def test_a_wrong_variable_is_an_error_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATON_TOKEN_ISSUERS", '[{"issuer": "https://id.example.com"}]')
    with pytest.raises(ValidationError, match=r"BATON_TOKEN_ISSUERS\.0\.audience"):
        apply_variables(SettingsDocument())


def test_users_have_rates_unless_the_operator_changes_or_removes_them() -> None:
    default = SettingsDocument().tenant_limits
    assert (default.user_runs_at_once, default.user_messages_per_minute, default.user_follow_streams) == (20, 300, 50)
    assert default.runs_at_once is None
    changed = SettingsDocument.model_validate({"tenantLimits": {"userRunsAtOnce": None, "userMessagesPerMinute": 900}})
    limits = changed.tenant_limits
    assert (limits.user_runs_at_once, limits.user_messages_per_minute, limits.user_follow_streams) == (None, 900, 50)
