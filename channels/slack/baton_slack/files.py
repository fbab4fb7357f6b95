"""Files between Slack and Baton, in both directions."""

from __future__ import annotations

import asyncio

import httpx
from slack_sdk.errors import SlackApiError

from baton_client import APIStatusError, AsyncBaton, ConfigurationError
from baton_slack.blocks import make_context_line
from baton_slack.failures import CONNECTION_FAILURES, LATER_STATUSES, is_refusal
from baton_slack.messages import list_files
from baton_slack.mrkdwn import escape, shorten
from baton_slack.storage import Job, Json, Records
from baton_slack.workspace import MAX_FILE, FileRefused, Workspace

MAX_FILES = 10
FILES_AT_ONCE = 4
"""The number of files in memory, of users and of people each."""
MAX_FILE_RETRIES = 4
"""Failed attempts, in about 80 seconds. The next attempt sends the message without files that cannot be read."""
UNKNOWN_TYPE = "application/octet-stream"
DOWNLOAD_SECONDS = 60.0
"""The time limit of one download from Baton."""


class Files:
    """The files of messages."""

    def __init__(self, workspace: Workspace, records: Records) -> None:
        self._workspace = workspace
        self._records = records
        self._places = asyncio.Semaphore(FILES_AT_ONCE)

    async def upload(self, client: AsyncBaton, thread_id: str, job: Job) -> tuple[list[Json], list[str]]:
        """Return the parts of the uploaded files of a message, and sentences about those that could not be passed on.

        A repetition uploads no file again, because that would make it another message.
        """
        event = job.body
        files = event.get("files") or []
        parts: list[Json] = []
        problems = [f"Only {MAX_FILES} files of a message are read."] if len(files) > MAX_FILES else []
        for number, file in enumerate(files[:MAX_FILES]):
            name, media_type = str(file.get("name") or "file"), str(file.get("mimetype") or "")
            key = f"file:{event['channel']}:{event['ts']}:{number}"
            uploaded = self._records.get(key)
            try:
                if uploaded is None:
                    async with self._places:
                        data = await self._workspace.download(file)
                        part = await client.threads.files.upload(
                            thread_id, data, name=name, content_type=media_type or UNKNOWN_TYPE
                        )
                    record = {"type": part["type"], "source": part["source"], "size": len(data)}
                    uploaded = self._records.add(key, record)
            except FileRefused as refusal:
                problems.append(str(refusal))
            except ConfigurationError as refusal:  # the file is empty
                problems.append(refusal.args[0])
            except APIStatusError as refusal:
                if refusal.retryable:
                    raise
                problems.append(f"{name}: {refusal.detail}")
            except CONNECTION_FAILURES:
                if job.attempts < MAX_FILE_RETRIES:
                    raise
                problems.append(f"{name} cannot be read now. Send it again later.")
            else:
                metadata = {"name": name, "size": uploaded["size"]}
                parts.append({"type": uploaded["type"], "source": uploaded["source"], "metadata": metadata})
        return parts, problems

    async def share(self, job: Job, client: AsyncBaton, message: Json, channel: str, thread_ts: str) -> None:
        """Share the files of a message of Baton in a thread of Slack, if ``client`` may see them."""
        thread_id = job.body["data"]["threadId"]
        answer = await client.request("GET", f"/v1/threads/{thread_id}/messages", params={"limit": 100})
        stored = next((item for item in answer.json()["items"] if item["id"] == message["id"]), message)
        for number, file in enumerate(list_files(stored)):
            if file["url"] is None:
                continue
            key = f"{job.id}.{channel}.file{number}"
            async with self._places:
                data = await _download(file["url"])
                is_shared = data is not None and await self._upload(job, key, channel, thread_ts, file["name"], data)
            if not is_shared:
                line = f"{escape(shorten(file['name'], 100))} cannot be shown in Slack."
                await self._workspace.post(job, f"{key}.line", channel, [make_context_line(line)], line, thread_ts)

    async def _upload(self, job: Job, key: str, channel: str, thread_ts: str, name: str, data: bytes) -> bool:
        """Upload a file, and return whether Slack has accepted it: size, kind or a full workspace may prevent that."""
        try:
            await self._workspace.upload(job, key, channel, thread_ts, name, data)
        except SlackApiError as failure:
            if not is_refusal(failure):
                raise
            return False
        return True


async def _download(url: str) -> bytes | None:
    """Return the bytes of a file of Baton; None if it is not served, is empty or larger than ``MAX_FILE``.

    Raises ``httpx.HTTPError`` or ``TimeoutError`` if a later attempt may succeed.
    """
    data = bytearray()
    async with (
        asyncio.timeout(DOWNLOAD_SECONDS),
        httpx.AsyncClient(timeout=DOWNLOAD_SECONDS) as http,
        http.stream("GET", url) as response,
    ):
        if response.status_code in LATER_STATUSES or response.status_code >= 500:
            response.raise_for_status()
        if response.status_code != 200:
            return None
        async for chunk in response.aiter_bytes():
            data += chunk
            if len(data) > MAX_FILE:
                return None
    return bytes(data) or None
