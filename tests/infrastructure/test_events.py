"""The samples in events/ have the shapes AWS sends, as Powertools models them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from aws_lambda_powertools.utilities.parser.models import (
    APIGatewayProxyEventModel,
    APIGatewayWebSocketConnectEventModel,
    APIGatewayWebSocketDisconnectEventModel,
    APIGatewayWebSocketMessageEventModel,
    S3EventNotificationEventBridgeModel,
    SqsModel,
)
from pydantic import BaseModel

from baton.domain.documents.document import IngestionStep, parse_original_key
from baton.domain.memory.episode import derive_episode_id
from baton.domain.threads.queued import QueuedMessage, parse_queued
from baton.domain.threads.thread import EndReason
from baton.entry.jobs.ingestion_events import read_document_ref
from baton.memory.episodes.session_closing import ClosingStep

EVENTS = Path(__file__).parents[2] / "events"
OTHERS = {
    "authorizer_request",
    "schedule_sweeper",
    "search_unknown",
    "states_closing",
    "states_closing_failed",
    "states_forgetting",
    "states_learning",
    "states_learning_failed",
    "states_forgetting_failed",
    "states_ingestion",
}
"""Samples for which Powertools has no model."""
SHAPES: dict[str, type[BaseModel]] = {
    "object_created": S3EventNotificationEventBridgeModel,
    "rest_http": APIGatewayProxyEventModel,
    "rest_streams": APIGatewayProxyEventModel,
    "sqs_dead_turns": SqsModel,
    "sqs_notifications": SqsModel,
    "sqs_turns": SqsModel,
    "websocket_connect": APIGatewayWebSocketConnectEventModel,
    "websocket_default": APIGatewayWebSocketMessageEventModel,
    "websocket_disconnect": APIGatewayWebSocketDisconnectEventModel,
}


def sample(name: str) -> Any:
    return json.loads((EVENTS / f"{name}.json").read_text())


@pytest.mark.parametrize("name", SHAPES)
def test_a_sample_has_the_shape_of_its_trigger(name: str) -> None:
    SHAPES[name].model_validate(sample(name))


def test_every_sample_is_checked() -> None:
    assert {path.stem for path in EVENTS.glob("*.json")} == {*SHAPES, *OTHERS}


def test_the_authorizer_is_asked_about_a_connection() -> None:
    event = sample("authorizer_request")
    APIGatewayWebSocketConnectEventModel.model_validate(event | {"isBase64Encoded": False})
    assert event["type"] == "REQUEST"
    assert event["methodArn"].endswith("/$connect")
    assert "authorizer" not in event["requestContext"]


@pytest.mark.parametrize("name", ["sqs_turns", "sqs_dead_turns"])
def test_a_queued_record_is_a_message_in_its_threads_group(name: str) -> None:
    record = sample(name)["Records"][0]
    message = parse_queued(record["body"])
    assert isinstance(message, QueuedMessage)
    assert record["attributes"]["MessageGroupId"] == f"{message.tenant_id}#{message.thread_id}"
    assert record["attributes"]["MessageDeduplicationId"] == message.request_id


def test_a_schedule_sends_a_notification_whose_detail_is_text() -> None:
    event = sample("schedule_sweeper")
    assert (event["source"], event["detail-type"], event["detail"]) == ("aws.scheduler", "Scheduled Event", "{}")
    assert ":scheduler:" in event["resources"][0]


def test_a_session_that_ended_is_referred_to_by_the_episode_it_becomes() -> None:
    event = sample("states_closing")["session"]
    assert sample("states_closing")["step"] in set(ClosingStep)
    assert event["episodeId"] == derive_episode_id(event["threadId"], event["episode"])
    assert EndReason(event["reason"])
    assert len(f"{event['threadId']}-{event['episode']}-{event['attempt']}") <= 80
    failed = sample("states_closing_failed")
    assert failed.pop("step") == "fail"
    assert failed["session"].pop("failure")["Error"] == "StoreUnavailable"
    assert failed["session"] == event


def test_a_step_of_forgetting_refers_to_its_request() -> None:
    event = sample("states_forgetting")
    assert set(event) == {"step", "tenantId", "userId", "requestId"}
    assert sample("states_forgetting_failed") == {**event, "step": "failed"}


def test_a_stored_content_leads_to_the_steps_of_its_version() -> None:
    ref = parse_original_key(sample("object_created")["detail"]["object"]["key"])
    step = sample("states_ingestion")
    assert step["step"] in list(IngestionStep)
    assert ref is not None
    assert read_document_ref(step) == ref
