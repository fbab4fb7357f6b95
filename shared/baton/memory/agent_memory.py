"""The memory of an agent: its prompt for a message, with the record of recalled items."""

from __future__ import annotations

from dataclasses import dataclass, replace

from baton.domain.agents.agent import AgentDefinition
from baton.domain.documents.numbered_passages import PassageNumbers
from baton.domain.tenants.identity import Scope
from baton.domain.times import DEFAULT_ZONE
from baton.memory.early_recall import EarlyRecall
from baton.memory.prompt import context
from baton.memory.prompt.history_window import WindowedHistory
from baton.memory.prompt.message_prompts import count_prompt_tokens, count_total_tokens
from baton.memory.recall.recall import Recall
from baton.memory.recall.selecting import SentHistory, number_knowledge, select
from baton.memory.recalled import NOTHING_FOUND, Findings, MemorySearch, RecalledBlocks
from baton.ports.agents.chat_model import TokenCounter


@dataclass(frozen=True, slots=True)
class AgentMemory:
    """The memory of agents, which is searched for each message. The findings become parts of the prompt."""

    recall: Recall
    counter: TokenCounter

    def begin(self, scope: Scope, text: str, agent: AgentDefinition) -> EarlyRecall | None:
        """Begin to search for a message before its thread is known. ``agent`` is the main agent of a new thread.

        The caller must stop the search. Returns None if the agent searches nothing.
        """
        return self.recall.begin(scope, text, agent) if agent.remote is None else None

    async def search(self, agent: AgentDefinition, search: MemorySearch) -> MemorySearch:
        """Return ``search`` with its findings for ``agent``, before the rest of the prompt is known.

        A remote agent recalls nothing. Raises only the errors of reading the agent's procedures.
        """
        findings = await self.find(agent, search) if agent.remote is None else NOTHING_FOUND
        return replace(search, agent_id=agent.id, found=findings, early=None)

    async def find(
        self, agent: AgentDefinition, search: MemorySearch, *, earlier: Findings = NOTHING_FOUND
    ) -> Findings:
        """Return the findings for a message. Raises as ``search`` does."""
        return await self.recall.find(agent, search, earlier=earlier)

    async def make_prompt(
        self,
        agent: AgentDefinition,
        search: MemorySearch,
        history: context.AgentHistory | None = None,
        *,
        notes: context.Notes = context.NO_NOTES,
        reserved: int = 0,
        zone: str = DEFAULT_ZONE,
        numbers: PassageNumbers | None = None,
    ) -> context.AssembledContext:
        """Return the agent's prompt for the message of ``search``, with the found items, included or left out.

        An agent without ``history`` sees only the message. ``reserved`` tokens of its budget are for its tools, and
        ``zone`` is the user's time zone. ``numbers`` are the numbers of the passages in the run's earlier prompts.
        Raises as ``search`` does.
        """
        findings, numbers = await self._finish_search(agent, search), numbers or PassageNumbers()
        if history is None:
            recalled = number_knowledge(select(findings, agent.memory, self.counter, zone=zone), numbers)
            return context.make_prompt_without_history(agent, search.text, recalled, notes=notes, reserved=reserved)
        assembly = context.Assembly(agent, history, self.counter, notes=notes, reserved=reserved)
        prompt = self._add_recalled(assembly, agent, findings, history, zone, numbers)
        if history.asked is None:
            return prompt
        tokens = prompt.tokens + count_prompt_tokens(history.asked, self.counter)
        return replace(prompt, prompts=(*prompt.prompts, history.asked), tokens=tokens)

    async def _finish_search(self, agent: AgentDefinition, search: MemorySearch) -> Findings:
        """Return the findings. For an agent that took over since the search, its own knowledge is searched."""
        if search.agent_id is None:
            return await self.find(agent, search)
        if search.agent_id == agent.id:
            return search.found
        own = await self.find(agent, replace(search, procedures=None), earlier=search.found)
        return replace(own, procedure=search.found.procedure)

    def _add_recalled(
        self,
        assembly: context.Assembly,
        agent: AgentDefinition,
        findings: Findings,
        history: context.AgentHistory,
        zone: str,
        numbers: PassageNumbers,
    ) -> context.AssembledContext:
        """Return the prompt with the findings that are not in its history.

        Items that the history contains are left out. If the blocks shorten the history, items are chosen again for the
        shortest history that may result, because an item could otherwise be missing in both.
        """

        def choose(windowed: WindowedHistory) -> RecalledBlocks:
            sent = [message for exchange in windowed.included for message in exchange.messages]
            return select(
                findings,
                agent.memory,
                self.counter,
                zone=zone,
                sent=SentHistory.of(history.thread_id, [*sent, *history.current]),
                follows_procedures=history.handoff is None,
            )

        unshortened, room = assembly.window_history(), 0
        recalled = choose(unshortened)
        tokens = count_total_tokens(recalled.prompts, self.counter)
        if tokens and assembly.window_history(tokens).included != unshortened.included:
            room = count_total_tokens(recalled.procedure.prompts, self.counter) + agent.memory.retrieved_tokens
            recalled = choose(assembly.window_history(room))
        return assembly.make_prompt(number_knowledge(recalled, numbers), room=room)
