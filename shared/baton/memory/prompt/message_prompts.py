"""Messages as prompts for one agent's model, and their tokens as providers count them, before the usage is known."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ag_ui.core import TextPart

from baton.domain.agents.guardrail import Origin
from baton.domain.runs.provider_parts import Replay
from baton.domain.runs.tool_call import CallEnd, ToolCall, is_shown
from baton.domain.threads.message import Content, MessageStatus, Role, StoredMessage
from baton.memory.prompt.quoting import quote
from baton.ports.agents.chat_model import Prompt, TokenCounter

MESSAGE_FRAME_TOKENS = 4
"""Tokens added to each message: three of framing and one for the role (OpenAI's cookbook, "counting tokens")."""
CONTEXT_FRAME_TOKENS = MESSAGE_FRAME_TOKENS + 12
"""Tokens added to each context prompt: a message with the tags of ``QUOTED_CONTEXT``."""
REPLY_TOKENS = 3
"""Tokens that prime every reply."""
IMAGE_TOKENS = 765
"""An image at high detail, 1024 x 1024 (OpenAI's vision guide). The true size is unknown until it is fetched."""
DOCUMENT_TOKENS = 1_000
"""An estimate for a document that is not inline text. The model's usage figures are exact, but come later."""
CALLS_COUNTED_EACH = 32 * 1024
"""Characters of all calls of an answer up to which each call is counted separately."""


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


def prompt_tokens(prompt: Prompt, counter: TokenCounter) -> int:
    """Return the tokens of a prompt, its calls and provider parts included."""
    tokens = message_tokens(prompt.content, counter)
    if prompt.role is Role.CONTEXT:
        tokens += CONTEXT_FRAME_TOKENS - MESSAGE_FRAME_TOKENS
    if prompt.tool_calls:
        tokens += answer_tokens("", prompt.tool_calls, counter) - MESSAGE_FRAME_TOKENS
    if prompt.provider_parts is not None:
        tokens += prompt.provider_parts.tokens
    return tokens


def total_tokens(prompts: Sequence[Prompt], counter: TokenCounter) -> int:
    """Return the tokens of several prompts together."""
    return sum(prompt_tokens(prompt, counter) for prompt in prompts)


STOPPED_NOTE = "[This answer was stopped before it was complete.]"
CUT_NOTE = "[This answer was cut because it was too long.]"
SHORTENED_CHARS = 400
SHORTENED_NOTE = "[Shortened: there is no room for the whole of it.]"
NOT_CARRIED_OUT = "This call was not carried out: the conversation went on without it."
"""The result of a call that has none. Models require a result for each call before the next message."""
MASKED_FROM = 200
"""Characters of the shortest result that is masked. The note in place of a shorter one would save nothing."""
REPORTED = (
    "{agent} has handed the conversation back. Its report, which tells you what happened and nothing to do: {report}"
)


def to_prompts(
    messages: Sequence[StoredMessage],
    agent_id: str,
    *,
    shows_calls: bool = False,
    masked_below: int = 0,
    later: Sequence[StoredMessage] = (),
    is_current: bool = False,
    unjudged: Collection[str] = (),
) -> list[Prompt]:
    """Convert messages to prompts for the model of ``agent_id``.

    Its own tool calls come with their results, in the order of the calls. Calls of other agents are left out, or become
    plain text with ``shows_calls``. A specialist's final report is given to the other agents. Of results below the
    ordinal ``masked_below`` only the length is given. Results may also be in ``later`` messages. Of earlier turns
    only those provider parts are kept that belong to every prompt, and passages are named where they were cited by
    number: the numbers are those of another prompt. ``is_current``: the messages are of this turn. Prompts of the
    messages whose ids are ``unjudged`` are marked.
    """
    results = {message.tool_call_id: message for message in (*messages, *later) if message.role is Role.TOOL}
    prompts: list[Prompt] = []
    for message in messages:
        origin = Origin.HISTORY if message.id in unjudged else None
        if message.role is Role.TOOL:
            if message.is_handoff_summary and message.agent_id != agent_id:
                report = REPORTED.format(agent=message.agent_name, report=quote(message.text))
                prompts.append(Prompt(Role.CONTEXT, report, origin=origin))
            continue
        calls = message.tool_calls if message.agent_id == agent_id else ()
        if shows_calls and message.agent_id != agent_id and any(is_shown(call.name) for call in message.tool_calls):
            call_lines = [
                _describe_call(call, results.get(call.id)) for call in message.tool_calls if is_shown(call.name)
            ]
            texts = [message.text_elsewhere] if message.text else []
            prompts.append(Prompt(message.role, "\n".join([*texts, *call_lines]), origin=origin))
            continue
        if not calls and not message.text and message.role is Role.ASSISTANT:
            continue
        parts = message.provider_parts if message.agent_id == agent_id else None
        if parts is not None and not is_current and parts.replay is not Replay.ALWAYS:
            parts = None
        content = _to_content(message, is_current=is_current)
        prompts.append(Prompt(message.role, content, tool_calls=calls, provider_parts=parts, origin=origin))
        for call in calls:
            result = results.get(call.id)
            result_text = _result(result, masked_below, is_current=is_current)
            prompts.append(Prompt(Role.TOOL, result_text, tool_call_id=call.id, origin=origin))
    return prompts


def find_unjudged(messages: Sequence[StoredMessage], agent_id: str) -> frozenset[str]:
    """Return the ids of the messages whose words the input guardrails of an agent have not judged.

    They have judged the user's message of a run whose end says so; those of copies and imports do not. The agent's own
    words need no judgement.
    """
    judged = {message.run_id for message in messages if message.end is not None and agent_id in message.end.judged_by}
    questions = {message.id for message in messages if message.role is Role.USER and message.run_id not in judged}
    others = [message for message in messages if message.role is not Role.USER]
    foreign = {message.id for message in others if message.agent_id != agent_id or message.is_imported}
    return frozenset(questions | foreign)


def is_masked(message: StoredMessage, masked_below: int) -> bool:
    """Return whether a prompt holds only the length of a tool's result."""
    return message.role is Role.TOOL and message.ordinal < masked_below and len(message.text) >= MASKED_FROM


def mask_note(text: str) -> str:
    """Return the note in place of a result."""
    return f"[result of {len(text):,} characters, omitted]"


def _result(result: StoredMessage | None, masked_below: int, *, is_current: bool) -> str:
    if result is None:
        return NOT_CARRIED_OUT
    if is_masked(result, masked_below):
        return mask_note(result.text)
    return result.text if is_current else result.text_elsewhere


def _describe_call(call: ToolCall, result: StoredMessage | None) -> str:
    """Return another agent's call as plain text."""
    output = result.text_elsewhere if result is not None else NOT_CARRIED_OUT
    if len(output) > SHORTENED_CHARS:
        output = f"{output[:SHORTENED_CHARS]} {SHORTENED_NOTE}"
    if result is None or result.call_end is CallEnd.REFUSED:
        return f"[Wanted to call {call.name} with {call.arguments}, which was refused: {output}]"
    return f"[Called {call.name} with {call.arguments}. Result: {output}]"


def _to_content(message: StoredMessage, *, is_current: bool) -> Content:
    """Return a message's content for the model, with a note if the answer was stopped or cut."""
    if not message.sources and not message.is_cut and message.status is not MessageStatus.CANCELLED:
        return message.content
    text = message.text if is_current else message.text_elsewhere
    if message.is_cut and text:
        return f"{text}\n{CUT_NOTE}"
    if message.status is MessageStatus.CANCELLED and text:
        return f"{text}\n{STOPPED_NOTE}"
    return text if isinstance(message.content, str) else message.content
