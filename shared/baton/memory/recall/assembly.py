"""Working memory with what was recalled: choose against the history that is sent, and leave room for the blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from baton.domain.message import StoredMessage
from baton.memory.prompt.context import AssembledContext, Blocks
from baton.memory.prompt.token_estimates import total_tokens
from baton.memory.recall.selecting import SentHistory
from baton.memory.recalled import Recalled
from baton.ports.chat_model import TokenCounter


class Assemble(Protocol):
    """``memory.prompt.context.assemble`` for one agent and its history."""

    def __call__(self, *, reserved: int, blocks: Blocks) -> AssembledContext: ...


class Choose(Protocol):
    """``memory.recall.selecting.select`` for what was found for one agent."""

    def __call__(self, *, sent: SentHistory) -> Recalled: ...


def assemble_recalled(
    assemble: Assemble,
    choose: Choose,
    blocks: Blocks,
    counter: TokenCounter,
    *,
    thread_id: str,
    current: Sequence[StoredMessage],
    reserved: int,
    most: int,
) -> tuple[AssembledContext, Recalled]:
    """Return the prompt with the retrieved blocks, and what they hold.

    Nothing is recalled that stands in the history of this prompt, and everything that was left out for that reason does
    stand there: if the blocks leave less room for the history, they are chosen again, against the history that fits
    beside the ``most`` tokens that they may take.
    """

    def chosen(context: AssembledContext) -> Recalled:
        messages = [message for exchange in context.included for message in exchange.messages]
        return choose(sent=SentHistory.of(thread_id, [*messages, *current]))

    def with_blocks(recalled: Recalled, room: int = 0) -> AssembledContext:
        return assemble(reserved=reserved + room, blocks=replace(blocks, retrieved=recalled.prompts))

    alone = assemble(reserved=reserved, blocks=blocks)
    recalled = chosen(alone)
    if not recalled.prompts:
        return alone, recalled
    context = with_blocks(recalled)
    if context.included != alone.included:
        room = total_tokens(recalled.procedure.prompts, counter) + most
        recalled = chosen(assemble(reserved=reserved + room, blocks=blocks))
        context = with_blocks(recalled, max(0, room - total_tokens(recalled.prompts, counter)))
    return replace(context, budget=alone.budget), recalled
