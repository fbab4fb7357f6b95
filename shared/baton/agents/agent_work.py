"""One agent's work on one answer: its means, its questions to other agents, its sources, and how it has ended."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from baton.agents.answer_sources import GivenSources
from baton.agents.attempt_context import Attempt, Budget, EmitEvent
from baton.agents.call_outcome import AgentResult, CallOutcome
from baton.agents.guardrails.hooks import Hooks
from baton.agents.tools.builtin_tools import BuiltinTools
from baton.agents.tools.call_cards import make_card
from baton.agents.tools.tool_set import ToolSet
from baton.agents.transcript import Transcript
from baton.domain.agents.agent import AgentDefinition
from baton.domain.runs.tool_call import ToolCall
from baton.domain.runs.usage import Usage

Judge = Callable[[CallOutcome], Awaitable[CallOutcome]]
"""Returns an outcome as hooks leave it."""


def show_nothing(label: str) -> None:
    """Show nothing, where no user waits."""


@dataclass(frozen=True, slots=True)
class AgentQuestion:
    """A question of one agent to another."""

    call: ToolCall
    agent: AgentDefinition
    message: str
    data: Mapping[str, Any] | None = None
    """A structured answer to a remote agent's question."""
    report: Callable[[str], None] = show_nothing
    """Shows the user the agent's reports on its work."""
    judge: Judge | None = None
    """Has the hooks of the agent that asks judge the outcome, before it is stored; None without any."""


def make_unseen_transcript(context: Attempt, key: str) -> Transcript:
    """Return a transcript whose messages the thread does not get; ``key`` distinguishes it from others of the run."""
    clock, counter = context.services.clock, context.services.counter
    return Transcript(context.thread_id, context.run, first_ordinal=0, clock=clock, counter=counter, key=f"\0{key}")


Consult = Callable[[AgentQuestion, EmitEvent], Awaitable[CallOutcome]]
"""Consults an agent: the question, and the callback for events."""


class AgentWork:
    """The work of one agent, by a model loop or by a coroutine. Its messages go into ``transcript``."""

    def __init__(
        self,
        context: Attempt,
        agent: AgentDefinition,
        tools: ToolSet,
        transcript: Transcript,
        *,
        consult: Consult | None = None,
        own: BuiltinTools | None = None,
        task_id: str | None = None,
    ) -> None:
        """``own`` are the built-in tools. ``task_id`` is the sub-task of a consulted agent, which has no such tools."""
        self.context = context
        self.agent = agent
        self.tools = tools
        self.transcript = transcript
        self.consult = consult
        self.own = own
        self.task_id = task_id
        self.caller = task_id or agent.id
        self.budget = Budget(agent.limits, lambda: context.work_seconds(1.0) <= 0)
        self.hooks = Hooks.of(context, agent, task_id)
        self.sources = GivenSources()
        """The passages, files and other sources that the agent was given, whether or not its answer cites them."""
        self.result = AgentResult(agent, context.model_of(agent), Usage(), is_limited=bool(tools.missing))
        """The result so far; it is final once the agent has answered."""

    def add_outcome(self, call: ToolCall, outcome: CallOutcome) -> None:
        """Add a call's outcome to the result. The first transfer that is not refused counts."""
        result = self.result
        if outcome.waits:
            waiting = outcome.waits_for or call
            result.waiting.append(waiting)
            tool = self.tools.offers[waiting.name].tool
            if tool is not None:
                zone, others = self.context.today.known_zone, result.cards.values()
                result.cards[waiting.id] = make_card(waiting, tool, self.agent, zone, others)
            return
        if result.transfer is None or result.transfer.refusal is not None:
            result.transfer = outcome.transfer or result.transfer
        result.returns = result.returns or outcome.returns
        result.is_limited |= outcome.is_outage
        result.ends_conversation |= outcome.ends_conversation
        self.sources.add(outcome.sources)
