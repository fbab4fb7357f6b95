"""Judgement by an agent's input guardrails of all texts from outside that are in its prompt.

A refused question ends the turn. Other refused texts are left out of the prompt, so that one recalled sentence does not
make a conversation unusable. All texts are judged before the model is asked, so that no model gets a refused text.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from ag_ui.core import DataSource, ImagePart, TextPart, UrlSource

from baton.agents.approvals import COMMENT
from baton.agents.attempt_context import Attempt
from baton.agents.call_outcome import CallOutcome
from baton.agents.guardrails.hooks import Hooks, judges_questions
from baton.concurrency.tasks import gather_all, gather_each, off_loop
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.agent_code import HookPoint
from baton.domain.agents.guardrail import Origin
from baton.domain.errors import NotFound
from baton.domain.text import split_slices
from baton.domain.threads.content import Content, find_part_name, text_of, with_text
from baton.domain.threads.message import Role
from baton.domain.threads.turn_requests import ClientOffer
from baton.memory.prompt.context import AssembledContext
from baton.memory.recalled import RecalledBlock
from baton.ports.agents.chat_model import Prompt
from baton_documents.encodings.text_encoding import GUESSING, decode_text

MAX_PIECE = 20_000
"""Characters of prompts that are judged together. A longer prompt is judged alone."""
MAX_FILE_PIECE = 200_000
"""Characters of a file's text that are judged together."""
AT_ONCE = 8
"""Texts that are judged at the same time."""
LEFT_OUT = "refused by a guardrail"
"""The reason that the Context Inspector shows for a recalled item that was left out."""
NOT_GIVEN = "Error: a guardrail has refused what the application answered."
_CONTAINERS = (b"%PDF", b"PK\x03\x04")
"""The first bytes of files that are no plain text: PDF, and ZIP archives such as Word's."""

_Changes = Mapping[int, Prompt | None]
"""Replacements of prompts by the ``id()`` of the prompt; None leaves the prompt out."""


async def judge_question(hooks: Hooks, context: Attempt, content: Content) -> str:
    """Return the text of a question, or its replacement by the input guardrails.

    Raises ``HookRefusal`` if a guardrail refuses the question or one of its files.
    """
    files = [text async for text in _read_file_texts(context, content)]
    text, _ = await gather_all(
        hooks.judge_question(text_of(content)), gather_each(files, hooks.require_allowed, at_once=AT_ONCE)
    )
    return str(text)


async def judge_context(
    context: Attempt, agent: AgentDefinition, assembled: AssembledContext, task_id: str | None = None
) -> AssembledContext:
    """Return the agent's prompt after its input guardrails have judged, replaced or left out texts with an origin."""
    if not judges_questions(agent):
        return assembled
    hooks = Hooks(context, agent, task_id)
    changes_by_piece: list[_Changes] = await gather_each(
        _divide_by_origin(assembled.prompts), partial(_judge_piece, hooks), at_once=AT_ONCE
    )
    changes = {key: prompt for piece_changes in changes_by_piece for key, prompt in piece_changes.items()}
    return _apply_changes(changes, assembled) if changes else assembled


async def judge_tools(context: Attempt, agent: AgentDefinition, client: ClientOffer | None) -> ClientOffer | None:
    """Return the application's offer with the tools whose name, description and schema the guardrails allow unchanged.

    If they allow every tool alone, but not all together, the offer has no tools. Return None without an offer.
    """
    if client is None or not client.tools or not agent.client_tools or not judges_questions(agent):
        return client
    hooks = Hooks(context, agent)
    texts = [
        f"{tool.name}: {tool.description}\n{json.dumps(tool.parameters, ensure_ascii=False)}" for tool in client.tools
    ]
    joined_text = "\n".join(texts)
    if await hooks.judge_other(joined_text, Origin.PAGE) == joined_text:
        return client
    judged_texts = await gather_each(texts, partial(hooks.judge_other, origin=Origin.PAGE), at_once=AT_ONCE)
    allowed_tools = [
        tool for tool, text, new_text in zip(client.tools, texts, judged_texts, strict=True) if new_text == text
    ]
    return replace(client, tools=tuple(allowed_tools) if len(allowed_tools) < len(texts) else ())


async def judge_outcome(hooks: Hooks | None, outcome: CallOutcome) -> CallOutcome:
    """Judge the outcome of a call that a person has refused, or that the user's application has carried out.

    Return the outcome with the text that the input guardrails allow.
    """
    is_own = outcome.is_refused and COMMENT not in outcome.output  # the text is Baton's, without a comment
    if is_own or hooks is None or not hooks.has(HookPoint.INPUT_GUARDRAIL):
        return outcome
    judged_text = await hooks.judge_other(outcome.output, Origin.PAGE)
    if judged_text is None and outcome.is_refused:
        return CallOutcome.refused(outcome.output.partition(COMMENT)[0])
    if judged_text is None:
        return CallOutcome.refused(NOT_GIVEN)
    return replace(
        outcome, output=judged_text, error=None if outcome.error is None else judged_text.removeprefix("Error: ")
    )


async def _judge_piece(hooks: Hooks, piece: Sequence[Prompt]) -> _Changes:
    """Judge prompts together, and one by one if they are not allowed together. Return the changes.

    All prompts of ``piece`` must have the same origin.
    """
    text, origin = "\n".join(text_of(prompt.content) for prompt in piece), piece[0].origin
    assert origin is not None  # noqa: S101 - ``_divide_by_origin`` selects prompts with an origin
    judged_text = await hooks.judge_other(text, origin)
    if judged_text == text:
        return {}
    if len(piece) == 1:
        [prompt] = piece
        if judged_text is None:
            return {id(prompt): None}
        return {id(prompt): replace(prompt, content=with_text(prompt.content, judged_text), provider_parts=None)}
    changes_by_prompt: list[_Changes] = await gather_each(
        [[prompt] for prompt in piece], partial(_judge_piece, hooks), at_once=AT_ONCE
    )
    changes = {key: prompt for prompt_changes in changes_by_prompt for key, prompt in prompt_changes.items()}
    if changes:
        return changes
    # Each prompt alone is allowed, but the joined text is refused or replaced: one prompt takes the place of all.
    joined_prompt = None if judged_text is None else Prompt(Role.CONTEXT, judged_text)
    return {**dict.fromkeys(map(id, piece)), id(piece[0]): joined_prompt}


def _divide_by_origin(prompts: Sequence[Prompt]) -> Iterator[list[Prompt]]:
    """Yield pieces of prompts of the same origin that are judged together. Prompts without an origin are left out."""
    for origin in Origin:
        piece: list[Prompt] = []
        size = 0
        for prompt in prompts:
            if prompt.origin is origin and (text := text_of(prompt.content)).strip():
                if piece and size + len(text) > MAX_PIECE:
                    yield piece
                    piece, size = [], 0
                piece.append(prompt)
                size += len(text)
        if piece:
            yield piece


def _apply_changes(changes: _Changes, assembled: AssembledContext) -> AssembledContext:
    """Return the prompt with the changes. Items of a block without prompts are noted as left out."""

    def change(prompts: Sequence[Prompt]) -> tuple[Prompt, ...]:
        changed = (changes.get(id(prompt), prompt) for prompt in prompts)
        return tuple(prompt for prompt in changed if prompt is not None)

    def change_block(block: RecalledBlock) -> RecalledBlock:
        prompts = change(block.prompts)
        if prompts == block.prompts:
            return block
        items = block.items if prompts else [replace(item, reason=item.reason or LEFT_OUT) for item in block.items]
        return replace(block, items=tuple(items), prompts=prompts)

    head, end, prompts, recalled = assembled.head, assembled.current_from, assembled.prompts, assembled.recalled
    before, history, tail = change(prompts[:head]), change(prompts[head:end]), change(prompts[end:])
    procedure, episodes = change_block(recalled.procedure), change_block(recalled.episodes)
    return replace(
        assembled,
        prompts=(*before, *history, *tail),
        head=len(before),
        current_from=len(before) + len(history),
        recalled=replace(recalled, procedure=procedure, episodes=episodes),
    )


async def _read_file_texts(context: Attempt, content: Content) -> AsyncIterator[str]:
    """Yield the names of a question's files, the texts of plain documents, and the addresses of linked documents.

    The texts of images, PDF files and archives are not read here.
    """
    for part in () if isinstance(content, str) else content:
        if isinstance(part, TextPart):
            continue
        if name := find_part_name(part):
            yield name
        if isinstance(part, ImagePart):
            continue
        if isinstance(part.source, UrlSource):
            yield part.source.value
            continue
        try:
            data = (
                base64.b64decode(part.source.value)
                if isinstance(part.source, DataSource)
                else await context.files.read(part.source.value)
            )
        except (NotFound, binascii.Error):
            continue  # the model gets a sentence in place of the file
        if not data.startswith(_CONTAINERS):
            text = await off_loop(len(data) * GUESSING, decode_text, data)
            for start, end in split_slices(text, MAX_FILE_PIECE):
                yield text[start:end]
