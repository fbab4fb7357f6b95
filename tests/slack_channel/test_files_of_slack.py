"""Files between Slack and Baton: what fails halfway loses no message, shares nothing twice and leaks no token."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from starlette.applications import Starlette
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from baton_client import AsyncBaton
from baton_client.uploads import Upload
from baton_slack import Job, SqliteStorage
from baton_slack.blocks import make_section
from baton_slack.failures import CONNECTION_FAILURES
from baton_slack.files import MAX_FILE_RETRIES, Files
from baton_slack.workspace import FileRefused, Workspace
from tests.slack_channel.conftest import serving
from tests.slack_channel.stand_in import TEAM, TOKEN, SlackStandIn

Json = dict[str, Any]
TS = "1790000000.000100"
SHOWN = Job("evt_1", "g", "message.created", {"data": {"threadId": "t"}})
"""An event of Baton."""
ABSENT = {"id": "F1", "name": "a.txt"}


class BatonFiles:
    """The part of Baton's client that takes files, and shows those of one message."""

    def __init__(self, url: str = "") -> None:
        self.taken = list[Upload]()
        self._url = url

    @property
    def client(self) -> AsyncBaton:
        files = SimpleNamespace(upload=self._upload)
        return cast("AsyncBaton", SimpleNamespace(threads=SimpleNamespace(files=files), request=self._request))

    async def _upload(self, thread_id: str, content: bytes, *, name: str, content_type: str) -> Json:
        self.taken.append(Upload.of(content, name, content_type))
        return {"type": "document", "source": {"type": "file", "value": f"file_{len(self.taken)}"}}

    async def _request(self, *address: str, **named: Any) -> Any:
        part = {"type": "document", "metadata": {"name": "a.txt", "downloadUrl": self._url}}
        return SimpleNamespace(json=lambda: {"items": [{"id": "m1", "content": [part]}]})


@pytest.fixture
async def slack() -> AsyncIterator[SlackStandIn]:
    stand_in = SlackStandIn(files={"a.txt": b"Milk", "empty.txt": b"", "large.txt": b"x" * 2_000})
    async with serving(stand_in.app) as url:
        stand_in.url = url
        yield stand_in


@pytest.fixture
def workspace(slack: SlackStandIn) -> Workspace:
    client = AsyncWebClient(TOKEN, base_url=f"{slack.url}/api/")
    hosts = [slack.url.removeprefix("http://")]
    return Workspace(client, SqliteStorage(":memory:"), TEAM, file_hosts=hosts)


@pytest.fixture
def files(workspace: Workspace) -> Files:
    return Files(workspace, SqliteStorage(":memory:"))


def make_job(slack: SlackStandIn, name: str = "a.txt", *, attempts: int = 0, **fields: Any) -> Job:
    """A message with a file."""
    file = {"id": "F1", "name": name, "mimetype": "", "url_private_download": f"{slack.url}/download/{name}"}
    return Job("Ev1", "g", "slack.message", {"channel": "D0ADA", "ts": TS, "files": [file | fields]}, attempts)


@pytest.mark.parametrize("fault", [500, 503, 429, 408, None])
async def test_a_download_that_fails_is_tried_again_and_at_last_the_message_goes_without_it(
    slack: SlackStandIn, files: Files, fault: int | None
) -> None:
    baton = BatonFiles()
    slack.faults += [fault]
    with pytest.raises(CONNECTION_FAILURES):
        await files.upload(baton.client, "t", make_job(slack))
    parts, problems = await files.upload(baton.client, "t", make_job(slack, attempts=1))
    assert ([file.data for file in baton.taken], len(parts), problems) == ([b"Milk"], 1, [])
    assert await files.upload(baton.client, "t", make_job(slack, attempts=2)) == (parts, []), (
        "a repetition has the same"
    )
    slack.faults += [fault]
    other = make_job(slack, attempts=MAX_FILE_RETRIES)
    other.body["ts"] = "1790000001.000100"
    assert await files.upload(baton.client, "t", other) == ([], ["a.txt cannot be read now. Send it again later."])


@pytest.mark.parametrize(
    ("name", "fault", "problem"),
    [
        ("a.txt", 404, "no longer in Slack"),
        ("a.txt", 302, "lacks the scope files:read"),
        ("a.txt", 403, "lacks the scope files:read"),
        ("empty.txt", 200, "is empty"),
        ("large.txt", 200, "is larger than"),
    ],
)
async def test_a_file_that_cannot_be_passed_on_is_named_and_the_message_goes_on(
    slack: SlackStandIn, files: Files, monkeypatch: pytest.MonkeyPatch, name: str, fault: int, problem: str
) -> None:
    monkeypatch.setattr("baton_slack.workspace.MAX_FILE", 1_000)
    slack.faults += [fault] if fault != 200 else []
    parts, problems = await files.upload(BatonFiles().client, "t", make_job(slack, name))
    assert parts == []
    assert [problem in sentence for sentence in problems] == [True]


@pytest.mark.parametrize(
    ("answers", "outcome"),
    [
        ([ABSENT, "whole"], ["unfinished", "taken"]),
        (["whole"], ["taken"]),
        ([ABSENT | {"mode": "tombstone"}], ["no longer in Slack"]),
        ([], ["no longer in Slack"]),
        ([ABSENT | {"is_external": True}], ["not stored in Slack"]),
    ],
)
async def test_a_file_that_slack_has_not_finished_is_looked_up(
    slack: SlackStandIn, files: Files, answers: list[Any], outcome: list[str]
) -> None:
    whole = {**ABSENT, "url_private_download": f"{slack.url}/download/a.txt"}
    slack.described["F1"] = [whole if answer == "whole" else answer for answer in answers]
    baton, seen = BatonFiles(), list[str]()
    for attempt in range(len(outcome)):
        job = make_job(slack, attempts=attempt, url_private_download=None)
        try:
            _, problems = await files.upload(baton.client, "t", job)
        except ConnectionError:
            seen.append("unfinished")
        else:
            seen += problems or ["taken"]
    assert [expected in got for expected, got in zip(outcome, seen, strict=True)] == [True] * len(outcome), seen


@pytest.mark.parametrize(
    "address",
    [
        "http://files.slack.com/a",
        "https://files.slack.com.evil.example/a",
        "https://files.slack.com@evil.example/a",
        "https://evil.example/files.slack.com",
        "https://files.slack.com:8443/a",
        "https://FILES.slack.com\\@evil.example/a",
        "//files.slack.com/a",
        "https://user:password@files.slack.com/a",
        "file:///etc/passwd",
    ],
)
async def test_no_other_host_gets_the_token(address: str) -> None:
    workspace = Workspace(AsyncWebClient(TOKEN), SqliteStorage(":memory:"), TEAM)
    with pytest.raises(FileRefused, match="not stored in Slack"):
        await workspace.download({"id": "F1", "name": "a.txt", "url_private_download": address})


async def test_a_redirect_is_not_followed_with_the_token(slack: SlackStandIn, workspace: Workspace) -> None:
    slack.faults += [302]
    with pytest.raises(FileRefused):
        await workspace.download(make_job(slack).body["files"][0])
    assert slack.tokens_of_downloads == [f"Bearer {TOKEN}"]


async def share(files: Files, slack: SlackStandIn, *, attempts: int = 0, name: str = "a.txt") -> None:
    job = Job("evt_1", "baton:t", "message.created", {"data": {"threadId": "t"}}, attempts)
    # Baton's files are at presigned addresses; the stand-in answers one without its token by a redirect.
    await files.share(job, BatonFiles(f"{slack.url}/plain/{name}").client, {"id": "m1"}, "C0DESK", TS)


async def test_a_file_whose_sharing_is_interrupted_is_shared_once(slack: SlackStandIn, files: Files) -> None:
    slack.faults += [500]
    with pytest.raises(ConnectionError):
        await share(files, slack)
    slack.loses_answers.append("files.completeUploadExternal")
    with pytest.raises(SlackApiError):
        await share(files, slack, attempts=1)
    await share(files, slack, attempts=2)
    await share(files, slack, attempts=3)
    assert [(file["channel"], file["thread_ts"], file["data"]) for file in slack.shared] == [("C0DESK", TS, b"Milk")]
    assert slack.errors == []


@pytest.mark.parametrize("reason", ["refused", "gone", "empty"])
async def test_a_file_that_slack_does_not_take_leaves_a_line(slack: SlackStandIn, files: Files, reason: str) -> None:
    if reason == "refused":
        slack.refuses["files.getUploadURLExternal"] = "storage_limit_reached"
    name = {"gone": "gone.txt", "empty": "empty.txt"}.get(reason, "a.txt")
    for attempts in (0, 1):
        await share(files, slack, attempts=attempts, name=name)
    [line] = slack.replies("C0DESK", TS)
    assert "a.txt cannot be shown in Slack" in line["text"]
    assert slack.shared == []


@pytest.mark.parametrize("status", [408, 429, 503])
async def test_a_file_of_baton_that_is_not_served_now_is_asked_for_again(
    slack: SlackStandIn, workspace: Workspace, status: int
) -> None:
    app = Starlette(routes=[Route("/", lambda _: Response(status_code=status))])
    files = Files(workspace, SqliteStorage(":memory:"))
    async with serving(app) as url:
        with pytest.raises(CONNECTION_FAILURES):
            await files.share(SHOWN, BatonFiles(url).client, {"id": "m1"}, "D0ADA", TS)
    assert slack.messages == {}


async def test_a_file_of_baton_that_is_sent_too_slowly_is_given_up(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def send_slowly() -> AsyncIterator[bytes]:
        for _ in range(300):
            yield b"x"
            await asyncio.sleep(0.01)

    monkeypatch.setattr("baton_slack.files.DOWNLOAD_SECONDS", 0.1)
    app = Starlette(routes=[Route("/", lambda _: StreamingResponse(send_slowly()))])
    files = Files(workspace, SqliteStorage(":memory:"))
    async with serving(app) as url:
        with pytest.raises(TimeoutError):
            await files.share(SHOWN, BatonFiles(url).client, {"id": "m1"}, "D0ADA", TS)


async def test_a_post_in_a_long_thread_is_recognised(slack: SlackStandIn, workspace: Workspace) -> None:
    for _ in range(250):
        ts = slack.next_ts()
        slack.messages["D0ADA", ts] = {"channel": "D0ADA", "thread_ts": TS, "ts": ts}
    slack.loses_answers += ["chat.postMessage"]
    with pytest.raises(SlackApiError):
        await workspace.post(SHOWN, "key", "D0ADA", [make_section("Hello")], "Hello", TS)
    await workspace.post(replace(SHOWN, attempts=1), "key", "D0ADA", [make_section("Hello")], "Hello", TS)
    assert sum("blocks" in message for message in slack.messages.values()) == 1
