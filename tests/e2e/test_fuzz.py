"""Whatever comes in: no 500, no ``internal_error``, no dead connection, nothing stored."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from baton.entry.actions import ACTIONS
from baton_testing.fakes.threads.connections import events_in
from tests.e2e.ag_ui_rules import check_ag_ui
from tests.e2e.cloud import RunningCloud
from tests.e2e.problems import check_any_problem
from tests.e2e.sockets import PATIENCE_SECONDS, SUBPROTOCOL

TENANT = f"t-{uuid.uuid4().hex}"
EXAMPLES = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])

# Text as JSON allows it: every code point, halves of surrogate pairs included.
any_text = st.text(st.characters(), max_size=40)
any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | any_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=12,
)
# Content that no message may have, so that no example ever begins a turn.
bad_content: st.SearchStrategy[Any] = (
    st.sampled_from([None, True, 7, 1.5, "", " \n\t", "\ud800", [], [[]], [None], ["text"]])
    | st.dictionaries(any_text, any_json, max_size=3)
    | st.lists(st.fixed_dictionaries({"type": any_text}, optional={"text": any_json}), min_size=1, max_size=3).filter(
        lambda parts: any(part["type"] != "text" for part in parts)
    )
    | st.builds(
        lambda kind, source: [{"type": kind, "source": source}],
        st.sampled_from(["image", "document", "audio", "video"]),
        any_json | st.fixed_dictionaries({"type": st.sampled_from(["data", "url", "file"]), "value": st.just("\x00")}),
    )
)
ids = any_text | st.none() | st.integers() | st.uuids().map(str) | st.just("m-1") | st.text(min_size=200, max_size=300)
actions = st.sampled_from([*ACTIONS, "", "$default"]) | any_json
frames = (
    any_text.map(lambda text: text.encode(errors="replace").decode())
    | any_json.map(json.dumps)
    | st.fixed_dictionaries(
        {"action": actions, "content": bad_content},
        optional={
            "messageId": ids,
            "threadId": ids,
            "workflowId": ids,
            "after": any_json,
            "agentId": any_json,
            "extra": any_json,
        },
    ).map(json.dumps)
)


@dataclass
class Line:
    """A connection for sending rubbish, with a way to know that all answers to it have come."""

    connection: ClientConnection
    sent: int = field(default=0)

    def answers(self, frame: str) -> list[dict[str, Any]]:
        """Everything the server says to ``frame``."""
        self.connection.send(frame)
        self.sent += 1
        mark = f"mark-{self.sent}"
        self.connection.send(json.dumps({"action": "no such action", "messageId": mark}))
        answers: list[dict[str, Any]] = []
        while True:
            for answer in events_in(self.connection.recv(timeout=PATIENCE_SECONDS)):
                if answer.get("metadata", {}).get("messageId") == mark:
                    return answers
                answers.append(answer)


@pytest.fixture(scope="module")
def line(cloud: RunningCloud) -> Iterator[Line]:
    """One connection for all examples: it must survive every one."""
    protocols = [Subprotocol(SUBPROTOCOL), Subprotocol(cloud.token(TENANT, "fuzzer"))]
    # Without its keep-alive thread, which draws random numbers: hypothesis takes them for the examples' own.
    with connect(
        cloud.socket_url, subprotocols=protocols, compression=None, proxy=None, ping_interval=None
    ) as connection:
        yield Line(connection)


@pytest.fixture(scope="module")
def client(cloud: RunningCloud) -> Iterator[httpx.Client]:
    """A client with a token."""
    headers = {"Authorization": f"Bearer {cloud.token(TENANT, 'fuzzer')}"}
    with httpx.Client(base_url=cloud.url, headers=headers, timeout=PATIENCE_SECONDS, trust_env=False) as client:
        yield client


@EXAMPLES
@given(frame=frames)
def test_any_frame_is_answered_by_a_typed_error(line: Line, frame: str) -> None:
    [answer] = line.answers(frame)
    if answer == {"type": "PONG"}:
        return
    check_ag_ui(answer)
    assert answer["type"] == "RUN_ERROR"
    assert re.fullmatch(r"[a-z_]+", answer["code"])
    assert answer["code"] != "internal_error"
    assert answer["metadata"]["retryable"] is False


@EXAMPLES
@given(
    body=any_json.map(json.dumps)
    | any_text.map(lambda text: text.encode(errors="replace").decode())
    | st.fixed_dictionaries(
        {"message": bad_content}, optional={"sessionId": ids, "messageId": ids, "agentId": any_json, "extra": any_json}
    ).map(json.dumps),
    path=st.sampled_from(
        ["/v1/messages", "/v1/runs", *(f"/v1/threads/a-thread/{what}" for what in ("files", "continue", "fork"))]
    ),
)
def test_any_body_is_answered_by_a_problem(client: httpx.Client, body: str, path: str) -> None:
    check_refused(client.post(path, content=body.encode(), headers={"Content-Type": "application/json"}))


@EXAMPLES
@given(
    thread_id=ids,
    run_id=ids,
    message=st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "tool", "stranger"]), "content": bad_content},
        optional={"id": ids, "name": any_json, "metadata": any_json},
    ),
    more=st.fixed_dictionaries(
        {}, optional=dict.fromkeys(("state", "tools", "context", "forwardedProps", "resume"), any_json)
    ),
)
def test_any_run_input_is_answered_by_a_problem(
    client: httpx.Client, thread_id: object, run_id: object, message: dict[str, Any], more: dict[str, Any]
) -> None:
    base: dict[str, Any] = {"state": {}, "tools": [], "context": [], "forwardedProps": {}}
    body = {**base, "threadId": thread_id, "runId": run_id, "messages": [message], **more}
    check_refused(client.post("/v1/runs", content=json.dumps(body), headers={"Content-Type": "application/json"}))


@EXAMPLES
@given(
    method=st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE"]),
    segments=st.lists(
        st.sampled_from(
            ["v1", "threads", "messages", "events", "files", "cancel", "exit", "continue", "close", "audit", "handoffs"]
        )
        | st.sampled_from(["agents", "fork", "health", "runs", "workflows"])
        | st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20),
        min_size=1,  # the address / is the local cloud's own
        max_size=5,
    ),
    query=st.dictionaries(
        st.sampled_from(["limit", "cursor", "scope", "parentThreadId", "roles", "after"])
        | st.text(max_size=5).map(ascii),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.integers().map(str),
        max_size=3,
    ),
)
def test_any_address_is_answered(client: httpx.Client, method: str, segments: list[str], query: dict[str, str]) -> None:
    path = "/" + "/".join(quote(segment, safe="") for segment in segments)
    response = client.request(method, path, params=query)
    assert response.status_code < 500, response.text
    if response.status_code >= 400:
        check_any_problem(response)


@EXAMPLES
@given(token=st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=60).map(str.strip).filter(bool))
def test_any_token_is_answered_by_a_problem(client: httpx.Client, token: str) -> None:
    response = client.get("/v1/threads", headers={"Authorization": f"Bearer {token}"})
    assert check_any_problem(response)["status"] == 401


def test_nothing_of_all_this_was_stored(cloud: RunningCloud, line: Line, client: httpx.Client) -> None:
    assert cloud.list_data(TENANT) == []
    assert client.get("/v1/threads").json() == {"items": [], "nextCursor": None}


def check_refused(response: httpx.Response) -> None:
    """A problem that the caller made and can mend."""
    assert 400 <= response.status_code < 500, response.text
    check_any_problem(response)
