"""Checks against the published schemas of A2A, with the types that the reference SDK generates from them.

For 0.3, these are the models of ``a2a.compat.v0_3.types``, generated from the specification's ``a2a.json``; for 1.0,
the messages of ``a2a.types``, generated from its ``a2a.proto``. A field that the schema lacks is an error.
"""

from __future__ import annotations

from typing import Any

from a2a.compat.v0_3 import types as v03
from a2a.types import (
    AgentCard,
    ListTaskPushNotificationConfigsResponse,
    ListTasksResponse,
    SendMessageResponse,
    StreamResponse,
    Task,
    TaskPushNotificationConfig,
)
from a2a.utils.proto_utils import validate_proto_required_fields
from google.protobuf.json_format import ParseDict  # type: ignore[import-untyped]

Json = dict[str, Any]

OLDER_RESULTS: dict[str, Any] = {
    "message/send": v03.SendMessageResponse,
    "message/stream": v03.SendStreamingMessageResponse,
    "tasks/resubscribe": v03.SendStreamingMessageResponse,
    "tasks/get": v03.GetTaskResponse,
    "tasks/cancel": v03.CancelTaskResponse,
    "tasks/pushNotificationConfig/set": v03.SetTaskPushNotificationConfigResponse,
    "tasks/pushNotificationConfig/get": v03.GetTaskPushNotificationConfigResponse,
    "tasks/pushNotificationConfig/list": v03.ListTaskPushNotificationConfigResponse,
    "agent/getAuthenticatedExtendedCard": v03.GetAuthenticatedExtendedCardResponse,
}
RESULTS: dict[str, Any] = {
    "SendMessage": SendMessageResponse,
    "SendStreamingMessage": StreamResponse,
    "SubscribeToTask": StreamResponse,
    "GetTask": Task,
    "CancelTask": Task,
    "CreateTaskPushNotificationConfig": TaskPushNotificationConfig,
    "GetTaskPushNotificationConfig": TaskPushNotificationConfig,
    "ListTaskPushNotificationConfigs": ListTaskPushNotificationConfigsResponse,
    "GetExtendedAgentCard": AgentCard,
}
NO_RESULT = ("tasks/pushNotificationConfig/delete", "DeleteTaskPushNotificationConfig")
ERROR_CODES = {-32700, -32600, -32601, -32602, -32603, *range(-32009, -32000)}


def check_response(method: str, response: Json, *, request_id: Any) -> None:
    """Check a response, or one event of a stream."""
    assert response.keys() <= {"jsonrpc", "id", "result", "error"}
    assert response["jsonrpc"] == "2.0"
    assert response["id"] == request_id
    assert ("result" in response) != ("error" in response)
    if "error" in response:
        check_error(response["error"])
    elif method == "ListTasks":
        check_tasks(response["result"])
    elif method in NO_RESULT:
        assert response["result"] is None
    elif method in OLDER_RESULTS:
        model = OLDER_RESULTS[method].model_validate(response)
        # Every served field belongs to the schema.
        assert model.model_dump(mode="json", by_alias=True, exclude_none=True) == without_nulls(response)
    else:
        check_message(RESULTS[method](), response["result"])


def check_tasks(page: Json) -> None:
    """Check a page of tasks. All its fields are required, but the SDK does not notice a missing empty one."""
    assert page.keys() == {"tasks", "nextPageToken", "pageSize", "totalSize"}
    ParseDict(page, ListTasksResponse())
    for task in page["tasks"]:
        check_message(Task(), task)


def check_error(error: Json) -> None:
    """Check a JSON-RPC error."""
    assert error.keys() <= {"code", "message", "data"}
    assert error["code"] in ERROR_CODES
    assert isinstance(error["message"], str)
    assert error["message"]


def check_message(empty: Any, value: Json) -> None:
    """Check that ``value`` is the JSON of the protobuf type of ``empty``, with every required field."""
    validate_proto_required_fields(ParseDict(value, empty))


def check_card(card: Json) -> None:
    """Check a card by the schemas of both versions. Each ignores the fields of the other one and Baton's own."""
    v03.AgentCard.model_validate(card)
    validate_proto_required_fields(ParseDict(card, AgentCard(), ignore_unknown_fields=True))


def without_nulls(value: Any) -> Any:
    """Return ``value`` without null fields outside ``metadata``, which the models leave out too."""
    if isinstance(value, dict):
        return {
            key: without_nulls(item) if key != "metadata" else item for key, item in value.items() if item is not None
        }
    return [without_nulls(item) for item in value] if isinstance(value, list) else value
