"""Approvals in Slack: the calls of a run that wait for a decision, with two buttons."""

from __future__ import annotations

from baton_client import Answer, APIStatusError, AsyncBaton
from baton_slack import blocks
from baton_slack.accounts import Accounts, NotAllowed
from baton_slack.configuration import Configuration
from baton_slack.conversations import UserThreads
from baton_slack.identities import Member
from baton_slack.messages import begin
from baton_slack.mrkdwn import escape
from baton_slack.storage import Job, Json, Records
from baton_slack.workspace import Workspace

NOTICE = "A call waits for approval."
CLOSED = "This is no longer open."


class Approvals:
    """Questions whether calls may be made, to the user in their thread, or else to the people of the channel.

    A record ``approval:<run>`` has the ids of the run's interrupts, and later the decision as a line. Only the ids of
    the thread and the run are taken from a button.
    """

    def __init__(
        self,
        workspace: Workspace,
        accounts: Accounts,
        records: Records,
        configuration: Configuration,
        users: UserThreads,
    ) -> None:
        self._workspace = workspace
        self._accounts = accounts
        self._records = records
        self._channel = configuration.approvals
        self._users = users

    async def request(self, job: Job) -> None:
        """Show the calls that wait for approval (``approval.requested``)."""
        data = job.body["data"]
        link = self._users.get_link(data["threadId"])
        if link is None and self._channel is None:
            return
        channel = link["channel"] if link is not None else self._channel.channel if self._channel else ""
        questions = [_describe_call(interrupt) for interrupt in data["interrupts"]]
        body, can_decide = blocks.make_approval_blocks(questions, data["threadId"], data["runId"])
        if can_decide:
            ids = [interrupt["id"] for interrupt in data["interrupts"]]
            waiting = {"threadId": data["threadId"], "channel": channel, "interrupts": ids}
            key = f"approval:{data['runId']}"
            if (self._records.get(key) or {}).get("interrupts") != ids:  # a repeated job keeps the decision
                self._records.put(key, waiting)
        await self._workspace.post(
            job, f"{job.id}.approval", channel, body, NOTICE, link["ts"] if link is not None else None
        )

    async def decide(self, press: Json, *, approves: bool) -> None:
        """Carry out the decision of somebody who has pressed a button."""
        key = f"approval:{press['value']['runId']}"
        waiting = self._records.get(key)
        if waiting is None or waiting["channel"] != press["channel"]:
            await self._close(press, CLOSED)
            return
        if "decision" in waiting:  # a second press, before the message was updated
            await self._close(press, waiting["decision"])
            return
        member = await self._workspace.get_member(press["user"])
        link = self._users.get_link(waiting["threadId"])
        try:
            client = await self._find_client(member, link)
        except NotAllowed as refusal:
            await self._whisper(press, str(refusal))
            return
        answers = [Answer.approval(interrupt, approves) for interrupt in waiting["interrupts"]]
        outcome = "approved" if approves else "declined"
        try:
            await begin(client.runs.stream(thread_id=waiting["threadId"], answers=answers, keep_running=True))
        except APIStatusError as refusal:
            if refusal.retryable:
                raise
            await self._whisper(press, refusal.detail)
            if refusal.code == "interrupt_unavailable":
                await self._close(press, CLOSED)
            return
        decision = f"*{escape(member.name)}* has {outcome} it."
        self._records.put(key, {**waiting, "decision": decision})
        await self._close(press, decision)

    async def _find_client(self, member: Member, link: Json | None) -> AsyncBaton:
        """Return the client of the member who decides. Raises ``NotAllowed`` for a member who may not."""
        if link is not None:
            if member.id != link["slackUser"]:
                raise NotAllowed("Only the person who talks to the agent here decides.")
            return await self._accounts.of_user(member)
        if self._channel is None:
            raise NotAllowed("This channel is no longer one for approvals.")
        return await self._accounts.of_person(member, self._channel, "tool:approve")

    async def _whisper(self, press: Json, line: str) -> None:
        await self._workspace.whisper(press["channel"], press["user"], escape(line), press.get("thread_ts"))

    async def _close(self, press: Json, status: str) -> None:
        body = blocks.remove_actions(press.get("blocks") or [], status)
        await self._workspace.update(press["channel"], press["ts"], body, NOTICE)


def _describe_call(interrupt: Json) -> tuple[str, list[str]]:
    """Return the question of a call, and a line for each argument that it does not show."""
    fields = (interrupt.get("metadata") or {}).get("fields") or []
    rest = [field for field in fields if not field.get("inText")]
    lines = [f"{'  ' * int(field.get('depth') or 0)}{field['label']}: {field['text']}" for field in rest]
    return str(interrupt.get("message") or "May this be done?"), lines
