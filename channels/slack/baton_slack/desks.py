"""Desks in Slack: a conversation that waits is a thread in the channel of its desk, where people take and answer it."""

from __future__ import annotations

from typing import Any

from baton_client import APIStatusError, AsyncBaton
from baton_slack import blocks
from baton_slack.accounts import Accounts, NotAllowed
from baton_slack.blocks import Block
from baton_slack.configuration import Configuration, PeopleChannel
from baton_slack.files import Files
from baton_slack.identities import make_user_id
from baton_slack.messages import find_person, get_text, is_from_slack, list_files, make_message_id, write_named_text
from baton_slack.mrkdwn import escape, shorten, to_plain
from baton_slack.storage import Job, Json, Records
from baton_slack.workspace import Workspace

LAST_MESSAGES = 8
"""The number of last messages that the first message of a thread shows."""
NOTE_PREFIX = "note:"
MAX_NOTE = 4_000
"""The most characters of a note."""
SENT, NOTED = "white_check_mark", "memo"
"""Reactions of messages that have reached the user, and of notes."""
GONE = {"not_at_desk", "thread_unavailable"}
"""Codes of refusals for a conversation that has left the desk."""
RETURNS = {
    "person": "It was handed back to the agent.",
    "user": "The user has gone back to the agent.",
    "silence": "The user has waited too long for an answer, and went back to the agent.",
    "nobody": "Nobody has taken it, so it went back to the agent.",
    "hours": "The desk has closed, so it went back to the agent.",
    "closed": "The conversation was closed.",
    "unavailable": "This desk is no longer there, so it went back to the agent.",
}
"""The lines for the reasons of ``desk.returned``."""


class DeskThreads:
    """The threads of conversations at desks.

    A record ``desk:<thread>`` has the Slack thread, its state (``waiting``, ``active``, ``over``) and the texts that
    updates show again; ``root:<channel>:<ts>`` has the conversation of a Slack thread.
    """

    def __init__(
        self, workspace: Workspace, accounts: Accounts, records: Records, configuration: Configuration
    ) -> None:
        self._workspace = workspace
        self._accounts = accounts
        self._records = records
        self._configuration = configuration
        self._files = Files(workspace, records)

    async def show_waiting(self, job: Job) -> None:
        """Open a thread for a conversation that waits at a desk (``desk.waiting``)."""
        data = job.body["data"]
        await self._leave(data["threadId"], "It waits at another desk.", but_for=job.id)
        desk = self._configuration.desks.get(data["deskId"])
        if desk is None:
            return
        client = await self._accounts.of_service(desk.permissions)
        try:
            messages = await _read_until(client, data["threadId"], data["runId"])
            case = await client.request("GET", f"/v1/threads/{data['threadId']}/desk")
        except APIStatusError as refusal:
            if refusal.code in GONE:  # the conversation has left the desk
                return
            raise
        item = case.json()["item"]
        user = str(item.get("userName") or data["userId"])
        about = ", ".join([data["deskId"], *([item["locale"]] if item.get("locale") else [])])
        lines = [(_name_author(message, user), get_text(message) or "(file)") for message in messages[-LAST_MESSAGES:]]
        heading = f"{user} waits for a person ({about})"
        actions = blocks.make_take_actions(data["threadId"])
        body = blocks.make_desk_blocks(heading, "Nobody has taken it.", lines, actions)
        text = escape(shorten(heading, 150))
        ts = await self._workspace.post(job, f"{job.id}.root", desk.channel, body, text)
        link = {"channel": desk.channel, "ts": ts, "deskId": data["deskId"], "status": "waiting", "user": user}
        link |= {"about": about}
        self._records.add(f"root:{desk.channel}:{ts}", {"threadId": data["threadId"]})
        if (self._records.get(_make_key(data["threadId"])) or {}).get("ts") != ts:
            self._records.put(_make_key(data["threadId"]), {**link, "job": job.id})

    async def show_taken(self, data: Json) -> None:
        """Show who has taken a conversation (``desk.taken``)."""
        link = self._get_link(data["threadId"])
        if link is not None and link["deskId"] == data["deskId"]:
            await self._set_active(data["threadId"], str((data.get("person") or {}).get("name") or "Somebody"))

    async def show_message(self, job: Job) -> None:
        """Show what the user, or a person elsewhere, has written (``message.created``)."""
        data = job.body["data"]
        thread_id, message = data["threadId"], data["message"]
        link = self._get_link(thread_id)
        if link is None:
            return
        person = find_person(message)
        is_of_agent = message["role"] != "user" and person is None
        if is_of_agent or (person is not None and is_from_slack(message)):
            return
        author = f"{person['name']} (not from Slack)" if person is not None else link["user"]
        text = write_named_text(message)
        pages = blocks.make_message_pages(author, text, is_markdown=False)
        notice = escape(shorten(f"{author}: {text}", 150))
        for number, page in enumerate(pages):
            await self._workspace.post(job, f"{job.id}.{number}", link["channel"], page, notice, link["ts"])
        if any(list_files(message)):
            client = await self._accounts.of_service(self._get_desk(link).permissions)
            await self._files.share(job, client, message, link["channel"], link["ts"])

    async def show_returned(self, job: Job) -> None:
        """Show that a conversation has gone back to its agent, and why (``desk.returned``)."""
        data = job.body["data"]
        link = self._get_link(data["threadId"])
        if link is None or link["deskId"] != data["deskId"]:
            return
        line = RETURNS.get(data["reason"], RETURNS["person"])
        if data["reason"] != "person":  # nobody in Slack has done it, so a new line makes people notice
            body = [blocks.make_context_line(line)]
            await self._workspace.post(job, f"{job.id}.line", link["channel"], body, line, link["ts"])
        await self._leave(data["threadId"], line)

    async def take(self, press: Json) -> None:
        """Take a conversation for the person who has pressed the button."""
        thread_id = press["value"]["threadId"]
        actor = await self._find_actor(press, thread_id)
        if actor is None:
            return
        _, client, name = actor
        try:
            await client.request("POST", f"/v1/threads/{thread_id}/desk/take", is_repeatable=True)
        except APIStatusError as refusal:
            await self._show_refusal(press, thread_id, refusal)
            return
        await self._set_active(thread_id, name)

    async def hand_back(self, press: Json) -> None:
        """Hand a conversation back, with the note of the person who has pressed the button."""
        thread_id = press["value"]["threadId"]
        actor = await self._find_actor(press, thread_id)
        if actor is None:
            return
        link, client, name = actor
        body = {"note": press["note"][:MAX_NOTE]} if press.get("note") else {}
        try:
            await client.request("POST", f"/v1/threads/{thread_id}/desk/return", json=body, is_repeatable=True)
        except APIStatusError as refusal:
            await self._show_refusal(press, thread_id, refusal)
            return
        # The event of the return may have arrived first, and does not say who has pressed the button.
        await self._end(thread_id, link, f"{escape(name)} has handed it back.")

    def find_thread(self, channel: str, ts: str) -> str | None:
        """Return the conversation at a desk that a thread of Slack belongs to; None for any other thread."""
        root = self._records.get(f"root:{channel}:{ts}")
        return str(root["threadId"]) if root is not None else None

    async def write(self, job: Job, thread_id: str) -> None:
        """Send a person's message in the thread of a conversation to the user, or keep it as a note.

        Messages of anybody but the person who has taken the conversation stay in Slack, unless they begin with
        ``note:``.
        """
        event = job.body
        channel, user = event["channel"], event["user"]
        press = {"channel": channel, "ts": event["thread_ts"], "user": user}
        actor = await self._find_actor(press, thread_id)
        if actor is None:
            return
        link, client, _ = actor
        text = to_plain(event.get("text") or "").strip()
        is_note = text.lower().startswith(NOTE_PREFIX)
        identity = {"messageId": make_message_id(channel, event["ts"])}
        parts: list[Json] = []
        problems: list[str] = []
        try:
            if is_note:
                note = {**identity, "text": text[len(NOTE_PREFIX) :].strip()}
                problems = _list_note_problems(note["text"], event)
                if not note["text"] or len(note["text"]) > MAX_NOTE:
                    await self._show_problems(event, problems)
                    return
                await client.request("POST", f"/v1/threads/{thread_id}/desk/notes", json=note, is_repeatable=True)
            else:
                if event.get("files") and await self._has_taken(client, thread_id, user):
                    parts, problems = await self._files.upload(client, thread_id, job)
                content = [*([{"type": "text", "text": text}] if text else []), *parts] if parts else text
                if not content:
                    if not problems and event.get("files") and link["status"] == "waiting":
                        problems = ["Nobody has taken this conversation. Take it first."]
                    await self._show_problems(event, problems)
                    return
                reply = {**identity, "content": content}
                await client.request("POST", f"/v1/threads/{thread_id}/desk/messages", json=reply, is_repeatable=True)
        except APIStatusError as refusal:
            if refusal.code != "desk_not_taken" or link["status"] == "waiting":
                await self._show_refusal(press, thread_id, refusal)
            return
        if text or parts:
            await self._workspace.mark(channel, event["ts"], NOTED if is_note else SENT)
        await self._show_problems(event, problems)

    async def _show_problems(self, event: Json, problems: list[str]) -> None:
        for problem in problems:
            await self._workspace.whisper(event["channel"], event["user"], escape(problem), event["thread_ts"])

    async def _has_taken(self, client: AsyncBaton, thread_id: str, user: str) -> bool:
        """Return whether a member has taken the conversation: the files of others stay in Slack."""
        case = await client.request("GET", f"/v1/threads/{thread_id}/desk")
        person = case.json()["item"].get("person") or {}
        member = await self._workspace.get_member(user)
        return bool(person.get("id") == make_user_id(member, self._configuration.identify))

    async def _find_actor(self, press: Json, thread_id: str) -> tuple[Json, AsyncBaton, str] | None:
        """Return the link, client and name of a person who acts. If they may not, show them a line and return None."""
        link = self._get_link(thread_id)
        if link is None or link["channel"] != press["channel"] or link["ts"] != press["ts"]:
            line = "This conversation is no longer here: the user does not get what you write."
            await self._workspace.whisper(press["channel"], press["user"], line, press["ts"])
            return None
        desk = self._get_desk(link)
        member = await self._workspace.get_member(press["user"])
        try:
            client = await self._accounts.of_person(member, desk, "desk:answer")
        except NotAllowed as refusal:
            await self._workspace.whisper(press["channel"], press["user"], escape(str(refusal)), press["ts"])
            return None
        return link, client, member.name

    async def _show_refusal(self, press: Json, thread_id: str, refusal: APIStatusError) -> None:
        """Show a person why nothing was done. Raises ``refusal`` again if a later attempt may succeed."""
        if refusal.retryable:
            raise refusal
        if refusal.code in GONE:
            await self._leave(thread_id, "It has left the desk.")
        await self._workspace.whisper(press["channel"], press["user"], escape(refusal.detail), press["ts"])

    async def _set_active(self, thread_id: str, name: str) -> None:
        link = self._get_link(thread_id)  # it may have left the desk meanwhile
        if link is None:
            return
        self._records.put(_make_key(thread_id), {**link, "status": "active"})
        status = f"*{escape(name)}* has taken it. What {escape(name)} writes in this thread goes to the user."
        await self._show(link, status, blocks.make_return_actions(thread_id))

    async def _leave(self, thread_id: str, status: str, *, but_for: str | None = None) -> None:
        """Mark a conversation as one that has left the desk, unless the job ``but_for`` has opened its thread.

        ``status`` is Slack's markup.
        """
        link = self._get_link(thread_id)
        if link is not None and link.get("job") != but_for:
            await self._end(thread_id, link, status)

    async def _end(self, thread_id: str, link: Json, status: str) -> None:
        if (self._records.get(_make_key(thread_id)) or {}).get("ts") == link["ts"]:
            self._records.put(_make_key(thread_id), {**link, "status": "over"})
        await self._show(link, status, ())

    async def _show(self, link: Json, status: str, actions: Any) -> None:
        heading = f"{link['user']} ({link['about']})"
        body: list[Block] = blocks.make_desk_blocks(heading, status, (), actions)
        await self._workspace.update(link["channel"], link["ts"], body, escape(shorten(heading, 150)))

    def _get_desk(self, link: Json) -> PeopleChannel:
        """Return the channel of a link's desk. If it is no longer configured, return one in which nobody may act."""
        return self._configuration.desks.get(link["deskId"]) or PeopleChannel(
            channel=link["channel"], people=frozenset({"NOBODY"})
        )

    def _get_link(self, thread_id: str) -> Json | None:
        link = self._records.get(_make_key(thread_id))
        return link if link is not None and link["status"] != "over" else None


def _make_key(thread_id: str) -> str:
    return f"desk:{thread_id}"


async def _read_until(client: AsyncBaton, thread_id: str, run_id: str) -> list[Json]:
    """Return the newest messages up to those of a run. Later messages have separate events."""
    answer = await client.request("GET", f"/v1/threads/{thread_id}/messages", params={"limit": 50})
    messages: list[Json] = answer.json()["items"]
    indices = [
        index for index, message in enumerate(messages) if (message.get("metadata") or {}).get("runId") == run_id
    ]
    return messages[: indices[-1] + 1] if indices else messages


def _list_note_problems(note: str, event: Json) -> list[str]:
    """Return sentences about the parts of a note that are not kept."""
    too_long = [f"A note has at most {MAX_NOTE:,} characters. This one is not kept."] if len(note) > MAX_NOTE else []
    return [*too_long, *(["Files are not kept with notes."] if event.get("files") else [])]


def _name_author(message: Json, user: str) -> str:
    return user if message["role"] == "user" else str(message.get("name") or "Agent")
