"""The Slack workspace: its Web API, in the few calls that the channel makes."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from urllib.parse import urlsplit

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from baton_slack.blocks import Block
from baton_slack.failures import LATER_STATUSES, get_error_code
from baton_slack.identities import Member
from baton_slack.storage import Job, Json, Records

MAX_FILE = 20 * 2**20
"""Bytes of a file: the limit of Baton's uploads."""
FILE_HOSTS = ("files.slack.com",)
"""The hosts that get the bot token for downloads."""
MEMBER_SECONDS = 300.0
"""Seconds for which a member is remembered."""
MAX_MEMBERS = 10_000
"""The number of remembered members beyond which all are dropped."""
FILE_SECONDS = 60
"""The longest download or upload, in seconds."""
METADATA_EVENT = "baton_post"
UNMARKED = {"already_reacted", "message_not_found", "not_reactable", "thread_locked", "too_many_reactions"}
"""Errors of reactions that are ignored, because a reaction only confirms what has happened."""
GONE_FILES = {"file_deleted", "file_not_found", "not_visible"}

logger = logging.getLogger(__name__)


class FileRefused(Exception):
    """A file that cannot be passed on. The message is for the person who has sent it."""


class FileUnfinished(ConnectionError):
    """A file that Slack does not have yet, or does not send now. A later attempt may get it."""


class Workspace:
    """A Slack workspace, as the app's bot."""

    def __init__(
        self, client: AsyncWebClient, records: Records, team: str, *, file_hosts: Sequence[str] = FILE_HOSTS
    ) -> None:
        """Use ``client``, whose token is the bot's. ``records`` has the messages that were posted."""
        self._client = client
        self._records = records
        self._team = team
        self._file_hosts = file_hosts
        self._members: dict[str, tuple[float, Member]] = {}
        self._bot_id: str | None = None

    async def post(
        self, job: Job, key: str, channel: str, blocks: Sequence[Block], text: str, thread_ts: str | None = None
    ) -> str:
        """Post a message once for ``key``, even if ``job`` is repeated; return its ts.

        ``text`` is for notifications, in Slack's markup. An attempt that died between the post and its record is
        recognised by the message's metadata.
        """
        posted = self._records.get(f"post:{key}")
        if posted is not None:
            return str(posted["ts"])
        ts = await self._find_post(key, channel, thread_ts) if job.is_repeated else None
        if ts is None:
            answer = await self._client.chat_postMessage(
                channel=channel,
                blocks=list(blocks),
                text=text[:3_000],
                thread_ts=thread_ts,
                metadata={"event_type": METADATA_EVENT, "event_payload": {"key": key}},
                parse="none",
                link_names=False,
                unfurl_links=False,
                unfurl_media=False,
            )
            ts = str(answer["ts"])
        self._records.put(f"post:{key}", {"ts": ts})
        return ts

    async def update(self, channel: str, ts: str, blocks: Sequence[Block], text: str) -> None:
        """Replace a message. A message that was deleted stays deleted."""
        try:
            await self._client.chat_update(
                channel=channel, ts=ts, blocks=list(blocks), text=text[:3_000], parse="none", link_names=False
            )
        except SlackApiError as refusal:
            if get_error_code(refusal) not in ("message_not_found", "cant_update_message"):
                raise

    async def whisper(self, channel: str, user: str, text: str, thread_ts: str | None = None) -> None:
        """Show one member, unless they have left, a line that nobody else sees. ``text`` is Slack's markup."""
        try:
            await self._client.chat_postEphemeral(
                channel=channel, user=user, text=text[:3_000], thread_ts=thread_ts, parse="none", link_names=False
            )
        except SlackApiError as refusal:
            if get_error_code(refusal) not in ("user_not_in_channel", "channel_not_found"):
                raise

    async def mark(self, channel: str, ts: str, emoji: str) -> None:
        """Add a reaction to a message, once."""
        try:
            await self._client.reactions_add(channel=channel, timestamp=ts, name=emoji)
        except SlackApiError as refusal:
            if get_error_code(refusal) not in UNMARKED:
                raise

    async def get_member(self, user: str) -> Member:
        """Return a member, as read at most five minutes ago."""
        read_at, member = self._members.get(user, (0.0, None))
        if member is None or time.monotonic() - read_at > MEMBER_SECONDS:
            answer = await self._client.users_info(user=user, include_locale=True)
            member = Member.of(answer["user"], self._team)
            if len(self._members) > MAX_MEMBERS:
                self._members.clear()
            self._members[user] = (time.monotonic(), member)
        return member

    async def get_bot_id(self) -> str:
        """Return the user id of the bot. Raises ``RuntimeError`` if the token belongs to another workspace."""
        if self._bot_id is None:
            answer = await self._client.auth_test()
            if answer["team_id"] != self._team:
                raise RuntimeError(f"SLACK_BOT_TOKEN is of the workspace {answer['team_id']}; team is {self._team}.")
            self._bot_id = str(answer["user_id"])
        return self._bot_id

    async def upload(self, job: Job, key: str, channel: str, thread_ts: str, name: str, data: bytes) -> None:
        """Share a file in a thread, once for ``key``.

        Raises ``FileUnfinished`` if Slack does not take the bytes now, and ``SlackApiError`` if it refuses the file.
        """
        record = self._records.get(f"post:{key}") or {}
        if record.get("isShared"):
            return
        if "file" not in record or not await self._is_shared(record["file"], channel):
            answer = await self._client.files_getUploadURLExternal(filename=name, length=len(data))
            # The address contains a key, so the token is not sent.
            async with self._make_session() as session, session.post(answer["upload_url"], data=data) as response:
                if response.status != 200:
                    raise FileUnfinished
            record = {"file": str(answer["file_id"])}
            self._records.put(f"post:{key}", record)
            await self._client.files_completeUploadExternal(
                files=[{"id": record["file"], "title": name}], channel_id=channel, thread_ts=thread_ts
            )
        self._records.put(f"post:{key}", {**record, "isShared": True})

    async def download(self, file: Json) -> bytes:
        """Return the bytes of a file of Slack.

        Raises ``FileRefused`` if it cannot be passed on, and ``FileUnfinished`` if Slack does not send it now.
        """
        if not file.get("url_private_download"):
            file = await self._read_file(file)
        name, url = str(file.get("name") or "file")[:100], str(file.get("url_private_download") or "")
        too_large = FileRefused(f"{name} is larger than {MAX_FILE // 2**20} MB.")
        if int(file.get("size") or 0) > MAX_FILE:
            raise too_large
        parts = urlsplit(url)
        if parts.netloc not in self._file_hosts or (parts.scheme != "https" and self._file_hosts is FILE_HOSTS):
            raise FileRefused(f"{name} is not stored in Slack. Upload it instead of linking to it.")
        headers = {"Authorization": f"Bearer {self._client.token}"}
        async with (
            self._make_session() as session,
            session.get(url, headers=headers, allow_redirects=False) as response,
        ):
            # Slack answers a missing scope by a redirect to the sign-in, or by its page.
            is_page = response.content_type == "text/html" and file.get("mimetype") != "text/html"
            if response.status in LATER_STATUSES or response.status >= 500:
                raise FileUnfinished
            if response.status in (404, 410):
                raise FileRefused(f"{name} is no longer in Slack.")
            if response.status != 200 or is_page:
                raise FileRefused(f"{name} cannot be read: the app lacks the scope files:read.")
            data = bytearray()
            async for chunk in response.content.iter_chunked(65_536):
                data += chunk
                if len(data) > MAX_FILE:
                    raise too_large
        return bytes(data)

    async def _read_file(self, file: Json) -> Json:
        """Return Slack's present description of a file whose event had no address, because it was being uploaded."""
        name = str(file.get("name") or "A file")[:100]
        try:
            answer = await self._client.files_info(file=str(file.get("id") or ""))
        except SlackApiError as refusal:
            if get_error_code(refusal) in GONE_FILES:
                raise FileRefused(f"{name} is no longer in Slack.") from None
            raise
        current: Json = answer["file"]
        if current.get("mode") in ("tombstone", "hidden_by_limit"):
            raise FileRefused(f"{name} is no longer in Slack.")
        if not current.get("url_private_download") and not current.get("is_external"):
            raise FileUnfinished
        return current

    async def _is_shared(self, file_id: str, channel: str) -> bool:
        """Return whether a file is in a channel, after an attempt whose answer was lost."""
        try:
            file: Json = (await self._client.files_info(file=file_id))["file"]
        except SlackApiError as refusal:
            if get_error_code(refusal) in GONE_FILES:
                return False
            raise
        shares = [location for kind in (file.get("shares") or {}).values() for location in kind]
        return channel in [
            *shares,
            *(location for kind in ("channels", "groups", "ims") for location in file.get(kind) or []),
        ]

    def _make_session(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=FILE_SECONDS))

    async def _find_post(self, key: str, channel: str, thread_ts: str | None) -> str | None:
        """Return the ts of the message in a thread whose metadata has ``key``; None if there is none.

        Outside of threads, only the newest messages of the channel are searched.
        """
        if thread_ts is None:
            answer = await self._client.conversations_history(channel=channel, limit=100, include_all_metadata=True)
            return _find_key(answer["messages"], key)
        # Slack returns the oldest messages of a thread first.
        pages = await self._client.conversations_replies(
            channel=channel, ts=thread_ts, limit=200, include_all_metadata=True
        )
        async for page in pages:
            if (ts := _find_key(page["messages"], key)) is not None:
                return ts
        return None


def _find_key(messages: Sequence[Json], key: str) -> str | None:
    for message in messages:
        metadata = message.get("metadata") or {}
        if metadata.get("event_type") == METADATA_EVENT and metadata.get("event_payload", {}).get("key") == key:
            return str(message["ts"])
    return None
