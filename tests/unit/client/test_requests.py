"""Requests: what is sent, what is sent again, and what becomes of errors."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import baton_client
from baton_client import Baton, conditions
from baton_client.asynchronous.transport import MAX_ERROR_BYTES
from tests.unit.client.scripted import THREAD_ID, Json, Served, problem

THREAD: Json = {
    "id": THREAD_ID,
    "title": None,
    "userId": "ada",
    "agentId": "assistant",
    "parentThreadId": None,
    "status": "active",
    "lastSeq": 3,
    "unread": 1,
    "createdAt": "2026-11-01T10:00:00.000Z",
    "lastActivityAt": "2026-11-01T10:00:00.000Z",
    "aNewField": {"of": "a later server"},
    "state": {
        "activeAgent": {"id": "assistant", "name": "Assistant", "isMain": True},
        "workflow": None,
        "resumable": [],
        "status": "active",
    },
    "episode": 1,
    "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
    "run": None,
    "interrupts": [],
}
REFUSED = httpx.ConnectError("refused")


def thread(**fields: object) -> httpx.Response:
    return httpx.Response(200, json={**THREAD, **fields})


def test_an_answer_has_types_and_keeps_what_is_unknown(served: Served) -> None:
    served.script.answer(f"GET /v1/threads/{THREAD_ID}", thread())
    answer = served.client.threads.get(THREAD_ID)
    assert answer.created_at.year == 2026
    assert answer.model_extra == {"aNewField": {"of": "a later server"}}
    assert answer.http_response is not None
    assert answer.http_response.status == 200


def test_versions_of_a_server_of_the_release_before_are_read(served: Served) -> None:
    version: Json = {
        "agentId": "tutor",
        "version": 2,
        "isDeletion": False,
        "createdBy": "ada",
        "createdAt": "2026-11-01T10:00:00.000Z",
        "state": "candidate",
        "evaluation": {"id": "e1", "beganAt": "2026-11-01T10:00:00.000Z", "runs": 30, "passed": 0.9},
    }
    page = httpx.Response(200, json={"items": [version], "nextCursor": None})
    served.script.answer("GET /v1/agents/tutor/versions", page)
    [read] = served.client.agents.versions("tutor").page().items
    assert read.evaluation is not None
    assert (read.evaluation.passed, read.evaluation.published_by) == (0.9, None)


def test_ids_of_a_host_are_one_part_of_the_path(served: Served) -> None:
    served.script.answer("*", thread())
    served.client.threads.get("crm/42?x")
    assert served.script.requests[0].url.raw_path == b"/v1/threads/crm%2F42%3Fx"


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_what_may_be_sent_again_is_sent_again(served: Served, status: int) -> None:
    served.script.answer("*", problem(status, "x"), REFUSED, thread())
    assert served.client.threads.get("t").id == THREAD_ID
    assert len(served.clock.slept) == 2


def test_a_request_is_sent_as_often_as_the_documentation_says(served: Served) -> None:
    served.script.answer("*", REFUSED)
    with pytest.raises(baton_client.APIConnectionError, match=r"http://baton\.test cannot be reached"):
        served.client.with_options(max_retries=1).threads.get("t")
    assert len(served.script.requests) == 2


def test_what_would_happen_twice_is_sent_once(served: Served) -> None:
    served.script.answer("*", httpx.ReadTimeout("late"))
    with pytest.raises(baton_client.APITimeoutError):
        served.client.threads.fork(THREAD_ID)
    assert len(served.script.requests) == 1


def test_a_message_is_sent_again_with_the_same_id(served: Served) -> None:
    served.script.answer("*", httpx.ReadError("lost"), problem(422, "invalid_request"))
    with pytest.raises(baton_client.BadRequestError):
        served.client.messages.create("Hello")
    first, second = served.script.requests
    assert first.content == second.content


def test_a_server_says_when_to_come_again(served: Served) -> None:
    served.script.answer("*", problem(429, "rate_limited", headers={"Retry-After": "7"}), thread())
    served.client.threads.get("t")
    assert 7 <= served.clock.slept[0] <= 8


def test_nobody_waits_for_an_hour(served: Served) -> None:
    served.script.answer("*", problem(429, "rate_limited", headers={"Retry-After": "3600"}))
    with pytest.raises(baton_client.RateLimitError) as caught:
        served.client.threads.get("t")
    assert caught.value.retry_after == 3600
    assert served.clock.slept == []


def test_an_expired_token_is_renewed_once(served: Served) -> None:
    tokens = iter(["old", "new"])
    served.script.answer("*", problem(401, "token_expired"), thread())
    served.client.with_options(token=lambda: next(tokens)).threads.get("t")
    sent = [request.headers["authorization"] for request in served.script.requests]
    assert sent == ["Bearer old", "Bearer new"]


def test_a_token_that_is_never_right_ends_in_an_error(served: Served) -> None:
    served.script.answer("*", problem(401, "unauthorized"))
    with pytest.raises(baton_client.AuthenticationError):
        served.client.with_options(token=lambda: "wrong").threads.get("t")
    assert len(served.script.requests) == 2


def test_errors_have_a_class_by_their_code(served: Served) -> None:
    fields = {
        "title": "Conflict",
        "requestId": "req-1",
        "errors": [{"field": "name", "message": "is missing", "line": 3}, "nonsense"],
    }
    served.script.answer("*", problem(409, "message_id_conflict", **fields))
    with pytest.raises(conditions.MessageIdConflictError, match="message_id_conflict: Why") as caught:
        served.client.threads.get("t")
    error = caught.value
    assert isinstance(error, baton_client.ConflictError)
    assert (error.status, error.request_id, error.retryable) == (409, "req-1", False)
    assert error.problems == (baton_client.FieldProblem("name", "is missing", 3),)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, baton_client.BadRequestError),
        (401, baton_client.AuthenticationError),
        (403, baton_client.PermissionDeniedError),
        (404, baton_client.NotFoundError),
        (412, baton_client.ConflictError),
        (500, baton_client.ServerError),
    ],
)
@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[1]", b'{"code": 7, "errors": "x"}', b'{"code": "of_a_later_server"}']
)
def test_errors_without_a_known_code_have_one_by_their_status(
    served: Served, status: int, kind: type[Exception], body: bytes
) -> None:
    served.script.answer("*", httpx.Response(status, content=body))
    with pytest.raises(kind):
        served.client.threads.get("t")


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, text="<html>", headers={"content-type": "text/html"}),
        httpx.Response(200, json=[]),
        httpx.Response(200, json={"id": 5}),
        httpx.Response(204),
    ],
)
def test_an_answer_of_another_kind_is_said_to_be_one(served: Served, answer: httpx.Response) -> None:
    served.script.answer("*", answer)
    with pytest.raises(baton_client.UnexpectedAnswerError):
        served.client.threads.get("t")


def test_lists_ask_for_page_after_page(served: Served) -> None:
    pages = [
        {"items": [THREAD, THREAD], "nextCursor": "a"},
        {"items": [], "nextCursor": "b"},
        {"items": [THREAD], "nextCursor": None},
    ]
    served.script.answer("*", *(httpx.Response(200, json=page) for page in pages))
    assert len(list(served.client.threads.list(state="active", limit=2))) == 3
    queries = [dict(request.url.params) for request in served.script.requests]
    same = {"state": "active", "limit": "2"}
    assert queries == [same, {**same, "cursor": "a"}, {**same, "cursor": "b"}]


def test_the_token_stays_out_of_logs_errors_and_uploads(
    served: Served, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level(logging.DEBUG, "baton_client")
    file = tmp_path / "notes.txt"
    file.write_text("Notes")
    upload = {
        "url": "http://files.test/put",
        "method": "PUT",
        "headers": {"Content-Type": "text/plain"},
        "expiresAt": "2026-11-01T10:00:00.000Z",
    }
    answer = {"fileId": "f", "upload": upload, "part": {"type": "document"}}
    served.script.answer(f"POST /v1/threads/{THREAD_ID}/files", httpx.Response(201, json=answer))
    served.script.answer("PUT /put", httpx.Response(503), httpx.Response(200))
    assert served.client.threads.files.upload(THREAD_ID, file) == {"type": "document"}
    first, put, second_read = served.script.requests
    assert b'"size":5' in first.content
    assert [put.content, second_read.content] == [b"Notes", b"Notes"]
    assert "authorization" not in put.headers
    served.script.answer("*", REFUSED)
    with pytest.raises(baton_client.APIConnectionError) as caught:
        served.client.threads.get("t")
    assert "secret-token" not in caplog.text + str(caught.value) + repr(served.client)


def test_an_export_that_breaks_off_is_not_taken_for_whole(served: Served) -> None:
    served.script.answer("*", httpx.Response(200, text='{"type": "thread"}\n\n{"type": "error", "detail": "Gone."}\n'))
    with pytest.raises(baton_client.UnexpectedAnswerError, match="Gone"):
        list(served.client.users.export("me"))
    cut = '{"sessionId": "s", "messages": [{"id": 1}\n{"type": "error", "detail": "The store is down."}\n'
    served.script.answer("*", httpx.Response(200, text=cut))
    with pytest.raises(baton_client.UnexpectedAnswerError, match="The store is down"):
        list(served.client.users.export("me"))
    for text in ('{"sess\n', '{"sess\n{"type": "end", "nextCursor": null}\n', "{\n{\n"):
        served.script.answer("*", httpx.Response(200, text=text))
        with pytest.raises(baton_client.UnexpectedAnswerError, match="not JSON"):
            list(served.client.users.export("me"))
    served.script.answer("*", httpx.Response(200, text='{"type": "thread"}\n'))
    with pytest.raises(baton_client.UnexpectedAnswerError, match="ended early"):
        list(served.client.users.export("me"))
    lines = '{"id": 1}\n{"type": "end", "nextCursor": "c"}\n', '{"id": 2}\n{"type": "end", "nextCursor": null}\n'
    served.script.answer("*", *(httpx.Response(200, text=text) for text in lines))
    assert list(served.client.audit.export()) == [{"id": 1}, {"id": 2}]


def test_any_request_can_be_sent_and_its_response_read(served: Served) -> None:
    served.script.answer("*", httpx.Response(200, json={"new": True}))
    response = served.client.request("post", "/v1/of-a-later-server", json={"a": 1}, headers={"X-Mine": "1"})
    assert response.json() == {"new": True}
    [request] = served.script.requests
    assert (request.headers["authorization"], request.headers["x-mine"]) == ("Bearer secret-token", "1")
    assert request.headers["user-agent"].startswith("baton-client-python/")


@pytest.mark.parametrize("url", ["localhost:8080", "ftp://a", "", "http://", "http://a:port"])
def test_an_address_that_is_none_is_refused_at_once(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATON_URL", url or "nothing")
    with pytest.raises(baton_client.ConfigurationError, match="is no address"):
        Baton()


def test_a_negative_number_of_retries_is_refused_at_once(served: Served) -> None:
    with pytest.raises(baton_client.ConfigurationError, match="cannot be negative"):
        Baton(max_retries=-1)
    with pytest.raises(baton_client.ConfigurationError, match="cannot be negative"):
        served.client.with_options(max_retries=-1)


def test_waiting_for_a_report_ends(served: Served) -> None:
    running: Json = {
        "requestId": "r",
        "subject": "user",
        "userId": "ada",
        "threadId": None,
        "status": "running",
        "requestedBy": "ada",
        "requestedAt": "2026-11-01T10:00:00.000Z",
        "cutoffAt": None,
        "expectedCutoffAt": None,
        "endedAt": None,
        "counts": {},
        "residue": {},
    }
    done = running | {"status": "completed", "endedAt": "2026-11-01T10:00:00.000Z"}
    answers = [httpx.Response(200, json=report) for report in (running, running, done)]
    served.script.answer("*", *answers)
    assert served.client.users.wait_until_forgotten("r").status == "completed"
    served.script.answer("*", httpx.Response(200, json=running))
    with pytest.raises(baton_client.APITimeoutError, match="not ready after 30 s"):
        served.client.users.wait_until_forgotten("r", timeout=30)


def test_a_new_procedure_is_sent_again_because_its_content_makes_one_version(served: Served) -> None:
    route = "POST /v1/agents/assistant/procedures"
    served.script.answer(route, problem(503, "store_unavailable"), problem(403, "forbidden"))
    with pytest.raises(baton_client.APIStatusError):
        served.client.procedures.create("assistant", "---\nname: Alert\n---")
    assert len(served.script.sent(route)) == 2


class EndlessBody(httpx.SyncByteStream):
    """A body of large pieces, which counts those that were read."""

    read = 0

    def __iter__(self) -> Iterator[bytes]:
        while self.read < 10:
            self.read += 1
            yield b"x" * MAX_ERROR_BYTES


def test_an_error_without_an_end_is_not_read_on(served: Served) -> None:
    body = EndlessBody()
    served.script.answer("*", lambda _: httpx.Response(404, stream=body))
    with pytest.raises(baton_client.APIStatusError) as caught:
        served.client.threads.get("t")
    assert (caught.value.status, body.read) == (404, 2)


@pytest.mark.parametrize("status", [408, 429, 502, 503, 504])
def test_an_error_of_a_gateway_may_be_repeated(served: Served, status: int) -> None:
    served.script.answer("*", httpx.Response(status, text="busy"))
    with pytest.raises(baton_client.APIStatusError) as caught:
        served.client.threads.get("t")
    assert caught.value.retryable
    assert not isinstance(caught.value, baton_client.BadRequestError)
