"""The reference pages say what the code says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings

from baton.adapters.agents.agent_files import AgentFiles, read_agent
from baton.adapters.dynamodb import agent_keys, keys
from baton.adapters.dynamodb.key_forms import (
    ListedKey,
    MemberKey,
    NumberedKey,
    Partition,
    Shards,
    TenantPartition,
    TenantShards,
    UnderNumber,
)
from baton.api.application import create_app
from baton.composition.metrics import NAMESPACE
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.agent_settings import CardSignature, RemoteAgent
from baton.domain.agents.model_providers import Provider
from baton.domain.agents.tool import HttpTool, McpServer, OpenApiTool, PythonTool
from baton.domain.errors import BatonError, list_error_classes
from baton.domain.handoffs.handoff import HandoffDefinition
from baton.domain.handoffs.workflow_definition import Condition, Transition, WorkflowDefinition, WorkflowState
from baton.domain.metrics import Metric
from baton.domain.tenants.identity import OidcIssuer, Scope
from baton.domain.tenants.secret import SecretReference
from baton.domain.tenants.webhook import Webhook, WebhookEvent
from baton.settings.document import check_deployed, check_document
from baton.settings.models import ProviderSettings
from baton_local.environment import DEVELOPERS_CHOICE
from baton_local.settings import LocalSettings, import_families
from tests.unit.docs.pages import ROOT, block, blocks, table

REFERENCE = ROOT / "docs" / "reference"
ERRORS = REFERENCE / "errors.md"
SETTINGS = REFERENCE / "settings.md"
AGENTS = REFERENCE / "agents-yaml.md"
HTTP = REFERENCE / "http-api.md"
DATA = REFERENCE / "data-model.md"
DEPLOY = ROOT / "docs" / "how-to" / "deploy.md"

AUDITED_NOUNS = (
    "agent|audit|background|context|desk|document|due|evaluation|event|file|knowledge|library|limits|message|model|"
    "overview|procedure|retention|run|schedule|skill|source|spending|task|tenant|thread|tool|usage|user|webhook|workflow"
)
"""The first words of audited actions, as in ``thread.close``; besides there is ``handoff``."""
NOT_AUDITED = {"background.check", "background.dropped", "desk.ask", "desk.closed", "due.dropped"}
NOT_AUDITED |= {"skill.name", "skill.steps", *WebhookEvent}
NOT_AUDITED |= {"limits.places", "workflow.id", "workflow.name", "workflow.result", "workflow.state"}
"""Names in requests to a model, of events, of requests and of use cases, and in derived ids, that look like actions."""
ADAPTERS_OWN = re.compile(r"AWS_LAMBDA_EXEC_WRAPPER|AWS_LWA_\w+")
"""Variables the template sets for the Lambda Web Adapter; Baton reads none of them."""


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """A loader that reads CloudFormation's short forms (``!Ref``) as their argument."""


_Loader.add_multi_constructor("!", lambda loader, suffix, node: str(node.value))


@pytest.fixture(scope="module")
def template() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.load((ROOT / "template.yaml").read_text(), Loader=_Loader)  # noqa: S506 - a SafeLoader
    return loaded


def test_every_error_is_listed_with_its_status_and_whether_to_retry() -> None:
    listed = {code: (row[0], row[1]) for code, row in table(ERRORS, "code").items()}

    existing = [error for error in list_error_classes() if error is not BatonError]
    assert listed == {e.code: (str(e.status), "yes" if e.retryable else "no") for e in existing}


def test_every_audited_action_is_listed() -> None:
    written = re.compile(rf'"((?:{AUDITED_NOUNS})\.[a-z]+)"')
    sources = (ROOT / "shared" / "baton").rglob("*.py")
    audited = {action for source in sources for action in written.findall(source.read_text())} - NOT_AUDITED

    [section] = re.findall(r"^### audit record$(.*)", HTTP.read_text(), re.DOTALL | re.MULTILINE)
    cells = re.findall(r"^\|([^|]+)\|", section, re.MULTILINE)
    listed = {action for cell in cells for action in re.findall(r"`([a-z]+(?:\.[a-z]+)?)`", cell)}
    assert listed == audited | {"handoff"}


def test_the_example_of_an_error_is_one() -> None:
    [example] = [json.loads(block.text) for block in blocks(ERRORS) if block.language == "json"]

    [error] = [e for e in list_error_classes() if e.code == example["code"]]
    assert (example["title"], example["status"], example["detail"], example["retryable"]) == (
        error.title,
        error.status,
        error.detail,
        error.retryable,
    )


def test_api_gateways_own_errors_are_those_of_the_template(template: dict[str, Any]) -> None:
    responses = template["Resources"]["RestApi"]["Properties"]["GatewayResponses"].values()
    answers = [json.loads(_fill(r["ResponseTemplates"]["application/json"])) for r in responses]

    listed = {(code, status) for code, row in table(ERRORS, "gateway code").items() for status in row[0].split(", ")}
    assert listed == {(answer["code"], str(answer.get("status", "as it is"))) for answer in answers}


def test_every_metric_is_listed_with_its_alarm(template: dict[str, Any]) -> None:
    alarms = {
        properties["MetricName"]: f"{properties['Threshold']} in five minutes"
        for resource in template["Resources"].values()
        if resource["Type"] == "AWS::CloudWatch::Alarm"
        and (properties := resource["Properties"]).get("Namespace") == NAMESPACE
    }
    alarms["TimeInQueue"] = "p95 of 60 s or more over five minutes"
    alarms["ConnectionsRefused"] = "subtracted from the authorizer's errors"
    alarms["ModelErrorsAnswered"] = "subtracted from the REST API's errors"
    listed = {name: row[-1] for name, row in table(REFERENCE / "metrics.md", "metric").items()}
    assert listed == {metric.value: alarms.get(metric.value, "") for metric in Metric}


def test_every_setting_of_the_functions_is_listed_with_its_default(template: dict[str, Any]) -> None:
    read = {name: _default(field) for family in import_families() for name, field in _variables(family)}
    options = set(_variables_of(template)) - {name for name in _variables_of(template) if ADAPTERS_OWN.fullmatch(name)}

    listed = {name: row[0].strip("`") for name, row in table(SETTINGS, "variable").items()}
    assert set(listed) == set(read) | options
    assert {name: listed[name] for name in read} == read


def test_every_setting_of_the_local_cloud_is_listed_with_its_default() -> None:
    read = {name: _default(field) for name, field in _variables(LocalSettings)}

    listed = {name: row[0].strip("`") for name, row in table(SETTINGS, "local variable").items()}
    assert set(listed) == set(read)
    assert {name: listed[name] for name in ("PORT", "ENGINES", "BATON_LOCAL_WORKERS", "BATON_DATA_DIR")} == {
        name: read[name] for name in ("PORT", "ENGINES", "BATON_LOCAL_WORKERS", "BATON_DATA_DIR")
    }


def test_what_a_developer_may_choose_is_listed() -> None:
    listed = table(SETTINGS, "variable").keys()

    assert set(DEVELOPERS_CHOICE) <= set(listed)


def test_every_field_of_an_issuer_is_listed() -> None:
    fields = {str(field.alias) for field in OidcIssuer.model_fields.values()}

    assert set(table(SETTINGS, "field")) == fields


def test_every_field_of_a_webhook_is_listed() -> None:
    fields = {str(field.alias) for field in Webhook.model_fields.values()}
    listed = table(SETTINGS, "field of a webhook")
    assert set(listed) == fields
    assert set(re.findall(r"`([a-z]+\.[a-z]+)`", str(listed["events"]))) == set(WebhookEvent)


def test_the_settings_of_the_guide_to_webhooks_are_valid() -> None:
    guide = ROOT / "docs" / "how-to" / "receive-webhooks.md"
    check_deployed(check_document(yaml.safe_load(block(guide, "deployed"))))
    check_document(yaml.safe_load(block(guide, "local")))


def test_the_example_issuers_are_valid() -> None:
    assert [OidcIssuer.model_validate(issuer) for issuer in json.loads(block(SETTINGS, "issuers"))]


def test_every_field_of_a_provider_is_listed_with_its_default() -> None:
    fields = {str(field.alias): _default(field) for field in Provider.model_fields.values()}

    telling = {name: default for name, default in fields.items() if default not in ("none", "")}

    listed = {name: row[0].strip("`") for name, row in table(SETTINGS, "field of a provider").items()}
    assert set(listed) == set(fields)
    assert {name: listed[name] for name in telling} == telling


def test_the_example_providers_are_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "BATON_MODEL_PROVIDERS": block(SETTINGS, "providers"),
        "OPENAI_BASE_URL": "https://api.openai.com/v1",
        "BATON_CHAT_MODEL": "gpt-6-sol",
        "TIKTOKEN_CACHE_DIR": "tokenizer",
    }.items():
        monkeypatch.setenv(name, value)
    assert set(ProviderSettings().providers) == {"default", "bedrock", "groq", "aws"}


def test_every_field_of_an_agent_is_listed_with_its_default() -> None:
    listed = {name: row[0].strip("`") for name, row in table(AGENTS, "agent field").items()}

    fields = dict(_agent_fields(AgentDefinition))
    assert set(listed) == set(fields)
    telling = {name: _default(field) for name, field in fields.items() if _default(field) not in ("none", "")}
    assert {name: listed[name] for name in telling} == telling


@pytest.mark.parametrize(
    ("heading", "kind"),
    [
        ("field of a handoff", HandoffDefinition),
        ("field of a workflow", WorkflowDefinition),
        ("field of a state", WorkflowState),
        ("field of a transition", Transition),
        ("field of a condition", Condition),
    ],
)
def test_every_field_of_handoffs_and_workflows_is_listed_with_its_default(heading: str, kind: type[BaseModel]) -> None:
    listed = {name: row[0].strip("`") for name, row in table(AGENTS, heading).items()}

    # Files have the fields' names, but for one that is a word of Python.
    fields = {"in" if field.alias == "in" else name: field for name, field in kind.model_fields.items()}
    assert set(listed) == set(fields)
    telling = {name: _default(field) for name, field in fields.items() if _default(field) not in ("none", "")}
    assert {name: listed[name] for name in telling} == telling


@pytest.mark.parametrize("kind", [McpServer, HttpTool, OpenApiTool, PythonTool])
def test_every_field_of_a_tool_is_listed_with_its_default(kind: type[BaseModel]) -> None:
    word = kind.model_fields["type"].annotation.__args__[0]  # type: ignore[union-attr]
    article = "an" if word in ("mcp", "http", "openapi") else "a"
    rows = table(AGENTS, "field of a tool") | table(AGENTS, f"field of {article} {word} tool")
    listed = {name: row[0].strip("`") for name, row in rows.items()}

    fields = {name: field for name, field in kind.model_fields.items() if name != "type"}
    assert set(listed) == set(fields)
    telling = {name: _default(field) for name, field in fields.items() if _default(field) not in ("none", "")}
    assert {name: listed[name] for name in telling} == telling


def test_the_agent_with_tools_of_the_how_to_is_valid() -> None:
    [example] = [block.text for block in blocks(ROOT / "docs/how-to/give-an-agent-tools.md") if block.mark == "tools"]

    assert [tool.type for tool in AgentDefinition.model_validate(yaml.safe_load(example)).tools] == [
        "mcp",
        "http",
        "openapi",
        "python",
    ]


def test_the_agent_of_the_how_to_is_valid(tmp_path: Path) -> None:
    [example] = [block.text for block in blocks(ROOT / "docs/how-to/add-an-agent.md") if block.mark == "agent"]
    for shipped in (ROOT / "agents").glob("*.yaml"):
        (tmp_path / shipped.name).write_text(shipped.read_text())
    (tmp_path / "tutor.yaml").write_text(example)

    assert AgentFiles.load(tmp_path, "assistant").get("tutor") is not None


@pytest.mark.parametrize(
    ("page", "file"), [("consult-a-remote-agent", "weather.yaml"), ("hand-over-to-a-remote-agent", "booking.yaml")]
)
def test_the_remote_agent_of_a_how_to_is_valid(tmp_path: Path, page: str, file: str) -> None:
    path = ROOT / f"docs/how-to/{page}.md"
    [example] = [block.text for block in blocks(path) if block.mark == "remote_agent"]
    (tmp_path / file).write_text(example)

    assert read_agent(tmp_path / file)[1].remote is not None


def test_every_field_of_a_remote_agent_is_listed() -> None:
    assert set(table(AGENTS, "field of `remote`")) == set(RemoteAgent.model_fields)
    assert set(table(AGENTS, "field of a reference")) == set(SecretReference.model_fields)
    assert set(table(AGENTS, "field of `card_signature`")) == set(CardSignature.model_fields)


def test_every_route_is_listed_and_no_other() -> None:
    def no_services() -> Any:
        raise AssertionError("the document needs no services")

    document = create_app(no_services).openapi()
    routes = {f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods}

    assert set(table(HTTP, "method and path")) == routes


def test_every_parameter_of_the_stack_is_listed_with_its_default(template: dict[str, Any]) -> None:
    listed = {name: row[0].strip("`") for name, row in table(DEPLOY, "parameter").items()}

    assert listed == {name: str(p.get("Default", "")) for name, p in template["Parameters"].items()}


NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
NUMBERS += ("thirteen", "fourteen", "fifteen", "sixteen")
COUNTED = {"functions": "Serverless::Function", "queues": "SQS::Queue", "state machines": "Serverless::StateMachine"}


def test_functions_queues_and_state_machines_are_as_many_as_the_pages_say(template: dict[str, Any]) -> None:
    types = [resource["Type"] for resource in template["Resources"].values()]
    counts = {noun: NUMBERS[types.count(f"AWS::{kind}")] for noun, kind in COUNTED.items()}
    introduction = " ".join(DEPLOY.read_text().split("## ")[0].split())
    assert [noun for noun, count in counts.items() if f"{count} {noun}" not in introduction] == []
    del counts["functions"]
    assert [noun for noun, count in counts.items() if f"{count} {noun}" not in template["Description"]] == []


def test_every_output_of_the_stack_is_mentioned(template: dict[str, Any]) -> None:
    page = DEPLOY.read_text()

    assert [output for output in template["Outputs"] if f"`{output}`" not in page] == []


def test_every_kind_of_key_is_described() -> None:
    page = DATA.read_text()
    scope, thread = Scope("acme", "ada"), "00000000-0000-4000-8000-000000000000"
    items = [
        keys.thread(scope, thread),
        keys.message(scope, thread, 0),
        keys.turn(scope, thread, "m"),
        keys.log(scope, thread, 1),
        keys.live_connection(scope, thread, "c"),
        keys.live_reader(scope, thread),
        keys.call(scope, thread, 0, "c"),
        keys.task(scope, thread, 0, "t"),
        keys.task_place(scope, thread, "t"),
        keys.user_flow(scope, "w"),
        agent_keys.procedure_version(scope, "assistant", "s", 1),
        agent_keys.approved_procedure(scope, "assistant", "s"),
        agent_keys.procedure_source(scope, "assistant", "s"),
        agent_keys.procedure_uses(scope, "assistant", "s", 1),
        agent_keys.procedure_use(scope, "assistant", "s", "r"),
        keys.audit(scope, thread, "1#2"),
        keys.owner(thread),
        keys.connection("c", "p"),
        keys.desk_place(scope, "d", 0, thread),
        keys.user_time_zone(scope),
        keys.retention(scope),
        keys.tenant_limits(scope),
    ]
    listings = [
        keys.user_listing(scope),
        keys.fork_listing(scope, thread),
        keys.user_episodes(scope),
        keys.user_completions(scope),
    ]
    declared = [*vars(keys).values(), *vars(agent_keys).values()]

    kinds = {re.findall(r"^(?:LIVE#)?[A-Z]+#?", key["SK"])[0] for key in items}
    kinds |= {"~" + listing.split("~")[1].split("#")[0] for listing in listings} | {"~THREAD#", "~CONN#", "~IDLE#"}
    kinds |= {form.prefix for form in declared if isinstance(form, ListedKey | MemberKey | NumberedKey | UnderNumber)}
    kinds |= {
        f"~{form.name}" for form in declared if isinstance(form, Partition | Shards | TenantPartition | TenantShards)
    }
    assert [kind for kind in sorted(kinds) if kind not in page] == []


def _variables(family: type[BaseSettings]) -> Iterator[tuple[str, FieldInfo]]:
    for field in family.model_fields.values():
        if field.validation_alias is not None:
            yield str(field.validation_alias), field


def _variables_of(template: dict[str, Any]) -> list[str]:
    environments = [template["Globals"]["Function"], *(r.get("Properties", {}) for r in template["Resources"].values())]
    return [name for e in environments for name in e.get("Environment", {}).get("Variables", {})]


def _agent_fields(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    for name, field in model.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from _agent_fields(inner, f"{name}.")
        else:
            yield prefix + name, field


WORDS = {"BATON_DEFAULT_AGENT": "the only main agent"}


def _default(field: FieldInfo) -> str:
    """A field's default as the pages write it."""
    if field.validation_alias in WORDS:
        return WORDS[str(field.validation_alias)]
    if field.is_required():
        return "required"
    if field.default_factory is not None or field.default is None:
        return "none"
    if field.default == ():
        is_variable = field.validation_alias is not None and str(field.validation_alias).isupper()
        return "[]" if is_variable else "none"
    if isinstance(field.default, bool):
        return str(field.default).lower()
    return str(field.default)


def _fill(response: str) -> str:
    return response.replace("$context.error.messageString", '"x"').replace("$context.requestId", "x")
