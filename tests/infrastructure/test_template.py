"""The template as AWS will see it: valid, without circles, and with the properties the design rests on."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

import pytest

from baton.adapters.documents.document_reader import ATTACHMENTS, INGESTION
from baton.adapters.egress.webhooks import POST_SECONDS
from baton.domain.threads.thread_change import MAX_RECEIVES
from baton_documents.processes import MIB, QUEUE_SECONDS, ProcessLimits
from baton_local.gateway.application import CONSOLE_HEADERS
from baton_local.stack.declarations import Stack as LocalStack
from baton_local.stack.intrinsics import Intrinsics
from tests.infrastructure.stack import ROOT, TOOLS, Stack, find_references, read_template, run, text, translate

CANARY = "Canary10Percent5Minutes"


def test_the_table_has_its_keys_and_sparse_indexes(stack: Stack) -> None:
    table = stack["Table"]
    assert table["KeySchema"] == keys("PK", "SK")
    indexes = {index["IndexName"]: index for index in table["GlobalSecondaryIndexes"]}
    assert {name: index["KeySchema"] for name, index in indexes.items()} == {
        "idle": keys("idle_shard", "idle_check_at"),
        "listing": keys("listing", "listed_at"),
    }
    assert all(index["Projection"] == {"ProjectionType": "KEYS_ONLY"} for index in indexes.values())
    types = {item["AttributeName"]: item["AttributeType"] for item in table["AttributeDefinitions"]}
    assert types.pop("idle_check_at") == "N"
    assert set(types.values()) == {"S"}


def test_the_table_can_be_restored_and_collects_its_garbage(stack: Stack) -> None:
    table = stack["Table"]
    assert table["BillingMode"] == "PAY_PER_REQUEST"
    assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert table["TimeToLiveSpecification"] == {"AttributeName": "expires_at", "Enabled": True}
    assert table["DeletionProtectionEnabled"] == {"Ref": "DeletionProtection"}


@pytest.mark.parametrize("name", ["Table", "Bucket", "SearchBucket", "WidgetBucket"])
def test_data_outlives_the_stack(stack: Stack, name: str) -> None:
    assert stack.resources[name]["DeletionPolicy"] == "RetainExceptOnCreate"
    assert stack.resources[name]["UpdateReplacePolicy"] == "Retain"


def test_the_bucket_is_private_encrypted_and_tidy(stack: Stack) -> None:
    bucket = stack["Bucket"]
    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    assert "AES256" in text(bucket["BucketEncryption"])
    lifecycle = text(bucket["LifecycleConfiguration"])
    assert "NoncurrentVersionExpiration" in lifecycle
    assert "AbortIncompleteMultipartUpload" in lifecycle
    (statement, _) = stack["BucketPolicy"]["PolicyDocument"]["Statement"]
    assert (statement["Effect"], statement["Principal"]) == ("Deny", "*")
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_the_bucket_of_the_search_index_is_private_and_keeps_no_versions(stack: Stack) -> None:
    bucket = stack["SearchBucket"]
    assert bucket["PublicAccessBlockConfiguration"] == stack["Bucket"]["PublicAccessBlockConfiguration"]
    assert bucket["BucketEncryption"] == stack["Bucket"]["BucketEncryption"]
    assert "VersioningConfiguration" not in bucket  # what is deleted must be gone at once
    (statement,) = stack["SearchBucketPolicy"]["PolicyDocument"]["Statement"]
    assert (statement["Effect"], statement["Condition"]) == ("Deny", {"Bool": {"aws:SecureTransport": "false"}})


def test_the_widget_is_served_only_if_it_is_requested(stack: Stack) -> None:
    assert stack.template["Parameters"]["ServeWidget"]["Default"] == "false"
    parts = {name: item for name, item in stack.resources.items() if name.startswith("Widget")}
    assert {item["Type"].rpartition("::")[2] for item in parts.values()} == {
        *("Bucket", "BucketPolicy", "Distribution", "OriginAccessControl", "ResponseHeadersPolicy")
    }
    assert {item.get("Condition") for item in parts.values()} == {"ServesFiles"}
    outputs = {name: item for name, item in stack.template["Outputs"].items() if name.startswith("Widget")}
    assert set(outputs) == {"WidgetUrl", "WidgetBucketName", "WidgetTag"}
    assert {item.get("Condition") for item in outputs.values()} == {"ServesWidget"}


def test_only_the_distribution_reads_the_widgets_bucket(stack: Stack) -> None:
    bucket = stack["WidgetBucket"]
    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    assert "AES256" in text(bucket["BucketEncryption"])
    tls, read = stack["WidgetBucketPolicy"]["PolicyDocument"]["Statement"]
    assert (tls["Effect"], tls["Condition"]) == ("Deny", {"Bool": {"aws:SecureTransport": "false"}})
    assert (read["Action"], read["Principal"]) == ("s3:GetObject", {"Service": "cloudfront.amazonaws.com"})
    assert list(find_references(read["Condition"]["StringEquals"]["aws:SourceArn"]))[-1] == "WidgetDistribution"
    access = stack["WidgetAccess"]["OriginAccessControlConfig"]
    assert (access["SigningBehavior"], access["SigningProtocol"]) == ("always", "sigv4")
    origin, api = stack["WidgetDistribution"]["DistributionConfig"]["Origins"]
    assert api["Fn::If"][0] == "ServesConsole"
    assert list(find_references(origin["OriginAccessControlId"])) == ["WidgetAccess"]


def test_pages_of_any_origin_load_the_widget_over_tls(stack: Stack) -> None:
    behaviour = stack["WidgetDistribution"]["DistributionConfig"]["DefaultCacheBehavior"]
    assert behaviour["ViewerProtocolPolicy"] == "redirect-to-https"
    assert behaviour["ResponseHeadersPolicyId"] == {"Ref": "WidgetHeaders"}
    config = stack["WidgetHeaders"]["ResponseHeadersPolicyConfig"]
    assert config["CorsConfig"]["AccessControlAllowOrigins"] == {"Items": ["*"]}
    assert config["CorsConfig"]["AccessControlAllowCredentials"] is False
    assert config["SecurityHeadersConfig"]["StrictTransportSecurity"]["AccessControlMaxAgeSec"] == 31536000
    assert config["SecurityHeadersConfig"]["ContentTypeOptions"] == {"Override": True}
    assert list(find_references(config["Name"])) == [
        "AWS::StackId"
    ]  # of this stack alone, in all regions of the account
    assert list(find_references(stack["WidgetAccess"]["OriginAccessControlConfig"]["Name"])) == ["AWS::StackId"]
    (policy,) = config["CustomHeadersConfig"]["Items"]
    assert (policy["Header"], policy["Value"]) == ("Cross-Origin-Resource-Policy", "cross-origin")


def test_the_console_is_served_only_if_it_is_requested_and_has_an_issuer(stack: Stack) -> None:
    assert stack.template["Parameters"]["ServeConsole"]["Default"] == "false"
    needed = [
        list(find_references(assertion["Assert"]))
        for assertion in stack.template["Rules"]["ConsoleIdentity"]["Assertions"]
    ]
    assert needed == [["ConsoleIssuer"], ["ConsoleClientId"]]
    parts = {name: item for name, item in stack.resources.items() if name.startswith("Console")}
    assert set(parts) == {"ConsoleHeaders", "ConsoleApiHeaders", "ConsolePage"}
    outputs = {name: item for name, item in stack.template["Outputs"].items() if name.startswith("Console")}
    assert set(outputs) == {"ConsoleUrl", "ConsoleBucketName", "ConsoleConfig"}
    assert {item.get("Condition") for item in (*parts.values(), *outputs.values())} == {"ServesConsole"}


def test_the_console_and_its_api_have_one_origin_and_nothing_of_the_api_is_kept(stack: Stack) -> None:
    config = stack["WidgetDistribution"]["DistributionConfig"]
    condition, (files, api), _ = config["CacheBehaviors"]["Fn::If"]
    assert condition == "ServesConsole"
    assert (files["PathPattern"], files["TargetOriginId"]) == ("/monitor*", "bucket")
    assert files["ResponseHeadersPolicyId"] == {"Ref": "ConsoleHeaders"}
    assert (api["PathPattern"], api["TargetOriginId"], api["ViewerProtocolPolicy"]) == ("/v1/*", "api", "https-only")
    assert api["ResponseHeadersPolicyId"] == {"Ref": "ConsoleApiHeaders"}
    managed_without_caching = "4135ea2d-6df8-44a3-9df3-4b5a84be39ad"
    assert api["CachePolicyId"] == managed_without_caching
    assert set(api["AllowedMethods"]) >= {"GET", "POST", "PUT", "PATCH", "DELETE"}
    assert {403, 404, 500, 503} <= {
        custom_error_response["ErrorCode"] for custom_error_response in config["CustomErrorResponses"]
    }
    assert {
        custom_error_response["ErrorCachingMinTTL"] for custom_error_response in config["CustomErrorResponses"]
    } == {0}


def console_policy(stack: Stack, **parameters: str) -> dict[str, str]:
    """Return the directives of the console's page."""
    names = {"AWS::Region": "eu-central-1", "AWS::URLSuffix": "amazonaws.com", "Bucket": "uploads", **parameters}
    resolver = Intrinsics(stack.template, names, lambda logical_id, attribute: logical_id)
    security = stack["ConsoleHeaders"]["ResponseHeadersPolicyConfig"]["SecurityHeadersConfig"]
    policy: str = resolver.resolve(security["ContentSecurityPolicy"]["ContentSecurityPolicy"])
    assert security["ContentSecurityPolicy"]["Override"]
    return directives(policy)


def directives(policy: str) -> dict[str, str]:
    pairs = (part.split(maxsplit=1) for part in policy.split(";"))
    return {name: " ".join(value.split()) for name, value in pairs}


def test_the_console_talks_to_its_own_origin_its_issuer_and_the_bucket_of_uploads(stack: Stack) -> None:
    deployed = console_policy(
        stack,
        ConsoleIssuer="https://idp.example:8443/realms/one",
        ConsoleSignInOrigins="https://login.example, https://b.example",
    )
    assert deployed["connect-src"] == (
        "'self' https://idp.example:8443 https://uploads.s3.eu-central-1.amazonaws.com https://login.example"
        " https://b.example"
    )


def test_the_console_is_guarded_as_in_the_local_cloud(stack: Stack) -> None:
    deployed = console_policy(stack, ConsoleIssuer="https://idp.example", ConsoleSignInOrigins="")
    local = directives(CONSOLE_HEADERS["Content-Security-Policy"])
    for policy in (deployed, local):
        del policy["connect-src"]
    assert deployed == local
    assert deployed["frame-ancestors"] == "'none'"
    assert deployed["require-trusted-types-for"] == "'script'"
    security = stack["ConsoleHeaders"]["ResponseHeadersPolicyConfig"]["SecurityHeadersConfig"]
    assert security["ContentTypeOptions"] == {"Override": True}
    assert security["ReferrerPolicy"] == {"ReferrerPolicy": "no-referrer", "Override": True}
    assert security["StrictTransportSecurity"]["AccessControlMaxAgeSec"] == 31536000


def test_an_answer_of_the_api_is_no_page_of_the_consoles_origin(stack: Stack) -> None:
    security = stack["ConsoleApiHeaders"]["ResponseHeadersPolicyConfig"]["SecurityHeadersConfig"]
    policy = directives(security["ContentSecurityPolicy"]["ContentSecurityPolicy"] + " ''")
    assert policy["default-src"] == "'none'"
    assert "sandbox" in policy
    assert security["ContentTypeOptions"] == {"Override": True}


@pytest.mark.parametrize(
    ("question", "answered"),
    [
        ("/monitor/", "/monitor/index.html"),
        ("/monitor", "302 /monitor/"),
        ("/monitor/index.html", "302 /monitor/"),
        ("/monitor/console-AAAAAAAA.js", "/monitor/console-AAAAAAAA.js"),
    ],
)
def test_the_consoles_address_names_its_page(stack: Stack, question: str, answered: str) -> None:
    reported = f"const it = handler({{ request: {{ uri: {json.dumps(question)} }} }});"
    reported += "console.log(it.uri ?? `${it.statusCode} ${it.headers.location.value}`);"
    done = run(TOOLS / "node", "-e", stack["ConsolePage"]["FunctionCode"] + reported)
    assert done.stdout.strip() == answered, done.stderr


@pytest.mark.parametrize(
    ("queue", "function"), [("TurnsQueue", "TurnsFunction"), ("DeadTurnsQueue", "DeadTurnsFunction")]
)
def test_a_queue_keeps_the_order_of_each_thread(stack: Stack, queue: str, function: str) -> None:
    properties = stack[queue]
    assert properties["FifoQueue"] is True
    assert properties["ContentBasedDeduplication"] is False
    assert properties["DeduplicationScope"] == "messageGroup"
    assert properties["FifoThroughputLimit"] == "perMessageGroupId"
    assert properties["VisibilityTimeout"] > stack[function]["Timeout"]


def test_a_turn_is_given_up_after_50_receives(stack: Stack) -> None:
    redrive = stack["TurnsQueue"]["RedrivePolicy"]
    assert redrive["maxReceiveCount"] == 50
    assert list(find_references(redrive)) == ["DeadTurnsQueue"]


def test_workers_take_one_record_and_report_its_failure(stack: Stack) -> None:
    sources = stack.of_type("AWS::Lambda::EventSourceMapping")
    assert {
        next(find_references(item["EventSourceArn"])): next(find_references(item["FunctionName"]))
        for item in sources.values()
    } == {
        "DueQueue": "SweeperFunction",
        "TurnsQueue": "TurnsFunctionAliaslive",
        "DeadTurnsQueue": "DeadTurnsFunctionAliaslive",
        "NotificationsQueue": "NotificationsFunctionAliaslive",
    }
    for item in sources.values():
        assert item["BatchSize"] == 1
        assert item["FunctionResponseTypes"] == ["ReportBatchItemFailures"]


def test_a_notification_is_tried_as_often_as_its_sender_says(stack: Stack) -> None:
    queue = stack["NotificationsQueue"]
    assert queue["RedrivePolicy"]["maxReceiveCount"] == MAX_RECEIVES
    assert queue["VisibilityTimeout"] > stack["NotificationsFunction"]["Timeout"] > POST_SECONDS


def test_sweeper_and_sources_are_fired_every_minute_and_never_late(stack: Stack) -> None:
    schedules = stack.of_type("AWS::Scheduler::Schedule").values()
    fired = {next(find_references(schedule["Target"]["Arn"])) for schedule in schedules}
    assert fired == {"SweeperFunction", "IngestionFunction"}
    for schedule in schedules:
        assert schedule["ScheduleExpression"] == "rate(1 minute)"
        assert schedule["State"] == {"Ref": "SweepState"}
        assert "Input" not in schedule["Target"]
        assert schedule["Target"]["RetryPolicy"] == {"MaximumEventAgeInSeconds": 60, "MaximumRetryAttempts": 0}
    stored = {
        next(find_references(event["FunctionName"])): (event["MaximumEventAgeInSeconds"], event["MaximumRetryAttempts"])
        for event in stack.of_type("AWS::Lambda::EventInvokeConfig").values()
    }
    # Uploads come to ingestion in the same way, and are tried again.
    assert stored == {"SweeperFunction": (60, 0), "IngestionFunction": (300, 2)}


@pytest.mark.parametrize(
    ("variable", "functions"),
    [
        ("BATON_CLOSE_SESSION_ARN", {"Turns", "DeadTurns", "Streams", "Sweeper", "Closing"}),
        ("BATON_CAPTURE_PROCEDURE_ARN", {"Turns", "Streams", "Sweeper", "Closing", "Learning"}),
        ("BATON_INGEST_DOCUMENT_ARN", {"Http", "Ingestion", "Search", "Sweeper"}),
        ("BATON_SOURCE_PREFIXES", {"Http", "Ingestion"}),
        ("BATON_FORGET_USER_ARN", {"Streams", "Http", "Sweeper"}),
        ("BATON_TURNS_QUEUE_URL", {"Sockets", "Turns", "DeadTurns", "Streams", "Http", "Sweeper", "Forgetting"}),
        ("BATON_CONNECTIONS_URL", {"Sockets", "Turns", "DeadTurns", "Streams", "Http", "Sweeper"}),
    ],
)
def test_a_variable_is_where_it_is_needed(stack: Stack, variable: str, functions: set[str]) -> None:
    assert {
        name.removesuffix("Function")
        for name, function in stack.functions.items()
        if variable in function["Environment"]["Variables"]
    } == functions


def test_the_libraries_that_read_documents_come_with_ingestion_and_turns(stack: Stack) -> None:
    assert {
        name
        for name, function in stack.functions.items()
        if any(layer.startswith("ExtractionLayer") for layer in find_references(function["Layers"]))
    } == {"IngestionFunction", "TurnsFunction", "StreamsFunction"}


def test_every_function_has_room_for_a_layer_of_the_operators(stack: Stack) -> None:
    """Lambda allows five layers; a monitoring or security agent of the operator takes one."""
    assert {
        name: len(function["Layers"]) for name, function in stack.functions.items() if len(function["Layers"]) > 4
    } == {}


def test_ingestion_is_notified_of_every_content_of_a_document_and_of_nothing_else(product_stack: LocalStack) -> None:
    (rule,) = product_stack.object_rules
    assert rule.function == "IngestionFunction"
    key = f"acme/~documents/knowledge/doc_{'0' * 32}/1/original"
    assert rule.matches(product_stack.bucket, key)
    assert not rule.matches("another-bucket", key)
    for other in (key.replace("original", "steps/parts/00000.json"), f"acme/{'0' * 32}/files/original"):
        assert not rule.matches(product_stack.bucket, other)


def test_every_function_runs_on_arm64_without_x_rays_segments(stack: Stack) -> None:
    for properties in stack.functions.values():
        assert properties["Runtime"] == "python3.13"
        assert properties["Architectures"] == ["arm64"]
        assert "TracingConfig" not in properties, "they would show calls, and nothing of what agents do"


def test_every_function_writes_to_its_own_log_group_that_forgets(stack: Stack) -> None:
    groups = [properties["LoggingConfig"]["LogGroup"]["Ref"] for properties in stack.functions.values()]
    assert len(set(groups)) == len(stack.functions)
    for properties in stack.of_type("AWS::Logs::LogGroup").values():
        assert properties["RetentionInDays"] == {"Ref": "LogRetentionDays"}


def test_both_apis_log_every_access(stack: Stack) -> None:
    assert find_referred(stack["RestApiStage"]["AccessLogSetting"]["DestinationArn"]) == {"RestAccessLogs"}
    assert find_referred(stack["WebSocketApiStage"]["AccessLogSettings"]["DestinationArn"]) == {"WebSocketAccessLogs"}
    assert "TracingEnabled" not in stack["RestApiStage"]


def test_access_logs_are_json_and_hold_no_token(stack: Stack) -> None:
    formats = [
        stack["RestApiStage"]["AccessLogSetting"]["Format"],
        stack["WebSocketApiStage"]["AccessLogSettings"]["Format"],
    ]
    for line in formats:
        json.loads(line)
        assert "header" not in line.lower()


def test_http_moves_by_canary_and_the_workers_all_at_once() -> None:
    stack = Stack(translate(read_template(), HttpDeployment=CANARY))
    groups = {
        name.removesuffix("DeploymentGroup"): text(group["DeploymentConfigName"])
        for name, group in stack.of_type("AWS::CodeDeploy::DeploymentGroup").items()
    }
    workers = {"TurnsFunction", "DeadTurnsFunction", "NotificationsFunction"}
    assert set(groups) == {"HttpFunction", "StreamsFunction", *workers}
    assert {name for name, config in groups.items() if CANARY in config} == {"HttpFunction", "StreamsFunction"}
    assert {name for name, config in groups.items() if "AllAtOnce" in config} == workers


def test_a_change_of_the_library_alone_publishes_new_versions() -> None:
    def versions(library: str) -> set[str]:
        template = read_template()
        template["Resources"]["SharedLayer"]["Properties"]["ContentUri"] = library
        return set(Stack(translate(template)).of_type("AWS::Lambda::Version"))

    before, after = versions("before"), versions("after")
    assert len(before) == len(after) == 5
    assert not before & after


@pytest.mark.parametrize(
    ("public_url", "domain", "issuer"),
    [
        ("https://api.example.com", "", "https://api.example.com"),
        ("https://api.example.com", "chat.example.com", "https://api.example.com"),
        ("", "chat.example.com", "https://chat.example.com"),
        ("", "", "https://RestApi.execute-api.us-east-1.amazonaws.com/dev"),
    ],
)
def test_notifications_come_from_the_address_that_cards_name(public_url: str, domain: str, issuer: str) -> None:
    template = read_template()
    pseudo = {"AWS::Region": "us-east-1", "AWS::URLSuffix": "amazonaws.com"}
    names = {
        "PublicUrl": public_url,
        "RestDomain": domain,
        "ApiCertificateArn": "arn:aws:acm:us-east-1:1:certificate/a",
    }
    resolver = Intrinsics(template, {**names, "Stage": "dev", **pseudo}, lambda logical_id, attribute: logical_id)
    variables = template["Resources"]["NotificationsFunction"]["Properties"]["Environment"]["Variables"]
    assert resolver.resolve(variables["BATON_PUSH_ISSUER"]) == issuer


def test_the_local_stage_cannot_be_deployed(source: Stack) -> None:
    assert source.template["Parameters"]["Stage"]["AllowedPattern"].startswith("^(?!local$)")


def test_which_agent_is_the_default_is_left_to_the_agents_files(source: Stack) -> None:
    parameter = source.template["Parameters"]["DefaultAgent"]
    assert parameter["Default"] == ""
    for allowed in ("", "tutor", "skill-creation-agent"):
        assert re.fullmatch(parameter["AllowedPattern"], allowed)


def test_the_outputs_show_where_everything_is(stack: Stack) -> None:
    outputs: dict[str, Any] = stack.template["Outputs"]
    assert {"WebSocketUrl", "RestUrl", "TableName", "BucketName"} <= set(outputs)
    assert outputs["WebSocketUrl"]["Value"]["Fn::Sub"].startswith("wss://")


@pytest.mark.parametrize("stage", ["dev", "nightly", "prod"])
def test_samconfig_names_only_parameters_that_exist(source: Stack, stage: str) -> None:
    config = tomllib.loads((ROOT / "samconfig.toml").read_text())[stage]
    overrides = dict(item.split("=", 1) for item in config["deploy"]["parameters"]["parameter_overrides"])
    assert set(overrides) <= set(source.template["Parameters"])
    assert overrides["Stage"] == stage
    assert config["global"]["parameters"]["build_in_source"] is True


def keys(partition: str, sort: str) -> list[dict[str, str]]:
    return [{"AttributeName": partition, "KeyType": "HASH"}, {"AttributeName": sort, "KeyType": "RANGE"}]


def find_referred(value: Any) -> set[str]:
    return set(find_references(value))


@pytest.mark.parametrize(
    ("function", "limits", "own"),
    [("IngestionFunction", INGESTION, 900), ("TurnsFunction", ATTACHMENTS, 500), ("StreamsFunction", ATTACHMENTS, 500)],
)
def test_a_process_that_reads_a_document_leaves_its_function_memory_and_time(
    stack: Stack, function: str, limits: ProcessLimits, own: int
) -> None:
    assert stack[function]["MemorySize"] - limits.memory_bytes / MIB >= own
    assert stack[function]["Timeout"] > QUEUE_SECONDS + 2 * limits.seconds


def test_both_apis_throttle_before_any_function_runs(stack: Stack) -> None:
    (of_rest,) = stack["RestApiStage"]["MethodSettings"]
    assert (of_rest["ResourcePath"], of_rest["HttpMethod"]) in {("/*", "*"), ("/~1*", "*")}
    (sockets,) = (item for item in stack.resources.values() if item["Type"] == "AWS::ApiGatewayV2::Stage")
    for settings, name in ((of_rest, "HttpRequest"), (sockets["Properties"]["DefaultRouteSettings"], "SocketRequest")):
        assert settings["ThrottlingRateLimit"] == {"Ref": f"{name}sPerSecond"}
        assert settings["ThrottlingBurstLimit"] == {"Ref": f"{name}Burst"}


@pytest.mark.parametrize("name", ["Authorizer", "Sockets", "Turns", "Streams", "Http"])
def test_concurrency_is_reserved_only_if_it_is_requested(stack: Stack, name: str) -> None:
    parameter = f"ReservedConcurrency{name}"
    assert stack.template["Parameters"][parameter]["Default"] == 0
    assert stack.template["Conditions"][f"Reserves{name}"] == {"Fn::Not": [{"Fn::Equals": [{"Ref": parameter}, 0]}]}
    reserved = stack[f"{name}Function"]["ReservedConcurrentExecutions"]
    assert reserved == {"Fn::If": [f"Reserves{name}", {"Ref": parameter}, {"Ref": "AWS::NoValue"}]}
