"""Messages and events as compact bytes: compressed text is what write units are paid for."""

from __future__ import annotations

import json
import zlib
from typing import Any

from baton.adapters.dynamodb.conversation_json import (
    change_as_json,
    change_from_json,
    conversation_as_json,
    conversation_from_json,
)
from baton.domain.content import content_as_json, content_from_json
from baton.domain.conversation_state import ConversationState
from baton.domain.interrupt import AnswerStatus, Interrupt, InterruptAnswer, PendingInterrupts
from baton.domain.message import MessageStatus, OutcomeType, Role, RunEnd, StoredMessage
from baton.domain.times import from_millis, to_millis
from baton.domain.tool_call import CallEnd, ToolCall
from baton.domain.usage import Usage

_FIRST, _FORMAT = b"\x01", b"\x02"
"""First byte of every packed value: which of the dictionaries below it was packed with. New ones have the last."""

# Byte sequences that nearly every value holds, most frequent last, as zlib wants it. Never change one: add another.
_EVENTS = (
    b'"type":"RUN_ERROR","message":"code":"retryable":"type":"CUSTOM","name":"value":"STEP_STARTED","stepName":'
    b'"type":"STATE_SNAPSHOT","snapshot":{"activeAgent":{"id":"assistant","name":"Assistant","description":'
    b'"avatarUrl":null,"isMain":true},"workflow":null,"resumable":[],"status":"active"}},'
    b'"type":"RUN_FINISHED","threadId":"runId":"outcome":{"type":"success"},"usage":[{"model":"inputTokens":'
    b'"outputTokens":"totalTokens":}]},{"type":"RUN_STARTED","threadId":"protocolVersion":"1.0"'
    b'{"type":"TEXT_MESSAGE_START","messageId":"role":"assistant","name":"metadata":{"agentId":"assistant"}},'
    b'{"type":"TEXT_MESSAGE_END","messageId":"metadata":{"sources":[]}},'
    b'{"type":"TEXT_MESSAGE_CONTENT","messageId":"delta":" the , and to of in that is you for with "},'
)
_HANDOFFS = (
    b'{"u":"s":"assistant","t":"m":"summary","c":"r":[],"h":"p":true,"x":true,"v":false,"w":"o":"returned","e":"d":{'
    b'},"v":"u":17"x":17"t":"active"}]],"m":null,"o":null},"f":{"h":["w":["a":"skill-creation-agent","n":"your new s'
    b'kill","s":"GATHERING_REQUIREMENTS","DEFINING_TRIGGERS","Defining Triggers","GENERATING_SKILL","TESTING","COMPL'
    b'ETE"{"type":"ACTIVITY_SNAPSHOT","messageId":"activityType":"handoff","return","content":{"from":"assistant","t'
    b'o":"skill-creation-agent","label":"Connecting you with Skill Creation Assistant...","reason":"trigger: },"repl'
    b'ace":true},{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/activeAgent","value":{"id":"skill-creation-'
    b'agent","name":"Skill Creation Assistant","description":"Builds custom skills through conversation.","avatarUrl'
    b'":null,"isMain":false}}]},{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/workflow","value":{"id":"nam'
    b'e":"your {name} skill","state":"GATHERING_REQUIREMENTS","label":"Gathering Requirements","step":1,"steps":5,"c'
    b'anExit":true}}]},{"type":"STEP_FINISHED","stepName":"GATHERING_REQUIREMENTS"},"op":"replace","path":"/resumabl'
    b'e","value":'
)
_DICTIONARIES = {_FIRST: _EVENTS, _FORMAT: _HANDOFFS + _EVENTS}


def pack(value: Any) -> bytes:
    """JSON, compressed. Halves of surrogate pairs, which tools and models may write, become ``U+FFFD``."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        raw = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
    deflate = zlib.compressobj(level=6, wbits=-15, zdict=_DICTIONARIES[_FORMAT])
    return _FORMAT + deflate.compress(raw) + deflate.flush()


def unpack(packed: bytes) -> Any:
    """Read what ``pack`` wrote. Raises ``ValueError`` for a format this version does not know."""
    dictionary = _DICTIONARIES.get(packed[:1])
    if dictionary is None:
        raise ValueError(f"unknown packing format {packed[:1]!r}: written by a newer version of Baton")
    inflate = zlib.decompressobj(wbits=-15, zdict=dictionary)
    return json.loads(inflate.decompress(packed[1:]) + inflate.flush())


def pack_message(message: StoredMessage) -> bytes:
    """Everything of a message that no key or condition needs. Fields at their defaults are left out."""
    body: dict[str, Any] = {
        "r": message.role.value,
        "c": content_as_json(message.content),
        "t": to_millis(message.timestamp),
        "s": message.status.value if message.status is not MessageStatus.COMPLETE else None,
        "l": message.is_cut or None,
        "a": message.agent_id,
        "n": message.agent_name,
        "h": message.is_handoff_summary or None,
        "tr": message.is_tool_result or None,
        "tn": message.tool_name,
        "o": message.source,
        "so": list(message.sources) or None,
        "tc": [[call.id, call.name, call.arguments] for call in message.tool_calls] or None,
        "ti": message.tool_call_id,
        "te": message.call_end.value if message.call_end is not CallEnd.SUCCEEDED else None,
        "at": message.attempt if message.attempt != 1 else None,
        "e": _end_as_json(message.end) if message.end else None,
    }
    return pack({key: value for key, value in body.items() if value is not None})


def unpack_message(
    packed: bytes, *, message_id: str, ordinal: int, run_id: str, tokens: int, fence: int = 0
) -> StoredMessage:
    """Return the message whose keyed attributes are given and whose rest was packed."""
    body = unpack(packed)
    end = body.get("e")
    return StoredMessage(
        id=message_id,
        role=Role(body["r"]),
        content=content_from_json(body["c"]),
        ordinal=ordinal,
        run_id=run_id,
        timestamp=from_millis(body["t"]),
        tokens=tokens,
        status=MessageStatus(body.get("s", MessageStatus.COMPLETE.value)),
        is_cut=body.get("l", False),
        agent_id=body.get("a"),
        agent_name=body.get("n"),
        is_handoff_summary=body.get("h", False),
        is_tool_result=body.get("tr", False),
        tool_name=body.get("tn"),
        source=body.get("o"),
        sources=tuple(body.get("so", ())),
        tool_calls=tuple(ToolCall(*call) for call in body.get("tc", ())),
        tool_call_id=body.get("ti"),
        call_end=CallEnd(body.get("te", CallEnd.SUCCEEDED.value)),
        attempt=body.get("at", 1),
        fence=fence,
        end=_end_from_json(end) if end is not None else None,
    )


def pack_pending(pending: PendingInterrupts) -> bytes:
    """What a thread waits for, as one attribute of its item."""
    return pack(
        {
            "r": pending.run_id,
            "m": pending.message_id,
            "a": pending.agent_id,
            "p": list(pending.permissions),
            "f": pending.first_ordinal,
            "i": [interrupt_as_json(interrupt) for interrupt in pending.interrupts],
        }
    )


def unpack_pending(packed: bytes) -> PendingInterrupts:
    """Read what ``pack_pending`` wrote."""
    body = unpack(packed)
    return PendingInterrupts(
        run_id=body["r"],
        message_id=body["m"],
        agent_id=body["a"],
        permissions=tuple(body["p"]),
        first_ordinal=body["f"],
        interrupts=tuple(interrupt_from_json(interrupt) for interrupt in body["i"]),
    )


def pack_conversation(conversation: ConversationState) -> bytes | None:
    """Pack the conversation state, without its active agent, into one attribute; None if there is nothing to keep."""
    body = conversation_as_json(conversation)
    return pack(body) if body else None


def unpack_conversation(agent_id: str, packed: bytes | None) -> ConversationState:
    """Read what ``pack_conversation`` wrote."""
    return conversation_from_json(agent_id, unpack(packed)) if packed is not None else ConversationState(agent_id)


def interrupt_as_json(interrupt: Interrupt) -> dict[str, Any]:
    """Return an interrupt, with its answer if it has one."""
    answer = interrupt.answer
    return {
        "i": interrupt.id,
        "c": interrupt.tool_call_id,
        "n": interrupt.tool_name,
        "m": interrupt.message,
        "x": to_millis(interrupt.expires_at),
        "a": [answer.status.value, answer.payload, answer.answered_by] if answer else None,
    }


def interrupt_from_json(body: dict[str, Any]) -> Interrupt:
    """Read what ``interrupt_as_json`` made."""
    answer = body["a"]
    return Interrupt(
        id=body["i"],
        tool_call_id=body["c"],
        tool_name=body["n"],
        message=body["m"],
        expires_at=from_millis(body["x"]),
        answer=InterruptAnswer(body["i"], AnswerStatus(answer[0]), *answer[1:]) if answer else None,
    )


def _end_as_json(end: RunEnd) -> dict[str, Any]:
    body = {
        "o": end.outcome.value,
        "u": [end.usage.input_tokens, end.usage.output_tokens],
        "m": end.model,
        "c": end.error_code,
        "d": end.error_detail,
        "q": end.tail_seq or None,
        "f": end.first_seq or None,
        "l": list(end.tail) or None,
        "i": [interrupt_as_json(interrupt) for interrupt in end.interrupts] or None,
        "p": end.parent_run_id,
        "w": change_as_json(end.change) if end.change is not None else None,
    }
    return {key: value for key, value in body.items() if value is not None}


def _end_from_json(body: dict[str, Any]) -> RunEnd:
    return RunEnd(
        outcome=OutcomeType(body["o"]),
        usage=Usage(*body["u"]),
        model=body.get("m"),
        error_code=body.get("c"),
        error_detail=body.get("d"),
        tail=tuple(body.get("l", ())),
        tail_seq=body.get("q", 0),
        first_seq=body.get("f", 0),
        interrupts=tuple(interrupt_from_json(interrupt) for interrupt in body.get("i", ())),
        parent_run_id=body.get("p"),
        change=change_from_json(body["w"]) if "w" in body else None,
    )
