"""``baton chat``: a conversation in the terminal."""

from __future__ import annotations

import asyncio
import shlex
import uuid
from collections.abc import AsyncIterator
from contextlib import aclosing, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from baton_client.addresses import path
from baton_client.command.agents import show_agents
from baton_client.command.chat_input import ChatInput, open_chat_input
from baton_client.command.chat_interrupts import stop_on_interrupt
from baton_client.command.chat_meanwhile import Meanwhile
from baton_client.command.connection import END_OF_RUN, Json
from baton_client.command.exits import CommandError, describe_problem, find_exit_code
from baton_client.command.run_view import RunView, format_question_line, show_question
from baton_client.command.session import AsJson, Session, run
from baton_client.command.threads import format_message
from baton_client.command.uploads import describe_file, put
from baton_client.errors import APIStatusError, BadRequestError, BatonError, NotFoundError
from baton_client.interrupt_answers import Answer
from baton_client.run_input import RunInput, WhileBusy

HELP = (
    "/attach FILE sends a file with the next message, /new begins another conversation, /agent ID one with that agent, "
    "/agent lists agents, /end closes the conversation, /thread shows its id, /quit leaves. While the agent works, "
    "/steer TEXT and /interrupt TEXT choose what becomes of a message, /withdraw takes the last one back."
)
YES = frozenset({"y", "yes", "ok", "okay", "sure"})
NO = frozenset({"", "n", "no"})
SHOWN_MESSAGES = 6
"""The number of newest messages that are shown of a continued conversation."""


def chat(
    context: typer.Context,
    thread_id: Annotated[str | None, typer.Argument(help="The conversation to continue.")] = None,
    message: Annotated[str | None, typer.Option("--message", "-m", help="Send this, show the answer, and end.")] = None,
    agent: Annotated[str | None, typer.Option(help="The main agent of a new conversation.")] = None,
    attach: Annotated[list[Path] | None, typer.Option(help="A file for the first message; can be repeated.")] = None,
    answer: Annotated[
        str | None, typer.Option(help="Answer the open approvals: yes, no, or a reason to refuse.")
    ] = None,
    over_spending: Annotated[
        bool, typer.Option("--over-spending", help="Go on beyond spending limits that ask first.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Talk to an agent. Ctrl-C stops an answer; without a terminal each line of input is a message."""

    async def command(session: Session) -> None:
        talk = Chat(session, thread_id or str(uuid.uuid4()), agent, over_spending=over_spending)
        if answer is not None:
            await talk.answer(answer)
            return
        if thread_id is not None:
            try:
                await talk.resume()
            except (BadRequestError, NotFoundError) as problem:
                raise CommandError(_explain_unknown_id(thread_id, message), find_exit_code(problem)) from problem
        for file in attach or []:
            await talk.attach(file)
        if message is not None:
            await talk.send(message)
            return
        await talk.converse(open_chat_input())

    run(context, command, as_json=as_json)


def _explain_unknown_id(thread_id: str, message: str | None) -> str:
    """Return the error for an id without a conversation, which may be a message given without its option."""
    if message is None:
        remedy = f"To send that as a message: baton chat -m {shlex.quote(thread_id)}"
    else:
        remedy = "Leave the id out to begin one."
    return f"You have no conversation {thread_id[:80]!r} (`baton threads list` shows yours). {remedy}"


class Chat:
    """One conversation."""

    def __init__(self, session: Session, thread_id: str, agent_id: str | None, *, over_spending: bool = False) -> None:
        """With ``over_spending``, messages go on beyond spending limits without a question."""
        self._over_spending = over_spending
        self._session = session
        self._output = session.output
        self._thread_id = thread_id
        self._agent_id = agent_id
        self._parts: list[Json] = []
        self._input: ChatInput | None = None
        self._view: RunView | None = None
        """The view of the run in progress."""
        self._seq = 0
        """The number of the last event that was shown."""
        self._is_at_desk = False
        """Whether people answer."""

    async def resume(self) -> None:
        """Show the end of the conversation, and ask for the answers that it waits for."""
        address = path("/v1/threads/{thread_id}", thread_id=self._thread_id)
        thread = await self._session.connection.get(address)
        if not self._output.is_json:
            for message in await self._session.connection.list_newest_messages(address, SHOWN_MESSAGES):
                who = "You" if message.get("role") == "user" else message.get("name") or "Baton"
                for line in format_message(who, message):
                    self._output.print_line(line, style="dim")
        self._seq, self._is_at_desk = thread.get("lastSeq") or 0, bool((thread.get("state") or {}).get("desk"))
        if thread.get("interrupts"):
            await self._answer(thread["interrupts"])

    async def answer(self, reply: str) -> None:
        """Answer the approvals that the conversation waits for. Raises ``CommandError`` if there are none."""
        thread = await self._session.connection.get(path("/v1/threads/{thread_id}", thread_id=self._thread_id))
        approvals = [interrupt for interrupt in thread.get("interrupts") or () if _is_approval(interrupt)]
        if not approvals:
            raise CommandError("The conversation waits for no approval.")
        await self._run(self._make_body(None, tuple(_decide(interrupt, reply) for interrupt in approvals)))

    async def attach(self, file: Path) -> None:
        """Upload a file for the next message. Raises ``CommandError`` if it cannot be sent."""
        address = path("/v1/threads/{thread_id}/files", thread_id=self._thread_id)
        described = describe_file(file)
        prepared = await self._session.connection.send("POST", address, described, is_repeatable=False)
        await put(self._session, file, prepared["upload"])
        self._parts.append(prepared["part"])
        self._output.note(f"{file.name} goes with the next message.")

    async def converse(self, keyboard: ChatInput) -> None:
        """Read messages and show answers until the input ends or the user leaves."""
        self._input = keyboard
        if keyboard.is_terminal:
            self._output.note(f"{HELP} Ctrl-C stops an answer, twice leaves.")
        following = self._follow_people()
        async for text in keyboard.messages():
            await _end(following)
            try:
                if await self._carry_out(text):
                    return
            except (BatonError, CommandError) as problem:
                if not keyboard.is_terminal:
                    raise
                self._output.print_error(describe_problem(problem))
            following = self._follow_people()
        await _end(following)

    def _follow_people(self) -> asyncio.Task[None] | None:
        """Show what people of a desk write while the user writes; return None if no people answer."""
        if not self._is_at_desk or self._output.is_json or not (self._input and self._input.is_terminal):
            return None

        async def follow() -> None:
            view = RunView(self._output)
            async with aclosing(self._session.connection.follow(self._thread_id, self._seq)) as events:
                async for event in events:
                    self._note(event)
                    view.show(event)
                    if event["type"] in END_OF_RUN and not self._is_at_desk:
                        return

        return asyncio.ensure_future(follow())

    def _note(self, event: Json) -> None:
        """Note the number of an event, and whether the conversation is at a desk."""
        self._seq = max(self._seq, (event.get("metadata") or {}).get("seq") or 0)
        if event["type"] == "STATE_SNAPSHOT":
            self._is_at_desk = bool((event.get("snapshot") or {}).get("desk"))
        for change in event.get("delta") or () if event["type"] == "STATE_DELTA" else ():
            if change.get("path") == "/desk":
                self._is_at_desk = bool(change.get("value"))

    async def send(self, text: str) -> None:
        """Send a message and show its run. Raises ``CommandError`` if the run fails, or waits for a person."""
        content = [text, *self._parts] if self._parts else text
        self._parts = []
        await self._run(self._make_body(content, ()))

    async def _confirm_spending(self, problem: APIStatusError, body: Json) -> Json:
        """Ask whether to go on beyond a spending limit, and return the body of the request that does.

        Raises ``CommandError`` without a yes, and if the request cannot be repeated.
        """
        keyboard = self._input or open_chat_input()
        has_run = problem.seq is not None
        if has_run and not body["messages"]:  # answers were taken, and their run has ended for good
            raise CommandError(describe_problem(problem)) from problem
        if not keyboard.is_terminal or self._output.is_json:
            raise CommandError(
                f"{describe_problem(problem)} To go on beyond the limit, add --over-spending."
            ) from problem
        self._output.print_error(describe_problem(problem))
        if (await keyboard.ask("  Go on anyway? [y/N] ")).strip().lower() not in YES:
            raise CommandError("It was not sent again.") from problem
        messages = [{**message, "id": str(uuid.uuid4())} for message in body["messages"]]
        forwarded = {**body["forwardedProps"], "overSpending": True}
        return {
            **body,
            "runId": str(uuid.uuid4()),
            "messages": messages if has_run else body["messages"],
            "forwardedProps": forwarded,
        }

    async def _carry_out(self, text: str) -> bool:
        """Carry out a line of input. Return whether it was the last one."""
        match text.strip().split(maxsplit=1):
            case []:
                pass
            case ["/quit" | "/exit"]:
                return True
            case ["/thread"]:
                self._output.print_line(self._thread_id)
            case ["/attach", file]:
                await self.attach(_expand_path(file))
            case ["/new"]:
                self._begin_another(self._agent_id)
            case ["/agent"]:
                await show_agents(self._session)
            case ["/agent", agent_id]:
                address = path("/v1/agents/{agent_id}", agent_id=agent_id)
                agent = await self._session.connection.get(address)
                self._begin_another(agent["id"])
            case ["/end"]:
                await self._session.connection.send(
                    "POST", path("/v1/threads/{thread_id}/close", thread_id=self._thread_id)
                )
                self._output.note("Closed.")
                self._begin_another(self._agent_id)
            case ["/help"]:
                self._output.note(HELP)
            case ["/attach"]:
                self._output.note(f"Name the file: /attach FILE. {HELP}")
            case [word, *_] if word.startswith("/"):
                self._output.note(f"There is no command {word}. {HELP}")
            case _:
                await self.send(text)
        return False

    def _begin_another(self, agent_id: str | None) -> None:
        """Let the next message begin another conversation, without files that were meant for this one."""
        self._thread_id, self._agent_id, self._parts = str(uuid.uuid4()), agent_id, []
        self._seq, self._is_at_desk = 0, False
        self._output.note(f"The next message begins another conversation{f' with {agent_id}' if agent_id else ''}.")

    def _make_body(
        self,
        content: Any,
        answers: tuple[Answer, ...],
        message_id: str | None = None,
        while_busy: WhileBusy | None = None,
    ) -> Json:
        return RunInput.of(
            content,
            thread_id=self._thread_id,
            message_id=message_id or str(uuid.uuid4()),
            agent_id=self._agent_id,
            answers=answers,
            tools=(),
            context={},
            branch=None,
            while_busy=while_busy,
            over_spending=self._over_spending,
        ).to_json()

    async def _run(self, body: Json) -> None:
        self._view = view = RunView(self._output, asks=False)
        meanwhile = Meanwhile(
            self._session.connection,
            self._output,
            self._thread_id,
            lambda text, message_id, while_busy: self._make_body(text, (), message_id, while_busy),
            self._end_line,
        )
        runs = set[str]()
        limit: APIStatusError | None = None
        listening = self._input.listen(meanwhile.take) if self._input and self._input.is_terminal else nullcontext()
        with stop_on_interrupt(self._cancel) as stops, listening:
            try:
                try:
                    async with aclosing(self._session.connection.run(body, on_wait=self._show_wait)) as events:
                        await self._show(view, events, runs)
                    limit = view.error
                except APIStatusError as refusal:
                    if not refusal.can_continue:
                        raise
                    limit = refusal
                while (others := await self._find_next_events(meanwhile, runs)) is not None:
                    await self._show(view, others, runs)
            finally:
                view.end_line()
                await meanwhile.aclose()
        if stops and (self._input is None or not self._input.is_terminal):
            raise KeyboardInterrupt
        if limit and limit.can_continue:
            await self._run(await self._confirm_spending(limit, body))
        elif view.error:
            raise CommandError(str(view.error)) from view.error
        elif view.interrupts:
            await self._answer(view.interrupts)

    async def _find_next_events(self, meanwhile: Meanwhile, runs: set[str]) -> AsyncIterator[Json] | None:
        """Return the events of the next run of messages written meanwhile; None if there is none. Show refusals."""
        while True:
            try:
                return await meanwhile.find_next(runs)
            except BatonError as problem:
                self._end_line()
                self._output.print_error(describe_problem(problem))

    async def _show(self, view: RunView, events: AsyncIterator[Json], runs: set[str]) -> None:
        async for event in events:
            self._note(event)
            if event["type"] == "RUN_STARTED":
                runs.add(str(event.get("runId")))
            if self._output.is_json:
                self._output.print_json(event)
            else:
                view.show(event)
            if event["type"] in END_OF_RUN:
                view.keep(event)

    async def _answer(self, interrupts: list[Json]) -> None:
        """Ask the user, and continue with the answers. Raises ``CommandError`` if nobody can be asked."""
        keyboard = self._input or open_chat_input()
        if not keyboard.is_terminal or self._output.is_json:
            queries = " ".join(format_question_line(interrupt) for interrupt in interrupts)
            raise CommandError(
                f"The conversation waits for a person: {queries} "
                f"Answer with `baton chat {self._thread_id} --answer yes` (or no, or a reason to refuse)."
            )
        answers = []
        for interrupt in interrupts:
            show_question(self._output, interrupt)
            if not _is_approval(interrupt):
                self._output.note("This program cannot answer this question and gives up the call.")
                answers.append(Answer(interrupt["id"], "cancelled"))
                continue
            answers.append(_decide(interrupt, await keyboard.ask("  [y/N or a reason] ")))
        await self._run(self._make_body(None, tuple(answers)))

    def _show_wait(self, problem: Exception) -> None:
        """Say that the server cannot be reached, and that the request is repeated."""
        self._end_line()
        self._output.note(f"The server cannot be reached; trying again. ({problem})", style="yellow")

    def _end_line(self) -> None:
        if self._view is not None:
            self._view.end_line()

    async def _cancel(self) -> None:
        self._end_line()
        self._output.note("Stopping. Ctrl-C again leaves.")
        try:
            await self._session.connection.send(
                "POST", path("/v1/threads/{thread_id}/cancel", thread_id=self._thread_id)
            )
        except BatonError as problem:
            self._output.print_error(describe_problem(problem))


async def _end(task: asyncio.Task[None] | None) -> None:
    """End the display of what people write. If the server cannot be reached, the next message reports it."""
    if task is not None:
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()


def _is_approval(interrupt: Json) -> bool:
    return "approved" in str(interrupt.get("responseSchema"))


def _decide(interrupt: Json, reply: str) -> Answer:
    """Return the answer that a reply gives to a question: yes, no, or a reason to refuse."""
    words = reply.strip()
    is_agreed = words.lower() in YES
    return Answer.approval(interrupt["id"], is_agreed, comment=None if is_agreed or words.lower() in NO else words)


def _expand_path(typed: str) -> Path:
    return Path(typed).expanduser()
