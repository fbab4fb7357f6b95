"""Working memory with what was recalled: choose against the history that is sent, and put the blocks in their place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date

from baton.domain.agent import AgentDefinition
from baton.domain.handoff import HandoffRequest
from baton.domain.message import StoredMessage
from baton.memory.context import AssembledContext, assemble
from baton.memory.recalled import Found, Recalled
from baton.memory.selecting import SentHistory, select
from baton.ports.chat_model import Prompt
from baton.ports.token_counter import TokenCounter


def assemble_recalled(
    agent: AgentDefinition,
    history: Sequence[StoredMessage],
    current: Sequence[StoredMessage],
    counter: TokenCounter,
    found: Found,
    *,
    thread_id: str,
    today: date,
    reserved: int = 0,
    handoff: HandoffRequest | None = None,
) -> tuple[AssembledContext, Recalled]:
    """Assemble the prompt, leaving room for the retrieved blocks, and choose those.

    Nothing is recalled that stands in the history of this prompt, and everything that was left out for that reason does
    stand there: where the blocks leave less room for the history, they are chosen again, with the room that they may
    take at most.
    """

    def assembled(room: int) -> AssembledContext:
        return assemble(agent, history, current, counter, reserved=reserved + room, handoff=handoff)

    def chosen(context: AssembledContext) -> Recalled:
        messages = [message for exchange in context.included for message in exchange.messages]
        sent = SentHistory.of(thread_id, [*messages, *current])
        return select(found, agent.memory, counter, today=today, sent=sent, follows_skills=handoff is None)

    context = assembled(0)
    recalled = chosen(context)
    if not recalled.tokens:
        return context, recalled
    beside = assembled(recalled.tokens)
    if beside.included != context.included:
        beside = assembled(recalled.procedure.tokens + agent.memory.retrieved_tokens)
        recalled = chosen(beside)
    return beside, recalled


def with_blocks(prompts: Sequence[Prompt], recalled: Recalled, notes: Iterable[Prompt]) -> tuple[list[Prompt], int]:
    """Return the prompts with the retrieved blocks and then the notes behind the system prompt, and the number of both.

    This is the order procedure, knowledge, episodes, history, message.
    """
    inserted = [*recalled.prompts, *notes]
    return [*prompts[:1], *inserted, *prompts[1:]], len(inserted)
