"""The checks before a deployment, against an account that moto serves and answers of AWS that it does not know."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from botocore.exceptions import ClientError

from baton.adapters.agents.agent_files import AgentFiles
from baton_deployment.account import Account
from baton_deployment.checks import Check, Outcome
from baton_deployment.contents import Contents
from baton_deployment.errors import DeploymentError
from baton_deployment.preflight import Preflight, run_preflight
from baton_deployment.preflight.caller import check_permissions
from baton_deployment.preflight.limits import check_alarms, check_concurrency
from baton_deployment.preflight.model import check_model
from baton_deployment.preflight.secrets import check_references, check_secrets
from baton_deployment.preflight.stack import check_state
from baton_deployment.preflight.tokens import check_tokens
from baton_deployment.stages import Stage
from baton_deployment.template import DeployedTemplate
from baton_local.engines.clients import client
from baton_local.root import ROOT
from tests.command_line import run_baton
from tests.integration.deployment.conftest import REGION, SOURCE

ROLE = "arn:aws:sts::123456789012:assumed-role/deployer/session"
KEY = "0123456789abcdef0123456789abcdef"


class Answers:
    """A client that answers as AWS does, or refuses."""

    def __init__(self, **answers: Any) -> None:
        self._answers = answers
        self.requests: list[dict[str, Any]] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(**request: Any) -> Any:
            self.requests.append(request)
            answer = self._answers[name]
            if isinstance(answer, Exception):
                raise answer
            return answer(**request) if callable(answer) else answer

        return call

    def get_paginator(self, name: str) -> Any:
        return Answers(paginate=lambda **request: [getattr(self, name)(**request)])


class AnsweredAccount(Account):
    """An account of which some services answer what a test says, and the others are moto's."""

    def __init__(self, **clients: Answers) -> None:
        super().__init__(REGION)
        self._clients = clients

    def client(self, service: str) -> Any:
        return self._clients.get(service) or super().client(service)


def make_denied(operation: str) -> ClientError:
    return ClientError({"Error": {"Code": "AccessDenied", "Message": "not authorized"}}, operation)


def template(stack: str = "baton-dev", **parameters: str) -> DeployedTemplate:
    return DeployedTemplate(SOURCE, parameters, stack, REGION)


def get_single_check(checks: Iterator[Check]) -> Check:
    [check] = checks
    return check


@pytest.fixture
def secrets(aws: str) -> Iterator[Callable[[str, str], None]]:
    manager = client("secretsmanager", aws)
    calls = []

    def put(name: str, text: str) -> None:
        calls.append(name)
        manager.create_secret(Name=name, SecretString=text)

    yield put
    for name in calls:
        manager.delete_secret(SecretId=name, ForceDeleteWithoutRecovery=True)
    manager.close()


def test_an_operator_sees_a_table_and_the_exit_code(aws: str, secrets: Callable[[str, str], None]) -> None:
    secrets("baton/dev/model-key", "sk-key")
    process = run_baton("deploy", "dev", "--check", "--folder", ROOT)
    assert (process.exit_code, process.stderr.endswith("checks failed.\n")) == (1, True)
    outcomes = {outcome.value for outcome in Outcome}
    lines = [line for line in process.stdout.splitlines() if line[:13].strip() in outcomes]
    rows = {line[13:30].strip(): line for line in lines}
    assert rows["account"].startswith("fine")
    assert f"000000000000 in {REGION}" in rows["account"]
    assert rows["stack state"] == "fine         stack state        baton-dev does not exist yet"
    # moto's account answers neither, which no check may take for a fault of the stage.
    assert rows["permissions"].startswith("not checked")
    assert rows["concurrency"].startswith("not checked")
    assert rows["logging role"].startswith("FAILS")
    assert "baton/dev/embed-keys (EmbedKeysSecret) does not exist" in rows["secret"]
    assert set(rows) <= list_documented()


def list_documented() -> set[str]:
    """The names of the checks in the table of the guide."""
    guide = (ROOT / "docs" / "how-to" / "deploy.md").read_text()
    table = guide.partition("| check | failure or note |\n")[2].partition("\n\n")[0]
    return {name.strip() for row in table.splitlines() for name in row.split("|")[1].split(",")}


def test_without_credentials_one_line_says_so_and_local_checks_go_on(
    aws: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    stage = Stage("dev", tmp_path, "baton-dev", {"LogLevel": "LOUD"})
    checks = list(Preflight(stage, tmp_path / "build").run_checks())
    first, *others = [check for check in checks if check.outcome is Outcome.FAILS]
    assert (first.name, "There are no credentials of AWS" in first.detail) == ("account", True)
    assert [check.name for check in others] == ["parameters"]
    unasked = [check.name for check in checks if check.outcome is Outcome.UNKNOWN and "the row account" in check.detail]
    assert unasked == ["permissions", "stack state", "concurrency", "logging role", "secret"]
    monkeypatch.delenv("AWS_REGION")
    [both] = [check.detail for check in Preflight(stage, tmp_path / "build").run_checks() if check.name == "account"]
    assert "There is no region" in both
    assert "There are no credentials of AWS" in both


def test_refused_credentials_are_a_failure(aws: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expired = ClientError({"Error": {"Code": "ExpiredToken", "Message": "expired"}}, "GetCallerIdentity")
    account = AnsweredAccount(sts=Answers(get_caller_identity=expired))
    monkeypatch.setattr(Account, "of", lambda stage: account)
    written: list[str] = []
    with pytest.raises(DeploymentError):
        run_preflight(Preflight(Stage("dev", tmp_path, "baton-dev", {}), tmp_path), written.append)
    assert any("AWS refuses the credentials: ExpiredToken" in line for line in written)


def test_missing_permissions_are_listed(aws: str) -> None:
    def simulate(PolicySourceArn: str, ActionNames: list[str], **_: Any) -> Any:  # noqa: N803
        assert PolicySourceArn == "arn:aws:iam::123456789012:role/teams/deployer"
        decisions = {action: "implicitDeny" if action == "iam:PassRole" else "allowed" for action in ActionNames}
        return {"EvaluationResults": [{"EvalActionName": a, "EvalDecision": d} for a, d in decisions.items()]}

    iam = Answers(
        get_role={"Role": {"Arn": "arn:aws:iam::123456789012:role/teams/deployer"}}, simulate_principal_policy=simulate
    )
    who = {"Arn": ROLE, "Account": "123456789012"}
    check = get_single_check(check_permissions(AnsweredAccount(iam=iam), who, "baton-dev"))
    assert (check.outcome, check.detail) == (Outcome.FAILS, "not allowed: iam:PassRole")
    requests = [request for request in iam.requests if "ActionNames" in request]
    assert ["arn:aws:dynamodb:us-east-1:123456789012:table/baton-dev-example"] in [r["ResourceArns"] for r in requests]


@pytest.mark.parametrize("arn", [ROLE, "arn:aws:iam::123456789012:user/ada"])
def test_a_caller_who_may_not_ask_about_permissions_is_not_stopped(aws: str, arn: str) -> None:
    iam = Answers(get_role=make_denied("GetRole"), simulate_principal_policy=make_denied("SimulatePrincipalPolicy"))
    check = get_single_check(
        check_permissions(AnsweredAccount(iam=iam), {"Arn": arn, "Account": "123456789012"}, "baton-dev")
    )
    assert check.outcome is Outcome.UNKNOWN
    assert "deployer-policy.json" in check.advice


@pytest.mark.parametrize(
    ("quota", "outcome", "detail", "advice"),
    [
        (
            10,
            Outcome.NOTE,
            "10 executions at once in this account, as young accounts have",
            "MaximumConcurrentTurns to 5",
        ),
        (200, Outcome.NOTE, "MaximumConcurrentTurns (200) can take them all", "MaximumConcurrentTurns to 100"),
        (1000, Outcome.FINE, "1000 executions at once", ""),
    ],
)
def test_the_quota_of_executions_is_explained(aws: str, quota: int, outcome: Outcome, detail: str, advice: str) -> None:
    functions = Answers(get_account_settings={"AccountLimit": {"ConcurrentExecutions": quota}})
    check = get_single_check(
        check_concurrency(AnsweredAccount(**{"lambda": functions}), template(ConcurrencyQuota=str(quota)))
    )
    assert (check.outcome, detail in check.detail, advice in check.advice) == (outcome, True, True)


@pytest.mark.parametrize(
    ("status", "outcome", "advice"),
    [
        ("ROLLBACK_COMPLETE", Outcome.FAILS, "aws cloudformation delete-stack --stack-name baton-dev"),
        ("UPDATE_ROLLBACK_FAILED", Outcome.FAILS, "continue-update-rollback"),
        ("UPDATE_IN_PROGRESS", Outcome.FAILS, "Wait"),
        ("UPDATE_ROLLBACK_COMPLETE", Outcome.FINE, ""),
        ("REVIEW_IN_PROGRESS", Outcome.FINE, ""),
    ],
)
def test_a_stack_that_takes_no_deployment_is_found(aws: str, status: str, outcome: Outcome, advice: str) -> None:
    stacks = Answers(describe_stacks={"Stacks": [{"StackStatus": status}]})
    check = get_single_check(check_state(AnsweredAccount(cloudformation=stacks), "baton-dev"))
    assert (check.outcome, advice in check.advice) == (outcome, True)


def test_what_an_earlier_stack_has_left_under_fixed_names_is_found(
    aws: str, secrets: Callable[[str, str], None]
) -> None:
    account = Account(REGION)
    secrets("left-over/push-key", "text")
    groups = [f"/aws/lambda/left-over/function{number:02}" for number in range(55)]
    for group in groups:  # more than a page
        account.client("logs").create_log_group(logGroupName=group)
    fine, *remaining = check_state(account, "left-over")
    assert fine.outcome is Outcome.FINE
    assert [check.outcome for check in remaining] == [Outcome.FAILS, Outcome.FAILS]
    commands = remaining[0].advice.splitlines()
    assert commands == [f"aws logs delete-log-group --log-group-name {group} --region {REGION}" for group in groups]
    assert (
        "This deletes it for good:\naws secretsmanager delete-secret --secret-id left-over/push-key"
        in remaining[1].advice
    )


def test_secrets_that_functions_can_use_are_fine(aws: str, secrets: Callable[[str, str], None]) -> None:
    secrets("s1/model-key", "sk-key")
    secrets("s1/embed-keys", json.dumps({"acme-1": {"tenant": "acme", "algorithm": "HS256", "key": KEY}}))
    chosen = template(EmbedKeysSecret="s1/embed-keys", ModelKeySecret="s1/model-key")
    assert [check.outcome for check in check_secrets(Account(REGION), chosen)] == [Outcome.FINE, Outcome.FINE]


@pytest.mark.parametrize(
    ("parameter", "text", "reason"),
    [
        ("ModelKeySecret", "sk-key\n", "white space"),
        ("ModelKeySecret", '{"key": "sk-key"}', "JSON object"),
        ("EmbedKeysSecret", "sk-key", "no JSON object"),
        ("EmbedKeysSecret", '{"a": {"tenant": "acme", "algorithm": "HS256", "key": "short"}}', "the key a: "),
        ("EmbedKeysSecret", '{"a": {"tenant": "*", "algorithm": "HS256", "key": "' + KEY + '"}}', "local cloud only"),
        ("CardKeysSecret", "{}", "not a JWK set"),
        ("DelegationKeysSecret", "word", "not Fernet keys"),
        ("TracesHeadersSecret", "word", "no JSON object of headers"),
    ],
)
def test_a_secret_that_functions_cannot_use_is_found_without_quoting_it(
    aws: str, secrets: Callable[[str, str], None], parameter: str, text: str, reason: str
) -> None:
    secrets("s2/secret", text)
    checks = list(check_secrets(Account(REGION), template(**{parameter: "s2/secret"})))
    [result] = [check for check in checks if f"({parameter})" in check.detail]
    assert (result.outcome, reason in result.detail) == (Outcome.FAILS, True)
    assert "sk-key" not in result.detail


def test_secrets_without_keys_and_of_providers_are_found(aws: str, secrets: Callable[[str, str], None]) -> None:
    secrets("s3/embed-keys", "{}")
    chosen = template(EmbedKeysSecret="s3/embed-keys", ModelBaseUrl="")
    embed, other = check_secrets(Account(REGION), chosen, {"other": "baton/dev/models/other"})
    assert (embed.outcome, "only tokens of tokenIssuers" in embed.detail) == (Outcome.NOTE, True)
    assert (other.outcome, "create-secret --name baton/dev/models/other" in other.advice) == (Outcome.FAILS, True)


OWN_KEY = f"arn:aws:kms:{REGION}:123456789012:key/0f8b2c1e"
OTHER_KEY = f"arn:aws:kms:{REGION}:123456789012:key/9a7d"


@pytest.mark.parametrize(
    ("encrypted_with", "allowed", "outcome", "advice"),
    [
        (None, "", Outcome.FINE, ""),
        ("alias/aws/secretsmanager", "", Outcome.FINE, ""),
        (f"arn:aws:kms:{REGION}:123456789012:alias/aws/secretsmanager", OWN_KEY, Outcome.FINE, ""),
        (OWN_KEY, OWN_KEY, Outcome.FINE, ""),
        ("0f8b2c1e", OWN_KEY, Outcome.FINE, ""),
        ("alias/own", OWN_KEY, Outcome.FINE, ""),
        (f"arn:aws:kms:{REGION}:123456789012:alias/own", OWN_KEY, Outcome.FINE, ""),
        (OWN_KEY, "", Outcome.FAILS, f"parameter SecretsKeyArn to {OWN_KEY}"),
        ("alias/own", "", Outcome.FAILS, f"parameter SecretsKeyArn to {OWN_KEY}"),
        ("0f8b2c1e", "", Outcome.FAILS, "parameter SecretsKeyArn to the ARN of 0f8b2c1e"),
        (OTHER_KEY, OWN_KEY, Outcome.FAILS, f"--kms-key-id {OWN_KEY}"),
        ("alias/gone", OWN_KEY, Outcome.UNKNOWN, "describe-key --key-id alias/gone"),
    ],
)
def test_a_secret_may_have_the_key_that_functions_may_decrypt_with(
    aws: str, encrypted_with: str | None, allowed: str, outcome: Outcome, advice: str
) -> None:
    def describe_key(KeyId: str) -> Any:  # noqa: N803
        if not KeyId.endswith("alias/own"):
            raise ClientError({"Error": {"Code": "NotFoundException", "Message": "no alias"}}, "DescribeKey")
        return {"KeyMetadata": {"Arn": OWN_KEY}}

    described = {"Name": "s", **({"KmsKeyId": encrypted_with} if encrypted_with else {})}
    manager = Answers(describe_secret=described, get_secret_value={"SecretString": "sk-key"})
    account = AnsweredAccount(secretsmanager=manager, kms=Answers(describe_key=describe_key))
    model, *_ = check_secrets(account, template(SecretsKeyArn=allowed))
    assert (model.outcome, advice in model.advice) == (outcome, True)


def test_a_wrong_value_is_found_also_if_its_key_cannot_be_checked(aws: str) -> None:
    manager = Answers(describe_secret={"Name": "s", "KmsKeyId": "alias/x"}, get_secret_value={"SecretString": "k\n"})
    account = AnsweredAccount(secretsmanager=manager, kms=Answers(describe_key=make_denied("DescribeKey")))
    model, *_ = check_secrets(account, template())
    assert (model.outcome, "white space" in model.detail) == (Outcome.FAILS, True)


@pytest.mark.parametrize(
    ("text", "issuers", "verb"),
    [
        (None, 0, "create-secret --name s6/embed-keys"),
        ("{}", 0, "put-secret-value --secret-id s6/embed-keys"),
        ("{}", 1, None),
        ('{"acme-1": {"tenant": "acme", "algorithm": "HS256", "key": "' + KEY + '"}}', 0, None),
        ("sk-key", 0, None),
    ],
)
def test_a_stage_that_can_accept_no_token_is_one_note(
    aws: str, secrets: Callable[[str, str], None], text: str | None, issuers: int, verb: str | None
) -> None:
    if text is not None:
        secrets("s6/embed-keys", text)
    results = list(check_tokens(Account(REGION), template(EmbedKeysSecret="s6/embed-keys"), has_issuers=issuers > 0))
    assert [check.outcome for check in results] == ([Outcome.NOTE] if verb else [])
    assert all(f"aws secretsmanager {verb} --secret-string" in check.advice for check in results)


def test_secrets_that_the_caller_may_not_read_are_noted_to_exist(aws: str) -> None:
    manager = Answers(describe_secret={"Name": "s"}, get_secret_value=make_denied("GetSecretValue"))
    checks = list(check_secrets(AnsweredAccount(secretsmanager=manager), template()))
    assert {check.outcome for check in checks} == {Outcome.NOTE}
    assert "the caller may not read whether its form is right" in checks[0].detail


class Provider(BaseHTTPRequestHandler):
    """A provider of models with one key and one model."""

    def do_GET(self) -> None:
        is_known = self.headers["Authorization"] == "Bearer sk-key"
        is_busy = self.headers["Authorization"] == "Bearer sk-busy"
        self.send_response(200 if is_known else 429 if is_busy else 401)
        self.end_headers()
        self.wfile.write(json.dumps({"data": [{"id": "gpt-6-sol"}]}).encode() if is_known else b"")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    ("key", "parameters", "outcome", "detail"),
    [
        ("sk-key", {}, Outcome.FINE, "accepts the key and has gpt-6-sol"),
        ("sk-old", {}, Outcome.FAILS, "refuses the key of s4/model-key (401)"),
        ("sk-busy", {}, Outcome.UNKNOWN, "does not answer at the moment (429)"),
        ("sk-key\n", {}, Outcome.FAILS, "the key of s4/model-key has characters"),
        ("sk-key", {"ModelBaseUrl": "https://models\x1f"}, Outcome.FAILS, "cannot be reached"),
        ("sk-key", {"ChatModel": "gpt-2"}, Outcome.FAILS, "does not list gpt-2 (ChatModel)"),
        ("sk-key", {"ChatModel": "bedrock/x"}, Outcome.NOTE, "only the default provider is asked"),
        ("sk-key", {"ModelBaseUrl": "http://127.0.0.1:9"}, Outcome.FAILS, "cannot be reached"),
    ],
)
def test_the_provider_of_models_is_asked_with_the_stages_key(
    aws: str, provider: str, key: str, parameters: dict[str, str], outcome: Outcome, detail: str
) -> None:
    manager = Answers(get_secret_value={"SecretString": key})
    chosen = template(**{"ModelBaseUrl": provider, "ModelKeySecret": "s4/model-key", **parameters})
    check = get_single_check(check_model(AnsweredAccount(secretsmanager=manager), chosen))
    assert (check.outcome, detail in check.detail) == (outcome, True)


def test_a_binary_key_is_one_that_the_provider_refuses(aws: str, provider: str) -> None:
    manager = Answers(get_secret_value={"SecretBinary": b"sk-key"})
    check = get_single_check(check_model(AnsweredAccount(secretsmanager=manager), template(ModelBaseUrl=provider)))
    assert check.outcome is Outcome.FAILS


@pytest.mark.parametrize(
    ("quota", "parameter", "advice"),
    [
        (10, "1000", "Remove the parameter ConcurrencyQuota: the deployment then passes on the account's quota."),
        (5000, "5000", None),
        (5000, None, None),
    ],
)
def test_another_quota_than_that_of_the_alarm_is_found(
    aws: str, quota: int, parameter: str | None, advice: str | None
) -> None:
    functions = Answers(get_account_settings={"AccountLimit": {"ConcurrentExecutions": quota}})
    options = {} if parameter is None else {"ConcurrencyQuota": parameter}
    _, *others = check_concurrency(AnsweredAccount(**{"lambda": functions}), template(**options))
    results = [(check.outcome, check.advice) for check in others]
    assert results == ([(Outcome.NOTE, advice)] if advice else [])


def test_parameters_that_are_no_numbers_are_left_to_their_own_row(aws: str) -> None:
    functions = Answers(get_account_settings={"AccountLimit": {"ConcurrentExecutions": 1000}})
    wrong = dict.fromkeys(("MaximumConcurrentTurns", "ConcurrencyQuota", "ReservedConcurrencyHttp"), "many")
    check = get_single_check(check_concurrency(AnsweredAccount(**{"lambda": functions}), template(**wrong)))
    assert check.outcome is Outcome.FINE


def test_a_production_stage_whose_alarms_notify_nobody_is_found() -> None:
    silent = get_single_check(check_alarms("prod", template()))
    assert (silent.outcome, "AlarmTopicArn" in silent.advice) == (Outcome.NOTE, True)
    topic = f"arn:aws:sns:{REGION}:123456789012:oncall"
    assert not [*check_alarms("prod", template(AlarmTopicArn=topic)), *check_alarms("dev", template())]


def test_a_provider_whose_key_has_no_secret_is_not_asked(aws: str) -> None:
    check = get_single_check(check_model(Account(REGION), template(ModelKeySecret="s5/missing")))
    assert (check.outcome, check.detail.startswith("there is no secret s5/missing")) == (Outcome.UNKNOWN, True)


@pytest.mark.parametrize(("quota", "outcome"), [(150, Outcome.FAILS), (1000, Outcome.FINE)])
def test_reservations_that_leave_too_little_are_found(aws: str, quota: int, outcome: Outcome) -> None:
    functions = Answers(get_account_settings={"AccountLimit": {"ConcurrentExecutions": quota}})
    chosen = template(ReservedConcurrencyTurns="60", ReservedConcurrencyHttp="20", ConcurrencyQuota=str(quota))
    check = get_single_check(check_concurrency(AnsweredAccount(**{"lambda": functions}), chosen))
    assert check.outcome is outcome
    assert ("reserve 80 of 150" in check.detail) == (outcome is Outcome.FAILS)


def test_secrets_and_parameters_that_headers_of_agents_name_are_there(
    secrets: Callable[[str, str], None], tmp_path: Path
) -> None:
    headers = {
        "X-Plain": '{secret: "baton/{stage}/tools/plain"}',
        "X-Field": '{secret: "baton/{stage}/tools/fields", key: api_key}',
        "X-Other": '{secret: "baton/{stage}/tools/fields", key: other}',
        "X-Missing": '{secret: "baton/{stage}/tools/missing"}',
        "X-Parameter": '{parameter: "/baton/{stage}/tools/there"}',
        "X-Nowhere": '{parameter: "/baton/{stage}/tools/nowhere"}',
    }
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "a.yaml").write_text(
        "id: a\nname: A\ndescription: A.\nmain: true\nsystem_prompt: Help.\nguardrails:\n"
        "  - name: policy\n    url: https://policy.example.com\n    headers:\n"
        + "".join(f"      {name}: {value}\n" for name, value in headers.items())
    )
    secrets("baton/dev/tools/plain", "key")
    secrets("baton/dev/tools/fields", '{"api_key": "key"}')

    def get_parameter(Name: str) -> dict[str, Any]:  # noqa: N803  AWS's name
        if Name.endswith("nowhere"):
            raise ClientError({"Error": {"Code": "ParameterNotFound", "Message": "none"}}, "GetParameter")
        return {"Parameter": {"Value": "key"}}

    account = AnsweredAccount(ssm=Answers(get_parameter=get_parameter))
    contents = Contents(tmp_path, AgentFiles.load(tmp_path / "agents"))
    rows = list(check_references(account, template(Stage="dev"), contents))
    assert [row.outcome for row in rows] == [
        *(Outcome.FINE, Outcome.FINE, Outcome.FAILS, Outcome.FAILS, Outcome.FINE, Outcome.FAILS)
    ]
    assert "(agents/a.yaml:12: guardrails.0.headers.X-Other): is no JSON object with the text other" in rows[2].detail
    assert rows[3].advice.startswith("aws secretsmanager create-secret --name baton/dev/tools/missing ")
    assert rows[5].advice.startswith("aws ssm put-parameter --name /baton/dev/tools/nowhere --type SecureString ")
