"""Each function may do what it needs and nothing else."""

from __future__ import annotations

import pytest

from baton.adapters.aws.s3_settings import SETTINGS_KEY
from baton.adapters.opensearch.readiness import ATTEMPT_SECONDS, PATIENCE_SECONDS
from tests.infrastructure.stack import Stack, as_list, find_references, text

LOGGING = {"logs:CreateLogStream", "logs:PutLogEvents"}
GET = "dynamodb:GetItem"
READ = {GET, "dynamodb:Query"}
PUT, UPDATE, DELETE, LISTS = "dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:BatchGetItem"
SCAN = "dynamodb:Scan"
TURNS = READ | {PUT, UPDATE, DELETE}
LARGE_MESSAGES = {"s3:GetObject", "s3:ListBucket"}
SETTINGS = {"s3:GetObject", "s3:ListBucket"}
OBJECTS = LARGE_MESSAGES | {"s3:PutObject"}
REMOVE = {"s3:DeleteObjectVersion", "s3:ListBucketVersions"}
CONSUME = {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"}
HIDE = {"sqs:ChangeMessageVisibility"}
POST = {"execute-api:ManageConnections"}
SECRETS = {"secretsmanager:GetSecretValue"}
PARAMETERS = {"ssm:GetParameter"}
SEND = {"sqs:SendMessage"}
ANNOUNCE = {"events:PutEvents"}
CLOSE = {"states:StartExecution"}

ALLOWED = {
    "AuthorizerFunction": LOGGING | SECRETS | SETTINGS,
    "SocketsFunction": LOGGING | READ | {PUT, UPDATE, DELETE} | LARGE_MESSAGES | POST | SEND,
    "TurnsFunction": LOGGING | TURNS | {LISTS} | OBJECTS | POST | CONSUME | SEND | HIDE | SECRETS | PARAMETERS | CLOSE,
    "DeadTurnsFunction": LOGGING | TURNS | OBJECTS | POST | CONSUME | SEND | CLOSE,
    "NotificationsFunction": LOGGING | READ | {PUT, DELETE} | LARGE_MESSAGES | CONSUME | HIDE | SEND | SECRETS,
    "StreamsFunction": LOGGING | TURNS | {LISTS, SCAN} | OBJECTS | POST | SECRETS | PARAMETERS | SEND | CLOSE,
    "HttpFunction": LOGGING | READ | {PUT, UPDATE, DELETE, LISTS} | OBJECTS | POST | SECRETS | SEND | CLOSE,
    "SweeperFunction": LOGGING | TURNS | {LISTS} | SETTINGS | POST | SEND | CONSUME | CLOSE,
    "SearchFunction": LOGGING | READ | {LISTS, SCAN, PUT, DELETE} | LARGE_MESSAGES | SECRETS | CLOSE,
    "ClosingFunction": LOGGING | READ | {PUT, UPDATE, DELETE} | OBJECTS | SECRETS | CLOSE,
    "LearningFunction": LOGGING | READ | {LISTS, PUT, UPDATE, DELETE} | LARGE_MESSAGES | SECRETS | ANNOUNCE | CLOSE,
    "ForgettingFunction": LOGGING | TURNS | {LISTS, SCAN} | REMOVE | SEND,
    "IngestionFunction": LOGGING | TURNS | {LISTS} | OBJECTS | REMOVE | SECRETS | CLOSE,
}
READ_SECRETS = {
    "AuthorizerFunction": {"DelegationKeysSecret", "EmbedKeysSecret"},
    "TurnsFunction": {"DelegationKeysSecret", "ModelKeySecret", "Stage", "TracesHeadersSecret"},
    "StreamsFunction": {
        *("CardKeysSecret", "DelegationKeysSecret", "EmbedKeysSecret", "ModelKeySecret", "Stage"),
        "TracesHeadersSecret",
    },
    "SearchFunction": {"ModelKeySecret"},
    "NotificationsFunction": {"Stage"},
    "HttpFunction": {"CardKeysSecret", "DelegationKeysSecret", "EmbedKeysSecret", "ModelKeySecret", "Stage"},
    "ClosingFunction": {"ModelKeySecret", "Stage"},
    "LearningFunction": {"ModelKeySecret", "Stage"},
    "IngestionFunction": {"ModelKeySecret"},
}

KEYS_OF_PROVIDERS = "baton/${Stage}/models/*"
ASK_CHAT_MODELS = {"TurnsFunction", "StreamsFunction", "HttpFunction", "ClosingFunction", "LearningFunction"}


def test_every_function_has_a_role_of_its_own(stack: Stack) -> None:
    roles = [stack.role_of(function) for function in stack.functions]
    assert len(set(roles)) == len(roles)
    assert set(stack.functions) == set(ALLOWED)


@pytest.mark.parametrize("function", ALLOWED)
def test_a_role_allows_exactly_this(stack: Stack, function: str) -> None:
    statements = stack.statements(stack.role_of(function))
    assert {statement["Effect"] for statement in statements} == {"Allow"}
    assert {action for statement in statements for action in statement["Action"]} == ALLOWED[function]


@pytest.mark.parametrize("function", ALLOWED)
def test_a_role_names_its_resources(stack: Stack, function: str) -> None:
    role = stack.role_of(function)
    assert "ManagedPolicyArns" not in stack[role]
    for statement in stack.statements(role):
        assert not any("*" in action for action in statement["Action"])
        assert all(set(find_references(resource)) - {"AWS::Partition"} for resource in statement["Resource"])


@pytest.mark.parametrize("function", ALLOWED)
def test_a_function_logs_to_its_own_group_only(stack: Stack, function: str) -> None:
    (statement,) = [item for item in stack.statements(stack.role_of(function)) if "logs:PutLogEvents" in item["Action"]]
    assert set(find_references(statement["Resource"])) == {stack[function]["LoggingConfig"]["LogGroup"]["Ref"]}


@pytest.mark.parametrize("function", ALLOWED)
def test_a_function_reads_only_the_secrets_it_uses(stack: Stack, function: str) -> None:
    names = {
        name
        for statement in stack.statements(stack.role_of(function))
        if set(statement["Action"]) == SECRETS
        for name in find_references(statement["Resource"])
        if not name.startswith("AWS::")
    }
    assert names == READ_SECRETS.get(function, set())


SETTINGS_PLACE = {"Fn::Sub": f"${{Bucket.Arn}}/{SETTINGS_KEY}"}
WITHOUT_SETTINGS = {"ForgettingFunction"}


@pytest.mark.parametrize("function", sorted(set(ALLOWED) - WITHOUT_SETTINGS))
def test_a_function_may_read_the_settings_and_nothing_else_for_it(stack: Stack, function: str) -> None:
    statements = [
        statement for statement in stack.statements(stack.role_of(function)) if "s3:GetObject" in statement["Action"]
    ]
    places = [location for statement in statements for location in statement["Resource"]]
    assert SETTINGS_PLACE in places or {"Fn::Sub": "${Bucket.Arn}/*"} in places
    if function in ("AuthorizerFunction", "SweeperFunction"):
        assert places == [SETTINGS_PLACE]


def test_no_function_can_change_the_settings(stack: Stack) -> None:
    _, statement = stack["BucketPolicy"]["PolicyDocument"]["Statement"]
    assert (statement["Effect"], statement["Resource"]) == ("Deny", {"Fn::Sub": "${Bucket.Arn}/~settings/*"})
    refused = set(find_references(statement["Principal"]))
    writes = set(statement["Action"])
    for function in stack.functions:
        role = stack.role_of(function)
        everywhere = [
            statement for statement in stack.statements(role) if {"Fn::Sub": "${Bucket.Arn}/*"} in statement["Resource"]
        ]
        if any(writes & set(item["Action"]) for item in everywhere):
            assert role in refused
    assert writes >= {"s3:PutObject", "s3:DeleteObject", "s3:DeleteObjectVersion"}


@pytest.mark.parametrize("function", ["TurnsFunction", "StreamsFunction"])
def test_agents_headers_refer_to_secrets_of_this_stage_and_of_their_own_folders(stack: Stack, function: str) -> None:
    places = [
        part
        for statement in stack.statements(stack.role_of(function))
        for part in text(statement["Resource"]).split('"')
        if part.endswith("/*") and ("secretsmanager" in part or ":ssm:" in part)
    ]
    ends = {location.rpartition(":")[2] for location in places} - {KEYS_OF_PROVIDERS}
    folders = {"baton/${Stage}/tools/*", "baton/${Stage}/agents/*"}
    assert ends == folders | {f"parameter/{folder}" for folder in folders}


@pytest.mark.parametrize("function", ALLOWED)
def test_what_asks_chat_models_reads_the_keys_of_their_providers(stack: Stack, function: str) -> None:
    statements = stack.statements(stack.role_of(function))
    reads = any(KEYS_OF_PROVIDERS in text(statement["Resource"]) for statement in statements)
    assert reads == (function in ASK_CHAT_MODELS)


@pytest.mark.parametrize(
    ("function", "queues"),
    [
        ("SocketsFunction", {"TurnsQueue"}),
        ("TurnsFunction", {"TurnsQueue", "NotificationsQueue", "DueQueue"}),
        ("DeadTurnsFunction", {"DeadTurnsQueue", "NotificationsQueue", "TurnsQueue"}),
        ("StreamsFunction", {"TurnsQueue", "NotificationsQueue", "DueQueue"}),
        ("HttpFunction", {"TurnsQueue", "NotificationsQueue", "DueQueue"}),
        ("SweeperFunction", {"TurnsQueue", "NotificationsQueue", "DueQueue"}),
        ("NotificationsFunction", {"NotificationsQueue"}),
    ],
)
def test_a_function_reaches_its_queues_only(stack: Stack, function: str, queues: set[str]) -> None:
    statements = [item for item in stack.statements(stack.role_of(function)) if item["Action"][0].startswith("sqs:")]
    assert set(find_references([item["Resource"] for item in statements])) == queues


@pytest.mark.parametrize("function", sorted(name for name in ALLOWED if name != "NotificationsFunction"))
def test_only_the_sender_takes_notifications_from_their_queue(stack: Stack, function: str) -> None:
    statements = [
        item
        for item in stack.statements(stack.role_of(function))
        if "NotificationsQueue" in set(find_references(item["Resource"]))
    ]
    assert {action for item in statements for action in item["Action"]} <= SEND


@pytest.mark.parametrize("function", sorted(name for name in ALLOWED if ALLOWED[name] >= POST))
def test_connections_are_managed_on_this_api_and_stage_only(stack: Stack, function: str) -> None:
    (statement,) = [item for item in stack.statements(stack.role_of(function)) if set(item["Action"]) == POST]
    for resource in statement["Resource"]:
        assert {"WebSocketApi", "Stage"} <= set(find_references(resource))
        assert "/@connections/*" in text(resource)


def test_only_sockets_disconnect_a_client(stack: Stack) -> None:
    def disconnects(function: str) -> bool:
        return "/DELETE/@connections/*" in text(stack.statements(stack.role_of(function)))

    assert {function for function in ALLOWED if disconnects(function)} == {"SocketsFunction"}


def test_only_functions_that_list_query_an_index(stack: Stack) -> None:
    def indexes(function: str) -> list[str]:
        resources = [item["Resource"] for item in stack.statements(stack.role_of(function))]
        return [part for part in text(resources).split('"') if "/index/" in part]

    # SearchFunction lists what an operator's command checks.
    # LearningFunction lists an agent's procedures.
    # Both functions of turns list the user's other conversations, whose connections learn of an answer.
    lists = {"HttpFunction", "StreamsFunction", "ForgettingFunction", "SearchFunction", "LearningFunction"}
    lists |= {"TurnsFunction", "DeadTurnsFunction"}
    assert {function: indexes(function) for function in lists} == {
        function: ["${Table.Arn}/index/listing"] for function in lists
    }
    # SweeperFunction lists a user's conversations for reminders that enter the newest one.
    assert indexes("SweeperFunction") == ["${Table.Arn}/index/idle", "${Table.Arn}/index/listing"]
    # IngestionFunction lists the documents of libraries for deployments.
    assert indexes("IngestionFunction") == ["${Table.Arn}/index/idle", "${Table.Arn}/index/listing"]
    assert not any(indexes(function) for function in set(ALLOWED) - lists - {"SweeperFunction", "IngestionFunction"})


BY_NAME = {"AWS::Partition", "AWS::Region", "AWS::AccountId", "AWS::StackName"}
"""References in an ARN that is made of a name: the machine that the function belongs to."""
STARTED = {
    "TurnsFunction": {"CaptureProcedure", "CloseSession"},
    "DeadTurnsFunction": {"CloseSession"},
    "StreamsFunction": {"CaptureProcedure", "CloseSession"},
    "HttpFunction": {"ForgetUser", "IngestDocument"},
    # Of tasks whose capture was not started during the session, and the next session's closing.
    "ClosingFunction": {"CaptureProcedure", *BY_NAME},
    "LearningFunction": BY_NAME,
    "SearchFunction": BY_NAME,
    "SweeperFunction": {"CaptureProcedure", "CloseSession", "ForgetUser", "IngestDocument"},
    "IngestionFunction": BY_NAME,
}
"""The state machines that functions start."""


def test_a_function_starts_only_executions_that_it_needs(stack: Stack) -> None:
    def find_started(function: str) -> set[str]:
        statements = stack.statements(stack.role_of(function))
        return {
            machine
            for item in statements
            if set(item["Action"]) == CLOSE
            for machine in find_references(item["Resource"])
        }

    assert {function: find_started(function) for function in ALLOWED if find_started(function)} == STARTED


@pytest.mark.parametrize(
    ("function", "machine", "variable"),
    [
        ("IngestionFunction", "IngestDocument", "BATON_INGEST_DOCUMENT_ARN"),
        ("SearchFunction", "IngestDocument", "BATON_INGEST_DOCUMENT_ARN"),
        ("ClosingFunction", "CloseSession", "BATON_CLOSE_SESSION_ARN"),
        ("LearningFunction", "CaptureProcedure", "BATON_CAPTURE_PROCEDURE_ARN"),
    ],
)
def test_a_function_starts_its_own_state_machine_by_the_name_that_this_has(
    stack: Stack, function: str, machine: str, variable: str
) -> None:
    name = stack[machine]["StateMachineName"]["Fn::Sub"]
    (statement,) = [
        item
        for item in stack.statements(stack.role_of(function))
        if set(item["Action"]) == CLOSE and "Fn::Sub" in text(item["Resource"])
    ]
    assert text(statement["Resource"]).endswith(f':stateMachine:{name}"}}]')
    assert [stack[function]["Environment"]["Variables"][variable]] == statement["Resource"]


@pytest.mark.parametrize(
    ("machine", "function"),
    [
        ("CaptureProcedure", "LearningFunction"),
        ("CloseSession", "ClosingFunction"),
        ("ForgetUser", "ForgettingFunction"),
        ("IngestDocument", "IngestionFunction"),
    ],
)
def test_a_state_machine_calls_only_its_own_function(stack: Stack, machine: str, function: str) -> None:
    role = stack[machine]["RoleArn"]["Fn::GetAtt"][0]
    assert "ManagedPolicyArns" not in stack[role]
    by_reach: dict[bool, set[str]] = {True: set(), False: set()}
    for statement in stack.statements(role):
        by_reach[statement["Resource"] == ["*"]] |= set(statement["Action"])
        if statement["Resource"] != ["*"]:
            assert set(find_references(statement["Resource"])) == {function}
    assert by_reach[False] == {"lambda:InvokeFunction"}
    assert {action.split(":")[0] for action in by_reach[True]} == {"logs"}  # AWS knows no resources for these
    (trust,) = stack[role]["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Principal"] == {"Service": "states.amazonaws.com"}


def test_a_schedule_invokes_only_its_own_function(stack: Stack) -> None:
    for schedule in stack.of_type("AWS::Scheduler::Schedule").values():
        role = schedule["Target"]["RoleArn"]["Fn::GetAtt"][0]
        (statement,) = stack.statements(role)
        assert statement["Action"] == ["lambda:InvokeFunction"]
        assert list(find_references(statement["Resource"])) == list(find_references(schedule["Target"]["Arn"]))
        (trust,) = stack[role]["AssumeRolePolicyDocument"]["Statement"]
        assert as_list(trust["Principal"]["Service"]) == ["scheduler.amazonaws.com"]


def test_sources_are_read_below_their_own_prefix_and_in_the_bucket_that_was_named(stack: Stack) -> None:
    statements = {item["Sid"]: item for item in stack.statements(stack.role_of("IngestionFunction"))}
    assert statements["ReadSources"]["Action"] == ["s3:GetObject"]
    assert text(statements["ReadSources"]["Resource"]).endswith('/*/~sources/*"}]')
    policy = stack["SourceBucketPolicy"]
    assert policy["RoleName"] == {"Ref": "IngestionRole"}
    (statement,) = policy["PolicyDocument"]["Statement"]
    assert set(as_list(statement["Action"])) == {"s3:GetObject", "s3:ListBucket"}
    assert set(find_references(statement["Resource"])) == {"AWS::Partition", "SourceBucket"}


def test_lambda_alone_assumes_the_roles(stack: Stack) -> None:
    for function in stack.functions:
        (statement,) = stack[stack.role_of(function)]["AssumeRolePolicyDocument"]["Statement"]
        assert statement["Principal"] == {"Service": "lambda.amazonaws.com"}


def test_functions_that_search_reach_one_domain_and_one_function_administers_it(stack: Stack) -> None:
    by_roles = {
        frozenset(find_references(policy["Roles"])): policy["PolicyDocument"]["Statement"][0]
        for name, policy in stack.of_type("AWS::IAM::Policy").items()
        if name.startswith("Search")
    }
    users = frozenset({"TurnsRole", "StreamsRole", "HttpRole", "ClosingRole", "IngestionRole", "ForgettingRole"})
    assert set(by_roles) == {users, frozenset({"SearchRole"})}
    assert set(find_references(stack["SearchIndices"]["Roles"])) - {"HasNewDomain"} == users, (
        "the domain lets the same in"
    )
    for statement in by_roles.values():
        assert statement["Effect"] == "Allow"
        assert all(action.startswith("es:ESHttp") and "*" not in action for action in statement["Action"])
        assert {"SearchDomain", "OpenSearchDomainName"} <= set(find_references(statement["Resource"]))
        assert "domain/*" not in text(statement["Resource"])
    assert "es:ESHttpDelete" not in by_roles[users]["Action"]


def test_functions_that_read_secrets_decrypt_them_with_the_accounts_key_and_no_others_do(stack: Stack) -> None:
    policy = stack["SecretsKeyPolicy"]
    assert stack.resources["SecretsKeyPolicy"]["Condition"] == "HasSecretsKey"
    readers = {
        role
        for role in map(stack.role_of, stack.functions)
        if any("secretsmanager:GetSecretValue" in statement["Action"] for statement in stack.statements(role))
    }
    assert set(find_references(policy["Roles"])) == readers
    (statement,) = policy["PolicyDocument"]["Statement"]
    assert (statement["Action"], statement["Resource"]) == ("kms:Decrypt", {"Ref": "SecretsKeyArn"})
    assert list(statement["Condition"]["StringEquals"]) == ["kms:ViaService"]


def test_functions_that_ask_models_may_ask_those_on_bedrock_and_no_other_function(stack: Stack) -> None:
    """The parameters' settings. Their grants are tested in tests/grants."""
    policies = {name: policy for name, policy in stack.of_type("AWS::IAM::Policy").items() if "Bedrock" in name}
    chatting, embedding = policies["BedrockPolicy"], policies["BedrockEmbeddingPolicy"]
    assert set(find_references(chatting["Roles"])) == {stack.role_of(function) for function in ASK_CHAT_MODELS}
    embeds = set(READ_SECRETS) - ASK_CHAT_MODELS - {"AuthorizerFunction", "NotificationsFunction"}
    assert set(find_references(embedding["Roles"])) - {"AWS::NoValue"} == {
        stack.role_of(function) for function in embeds
    }
    assert {stack.resources[name]["Condition"] for name in policies} == {"UsesBedrock", "EmbedsOnBedrock"}


def test_the_domain_is_closed(stack: Stack) -> None:
    domain = stack["SearchDomain"]
    access = domain["AdvancedSecurityOptions"]
    assert access["Enabled"] is True
    assert (access["InternalUserDatabaseEnabled"], access["AnonymousAuthEnabled"]) == (False, False)
    assert list(find_references(access["MasterUserOptions"])) == ["SearchRole"]
    assert domain["EncryptionAtRestOptions"] == {"Enabled": True}
    assert domain["NodeToNodeEncryptionOptions"] == {"Enabled": True}
    assert domain["DomainEndpointOptions"]["EnforceHTTPS"] is True
    assert stack.resources["SearchDomain"]["DeletionPolicy"] == "RetainExceptOnCreate"


def test_the_domains_own_policy_lets_its_administrator_in(stack: Stack) -> None:
    """A role's policy is attached when the domain is ready, and the indices are made before it is known everywhere."""
    (statement,) = stack["SearchDomain"]["AccessPolicies"]["Statement"]
    account, administrator = statement["Principal"]["AWS"]
    assert account == {"Fn::Sub": "arn:${AWS::Partition}:iam::${AWS::AccountId}:root"}
    assert administrator == {"Fn::GetAtt": ["SearchRole", "Arn"]}
    assert (statement["Effect"], statement["Action"]) == ("Allow", "es:ESHttp*")


def test_the_indices_are_given_the_time_that_their_function_takes(stack: Stack) -> None:
    answered = PATIENCE_SECONDS + ATTEMPT_SECONDS
    assert answered < int(stack["SearchIndices"]["ServiceTimeout"]) < stack["SearchFunction"]["Timeout"]


def test_a_domain_is_created_without_logs_and_later_publishes_its_errors_only(stack: Stack) -> None:
    """OpenSearch may not accept a log policy that was created seconds before."""
    parameter = stack.template["Parameters"]["SearchDomainLogging"]
    assert (parameter["Default"], parameter["AllowedValues"]) == ("off", ["off", "prepare", "on"])
    condition, published, nothing = stack["SearchDomain"]["LogPublishingOptions"]["Fn::If"]
    assert nothing == {"Ref": "AWS::NoValue"}
    assert set(published) == {"ES_APPLICATION_LOGS"}  # slow logs hold what users ask
    off_is_default = [{"Condition": "HasNewDomain"}, {"Fn::Equals": [{"Ref": "SearchDomainLogging"}, "on"]}]
    assert stack.template["Conditions"][condition] == {"Fn::And": off_is_default}
    domain = stack.resources["SearchDomain"]
    assert "DependsOn" not in domain
    assert {"SearchDomainLogsPolicy"} <= set(find_references(domain["Metadata"]))


def test_the_roles_of_a_search_that_is_off_can_be_mapped(stack: Stack) -> None:
    """The owner of an existing domain maps them before search is switched on."""
    outputs = stack.template["Outputs"]
    for name in ("SearchRoleArn", "FunctionRoleArns"):
        assert "Condition" not in outputs[name]
        for role in find_references(outputs[name]["Value"]):
            assert "Condition" not in stack.resources[role]
    assert set(find_references(outputs["SearchRoleArn"]["Value"])) == {"SearchRole"}
    mapped = set(find_references(stack["SearchIndices"]["Roles"])) - {"HasNewDomain"}
    assert set(find_references(outputs["FunctionRoleArns"]["Value"])) == mapped


def test_indices_can_be_left_to_a_later_step(stack: Stack) -> None:
    assert stack.template["Parameters"]["SearchIndicesOnDeploy"]["Default"] == "true"
    assert stack.resources["SearchIndices"]["Condition"] == "MakesIndices"
    on_deploy = [{"Condition": "UsesOpenSearch"}, {"Fn::Equals": [{"Ref": "SearchIndicesOnDeploy"}, "true"]}]
    assert stack.template["Conditions"]["MakesIndices"] == {"Fn::And": on_deploy}


OF_A_DOMAIN = [f"Search{name}Alarm" for name in ("ClusterRed", "WritesBlocked", "Storage", "Memory", "Vectors")]


def test_a_default_deployment_has_the_embedded_index_and_no_domain(stack: Stack) -> None:
    conditions = {name: item.get("Condition") for name, item in stack.resources.items() if name.startswith("Search")}
    assert conditions == {
        "SearchDomain": "HasNewDomain",
        "SearchDomainLogs": "PreparesSearchLogs",
        "SearchDomainLogsPolicy": "PreparesSearchLogs",
        "SearchPolicy": "UsesOpenSearch",
        "SearchAdministrationPolicy": "UsesOpenSearch",
        "SearchFunction": "HasSearch",
        "SearchErrorsAlarm": "HasSearch",
        "SearchesFailedAlarm": "HasSearch",
        "SearchIndexFillAlarm": "EmbedsSearch",
        **dict.fromkeys(OF_A_DOMAIN, "HasNewDomain"),
        "SearchIndices": "MakesIndices",
        "SearchBucket": None,
        "SearchBucketPolicy": None,
        "SearchRole": None,
        "SearchLogs": None,
    }
    parameters = stack.template["Parameters"]
    assert parameters["SearchEngine"]["Default"] == "embedded"
    assert stack.resources["EmbeddedSearchPolicy"]["Condition"] == "EmbedsSearch"
    assert stack["EmbeddedSearchPolicy"]["Roles"] == [*stack["SearchPolicy"]["Roles"], {"Ref": "SearchRole"}]
    statements = stack["EmbeddedSearchPolicy"]["PolicyDocument"]["Statement"]
    assert {statement["Sid"]: set(find_references(statement["Resource"])) for statement in statements} == {
        "UseIndices": {"SearchBucket"},
        "ListIndices": {"SearchBucket"},
    }
    searched = stack["TurnsFunction"]["Environment"]["Variables"]["BATON_SEARCH_BUCKET"]
    assert searched == {"Fn::If": ["EmbedsSearch", {"Ref": "SearchBucket"}, ""]}
    assert (parameters["CreateSearchDomain"]["Default"], parameters["OpenSearchEndpoint"]["Default"]) == ("false", "")
