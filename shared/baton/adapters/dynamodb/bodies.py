"""Bodies of items as packed JSON, stored in the item or, if large, in S3."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from pydantic_core import from_json

from baton.adapters.dynamodb.attributes import Item
from baton.adapters.s3_records import S3Bodies
from baton.domain.errors import StoreUnavailable
from baton.domain.identity import Scope
from baton.domain.times import to_millis

DAMAGED = "Something stored is damaged. Please report this to the operator."

_FORMAT = b"\x03"
"""First byte of every packed value: which dictionary it was packed with. 1 and 2 were those of drafts of the format."""

# Byte sequences that nearly every value holds, most frequent last, as zlib wants it. Never change one: add another.
_RECORDS = (
    b'{"tenant_id":"name":"description":"triggers":["steps":[{"text":"condition":"}],"allowed_tools":["created_by":"'
    b'created_at":17{"tool_call_id":"call_","agent_id":"message":"status":"completed","result":"error":"ended_at":17"'
    b'usage":{"input_tokens":[{"role":"user","content":"timestamp":17"role":"tool","tool_name":"agent_id":"assistant"'
    b',"tool_name":"input":{"output":"succeeded":true,"error_message":null,"duration":0.,"task_id":"'
)
_HANDOFFS = (
    b'{"run_id":"message_id":"answer.","permissions":["first_ordinal":"interrupts":[{"id":"tool_call_id":"call_","too'
    b'l_name":"message":"expires_at":17"answer":{"interrupt_id":"status":"resolved","payload":{"approved":true},"answ'
    b'ered_by":"change":{"conversation":{"agent_id":"handoff":["workflow":{"id":"resumable":[{"id":"agent_id":"skill-'
    b'creation-agent","name":"your new skill","state":"data":{},"thread_id":"version":"updated_at":17"expires_at":17"'
    b'status":"saved"}],"taught_at":17"handoffs":[{"thread_id":"tenant_id":"user_id":"ordinal":"source_agent_id":"ass'
    b'istant","target_agent_id":"skill-creation-agent","context_mode":"summary","context_summary":"recent_messages":['
    b'],"handoff_reason":"trigger: ","started_at":17"number":1"preserve_state":false"return_expected":false"show_tool'
    b'_calls":true"workflow_id":"remote_task_id":"child_thread_id":"outcome":"returned","ended_at":17}],"workflows":['
    b'],"moved_from":"offered_id":"GATHERING_REQUIREMENTS","DEFINING_TRIGGERS","Defining Triggers","GENERATING_SKILL"'
    b',"TESTING","COMPLETE"{"type":"ACTIVITY_SNAPSHOT","messageId":"activityType":"handoff","return","content":{"from'
    b'":"assistant","to":"skill-creation-agent","label":"Connecting you with Skill Creation Assistant...","reason":"t'
    b'rigger: },"replace":true},{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/activeAgent","value":{"id":"s'
    b'kill-creation-agent","name":"Skill Creation Assistant","description":"Builds custom skills through conversation'
    b'.","avatarUrl":null,"isMain":false}}]},{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/workflow","value'
    b'":{"id":"name":"your {name} skill","state":"GATHERING_REQUIREMENTS","label":"Gathering Requirements","step":1,"'
    b'steps":5,"canExit":true}}]},{"type":"STEP_FINISHED","stepName":"GATHERING_REQUIREMENTS"},"op":"replace","path":'
    b'"/resumable","value":'
)
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
_MESSAGES = (
    b'"status":"cancelled","is_cut":true,"is_handoff_summary":true,"is_tool_result":true,"source":"sources":[{'
    b'"role":"tool","content":"tool_name":"tool_call_id":"call_","call_end":"failed"refused","attempt":2'
    b',"tool_calls":[{"id":"call_","name":"arguments":"{\\"}],"tail_seq":"first_seq":"error_code":"error_detail":'
    b'"interrupts":"parent_run_id":}}{"role":"user","content":"{"role":"assistant","content":"","timestamp":17'
    b',"agent_id":"assistant","agent_name":"Assistant","end":{"outcome":"success","usage":{"input_tokens":'
    b',"output_tokens":},"model":"tail":[{"type":"TEXT_MESSAGE_CONTENT","messageId":"'
)
_DICTIONARY = _RECORDS + _HANDOFFS + _MESSAGES + _EVENTS


def pack(value: Any) -> bytes:
    """JSON, compressed. Halves of surrogate pairs, which tools and models may write, become ``U+FFFD``."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain)
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        raw = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
    deflate = zlib.compressobj(level=6, wbits=-15, zdict=_DICTIONARY)
    return _FORMAT + deflate.compress(raw) + deflate.flush()


def unpack(packed: bytes) -> Any:
    """Read what ``pack`` wrote; see ``unpack_sized``."""
    return unpack_sized(packed)[0]


def unpack_sized(packed: bytes) -> tuple[Any, int]:
    """Return what ``pack`` wrote, and its size as JSON in bytes.

    Raises ``ValueError`` for a format this version does not know, ``StoreUnavailable`` for damaged bytes.
    """
    if packed[:1] != _FORMAT:
        raise ValueError(f"unknown packing format {packed[:1]!r}: written by another version of Baton")
    inflate = zlib.decompressobj(wbits=-15, zdict=_DICTIONARY)
    try:
        raw = inflate.decompress(packed[1:]) + inflate.flush()
        try:
            return from_json(raw), len(raw)
        except ValueError:
            return json.loads(raw), len(raw)  # slower, but takes what is nested more than 200 deep
    except (zlib.error, ValueError) as error:
        raise StoreUnavailable(DAMAGED) from error


def _plain(value: Any) -> Any:
    """Return what JSON has no form for.

    Times become whole milliseconds, days ISO 8601, durations seconds to the millisecond.
    """
    match value:
        case datetime():
            return to_millis(value)
        case date():
            return value.isoformat()
        case timedelta():
            return value // timedelta(milliseconds=1) / 1000
        case Mapping():
            return dict(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


MAX_INLINE = 300 * 1024
"""Bytes of packed bodies in an item. DynamoDB's limit of a whole item is 400 KB."""


@dataclass(frozen=True, slots=True)
class ItemBodies:
    """Packed bodies of the items of threads."""

    s3: S3Bodies

    async def kept(
        self, scope: Scope, thread_id: str, packed: bytes, *, name: str = "body", room: int = MAX_INLINE
    ) -> Item:
        """Return the attribute for ``packed``: the bytes, or their checksum in S3 if they exceed ``room``."""
        if len(packed) > room:
            return {f"{name}_sha256": await self.s3.put(scope, thread_id, packed)}
        return {name: packed}

    def is_inline(self, item: Item, *, name: str = "body") -> bool:
        """Whether the item itself has what ``kept`` kept."""
        return name in item

    async def read(self, scope: Scope, thread_id: str, item: Item, *, name: str = "body") -> bytes:
        """Read the body of an item. Raises ``StoreUnavailable`` if it is damaged."""
        if self.is_inline(item, name=name):
            packed: bytes = item[name]
            return packed
        return await self.s3.get(scope, thread_id, item[f"{name}_sha256"])
