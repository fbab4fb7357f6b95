"""A history without a window, which drops one turn whenever it is full. It is compared with Baton's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from baton.domain.agents.agent import AgentDefinition
from baton.domain.handoffs.handoff import HandoffRequest
from baton.domain.runs.tool_call import ToolCall
from baton.domain.threads.message import Role
from baton.memory.prompt.history_reading import make_handoff_notes, select_granted_messages
from baton.memory.prompt.history_window import Exchange, split_exchanges
from baton.memory.prompt.message_prompts import (
    REPLY_TOKENS,
    SHORTENED_CHARS,
    SHORTENED_NOTE,
    count_total_tokens,
    to_prompts,
)
from baton.ports.agents.chat_model import Prompt
from benchmarks.inputs.long_conversation import TOOL_NAMES, Player, Turn


class SlidingPlayer(Player):
    """A simulation of the conversation with Baton's earlier assembly of prompts.

    Notes and recalled texts follow the system prompt, and only the newest messages are sent.
    """

    def _answer(self, turn: Turn, agent: AgentDefinition, handoff: HandoffRequest | None) -> None:
        question = self._make_message(turn, Role.USER, turn.question, len(self.stored))
        budget = agent.memory.max_working_memory_tokens - self._tools.count_tokens(self.counter)
        head = [
            Prompt(Role.SYSTEM, agent.system_prompt),
            *make_handoff_notes(handoff),
            *(Prompt(Role.CONTEXT, text) for text in turn.recalled),
        ]
        seen = select_granted_messages(handoff, self.stored) if handoff else self.stored
        room = budget - count_total_tokens(head, self.counter) - question.tokens - REPLY_TOKENS
        history = [message for exchange in _take_newest(split_exchanges(seen), room) for message in exchange.messages]
        prompts = [*head, *to_prompts(history, agent.id), Prompt(Role.USER, turn.question)]
        self._record(turn, prompts)
        exchange = [question]
        for number, result in enumerate(turn.results):
            call = ToolCall(f"{turn.number}.{number}", TOOL_NAMES[turn.number % len(TOOL_NAMES)], '{"query": "plants"}')
            exchange.append(self._make_message(turn, Role.ASSISTANT, "", question.ordinal + len(exchange), agent, call))
            exchange.append(self._make_message(turn, Role.TOOL, result, question.ordinal + len(exchange), agent, call))
            prompts = self._fit_prompts(
                [*prompts, *to_prompts(exchange[-2:], agent.id)], len(head), turn.question, budget
            )
            self._record(turn, prompts)
        exchange.append(self._make_message(turn, Role.ASSISTANT, turn.answer, question.ordinal + len(exchange), agent))
        self.stored += exchange

    def _fit_prompts(self, prompts: list[Prompt], head: int, question: str, budget: int) -> list[Prompt]:
        """Drop the oldest exchanges one by one, and then shorten results, until the prompts fit."""
        while count_total_tokens(prompts, self.counter) > budget and prompts[head].content != question:
            end = head + 1
            while prompts[end].role is not Role.USER:
                end += 1
            del prompts[head:end]
        for index, prompt in enumerate(prompts):
            if count_total_tokens(prompts, self.counter) <= budget:
                break
            if prompt.role is Role.TOOL and isinstance(prompt.content, str):
                prompts[index] = replace(prompt, content=f"{prompt.content[:SHORTENED_CHARS]}\n{SHORTENED_NOTE}")
        return prompts

    def _record(self, turn: Turn, prompts: Sequence[Prompt]) -> None:
        # The earlier assembly did not mark prefixes for providers that cache by marks.
        super()._record(turn, [replace(prompt, ends_prefix=False) for prompt in prompts])


def _take_newest(history: Sequence[Exchange], room: int) -> list[Exchange]:
    """Return the newest exchanges that fit into ``room`` tokens."""
    exchanges: list[Exchange] = []
    for exchange in reversed(history):
        if exchange.count_tokens() > room:
            break
        room -= exchange.count_tokens()
        exchanges.append(exchange)
    return exchanges[::-1]
