"""Users in Slack: a thread, in a direct message or below a mention, is a conversation with an agent."""

from __future__ import annotations

import uuid

from baton_client import APIStatusError
from baton_slack import blocks
from baton_slack.accounts import Accounts, NotAllowed
from baton_slack.configuration import Configuration
from baton_slack.files import Files
from baton_slack.messages import begin, get_text, is_from_slack, list_files, make_message_id, write_named_text
from baton_slack.mrkdwn import escape, shorten, to_plain
from baton_slack.storage import Job, Json, Records
from baton_slack.workspace import Workspace


class UserThreads:
    """The threads of users.

    A record ``talk:<channel>:<ts>:<user>`` has the conversation of a user in a thread, and ``user:<thread>`` the place
    of a conversation in Slack. Two users in one thread have two conversations.
    """

    def __init__(
        self, workspace: Workspace, accounts: Accounts, records: Records, configuration: Configuration
    ) -> None:
        self._workspace = workspace
        self._accounts = accounts
        self._records = records
        self._users = configuration.users
        self._files = Files(workspace, records)

    async def send(self, job: Job) -> None:
        """Send a user's message to the agent. The answer arrives as an event of Baton."""
        event = job.body
        channel, user, root = event["channel"], event["user"], event.get("thread_ts") or event["ts"]
        if self._users is None:
            return
        try:
            client = await self._accounts.of_user(await self._workspace.get_member(user))
        except NotAllowed as refusal:
            await self._workspace.whisper(channel, user, escape(str(refusal)), root)
            return
        new_record = {"threadId": str(uuid.uuid4())}
        thread_id = self._records.add(f"talk:{channel}:{root}:{user}", new_record)["threadId"]
        self._records.add(f"user:{thread_id}", {"channel": channel, "ts": root, "slackUser": user})
        mention = f"<@{await self._workspace.get_bot_id()}>"
        text = to_plain((event.get("text") or "").replace(mention, "")).strip()
        parts, problems = await self._files.upload(client, thread_id, job)
        try:
            if text or parts:
                await begin(
                    client.runs.stream(
                        [*([text] if text else []), *parts],
                        thread_id=thread_id,
                        message_id=make_message_id(channel, event["ts"]),
                        agent_id=self._users.agent_id,
                        keep_running=True,
                    )
                )
        except APIStatusError as refusal:
            if refusal.retryable and refusal.seq is None:
                raise
            # A failed run has a separate event, and a message that was edited meanwhile is sent already.
            if refusal.run_id is None and refusal.seq is None and refusal.code != "message_id_conflict":
                problems.append(refusal.detail)
        for problem in problems:
            await self._workspace.whisper(channel, user, escape(problem), root)

    async def show_message(self, job: Job) -> None:
        """Show an answer, or a message that the user has written elsewhere (``message.created``)."""
        message = job.body["data"]["message"]
        if is_from_slack(message) and message["role"] == "user":
            return
        if message["role"] == "user":
            await self._post(job, "You, elsewhere", get_text(message), is_markdown=False)
            return
        await self._post(job, str(message.get("name") or ""), write_named_text(message), is_markdown=True)
        link = self.get_link(job.body["data"]["threadId"])
        if link is not None and any(list_files(message)):  # the message is a person's at a desk
            client = await self._accounts.of_user(await self._workspace.get_member(link["slackUser"]))
            await self._files.share(job, client, message, link["channel"], link["ts"])

    async def show_failure(self, job: Job) -> None:
        """Show that a run has failed (``run.failed``)."""
        reason = job.body["data"].get("message") or "The answer failed."
        await self._post(job, "", str(reason), is_markdown=False)

    def get_link(self, thread_id: str) -> Json | None:
        """Return the place of a conversation in Slack: ``channel``, ``ts``, ``slackUser``; None if it is not there."""
        return self._records.get(f"user:{thread_id}")

    async def _post(self, job: Job, author: str, text: str, *, is_markdown: bool) -> None:
        link = self.get_link(job.body["data"]["threadId"])
        if link is None:
            return
        notice = escape(shorten(text, 150))
        for number, page in enumerate(blocks.make_message_pages(author, text, is_markdown=is_markdown)):
            await self._workspace.post(job, f"{job.id}.user.{number}", link["channel"], page, notice, link["ts"])
