"""`baton check` and `baton deploy --check` judge a project by the rules of its deployment."""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from pathlib import Path

import pytest
import typer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from baton.domain.tenants.egress_policy import EgressPolicy, EgressRefused
from baton_deployment.errors import DeploymentError
from baton_deployment.preflight.project import check_addresses
from baton_project.check import read_contents
from baton_project.commands import check
from baton_project.deploy import check_stage
from baton_project.project import Project
from tests.unit.project.conftest import edit

PUBLIC = "service.example.com"
LOCAL = "127.0.0.1"
KINDS = {
    "tools.0.url": "tools: [{{type: http, name: prices, description: Prices., url: '{url}'}}]",
    "tools.0.url ": "tools: [{{type: mcp, name: files, url: '{url}'}}]",
    "tools.0.spec": "tools: [{{type: openapi, spec: '{url}', operation_id: find}}]",
    "tools.0.base_url": "tools: [{{type: openapi, spec: shop.json, operation_id: find, base_url: '{url}'}}]",
    "tools.0.headers.X-For.token_exchange.token_url": (
        "tools: [{{type: http, name: prices, description: Prices., url: 'https://service.example.com', headers: "
        "{{X-For: {{token_exchange: {{token_url: '{url}', client_id: x, audience: y, "
        "client_secret: {{secret: 'baton/{{stage}}/tools/x'}}}}}}}}}}]"
    ),
    "guardrails.0.url": "guardrails: [{{name: policy, url: '{url}'}}]",
    "remote.card_url": "remote: {{card_url: '{url}'}}",
    "remote.card_signature.jwks_url": (
        "remote: {{card_url: 'https://service.example.com', card_signature: {{jwks_url: '{url}'}}}}"
    ),
}
"""A field -> an agent's file with an address there."""
OPENAPI = {"openapi": "3.1.0", "info": {}, "paths": {"/x": {"get": {"operationId": "find", "responses": {}}}}}


@pytest.fixture
def folder(project: Project, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project's folder, without an account of AWS."""
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_ACCESS_KEY_ID"):
        monkeypatch.delenv(name, raising=False)
    edit(project.folder / "pyproject.toml", "allowed_hosts = []", f'allowed_hosts = ["{PUBLIC}"]')
    return project.folder


def deploy_check(folder: Path) -> str:
    """Return what `baton deploy dev --check` prints, each row on one line."""
    lines: list[str] = []
    with pytest.raises(DeploymentError, match="checks failed"):  # without an account it always fails
        check_stage(folder, "dev", lines.append, asks_model=False, accepts_unchecked=False)
    return " ".join(" ".join(lines).split())


def add_agent(folder: Path, field: str, url: str, name: str = "extra") -> None:
    about = f"id: {name}\nname: Extra\ndescription: It has an address.\n"
    prompt = "" if field.startswith("remote") else "system_prompt: Help.\n"
    (folder / "agents" / f"{name}.yaml").write_text(f"{about}{prompt}{KINDS[field].format(url=url)}\n")
    (folder / "agents" / "shop.json").write_text(json.dumps({**OPENAPI, "servers": [{"url": f"https://{PUBLIC}"}]}))


def test_each_kind_of_address_on_this_machine_is_refused_for_a_deployment_and_noted_here(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, field in enumerate(KINDS):
        add_agent(folder, field, f"https://{LOCAL}", f"extra{number}")
    refused = deploy_check(folder)
    with suppress(typer.Exit):  # nobody serves the addresses, which is a problem here
        check(folder)
    noted = capsys.readouterr().out
    for number, field in enumerate(KINDS):
        line = 4 if field.startswith("remote") else 5
        expected = f"agents/extra{number}.yaml:{line}: {field.strip()}: {LOCAL} is not a public address."
        assert f"FAILS addresses {expected} Functions run in no private network" in refused
        assert expected in noted


def test_public_addresses_that_are_allowed_work_in_a_deployment(folder: Path) -> None:
    for number, field in enumerate(KINDS):
        add_agent(folder, field, f"https://{PUBLIC}", f"extra{number}")
    assert f"fine addresses {len(KINDS) + 2} of agents, public and allowed" in deploy_check(folder)


BY_STAGE = """
import os

from baton import Agent, HttpTool

SHOPS = {"dev": "https://service.example.com", "prod": "https://elsewhere.example.com"}
SHOP = SHOPS.get(os.environ.get("BATON_STAGE", ""), "http://127.0.0.1:8765")
shop = Agent("shop", "Help.", description="Shops.", tools=[HttpTool("prices", url=SHOP, description="Prices.")])
"""


def test_an_address_of_each_stage_is_judged_for_the_stage(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "agents" / "shop.py").write_text(BY_STAGE)
    assert "fine addresses 1 of agents, public and allowed" in deploy_check(folder)
    check(folder)
    assert "Deployed, this would not work" not in capsys.readouterr().out
    tools = read_contents(Project.find(folder), "prod").agents.get("shop").tools
    assert [tool.url for tool in tools] == ["https://elsewhere.example.com"]


def test_the_server_of_an_openapi_document_that_ships_is_judged(folder: Path) -> None:
    add_agent(folder, "tools.0.base_url", f"https://{PUBLIC}")
    edit(folder / "agents" / "extra.yaml", f", base_url: 'https://{PUBLIC}'", "")
    edit(folder / "agents" / "shop.json", f"https://{PUBLIC}", "http://shop.internal")
    assert "agents/extra.yaml:5: tools.0.spec: shop.internal is not a public address" in deploy_check(folder)


def test_the_hosts_of_the_stages_settings_replace_those_of_the_project(folder: Path) -> None:
    add_agent(folder, "guardrails.0.url", f"https://{PUBLIC}")
    (folder / "settings.dev.yaml").write_text("version: 1\nallowedHosts: [other.example.com]\n")
    refused = deploy_check(folder)
    assert f"FAILS addresses agents/extra.yaml:5: guardrails.0.url: {PUBLIC} is not among the hosts" in refused
    assert f"Add {PUBLIC} there." in refused


def test_addresses_in_settings_and_parameters_of_the_stage_are_judged(folder: Path) -> None:
    (folder / "settings.dev.yaml").write_text(
        "version: 1\nmodelProviders: {home: {baseUrl: 'http://gpu.local:8000/v1'}}\n"
        "tokenIssuers: [{issuer: 'https://login.internal', audience: x, tenant: y}]\npushHosts: [10.0.0.7]\n"
    )
    edit(folder / "samconfig.toml", '"Stage=dev",', '"Stage=dev", "ModelBaseUrl=https://10.1.2.3/v1",')
    printed = deploy_check(folder)
    for refused in (
        "FAILS addresses ModelBaseUrl: 10.1.2.3 is not a public",
        "FAILS addresses modelProviders.home.baseUrl: gpu.local is not a public",
        "FAILS addresses tokenIssuers.0.issuer: login.internal is not a public",
        "note addresses pushHosts: 10.0.0.7 is not a public",
    ):
        assert refused in printed


def test_a_project_for_this_machine_only_is_no_problem_here(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add_agent(folder, "tools.0.url", "http://localhost:8521/prices")
    check(folder, as_json=True)
    printed = json.loads(capsys.readouterr().out)
    assert (printed["ok"], printed["problems"]) == (True, [])
    [obstacle] = printed["deployment"]
    assert (obstacle["file"], obstacle["line"], obstacle["field"]) == ("agents/extra.yaml", 5, "tools.0.url")
    assert obstacle["remedy"].startswith("Functions run in no private network")


def test_secrets_that_the_roles_may_not_read_and_variables_that_no_function_has_are_refused(folder: Path) -> None:
    add_agent(folder, "guardrails.0.url", f"https://{PUBLIC}")
    edit(folder / "agents" / "extra.yaml", "{name: policy,", "{name: policy, headers: {X-Key: {secret: shop/key}},")
    module = folder / "tools" / "shop_tools" / "orders.py"
    module.write_text(
        "import os\nURL = os.environ['SHOP_URL']\nSTAGE = os.environ['BATON_STAGE']\n"
        f"KEY = os.getenv('SHOP_KEY', '')\nTOKEN = os.environ['SHOP_TOKEN'] if KEY else ''\n{module.read_text()}"
    )
    printed = deploy_check(folder)
    assert "guardrails.0.headers.X-Key: functions may not read shop/key" in printed
    assert "FAILS code tools/shop_tools/orders.py:2: a deployment sets no SHOP_URL" in printed
    assert "note code tools/shop_tools/orders.py:4: a deployment sets no SHOP_KEY" in printed
    assert "note code tools/shop_tools/orders.py:5: a deployment sets no SHOP_TOKEN" in printed
    assert "sets no BATON_STAGE" not in printed


def test_documents_that_no_deployment_takes_are_refused(folder: Path) -> None:
    for name in ("film.mp4", "empty.md", "hours.md"):
        file = folder / "documents" / "orders" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("" if name == "empty.md" else "Opening hours")
    printed = deploy_check(folder)
    assert "FAILS documents documents/orders/empty.md: size must be at least 1 byte." in printed
    assert "FAILS documents documents/orders/film.mp4: " in printed
    assert "fine search embedded, files in a bucket, free while idle" in printed


@pytest.mark.parametrize(
    ("parameters", "engine"),
    [
        ('"CreateSearchDomain=true"', "embedded, files in a bucket; OpenSearch for owners without one"),
        ('"SearchEngine=opensearch", "CreateSearchDomain=true"', "OpenSearch, by the hour"),
    ],
)
def test_the_engine_that_searches_is_named(folder: Path, parameters: str, engine: str) -> None:
    edit(folder / "samconfig.toml", '"Stage=dev",', f'"Stage=dev", {parameters},')
    assert f"fine search {engine}" in deploy_check(folder)


def test_a_stage_without_search_is_refused_for_documents_and_noted_for_memories(folder: Path) -> None:
    edit(folder / "samconfig.toml", '"Stage=dev",', '"Stage=dev", "SearchEngine=none",')
    printed = deploy_check(folder)
    assert "FAILS search it is off, so nobody will find 1 document of orders Set SearchEngine=embedded" in printed
    shutil.rmtree(folder / "documents")
    assert "note search it is off: assistant, orders will recall no earlier conversations" in deploy_check(folder)


def test_a_model_of_a_provider_that_the_stage_has_not_is_refused(folder: Path) -> None:
    add_agent(folder, "guardrails.0.url", f"https://{PUBLIC}")
    edit(folder / "agents" / "extra.yaml", "system_prompt", "model: {name: local/llama}\nsystem_prompt")
    edit(folder / "samconfig.toml", '"Stage=dev",', '"Stage=dev", "ChatModel=bedrock/x", "ModelBaseUrl=\\"\\"",')
    assert "FAILS models of agents agents/extra.yaml:4: model.name: 'local/llama' begins with" in deploy_check(folder)


@pytest.mark.parametrize(
    ("answer", "row"),
    [
        ("echo holidays==0.70", "fine packages 1 for tools, all for Lambda"),
        (
            "echo 'Because uwsgi has no usable wheels, your requirements are unsatisfiable.' >&2; exit 1",
            "FAILS packages Because uwsgi has no usable wheels",
        ),
        ("echo 'error sending request' >&2; exit 2", "not checked packages error sending request"),
    ],
)
def test_packages_without_wheels_for_lambda_are_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, answer: str, row: str
) -> None:
    edit(folder / "pyproject.toml", 'dependencies = ["', 'dependencies = ["uwsgi", "')
    program = folder / "uv"
    program.write_text(f"#!/bin/sh\n{answer}\n")
    program.chmod(0o755)
    monkeypatch.setenv("UV", str(program))
    assert row in deploy_check(folder)


HOSTS = st.one_of(
    st.sampled_from((PUBLIC, "x.example.com", "localhost", "a.internal", "printer.local", "db", "127.1", "0x7f.1")),
    st.ip_addresses(v=4).map(str),
    st.ip_addresses(v=6).map(lambda address: f"[{address}]"),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(scheme=st.sampled_from(("https", "http")), host=HOSTS, entry=st.sampled_from(("*", PUBLIC, "*.example.com")))
def test_the_check_refuses_exactly_what_the_deployment_refuses(
    project: Project, scheme: str, host: str, entry: str
) -> None:
    url = f"{scheme}://{host}/x"
    (project.agents / "extra.yaml").write_text(
        "id: extra\nname: Extra\ndescription: It has an address.\nsystem_prompt: Help.\n"
        f"guardrails: [{{name: policy, url: '{url}'}}]\n"
    )
    policy = EgressPolicy.of([entry])
    refused = any(row.outcome == "FAILS" for row in check_addresses(read_contents(project, "dev"), policy))
    try:
        policy.check_url(url)
    except EgressRefused:
        assert refused
    else:
        assert not refused
