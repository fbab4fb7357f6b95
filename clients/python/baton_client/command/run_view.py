"""The events of a conversation, shown as lines while they come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from baton_client.command.connection import Json
from baton_client.command.output import Output
from baton_client.command.terminal_text import make_printable, one_line
from baton_client.errors import APIStatusError
from baton_client.interrupt_texts import WAITS, list_lines
from baton_client.status_errors import error_of_run

DIM = "dim"
MAX_ARGUMENTS = 2_000
"""The most characters of a call's arguments that are shown."""

MAX_REASON = 500
"""The most characters of the reason for which a call has failed or was refused."""


class RunView:
    """A view of a run's events. It keeps the interrupts, the outcome and the error for the next step."""

    def __init__(self, output: Output, *, shows_user: bool = False, asks: bool = True) -> None:
        """With ``shows_user``, the user's messages are shown too, which a chat need not repeat.

        With ``asks``, the interrupts of a run are shown too; a program that asks for the answers itself need not show
        them.
        """
        self._output = output
        self._asks = asks
        self._shows_user = shows_user
        self._is_in_text = False
        self._calls: dict[str, ShownCall] = {}
        """Calls whose arguments are still coming, by their ids."""
        self._sub_agents: dict[str, str] = {}
        """Names by task: only the first event of a task has its name."""
        self.interrupts: list[Json] = []
        """The interrupts of the run that ended last."""
        self.outcome: str | None = None
        """The outcome of the run that ended last; ``error`` if it failed."""
        self.error: APIStatusError | None = None

    def show(self, event: Json) -> None:
        """Show one event. Events of unknown types are ignored."""
        handler = getattr(self, f"_show_{event['type'].lower()}", None)
        if handler is not None:
            handler(event)

    def keep(self, event: Json) -> None:
        """Note how a run has ended, without showing it."""
        if event["type"] == "RUN_ERROR":
            self.outcome = "error"
            self.error = error_of_run(str(event.get("message")), event.get("code"), _get_metadata(event))
            return
        outcome = event.get("outcome") or {}
        self.outcome = _get_metadata(event).get("outcome") or outcome.get("type") or "success"
        self.interrupts = outcome.get("interrupts") or []

    def end_line(self) -> None:
        """End a line of text that an interruption has left open."""
        if self._is_in_text:
            self._is_in_text = False
            self._output.end_parts()

    def _say(self, text: str, style: str = DIM) -> None:
        self.end_line()
        self._output.print_line(f"  {one_line(text)}", style=style)

    def _show_run_started(self, event: Json) -> None:
        self.interrupts, self.outcome, self.error = [], None, None
        attempt = _get_metadata(event).get("attempt") or 1
        if attempt > 1:
            self._say("(A worker failed; the answer begins again.)")
        if self._shows_user and attempt == 1:
            for message in (event.get("input") or {}).get("messages") or []:
                self._output.print_line(f"You: {_format_content(message.get('content'))}", style="bold")

    def _show_text_message_start(self, event: Json) -> None:
        self.end_line()
        person = " (a person)" if _get_metadata(event).get("author") else ""
        self._output.print_part(f"{one_line(event.get('name') or 'Baton')}{person}: ", style="bold cyan")
        self._is_in_text = True

    def _show_text_message_content(self, event: Json) -> None:
        self._is_in_text = True
        self._output.print_part(event.get("delta"))

    def _show_text_message_end(self, event: Json) -> None:
        self.end_line()
        metadata = _get_metadata(event)
        if metadata.get("takenBack"):
            self._say("(This text was taken back.)")
            return
        for part in metadata.get("attachments") or []:
            self._say(f"[{_get_file_name(part)}]")
        for field, label in (("sources", "Sources"), ("consulted", "Consulted, not cited")):
            names = [_format_source(source) for source in metadata.get(field) or []]
            if names:
                self._say(f"{label}: {', '.join(dict.fromkeys(names))}")
        if metadata.get("finishReason") == "length":
            self._say("(The answer was cut: it was too long.)", "yellow")

    def _show_tool_call_start(self, event: Json) -> None:
        # Consultations are shown by the events of the sub-agent.
        if not str(event.get("toolCallName")).startswith("ask_"):
            label = _get_metadata(event).get("label")
            self._calls[str(event.get("toolCallId"))] = ShownCall(str(event.get("toolCallName")), label=label)

    def _show_tool_call_args(self, event: Json) -> None:
        if call := self._calls.get(str(event.get("toolCallId"))):
            call.arguments += str(event.get("delta") or "")

    def _show_tool_call_end(self, event: Json) -> None:
        if call := self._calls.pop(str(event.get("toolCallId")), None):
            self._say(f"> calls {call}")

    def _show_tool_call_result(self, event: Json) -> None:
        outcome = _get_metadata(event).get("outcome")
        if outcome in {"failed", "refused"}:
            # The prefix is for the model.
            reason = one_line((event.get("content") or "").removeprefix("Error: "), MAX_REASON)
            what = f"> the call {outcome if outcome == 'failed' else 'was refused'}"
            self._say(f"{what}: {reason}" if reason else what, "yellow")

    def _show_subagent_started(self, event: Json) -> None:
        name = one_line(event.get("name") or "A sub-agent")
        self._sub_agents[str(event.get("subagentRunId"))] = name
        self._say(f"> {name} is at work")

    def _show_subagent_finished(self, event: Json) -> None:
        self._say(f"> {self._get_sub_agent_name(event)} has answered")

    def _show_subagent_error(self, event: Json) -> None:
        self._say(f"> {self._get_sub_agent_name(event)} failed: {event.get('message')}", "yellow")

    def _get_sub_agent_name(self, event: Json) -> str:
        return self._sub_agents.get(str(event.get("subagentRunId")), "A sub-agent")

    def _show_activity_snapshot(self, event: Json) -> None:
        content = event.get("content") or {}
        if event.get("activityType") in {"handoff", "return"}:
            self._say(f"* {content.get('label')}", "magenta")
        elif event.get("activityType") == "progress":
            self._say(f"> {one_line(content.get('tool') or 'A tool')}: {one_line(content.get('label') or '')}")

    def _show_activity_delta(self, event: Json) -> None:
        for change in event.get("patch") or []:
            if change.get("path") == "/notice" and change.get("value"):
                self._say(str(change["value"]))

    def _show_state_delta(self, event: Json) -> None:
        for change in event.get("delta") or []:
            workflow = change.get("value")
            if change.get("path") == "/workflow" and isinstance(workflow, dict):
                label = f"{workflow.get('name')}: {workflow.get('label')}"
                self._say(f"* {label} (step {workflow.get('step')} of {workflow.get('steps')})", "magenta")

    def _show_custom(self, event: Json) -> None:
        if event.get("name") == "thread_closed":
            person = (event.get("value") or {}).get("person") or {}
            name = one_line(person.get("name") or "")
            self._say(f"* {name} has ended the conversation." if name else "* The conversation is closed.", "magenta")
        if event.get("name") == "message_steered":
            message = (event.get("value") or {}).get("message") or {}
            self._say(f"> the agent has got: {one_line(_format_content(message.get('content')), MAX_REASON)}")

    def _show_messages_snapshot(self, event: Json) -> None:
        for message in event.get("messages") or []:
            if message.get("role") in {"user", "assistant"} and message.get("content"):
                who = "You" if message["role"] == "user" else one_line(message.get("name") or "Baton")
                self._output.print_line(f"{who}: {_format_content(message['content'])}")

    def _show_run_finished(self, event: Json) -> None:
        self.end_line()
        self.keep(event)
        if self.outcome == "cancelled":
            self._say("(Stopped.)", "yellow")
        if self.outcome == "delivered":
            self._say("(Delivered. A person answers.)")
        if self._asks:
            for interrupt in self.interrupts:
                show_question(self._output, interrupt)

    def _show_run_error(self, event: Json) -> None:
        self.end_line()
        self.keep(event)


@dataclass(slots=True)
class ShownCall:
    """A call of a tool, as people read it."""

    name: str
    arguments: str = ""
    """JSON, as far as it has come."""
    label: str | None = None
    """The tool's name for people, which is shown in place of the name and the arguments."""

    def __str__(self) -> str:
        if self.label:
            return one_line(self.label)
        return " ".join(filter(None, [one_line(self.name), one_line(self.arguments, MAX_ARGUMENTS)]))


def format_question(interrupt: Json) -> str:
    """Return the question of an interrupt, with the call if the server sends no fields of its arguments."""
    metadata = _get_metadata(interrupt)
    text = one_line(interrupt.get("message") or WAITS)
    if "fields" in metadata:
        return text
    call = ShownCall(str(metadata.get("toolName") or interrupt.get("reason")), str(metadata.get("arguments") or ""))
    return f"{text} [{call}]"


def format_question_lines(interrupt: Json) -> list[str]:
    """Return the question of an interrupt, and below it the arguments that it does not show."""
    return [f"  ? {format_question(interrupt)}", *(f"    {make_printable(line)}" for line in list_lines(interrupt))]


def format_question_line(interrupt: Json) -> str:
    """Return the question of an interrupt and its arguments on one line."""
    arguments = "; ".join(one_line(line) for line in list_lines(interrupt)).replace(":; ", ": ")
    return format_question(interrupt) + (f" ({arguments})" if arguments else "")


def show_question(output: Output, interrupt: Json) -> None:
    """Show the question of an interrupt and its arguments."""
    for line in format_question_lines(interrupt):
        output.print_line(line, style="yellow")


def _get_metadata(event: Json) -> dict[str, Any]:
    metadata = event.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _format_content(content: Any) -> str:
    if isinstance(content, list):
        return " ".join(str(part.get("text") or f"[{part.get('type')}]") for part in content if isinstance(part, dict))
    return str(content)


def _get_file_name(part: Json) -> str:
    metadata = _get_metadata(part)
    return one_line(str(metadata.get("name") or metadata.get("filename") or part.get("type")))


def _format_source(source: Json) -> str:
    """Return a source's title, behind the number by which the text cites it."""
    name = one_line(source.get("title") or source.get("id"))
    return f"[{source.get('number')}] {name}" if source.get("places") else name
