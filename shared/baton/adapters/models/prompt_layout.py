"""Lay out the prompts of a request as the model's profile asks: places of system messages, roles, ids, parts."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from baton.adapters.models.attachments.content import LaidMessage, Piece
from baton.adapters.models.profiles.profile import ModelProfile, SystemPlace
from baton.domain.runs.provider_parts import ProviderParts, Replay
from baton.domain.runs.tool_call import ToolCall
from baton.domain.text import replace_surrogates
from baton.domain.threads.content import text_of
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import QUOTED_CONTEXT, Prompt

NOTE = "<system-note>\n{text}\n</system-note>"
"""The form of a system message for a model that takes it only as text of the user."""
BEGINNING = "[The conversation begins before this message.]"
"""The user's first message for models that need one, if the history begins with an answer."""
BETWEEN = "Noted."
"""The assistant's message between a tool's result and the user's text, for templates that need one."""
_FRAME_TAG = re.compile(r"<(/?)(system-note|quoted-context)", re.IGNORECASE)
_SPECIAL = re.compile(r"<(?=\|[a-zA-Z0-9_]{1,40}\|>)|<(?=(?:start|end)_of_turn>)|\[(?=/?INST\])|<(?=<SYS>>)|<(?=/?s>)")
_JOINER = "\u200d"


@dataclass(frozen=True, slots=True)
class PromptLayout:
    """The layout of one request's prompts."""

    profile: ModelProfile
    origin: str
    """The provider and model of the request. Only the parts of answers by this model are sent back."""
    sends_parts: bool = True
    """Whether opaque parts of earlier answers are sent back."""
    calls_as_text: bool = False
    """Whether calls and their results are written as text, because the request declares no tools."""


def lay_out(prompts: Sequence[Prompt], pieces: Sequence[tuple[Piece, ...]], layout: PromptLayout) -> list[LaidMessage]:
    """Return the messages of a request as its profile asks. ``pieces`` has the content of each prompt, in order."""
    profile = layout.profile
    last_question = max((position for position, prompt in enumerate(prompts) if prompt.role is Role.USER), default=-1)
    head = next((position for position, prompt in enumerate(prompts) if prompt.role is not Role.SYSTEM), len(prompts))
    laid = [
        replace(
            _lay_out_message(
                prompt, pieces[position], layout, is_head=position < head, is_current=position > last_question
            ),
            ends_prefix=prompt.ends_prefix,
        )
        for position, prompt in enumerate(prompts)
    ]
    if layout.calls_as_text:
        laid = with_calls_as_text(laid)
    elif profile.calls_need_parts:  # calls that the model has not signed are refused
        laid = with_calls_as_text(laid, [message for message in laid if not _has_signed_calls(message)])
    laid = _without_blanks(laid)
    if profile.call_ids is not None:
        laid = _with_ids(laid, profile.call_ids)
    if profile.system in (SystemPlace.FIRST, SystemPlace.USER):
        laid = _with_one_system(laid, profile.system)
    if profile.alternates or profile.system in (SystemPlace.FIRST, SystemPlace.USER):
        laid = _join_neighbours(laid, joins_answers=profile.alternates)
    if profile.user_first:
        laid = _with_user_first(laid)
    return laid if profile.user_after_tool else _with_answers_after_tools(laid)


def _lay_out_message(
    prompt: Prompt, pieces: tuple[Piece, ...], layout: PromptLayout, *, is_head: bool, is_current: bool
) -> LaidMessage:
    profile = layout.profile
    if prompt.role is Role.SYSTEM:
        text = replace_surrogates(text_of(prompt.content))
        if is_head or profile.system is SystemPlace.ANYWHERE:
            return LaidMessage(Role.SYSTEM, (text,))
        return LaidMessage(Role.USER, (NOTE.format(text=text),))
    if prompt.role is Role.ASSISTANT:
        # Malformed arguments are sent back as an object, for which no signature is valid.
        is_changed = any(call.parse_arguments() is None for call in prompt.tool_calls)
        parts = None if is_changed else _select_own_parts(prompt.provider_parts, layout, is_current=is_current)
        return LaidMessage(
            Role.ASSISTANT,
            (replace_surrogates(text_of(prompt.content)),),
            calls=tuple(replace(call, arguments=replace_surrogates(call.arguments)) for call in prompt.tool_calls),
            parts=parts,
        )
    neutral_pieces = tuple(_neutralise(piece, profile) for piece in pieces)
    text = "\n".join(piece for piece in neutral_pieces if isinstance(piece, str))
    if prompt.role is Role.CONTEXT:
        return LaidMessage(Role.USER, (QUOTED_CONTEXT.format(text=text),))
    if prompt.role is Role.TOOL and prompt.tool_call_id:
        is_error = text.startswith("Error:")
        return LaidMessage(Role.TOOL, (text or "(no output)",), call_id=prompt.tool_call_id, is_error=is_error)
    return LaidMessage(Role.USER, neutral_pieces)  # a message of the user, or a result without its call


def _select_own_parts(parts: ProviderParts | None, layout: PromptLayout, *, is_current: bool) -> ProviderParts | None:
    """Return the opaque parts of an earlier answer that this request sends back to the model; None if it sends none."""
    if parts is None or not layout.sends_parts or parts.origin != layout.origin:
        return None
    names = layout.profile.replayed_fields
    own = tuple({"fields": part["withheld"]} if "withheld" in part else part for part in parts.parts)
    own = tuple(part for part in own if "call" in part or "fields" not in part or part["fields"].keys() & names)
    if layout.profile.replay is not Replay.ALWAYS and not is_current:
        # Of earlier turns, only the parts of calls are sent: their signatures are valid at any position.
        own = tuple(part for part in own if "call" in part or "text" in part)
    return replace(parts, parts=own) if any(part.keys() - {"text", "call"} for part in own) else None


def _neutralise(piece: Piece, profile: ModelProfile) -> Piece:
    """Change a text of users or tools so that it cannot imitate a note, the end of a quotation, or a turn."""
    if not isinstance(piece, str):
        return piece
    piece = replace_surrogates(piece)  # without lone surrogates, which no request can hold
    piece = _FRAME_TAG.sub(rf"<{_JOINER}\1\2", piece)
    if profile.breaks_special_tokens:
        piece = _SPECIAL.sub(lambda match: match[0] + _JOINER, piece)
    return piece


def _has_signed_calls(message: LaidMessage) -> bool:
    return message.parts is not None and any("call" in part for part in message.parts.parts)


def with_calls_as_text(
    laid: Sequence[LaidMessage], foreign_messages: Sequence[LaidMessage] | None = None
) -> list[LaidMessage]:
    """Write the calls of ``foreign_messages`` and their results as text; with None, all calls and results."""
    messages_with_foreign = laid if foreign_messages is None else foreign_messages
    foreign = {call.id: call for message in messages_with_foreign for call in message.calls}
    messages: list[LaidMessage] = []
    for message in laid:
        if message.role is Role.TOOL and message.call_id in foreign:
            call = foreign[message.call_id or ""]
            messages.append(LaidMessage(Role.USER, (f"[Result of {call.name}: {message.text}]",)))
        elif message.calls and message.calls[0].id in foreign:
            sentences = "\n".join(f"[Called {call.name} with {call.arguments}.]" for call in message.calls)
            texts = tuple(piece for piece in (*message.pieces, sentences) if piece)
            messages.append(replace(message, pieces=texts, calls=(), parts=None))
        else:
            messages.append(message)
    return messages


def _without_blanks(laid: Sequence[LaidMessage]) -> list[LaidMessage]:
    """Leave out blank text, and messages that hold nothing else: many models refuse both."""
    messages: list[LaidMessage] = []
    for message in laid:
        pieces = tuple(piece for piece in message.pieces if not isinstance(piece, str) or piece.strip())
        if pieces or message.calls or message.role is Role.TOOL:
            is_whole = len(pieces) == len(message.pieces)
            messages.append(message if is_whole else replace(message, pieces=pieces))
    return messages


def _with_ids(laid: Sequence[LaidMessage], pattern: str) -> list[LaidMessage]:
    """Replace the ids of calls that the model does not take. A call and its result get the same new id."""

    def fit_id(call_id: str) -> str:
        if re.fullmatch(pattern, call_id):
            return call_id
        digest = hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()
        return digest[:9] if re.fullmatch(pattern, digest[:9]) else f"call_{digest[:24]}"

    return [
        replace(
            message,
            calls=tuple(replace(call, id=fit_id(call.id)) for call in message.calls),
            call_id=fit_id(message.call_id) if message.call_id is not None else None,
        )
        for message in laid
    ]


def _with_one_system(laid: Sequence[LaidMessage], system_place: SystemPlace) -> list[LaidMessage]:
    """Join the system messages into one. For ``SystemPlace.USER`` it becomes a note of the user before all messages."""
    head = [message for message in laid if message.role is Role.SYSTEM]
    rest = [message for message in laid if message.role is not Role.SYSTEM]
    if not head:
        return rest
    text = "\n\n".join(message.text for message in head)
    if system_place is SystemPlace.FIRST:
        return [LaidMessage(Role.SYSTEM, (text,), ends_prefix=any(message.ends_prefix for message in head)), *rest]
    return [LaidMessage(Role.USER, (NOTE.format(text=text),)), *rest]


def _join_neighbours(laid: Sequence[LaidMessage], *, joins_answers: bool) -> list[LaidMessage]:
    """Join neighbouring messages of the user, and if ``joins_answers`` those of the assistant."""
    roles = (Role.USER, Role.ASSISTANT) if joins_answers else (Role.USER,)
    joined: list[LaidMessage] = []
    for message in laid:
        last = joined[-1] if joined else None
        # An answer with calls is not joined with the next one, even if the results between them are missing.
        if last is None or last.role is not message.role or message.role not in roles or last.calls:
            joined.append(message)
            continue
        joined[-1] = replace(
            last,
            pieces=(*last.pieces, *message.pieces),
            calls=message.calls,
            parts=None if last.text else message.parts,
            ends_prefix=message.ends_prefix,
        )
    return joined


def _with_user_first(laid: Sequence[LaidMessage]) -> list[LaidMessage]:
    """Put a message of the user after the first messages of the system, unless they are followed by one already."""
    first = next((position for position, message in enumerate(laid) if message.role is not Role.SYSTEM), len(laid))
    if first < len(laid) and laid[first].role is Role.USER:
        return list(laid)
    return [*laid[:first], LaidMessage(Role.USER, (BEGINNING,)), *laid[first:]]


def _with_answers_after_tools(laid: Sequence[LaidMessage]) -> list[LaidMessage]:
    """Put a short message of the assistant between a tool's result and text of the user."""
    messages: list[LaidMessage] = []
    for message in laid:
        if messages and messages[-1].role is Role.TOOL and message.role is Role.USER:
            messages.append(LaidMessage(Role.ASSISTANT, (BETWEEN,)))
        messages.append(message)
    return messages


def parse_arguments(call: ToolCall) -> dict[str, object]:
    """Return the arguments of a call as an object. Malformed arguments are its member ``malformed``."""
    parsed = call.parse_arguments()
    return parsed if parsed is not None else {"malformed": call.arguments}


def write_arguments(call: ToolCall) -> str:
    """Return the arguments of a call as valid JSON, malformed ones in the member ``malformed``.

    Some endpoints parse the arguments, and would reject every request with a malformed call.
    """
    if call.parse_arguments() is not None:
        return call.arguments
    return json.dumps({"malformed": call.arguments}, ensure_ascii=False)
