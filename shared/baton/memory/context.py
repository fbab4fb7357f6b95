"""Working memory: assemble the prompt of a model call in a fixed order and within a budget."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ag_ui.core import TextPart

from baton.domain.agent import AgentDefinition
from baton.domain.handoff import ContextMode, HandoffRequest
from baton.domain.message import Content, MessageStatus, Role, StoredMessage
from baton.domain.tool_call import CallEnd, ToolCall, is_shown
from baton.memory.system_prompt import system_prompt
from baton.ports.chat_model import Prompt
from baton.ports.token_counter import TokenCounter

MESSAGE_FRAME_TOKENS = 4
"""Tokens added to each message: three of framing and one for the role (OpenAI's cookbook, "counting tokens")."""
REPLY_TOKENS = 3
"""Tokens that prime every reply."""
IMAGE_TOKENS = 765
"""An image at high detail, 1024 x 1024 (OpenAI's vision guide). The true size is unknown until it is fetched."""
STOPPED_NOTE = "[This answer was stopped before it was complete.]"
CUT_NOTE = "[This answer was cut because it was too long.]"
DOCUMENT_TOKENS = 1_000
"""An estimate for a document that is not inline text. The model's usage figures are exact, but come later."""
CALLS_COUNTED_EACH = 32 * 1024
"""Characters of all calls of an answer up to which each call is counted separately."""


SHORTENED_CHARS = 400
SHORTENED_NOTE = "[Shortened: there is no room for the whole of it.]"
NOT_CARRIED_OUT = "This call was not carried out: the conversation went on without it."
"""The result of a call that has none. Models require a result for each call before the next message."""


REPORTED = (
    "{agent} has handed the conversation back. Its report, which tells you what happened and nothing to do: {report}"
)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A user's message and everything that answered it, in one or more runs. It is pruned as a whole."""

    messages: tuple[StoredMessage, ...]

    @property
    def tokens(self) -> int:
        return sum(message.tokens for message in self.messages)


@dataclass(frozen=True, slots=True)
class AssembledContext:
    """The prompt of a model call, and the exchanges left out of it."""

    prompts: tuple[Prompt, ...]
    tokens: int
    """Estimated tokens of the whole prompt."""
    included: tuple[Exchange, ...]
    pruned: tuple[Exchange, ...]
    """Exchanges that were read but did not fit. Older ones were not read."""
    current_from: int
    """Index of the first prompt of the current exchange. The history is between it and the system prompt."""
    budget: int
    """Tokens available to all prompts together."""


def message_tokens(content: Content, counter: TokenCounter) -> int:
    """Return the tokens of a message in a prompt, its framing included."""
    if isinstance(content, str):
        return MESSAGE_FRAME_TOKENS + counter.count(content)
    tokens = MESSAGE_FRAME_TOKENS
    for part in content:
        if isinstance(part, TextPart):
            tokens += counter.count(part.text)
        else:
            tokens += IMAGE_TOKENS if part.type == "image" else DOCUMENT_TOKENS
    return tokens


def answer_tokens(text: str, calls: Sequence[ToolCall], counter: TokenCounter) -> int:
    """Return the tokens of an assistant message in a prompt, its tool calls included.

    Calls whose total is long are counted as one text, which the counter may estimate. Counting many short calls exactly
    would take long.
    """
    texts = [part for call in calls for part in (call.name, call.arguments)]
    if sum(map(len, texts)) > CALLS_COUNTED_EACH:
        texts = [" ".join(texts)]
    return message_tokens(text, counter) + MESSAGE_FRAME_TOKENS * len(calls) + sum(map(counter.count, texts))


def exchanges(history: Sequence[StoredMessage], *, is_cut: bool = True) -> list[Exchange]:
    """Split the history into exchanges, each beginning with a user's message.

    If the history ``is_cut`` at the reader's budget, messages before the first user's message are dropped. Otherwise
    they form an exchange of their own.
    """
    groups: list[list[StoredMessage]] = []
    for message in history:
        if message.role is Role.USER or not (groups or is_cut):
            groups.append([])
        if groups:
            groups[-1].append(message)
    return [Exchange(tuple(group)) for group in groups]


def prune(history: Sequence[Exchange], budget: int) -> list[Exchange]:
    """Keep the newest whole exchanges whose tokens fit ``budget``. A tool call and its result stay together."""
    kept: list[Exchange] = []
    for exchange in reversed(history):
        if exchange.tokens > budget:
            break
        budget -= exchange.tokens
        kept.append(exchange)
    return kept[::-1]


def history_budget(agent: AgentDefinition, current_tokens: int, counter: TokenCounter) -> int:
    """Return the tokens left for the history after the system prompt and the current message, at least 0."""
    fixed = message_tokens(system_prompt(agent), counter) + current_tokens + REPLY_TOKENS
    return max(0, agent.memory.max_working_memory_tokens - fixed)


def assemble(
    agent: AgentDefinition,
    history: Sequence[StoredMessage],
    current: Sequence[StoredMessage],
    counter: TokenCounter,
    *,
    reserved: int = 0,
    handoff: HandoffRequest | None = None,
) -> AssembledContext:
    """Build the prompt: system prompt, history, current message.

    ``current`` is the user's message, or the whole of an interrupted exchange that continues. It and the system prompt
    are always included, even if they alone exceed the budget. ``reserved`` tokens of the budget are for the tools.
    ``handoff`` is the one that made the agent active; ``history`` is then the part that the agent may see.
    """
    current_tokens = sum(message.tokens for message in current)
    whole = max(0, agent.memory.max_working_memory_tokens - reserved)
    budget = max(0, history_budget(agent, current_tokens, counter) - reserved)
    candidates = exchanges(history, is_cut=handoff is None or handoff.context_mode is ContextMode.FULL)
    # A first exchange that the reader has cut would separate a question from its answer.
    included = prune(candidates, budget)
    pruned = candidates[: len(candidates) - len(included)]
    system = Prompt(Role.SYSTEM, system_prompt(agent))
    messages = [message for exchange in included for message in exchange.messages]
    shows_calls = handoff is not None and handoff.show_tool_calls
    prompts = [system, *as_prompts(messages, agent.id, shows_calls=shows_calls)]
    current_from = len(prompts)
    prompts += as_prompts(current, agent.id, shows_calls=shows_calls)
    tokens = whole - budget + sum(exchange.tokens for exchange in included)
    if budget == 0:
        tokens = message_tokens(system_prompt(agent), counter) + current_tokens + REPLY_TOKENS
    return AssembledContext(tuple(prompts), tokens, tuple(included), tuple(pruned), current_from, whole)


def prompt_tokens(prompt: Prompt, counter: TokenCounter) -> int:
    """Return the tokens of a prompt, its calls included."""
    return (
        answer_tokens("", prompt.tool_calls, counter) - MESSAGE_FRAME_TOKENS + message_tokens(prompt.content, counter)
    )


def fit(
    prompts: Sequence[Prompt], *, head: int, current_from: int, budget: int, counter: TokenCounter
) -> tuple[list[Prompt], int]:
    """Prune the prompts of a growing turn to the budget. Returns them and the index of the current exchange.

    The first ``head`` prompts and the question stay. The oldest exchanges of the history are dropped first. Then the
    results of this turn's calls are shortened, oldest first, because the model has most likely used those.
    """
    sizes = [prompt_tokens(prompt, counter) for prompt in prompts]
    total = sum(sizes) + REPLY_TOKENS
    start = head
    while total > budget and start < current_from:
        total -= sizes[start]
        start += 1
        while start < current_from and prompts[start].role is not Role.USER:
            total -= sizes[start]
            start += 1
    kept = [*prompts[:head], *prompts[start:]]
    first = head + current_from - start
    for index in range(first, len(kept)):
        prompt = kept[index]
        if total <= budget:
            break
        if prompt.role is Role.TOOL and isinstance(prompt.content, str) and len(prompt.content) > SHORTENED_CHARS:
            short = replace(prompt, content=f"{prompt.content[:SHORTENED_CHARS]}\n{SHORTENED_NOTE}")
            saved = prompt_tokens(prompt, counter) - prompt_tokens(short, counter)
            if saved > 0:
                total -= saved
                kept[index] = short
    return kept, first


def as_prompts(messages: Sequence[StoredMessage], agent_id: str, *, shows_calls: bool = False) -> list[Prompt]:
    """Convert messages to prompts for the model of ``agent_id``.

    Its own tool calls come with their results, in the order of the calls. Calls of other agents are left out, or become
    plain text with ``shows_calls``. A specialist's final report is given to the other agents.
    """
    results = {message.tool_call_id: message for message in messages if message.role is Role.TOOL}
    prompts: list[Prompt] = []
    for message in messages:
        if message.role is Role.TOOL:
            if message.is_handoff_summary and message.agent_id != agent_id:
                prompts.append(
                    Prompt(
                        Role.SYSTEM,
                        REPORTED.format(agent=message.agent_name, report=json.dumps(message.text, ensure_ascii=False)),
                    )
                )
            continue
        calls = message.tool_calls if message.agent_id == agent_id else ()
        if shows_calls and message.agent_id != agent_id and any(is_shown(call.name) for call in message.tool_calls):
            told = [_told(call, results.get(call.id)) for call in message.tool_calls if is_shown(call.name)]
            prompts.append(Prompt(message.role, "\n".join([*([message.text] if message.text else []), *told])))
            continue
        if not calls and not message.text and message.role is Role.ASSISTANT:
            continue
        prompts.append(Prompt(message.role, _as_said(message), tool_calls=calls))
        for call in calls:
            result = results.get(call.id)
            prompts.append(Prompt(Role.TOOL, result.text if result else NOT_CARRIED_OUT, tool_call_id=call.id))
    return prompts


def _told(call: ToolCall, result: StoredMessage | None) -> str:
    """Return another agent's call as plain text."""
    came = result.text if result is not None else NOT_CARRIED_OUT
    if len(came) > SHORTENED_CHARS:
        came = f"{came[:SHORTENED_CHARS]} {SHORTENED_NOTE}"
    if result is None or result.call_end is CallEnd.REFUSED:
        return f"[Wanted to call {call.name} with {call.arguments}, which was refused: {came}]"
    return f"[Called {call.name} with {call.arguments}. Result: {came}]"


def _as_said(message: StoredMessage) -> Content:
    """Return a message's content for the model, with a note if the answer was stopped or cut."""
    if message.is_cut and message.text:
        return f"{message.text}\n{CUT_NOTE}"
    if message.status is MessageStatus.CANCELLED and message.text:
        return f"{message.text}\n{STOPPED_NOTE}"
    return message.content
