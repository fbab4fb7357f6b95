"""One agent's work on one answer: its tools, its questions to other agents, its sources and its result."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from baton.agents.answer_sources import SourceCollection
from baton.agents.attempt_context import Attempt, Budget, EmitEvent
from baton.agents.call_outcome import AgentResult, CallOutcome
from baton.agents.guardrails.hooks import HookRefusal, Hooks, RunStopped, run_unless_stopped
from baton.agents.guardrails.judged_texts import judge_question
from baton.agents.tools.builtin_tools import BuiltinTools
from baton.agents.tools.call_cards import make_card
from baton.agents.tools.tool_set import ToolSet
from baton.agents.transcript import Transcript
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.agent_code import HookPoint
from baton.domain.agents.agent_settings import WhileBusy
from baton.domain.runs.tool_call import ToolCall
from baton.domain.runs.usage import Usage
from baton.domain.tenants.identity import derive_record_id
from baton.domain.threads.content import with_text
from baton.domain.threads.events import make_message_steered
from baton.domain.threads.message import StoredMessage
from baton.memory.prompt.message_prompts import count_message_tokens
from baton.ports.tenants.audit import Once
from baton.ports.threads.messages import EntryPoint

Judge = Callable[[CallOutcome], Awaitable[CallOutcome]]
"""Lets hooks allow, replace or refuse an outcome, and returns the result of their decision."""


ROOM_SHARE = 4
"""A message may enter a run in progress if it has at most a quarter of the prompt's token budget."""


def show_nothing(label: str) -> None:
    """Ignore a report that no user waits for."""


@dataclass(frozen=True, slots=True)
class AgentQuestion:
    """A question of one agent to another."""

    call: ToolCall
    agent: AgentDefinition
    message: str
    data: Mapping[str, Any] | None = None
    """A structured answer to a remote agent's question."""
    report: Callable[[str], None] = show_nothing
    """Shows the user a report of the asked agent on its work."""
    judge: Judge | None = None
    """Lets the hooks of the asking agent judge the outcome before it is stored; None without such hooks."""


def make_unseen_transcript(context: Attempt, key: str) -> Transcript:
    """Return a transcript whose messages are not stored in the thread.

    ``key`` distinguishes the transcript from others of the run.
    """
    clock, counter = context.services.clock, context.services.counter
    return Transcript(context.thread_id, context.run, first_ordinal=0, clock=clock, counter=counter, key=f"\0{key}")


Consult = Callable[[AgentQuestion, EmitEvent], Awaitable[CallOutcome]]
"""Consults an agent with a question, passes its events to the callback, and returns the outcome."""


class AgentWork:
    """The work of one agent, by a model loop or by a coroutine. Its messages are added to ``transcript``."""

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
        """``consult`` asks other agents; None for an agent that cannot ask any.

        ``own`` are the built-in tools; None for a consulted agent. ``task_id`` is the id of a consulted agent's
        sub-task; None for the agent that answers the user.
        """
        self.context = context
        self.agent = agent
        self.tools = tools
        self.transcript = transcript
        self.consult = consult
        self.own = own
        self.task_id = task_id
        self.caller = task_id or agent.id
        self.budget = Budget(agent.limits, lambda: context.limit_seconds(1.0) <= 0)
        self.hooks = Hooks.of(context, agent, task_id)
        self.sources = SourceCollection()
        """All passages, files and other sources that the agent got, whether or not its answer cites them."""
        self.beginning = asyncio.Lock()
        """Held while a background task begins, because each beginning counts the open tasks."""
        self.result = AgentResult(agent, context.get_model(agent), Usage(), is_limited=bool(tools.missing))
        """The result so far; it is final once the agent has answered."""

    def add_outcome(self, call: ToolCall, outcome: CallOutcome) -> None:
        """Add a call's outcome to the result. Of several transfers, the first that is not refused counts."""
        result = self.result
        if outcome.waits:
            waiting_call = outcome.waits_for or call
            result.waiting.append(waiting_call)
            tool = self.tools.offers[waiting_call.name].tool
            if tool is not None:
                zone, other_cards = self.context.today.known_zone, result.cards.values()
                result.cards[waiting_call.id] = make_card(waiting_call, tool, self.agent, zone, other_cards)
            return
        if result.transfer is None or result.transfer.refusal is not None:
            result.transfer = outcome.transfer or result.transfer
        result.returns = result.returns or outcome.returns
        result.is_limited |= outcome.is_outage
        result.ends_conversation |= outcome.ends_conversation
        result.stays_silent |= outcome.stays_silent
        self.sources.add(outcome.sources)

    async def end_silently(self, refusal: HookRefusal) -> bool:
        """End a run that no user began, if a guardrail has refused its first message. Return whether it was ended.

        The refusal is audited. The user has not asked anything, so they get no sentence about it.
        """
        context, cause = self.context, self.context.facts.question.begun_by
        if cause is None or self.task_id is not None or not context.screened.is_refused:
            return False
        self.result.stays_silent = True
        detail = {**cause.wire(), "refusedBy": refusal.by, "agentId": self.agent.id}
        record_id = derive_record_id(context.thread_id, "due.run", context.run.run_id)
        once = Once(record_id, context.facts.question.timestamp)
        await context.services.audit.record(
            context.scope, "due.run", thread_id=context.thread_id, outcome="refused", detail=detail, once=once
        )
        return True

    async def enter_messages(self, *, room: int, only_earlier: bool = False) -> Sequence[StoredMessage]:
        """Add the user's messages that enter the run here to the transcript, and return them.

        A message of more than ``room`` tokens does not enter, and a consulted agent gets no messages. With
        ``only_earlier``, only messages that entered an earlier attempt at this place enter again. Raises ``LeaseLost``
        and ``StoreUnavailable``.
        """
        context = self.context
        if self.task_id is not None or not await context.may_act():
            return ()

        async def admit(message: StoredMessage) -> StoredMessage | None:
            return await self._judge(message) if message.tokens <= room else None

        only_earlier |= not self.agent.allows(WhileBusy.STEER)
        point = EntryPoint(self.agent.id, self.transcript.result_count)
        return self._add(await context.incoming.take(point, admit, only_earlier=only_earlier))

    def enter_again(self, texts: Mapping[str, str]) -> None:
        """Add messages that entered an earlier attempt. ``texts`` are their judged texts by message id."""
        self._add(
            [self._replace_text(message, texts[message.id]) for message in self.context.incoming.enter_again(texts)]
        )

    def _add(self, messages: Sequence[StoredMessage]) -> Sequence[StoredMessage]:
        """Add messages to the transcript and show them to the user. Return them with their ordinals."""
        steered_messages = [self.transcript.add_steered(message) for message in messages]
        for message in steered_messages:
            if self.context.enter is not None:
                self.context.enter(message)
            else:
                self.context.emit(make_message_steered(message))
        return steered_messages

    async def _judge(self, message: StoredMessage) -> StoredMessage | None:
        """Return the message with the text that input guardrails allow; None if refused or if the run is stopped."""
        if self.hooks is None or not self.hooks.has(HookPoint.INPUT_GUARDRAIL):
            return message
        try:
            text = await run_unless_stopped(self.context, judge_question(self.hooks, self.context, message.content))
        except (HookRefusal, RunStopped):
            return None
        return self._replace_text(message, text)

    def _replace_text(self, message: StoredMessage, text: str) -> StoredMessage:
        if text == message.text:
            return message
        content = with_text(message.content, text)
        tokens = count_message_tokens(content, self.context.services.counter)
        return replace(message, content=content, tokens=tokens, is_rewritten=True)
