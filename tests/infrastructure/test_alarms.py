"""Alarms ring for what users notice, and deployments are rolled back for their own faults only."""

from __future__ import annotations

import json
from typing import Any

import pytest

from baton.composition.metrics import NAMESPACE, SERVICE
from baton.domain.metrics import Metric
from baton.domain.threads.thread_change import MAX_RECEIVES
from baton_local.stack.intrinsics import Intrinsics
from tests.infrastructure.alarms import alarms_of, dimensions_of, metrics_of
from tests.infrastructure.stack import Stack, find_references, read_template, text, translate

CANARY = "Canary10Percent5Minutes"
DEPLOYED = {
    "AWS::AccountId": "123456789012",
    "AWS::Region": "eu-central-1",
    "AWS::StackName": "baton-test",
    "AWS::URLSuffix": "amazonaws.com",
}


@pytest.fixture(scope="module")
def watched(stack: Stack) -> set[tuple[str, str]]:
    """Each metric with a resource that it is of."""
    return {
        (metric["MetricName"], name)
        for alarm in alarms_of(stack).values()
        for metric in metrics_of(alarm)
        for name in find_references(metric.get("Dimensions", []))
    }


def resolver(template: dict[str, Any], **overrides: str) -> Intrinsics:
    defaults = {name: item.get("Default", "given") for name, item in template["Parameters"].items()}
    return Intrinsics(template, {**defaults, **DEPLOYED, **overrides}, lambda logical_id, attribute: logical_id)


def condition(name: str, **overrides: str) -> bool:
    return resolver(read_template(), **overrides).holds(name)


def test_every_function_has_alarms_for_errors_and_throttles(stack: Stack, watched: set[tuple[str, str]]) -> None:
    assert {("Errors", name) for name in stack.functions} <= watched
    permanent = {name for name in stack.functions if name != "SearchFunction"}  # operators' commands run alone
    assert {("Throttles", name) for name in permanent} <= watched


def test_every_state_machine_has_an_alarm(stack: Stack, watched: set[tuple[str, str]]) -> None:
    assert {("ExecutionsFailed", name) for name in stack.of_type("AWS::StepFunctions::StateMachine")} <= watched


def test_what_waits_or_was_given_up_has_an_alarm(watched: set[tuple[str, str]]) -> None:
    assert watched >= {
        ("Invocations", "DeadTurnsFunction"),
        ("ApproximateNumberOfMessagesVisible", "TurnsQueue"),
        ("ApproximateNumberOfMessagesVisible", "DeadTurnsQueue"),
        ("ApproximateNumberOfMessagesVisible", "DeadNotificationsQueue"),
        ("ApproximateAgeOfOldestMessage", "NotificationsQueue"),
        ("WriteThrottleEvents", "Table"),
        ("SystemErrors", "Table"),
        ("IntegrationError", "WebSocketApi"),
        ("ExecutionError", "WebSocketApi"),
    }
    assert ("ApproximateAgeOfOldestMessage", "TurnsQueue") not in watched, "rings for one long answer"


def test_messages_ring_by_their_time_in_the_queue_and_by_missing_workers(stack: Stack) -> None:
    waiting = stack["TurnsWaitingAlarm"]
    assert (waiting["MetricName"], waiting["ExtendedStatistic"]) == (Metric.TIME_IN_QUEUE, "p95")
    assert stack["TurnsStoppedAlarm"]["Metrics"][0]["Expression"] == "IF(visible > 0 AND taken == 0, 1, 0)"


def test_a_notification_may_be_tried_as_often_as_its_sender_says_before_its_age_rings(stack: Stack) -> None:
    queue = stack["NotificationsQueue"]
    assert queue["RedrivePolicy"]["maxReceiveCount"] == MAX_RECEIVES
    assert stack["NotificationsWaitingAlarm"]["Threshold"] > 47 * 60


@pytest.mark.parametrize(
    ("alarm", "function"), [("SweepsStoppedAlarm", "SweeperFunction"), ("SourcesStoppedAlarm", "IngestionFunction")]
)
def test_a_schedule_that_has_stopped_rings_unless_it_was_switched_off(stack: Stack, alarm: str, function: str) -> None:
    properties = stack[alarm]
    assert properties["MetricName"] == "Invocations"
    assert list(find_references(properties["Dimensions"])) == [function]
    assert properties["ComparisonOperator"] == "LessThanThreshold"
    assert properties["TreatMissingData"] == "breaching"
    assert stack.resources[alarm]["Condition"] == "Sweeps"
    assert condition("Sweeps")
    assert not condition("Sweeps", SweepState="DISABLED")


def test_the_authorizers_alarm_leaves_out_the_tokens_that_it_refused(stack: Stack) -> None:
    assert read_subtraction(stack["AuthorizerErrorsAlarm"]) == ("errors - FILL(refused, 0)", Metric.CONNECTIONS_REFUSED)


def test_the_alarm_of_the_rest_api_leaves_out_the_outages_of_model_providers(stack: Stack) -> None:
    assert read_subtraction(stack["RestErrorsAlarm"]) == ("errors - FILL(model, 0)", Metric.MODEL_ERRORS_ANSWERED)


def read_subtraction(alarm: dict[str, Any]) -> tuple[str, str]:
    """The formula of an alarm on errors, and the metric that it takes off them."""
    formula, errors, less = alarm["Metrics"]
    assert not errors["ReturnData"]
    assert not less["ReturnData"]
    assert errors["Id"] == "errors"
    # Custom metrics come late.
    assert alarm["EvaluationPeriods"] > alarm["DatapointsToAlarm"] > 1
    return formula["Expression"], less["MetricStat"]["Metric"]["MetricName"]


def test_alarms_of_our_own_counts_are_of_this_stack_and_silent_without_any(stack: Stack) -> None:
    own = [
        (alarm, metric)
        for alarm in alarms_of(stack).values()
        for metric in metrics_of(alarm)
        if metric["Namespace"] == NAMESPACE
    ]
    assert len(own) >= 12
    for alarm, metric in own:
        assert dimensions_of(metric) == {"service": SERVICE, "stack": {"Ref": "AWS::StackName"}}
        assert alarm["TreatMissingData"] == "notBreaching"
        assert metric["MetricName"] in {entry.value for entry in Metric}
    for function in stack.functions.values():
        assert function["Environment"]["Variables"]["BATON_STACK"] == {"Ref": "AWS::StackName"}


def test_every_alarm_notifies_the_topic(stack: Stack) -> None:
    for alarm in alarms_of(stack).values():
        assert alarm["AlarmActions"]["Fn::If"][:2] == ["HasAlarmTopic", [{"Ref": "AlarmTopicArn"}]]


@pytest.mark.parametrize(
    ("alarm", "metric"),
    [
        ("SearchClusterRedAlarm", "ClusterStatus.red"),
        ("SearchWritesBlockedAlarm", "ClusterIndexWritesBlocked"),
        ("SearchStorageAlarm", "FreeStorageSpace"),
        ("SearchMemoryAlarm", "JVMMemoryPressure"),
        ("SearchVectorsAlarm", "KNNCircuitBreakerTriggered"),
    ],
)
def test_the_health_of_a_search_domain_is_watched_if_the_stack_has_one(stack: Stack, alarm: str, metric: str) -> None:
    assert stack.resources[alarm]["Condition"] == "HasNewDomain"
    (watched,) = metrics_of(stack[alarm])
    assert (watched["Namespace"], watched["MetricName"]) == ("AWS/ES", metric)
    assert set(dimensions_of(watched)) == {"DomainName", "ClientId"}


def test_an_alarm_looks_at_no_more_metrics_than_cloudwatch_allows(stack: Stack) -> None:
    assert all(len(metrics_of(alarm)) <= 10 for alarm in alarms_of(stack).values())


def test_only_traffic_that_moves_step_by_step_is_rolled_back_by_alarms() -> None:
    template = translate(read_template(), HttpDeployment=CANARY)
    groups = Stack(template).of_type("AWS::CodeDeploy::DeploymentGroup")
    with_alarms = {name: item["AlarmConfiguration"] for name, item in groups.items() if "AlarmConfiguration" in item}
    assert set(with_alarms) == {"HttpFunctionDeploymentGroup", "StreamsFunctionDeploymentGroup"}
    for name, item in with_alarms.items():
        noun = name.removesuffix("FunctionDeploymentGroup")
        by_canary = resolver(template, HttpDeployment=CANARY).resolve(item)
        rung = {alarm["Name"] for alarm in by_canary["Alarms"]}
        assert by_canary["Enabled"] is True
        assert rung == {f"{noun}VersionErrorsAlarm", "RestErrorsAlarm"}
        assert resolver(template, HttpDeployment=CANARY, RollbackOnAlarms="false").resolve(item) == {}
        assert resolver(template, HttpDeployment="AllAtOnce").resolve(item) == {}


@pytest.mark.parametrize("noun", ["Http", "Streams"])
def test_a_deployment_is_judged_by_the_version_that_it_deploys(stack: Stack, noun: str) -> None:
    dimensions = dimensions_of(stack[f"{noun}VersionErrorsAlarm"])
    alias = stack[f"{noun}FunctionAliaslive"]
    assert dimensions["ExecutedVersion"] == alias["FunctionVersion"]
    assert dimensions["Resource"] == {"Fn::Sub": f"${{{noun}Function}}:{alias['Name']}"}
    assert stack.resources[f"{noun}VersionErrorsAlarm"]["Condition"] == "RollsBackOnAlarms"


def dashboard() -> list[dict[str, Any]]:
    """The dashboard's graphs."""
    template = read_template()
    body = resolver(template).resolve(template["Resources"]["Overview"]["Properties"]["DashboardBody"])
    return [widget["properties"] for widget in json.loads(body)["widgets"]]


def test_the_dashboard_is_made_if_it_is_requested(source: Stack) -> None:
    assert source.resources["Overview"]["Condition"] == "HasDashboard"
    assert not condition("HasDashboard")
    assert condition("HasDashboard", Dashboard="true")


def test_the_dashboard_shows_only_metrics_that_exist(source: Stack) -> None:
    existing = {metric.value for metric in Metric}
    for graph in dashboard():
        assert graph["region"] == "eu-central-1"
        for namespace, metric, *rest in graph["metrics"]:
            dimensions = [item for item in rest if isinstance(item, str)]
            if namespace == NAMESPACE:
                assert metric in existing
                assert dimensions == ["service", SERVICE, "stack", "baton-test"]
            elif namespace != "AWS/ES":  # which has a domain's name
                names = {dimension.split(".")[0] for dimension in dimensions[1::2]}
                assert names & set(source.resources) or not dimensions or "baton-test-rest" in names


def test_the_dashboard_shows_whether_people_come_to_the_desks() -> None:
    of_desks = {metric for metric in Metric if "Desk" in metric.value or "Person" in metric.value}
    assert of_desks <= {metric for graph in dashboard() for _, metric, *_ in graph["metrics"]}


def test_the_dashboard_shows_every_function_and_queue(source: Stack) -> None:
    visible = text(dashboard())
    functions = set(source.of_type("AWS::Serverless::Function")) - {"SearchFunction"}
    assert [item for item in (*functions, *source.of_type("AWS::SQS::Queue")) if f'"{item}"' not in visible] == []
