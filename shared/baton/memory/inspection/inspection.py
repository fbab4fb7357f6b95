"""The Context Inspector's record of a run: the contribution of each memory, and the requests to the models."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from operator import is_
from typing import Any

from baton.domain.agents.agent import AgentDefinition
from baton.domain.memory.inspection import ContextItem
from baton.domain.runs.conversation_data import ConversationData
from baton.domain.runs.usage import Usage
from baton.domain.threads.content import Content, part_as_json
from baton.domain.threads.message import Role, StoredMessage
from baton.domain.times import to_iso
from baton.memory.episodes.episode_index import SUMMARY
from baton.memory.prompt.context import SUMMARISED, AssembledContext
from baton.memory.prompt.message_prompts import REPLY_TOKENS, count_prompt_tokens, is_masked
from baton.memory.recall.selecting import MAX_PROCEDURE_TOKENS
from baton.memory.recalled import BlockKind, RecalledBlock
from baton.ports.agents.chat_model import QUOTED_CONTEXT, Prompt, TokenCounter, ToolSpec

MAX_CALLS = 200
"""Model calls of a run that are recorded, and also verdicts. One agent may make fewer (``ToolLimits.model_calls``)."""

SUMMARY_HEAD = SUMMARISED.partition("{")[0]
"""The beginning of the summary of earlier messages in a prompt."""


@dataclass(slots=True)
class ModelCall:
    """One call of a model."""

    agent_id: str
    task_id: str | None
    """The sub-task in which it was made; None if the run's own agent made it."""
    model: str | None
    prompts: tuple[Prompt, ...]
    tools: tuple[ToolSpec, ...]
    began_at: datetime
    usage: Usage | None = None
    """The usage that the provider reported; None if it reported none, or the call did not end."""
    dropped: tuple[str, ...] = ()
    """Settings of the agent that were not sent, because the model does not take them."""
    error: str | None = None
    """The code of the failure that ended it."""
    ended_at: datetime | None = None
    """The time of its end; None while it is in progress."""


@dataclass(frozen=True, slots=True)
class AgentContext:
    """The prompt with which an agent began."""

    agent: AgentDefinition
    task_id: str | None
    context: AssembledContext


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict of a hook or guardrail that changed something, or its failure."""

    agent_id: str
    task_id: str | None
    point: str
    name: str
    verdict: str
    """``allow``, ``replace``, ``refuse`` or ``hand_over``."""
    milliseconds: int
    failure: str | None = None
    """The kind of the failure; None if it did not fail."""


@dataclass(slots=True)
class Inspection:
    """The notes on a run in progress. They only keep references; the record is made after the run."""

    contexts: list[AgentContext] = field(default_factory=list)
    calls: list[ModelCall] = field(default_factory=list)
    calls_left_out: int = 0
    """The number of calls beyond ``MAX_CALLS``, which are not recorded."""
    judgements: list[Judgement] = field(default_factory=list)
    data: ConversationData = field(default_factory=ConversationData)
    data_before: Mapping[str, Any] | None = None

    def begin_data(self, data: ConversationData) -> ConversationData:
        """Note the data with which the run begins, and return it."""
        self.data, self.data_before = data, data.values
        return data

    def add_judgement(self, judgement: Judgement) -> None:
        """Note a verdict, up to ``MAX_CALLS`` of them."""
        if len(self.judgements) < MAX_CALLS:
            self.judgements.append(judgement)

    def replace_question(self, old: Prompt, new: Prompt) -> None:
        """Replace the user's question, in earlier prompts too, by the question as a guardrail has changed it."""

        def replace_in(prompts: Sequence[Prompt]) -> tuple[Prompt, ...]:
            return tuple(
                new if prompt.role is old.role and prompt.content == old.content else prompt for prompt in prompts
            )

        self.contexts = [
            replace(context, context=replace(context.context, prompts=replace_in(context.context.prompts)))
            for context in self.contexts
        ]
        for call in self.calls:
            call.prompts = replace_in(call.prompts)

    def list_messages_of(self, thread_id: str) -> Iterator[StoredMessage]:
        """Yield the messages of a thread that were in a prompt's history, or left out of it."""
        for context in self.contexts:
            if context.context.thread_id == thread_id:
                for exchange in (*context.context.pruned, *context.context.included):
                    yield from exchange.messages

    def begin_call(self, call: ModelCall) -> ModelCall:
        """Note a call, unless there are ``MAX_CALLS`` already, and return it."""
        if len(self.calls) < MAX_CALLS:
            self.calls.append(call)
        else:
            self.calls_left_out += 1
        return call


def make_context_record(
    inspection: Inspection, thread_id: str, run_id: str, counter: TokenCounter, recorded_at: datetime
) -> dict[str, Any]:
    """Return the inspector's record of a run as JSON values, neither redacted nor cut.

    Its ``budget`` is the token budget of the run's own agent; None if the agent began no prompt.
    """
    sizes: dict[int, int] = {}
    own = next((context for context in inspection.contexts if context.task_id is None), None)
    return {
        "runId": run_id,
        "threadId": thread_id,
        "recordedAt": to_iso(recorded_at),
        "budget": own.context.budget if own is not None else None,
        "redacted": False,
        "cut": [],
        "blocks": [block for context in inspection.contexts for block in _describe_blocks(context, counter)],
        "calls": [_describe_call(call, counter, inspection.contexts, sizes) for call in inspection.calls],
        "callsLeftOut": inspection.calls_left_out,
        **_describe_tool_state(inspection),
        **_describe_guardrails(inspection),
    }


def _describe_guardrails(inspection: Inspection) -> dict[str, Any]:
    """Return the field with verdicts and failures; an empty dict if there are none."""
    if not inspection.judgements:
        return {}
    return {
        "guardrails": [
            {
                "agentId": judgement.agent_id,
                "taskId": judgement.task_id,
                "point": judgement.point,
                "name": judgement.name,
                "verdict": judgement.verdict,
                "durationMs": judgement.milliseconds,
                "failure": judgement.failure,
            }
            for judgement in inspection.judgements
        ]
    }


def _describe_tool_state(inspection: Inspection) -> dict[str, Any]:
    """Return the field with the tools' data before and after the run, as texts to redact; empty without data."""
    before, after = inspection.data_before, inspection.data.values
    if not before and not after:
        return {}
    texts = {"before": before, "after": after}
    return {"toolState": {name: {"text": json.dumps(text or {}, ensure_ascii=False)} for name, text in texts.items()}}


def _describe_blocks(agent_context: AgentContext, counter: TokenCounter) -> list[dict[str, Any]]:
    """Return all blocks of a prompt in their order, including empty ones."""
    context = agent_context.context
    apart = {id(prompt) for prompt in (*context.recalled.prompts, *context.instructions)}
    system = [*(prompt for prompt in context.prompts[: context.head] if id(prompt) not in apart), *context.instructions]
    current = [prompt for prompt in context.prompts[context.current_from :] if id(prompt) not in apart]
    windowed = context.history
    is_summarised = windowed is not None and windowed.window.summary_at is not None
    reason = "replaced by the summary" if is_summarised else "over the budget"
    below = windowed.window.masked_below if windowed is not None else 0
    history = [
        *(make_history_item(message, reason) for exchange in context.pruned for message in exchange.messages),
        *(
            make_history_item(message, None, is_masked=is_masked(message, below))
            for exchange in context.included
            for message in exchange.messages
        ),
    ]
    return [
        _describe_block(
            agent_context, BlockKind.SYSTEM, [_make_prompt_item(prompt, counter).to_stored() for prompt in system]
        ),
        *(_describe_recalled_block(agent_context, block) for block in context.recalled.blocks),
        _describe_block(agent_context, BlockKind.HISTORY, history),
        _describe_block(
            agent_context, BlockKind.CURRENT, [_make_prompt_item(prompt, counter).to_stored() for prompt in current]
        ),
    ]


def _describe_recalled_block(context: AgentContext, block: RecalledBlock) -> dict[str, Any]:
    described = _describe_block(context, block.kind, [ContextItem.from_found(item).to_stored() for item in block.items])
    return described | {
        "tokens": block.tokens or described["tokens"],
        "durationMs": _to_milliseconds(block.duration) if block.duration is not None else None,
        "error": block.error,
    }


def _describe_block(context: AgentContext, kind: BlockKind, items: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "kind": kind.value,
        "agentId": context.agent.id,
        "taskId": context.task_id,
        "tokens": sum(item["tokens"] for item in items if item["included"]),
        "budget": _find_budget(kind, context),
        "durationMs": None,
        "error": None,
        "items": list(items),
    }


def _find_budget(kind: BlockKind, agent_context: AgentContext) -> int | None:
    """Return the tokens that a block may take; None if it has no budget."""
    match kind:
        case BlockKind.PROCEDURE:
            return MAX_PROCEDURE_TOKENS
        case BlockKind.KNOWLEDGE | BlockKind.EPISODES:
            return agent_context.agent.memory.retrieved_tokens
        case BlockKind.HISTORY:
            context = agent_context.context
            sent = context.history.tokens if context.history is not None else 0
            return max(0, context.budget - (context.tokens - sent))
    return None


def _to_milliseconds(duration: timedelta) -> int:
    return round(duration.total_seconds() * 1000)


def make_history_item(message: StoredMessage, reason: str | None, *, is_masked: bool = False) -> dict[str, Any]:
    """Return the item of a message in a prompt, or left out of it for a ``reason``, in the form of ``ContextItem``.

    It is made without the model, because a long prompt has a hundred items, which took a fifth of a turn's time.
    """
    item: dict[str, Any] = {
        "id": message.id,
        "kind": message.role.value,
        "title": message.author.name if message.author is not None else message.agent_name or message.shown_role,
        "text": message.text,
        "date": to_iso(message.timestamp),
        "score": None,
        "signals": {},
        "tokens": message.tokens if reason is None else 0,
        "included": reason is None,
        "reason": reason,
        "ambiguous": False,
        "source": {
            "threadId": None,
            "episodeId": None,
            "messageIds": [message.id],
            "documentId": None,
            "agentId": message.agent_id,
            "section": None,
            "pages": None,
            "url": None,
        },
    }
    return item | {"masked": True} if is_masked else item


def _make_prompt_item(prompt: Prompt, counter: TokenCounter) -> ContextItem:
    tokens, text = count_prompt_tokens(prompt, counter), _describe_text(prompt.content)
    kind = SUMMARY if prompt.role is Role.CONTEXT and text.startswith(SUMMARY_HEAD) else prompt.role.value
    return ContextItem.create("", kind, prompt.role.value, text, tokens)


def _describe_call(
    call: ModelCall, counter: TokenCounter, contexts: Sequence[AgentContext], sizes: dict[int, int]
) -> dict[str, Any]:
    tools = sum(counter.count(f"{tool.name} {tool.description} {tool.parameters}") for tool in call.tools)
    usage = call.usage
    further: dict[str, Any] = {"dropped": list(call.dropped)} if call.dropped else {}
    if usage is not None and usage.cache_write_tokens:
        further["cacheWriteTokens"] = usage.cache_write_tokens
    if usage is not None and usage.reasoning_tokens:
        further["reasoningTokens"] = usage.reasoning_tokens
    return further | {
        "agentId": call.agent_id,
        "taskId": call.task_id,
        "model": call.model,
        "beganAt": to_iso(call.began_at),
        "messages": [describe_sent_message(prompt) for prompt in call.prompts],
        "tools": [tool.name for tool in call.tools],
        "estimatedTokens": _estimate(call, counter, contexts, sizes) + tools,
        "inputTokens": call.usage.input_tokens if call.usage is not None else None,
        "outputTokens": call.usage.output_tokens if call.usage is not None else None,
        "cachedInputTokens": call.usage.cached_input_tokens if call.usage is not None else None,
        "durationMs": _to_milliseconds(call.ended_at - call.began_at) if call.ended_at is not None else None,
        "error": call.error,
    }


def _estimate(call: ModelCall, counter: TokenCounter, contexts: Sequence[AgentContext], sizes: dict[int, int]) -> int:
    """Return the estimated tokens of a call's messages.

    The prompts with which an agent began were counted before. Each of the others, which calls share, is counted once,
    because counting takes long; ``sizes`` caches their tokens by ``id``.
    """
    total, rest = REPLY_TOKENS, call.prompts
    for context in contexts:
        prompts = context.context.prompts
        # The prompt of a consulted agent has no count, because nothing is cut from it.
        if context.context.tokens and len(prompts) <= len(rest) and all(map(is_, prompts, rest)):
            total, rest = context.context.tokens, rest[len(prompts) :]
            break
    for prompt in rest:
        if id(prompt) not in sizes:
            sizes[id(prompt)] = count_prompt_tokens(prompt, counter)
        total += sizes[id(prompt)]
    return total


def describe_sent_message(prompt: Prompt) -> dict[str, Any]:
    """Return a message as the model's endpoint gets it, with references in place of files."""
    message: dict[str, Any] = {"role": prompt.role.value, "content": _describe_content(prompt.content)}
    if prompt.role is Role.CONTEXT:
        message = {"role": Role.USER.value, "content": QUOTED_CONTEXT.format(text=_describe_text(prompt.content))}
    if prompt.tool_calls:
        message["toolCalls"] = [
            {"id": call.id, "name": call.name, "arguments": call.arguments} for call in prompt.tool_calls
        ]
    if prompt.tool_call_id is not None:
        message["toolCallId"] = prompt.tool_call_id
    if prompt.provider_parts is not None:  # only their model can read the content
        message["providerParts"] = {"origin": prompt.provider_parts.origin, "tokens": prompt.provider_parts.tokens}
    return message


def _describe_content(content: Content) -> Any:
    if isinstance(content, str):
        return content
    parts = []
    for part in content:
        body = part_as_json(part)
        source = body.get("source")
        if isinstance(source, dict) and source.get("type") == "data":
            source["value"] = f"[{len(source['value'])} characters of base64]"
        parts.append(body)
    return parts


def _describe_text(content: Content) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(getattr(part, "text", f"[{part.type}]") for part in content)
