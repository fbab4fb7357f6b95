"""The work of a consulted agent, and its outcome for the agent that asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from baton.agents.agent_work import Judge
from baton.agents.answer_sources import select_consulted_sources
from baton.agents.attached_files import describe_file
from baton.agents.call_outcome import CallOutcome
from baton.agents.calls.tool_calls import ADVICE
from baton.domain.agents.agent import AgentDefinition
from baton.domain.documents.numbered_passages import AGENT_SOURCE
from baton.domain.runs.task import Task, TaskMessage, TaskStatus
from baton.domain.runs.usage import Usage
from baton.domain.threads.message import Role
from baton.memory.prompt.message_prompts import CUT_NOTE
from baton.ports.agents.agent_client import Attachment

NOT_PASSED_ON = "(Of the user's files this agent did not get: {}. It does not take files of that kind.)"
UNANSWERED = "Error: {name} could not answer: {reason}" + ADVICE


@dataclass(slots=True)
class ConsultedWork:
    """The work of a consulted agent so far. It is stored even if the agent is stopped."""

    answer: str = ""
    usage: Usage = field(default_factory=Usage)
    messages: list[TaskMessage] = field(default_factory=list)
    is_limited: bool = False
    documents: tuple[Mapping[str, Any], ...] = ()
    """The passages of documents that the agent got, as sources."""
    remote_task_id: str | None = None
    """The remote agent's own task, if it waits for more input."""
    note: str = ""
    """A note for the asking agent, in addition to the answer."""
    not_passed_on: list[Attachment] = field(default_factory=list)
    """The user's files that the remote agent does not take."""
    files: tuple[Mapping[str, Any], ...] = ()
    sources: tuple[Mapping[str, Any], ...] = ()
    """The passages and files on which the answer is based. ``make_outcome`` sets them."""
    question: str | None = None
    """The agent's guardrails' replacement of the question; None if it is unchanged."""

    def take(self, text: str, *, is_cut: bool) -> None:
        """Record the answer, with a note for the asking agent if it was cut."""
        self.answer = f"{text}\n{CUT_NOTE}" if is_cut else text

    def replace_answer(self, text: str | None) -> None:
        """Replace the answer with ``text``, which hooks of the asking agent have chosen; None removes the answer."""
        answers = [index for index, message in enumerate(self.messages) if message.role == Role.ASSISTANT.value]
        if answers:
            self.messages[answers[-1]] = replace(self.messages[answers[-1]], content=text or "")
        self.answer = text or ""

    def make_outcome(self, agent: AgentDefinition, task: Task, status: TaskStatus, error: str | None) -> CallOutcome:
        """Return the outcome of the call that asked ``agent``, and set ``sources`` unless it failed.

        ``error`` is the reason of a failure, None otherwise.
        """
        tokens = self.usage.total_tokens
        if error is not None:
            reason = UNANSWERED.format(name=agent.name, reason=error)
            outcome = CallOutcome.failed(reason, is_outage=True)
            return replace(outcome, task_id=task.id, task_status=status.value, tokens=tokens)
        sources = select_consulted_sources(agent, self.answer, self.documents, self.files)
        self.sources = tuple(source for source in sources if source.get("kind") != AGENT_SOURCE)
        files = "; ".join(describe_file(replace(attachment, url=None)) for attachment in self.not_passed_on)
        missed = NOT_PASSED_ON.format(files) if files else ""
        return CallOutcome(
            "\n\n".join(part for part in (self.answer, self.note, missed) if part),
            task_id=task.id,
            task_status=status.value,
            is_outage=self.is_limited,
            tokens=tokens,
            sources=sources,
        )

    async def judge(self, outcome: CallOutcome, judge: Judge) -> CallOutcome:
        """Let hooks of the asking agent judge the outcome, record their change of the answer, and return the result."""
        judged_outcome = await judge(outcome)
        if judged_outcome.output != outcome.output:
            self.replace_answer(judged_outcome.output if judged_outcome.error is None else None)
        return judged_outcome
