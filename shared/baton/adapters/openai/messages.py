"""Convert prompts to messages of Chat Completions.

Images become ``image_url`` parts, text documents become text with their name, other documents ``file`` parts. Tools
become functions.
"""

from __future__ import annotations

import asyncio
import base64
import codecs
import json
import mimetypes
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ag_ui.core import DataSource, DocumentPart, ImagePart, TextPart, UrlSource
from openai.types.chat import (
    ChatCompletionAssistantMessageParam,
    ChatCompletionContentPartParam,
    ChatCompletionFunctionToolParam,
    ChatCompletionMessageFunctionToolCallParam,
    ChatCompletionMessageParam,
    ChatCompletionSystemMessageParam,
    ChatCompletionToolMessageParam,
    ChatCompletionUserMessageParam,
)

from baton.domain.content import part_name
from baton.domain.errors import NotFound
from baton.domain.message import Content, Part, Role
from baton.domain.tool_call import ToolCall
from baton.ports.chat_model import Prompt, ToolSpec
from baton.ports.files import ThreadFiles

MAX_INLINED_CHARACTERS = 200_000
"""Characters of one document (about 50,000 tokens). A note tells the model if the rest was cut."""
MAX_METADATA_PAIRS = 16
MAX_METADATA_NAME = 64
"""Characters, as for ``MAX_METADATA_VALUE``. OpenAI refuses a request that exceeds one of the three limits."""
MAX_METADATA_VALUE = 512

_TEXT_TYPES = re.compile(
    r"text/.+|application/(.+\+)?(json|xml|yaml)"
    r"|application/(csv|javascript|markdown|rtf|sql|toml|x-ndjson|x-sh|x-yaml|typescript|x-javascript)"
)
_IMAGE_MAGIC = (
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
)


async def wire_messages(prompts: Sequence[Prompt], files: ThreadFiles) -> list[ChatCompletionMessageParam]:
    """Return the request's messages, including the uploads that they refer to.

    A missing upload becomes a sentence that says so, because it must not fail every later turn. Raises the errors of
    ``files`` except ``NotFound``.
    """
    return list(await asyncio.gather(*(_message(prompt, files) for prompt in prompts)))


def wire_tools(tools: Sequence[ToolSpec]) -> list[ChatCompletionFunctionToolParam]:
    """Return the request's tools. The keys of their schemas are sorted, because some tool servers change the order."""
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": _sorted(tool.parameters)},
        }
        for tool in tools
    ]


def wire_metadata(values: Mapping[str, Any]) -> dict[str, str]:
    """The request's metadata within OpenAI's limits: values that are no text as JSON, each cut at its limit."""
    told = {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in values.items()
    }
    fitting = [(name, value) for name, value in told.items() if len(name) <= MAX_METADATA_NAME]
    return {name: value[:MAX_METADATA_VALUE] for name, value in fitting[:MAX_METADATA_PAIRS]}


def _sorted(schema: Any) -> Any:
    """Return a JSON Schema with the keys of all its objects in order."""
    if isinstance(schema, Mapping):
        return {key: _sorted(schema[key]) for key in sorted(schema)}
    return [_sorted(each) for each in schema] if isinstance(schema, list | tuple) else schema


async def _message(prompt: Prompt, files: ThreadFiles) -> ChatCompletionMessageParam:
    if prompt.role in (Role.SYSTEM, Role.CONTEXT):
        return ChatCompletionSystemMessageParam(role="system", content=_text(prompt.content))
    if prompt.role is Role.ASSISTANT:
        return _answer(prompt)
    if prompt.role is Role.TOOL and prompt.tool_call_id:
        return ChatCompletionToolMessageParam(
            role="tool", tool_call_id=prompt.tool_call_id, content=_text(prompt.content)
        )
    # A tool's output without its call is sent as a user's message.
    question = ChatCompletionUserMessageParam(role="user", content=await _user_content(prompt.content, files))
    if prompt.name:
        question["name"] = _name(prompt.name)
    return question


def _answer(prompt: Prompt) -> ChatCompletionAssistantMessageParam:
    answer = ChatCompletionAssistantMessageParam(role="assistant", content=_text(prompt.content))
    if prompt.name:
        answer["name"] = _name(prompt.name)
    if prompt.tool_calls:
        # Some endpoints reject empty text; OpenAI uses null for messages with calls.
        answer["content"] = answer["content"] or None
        answer["tool_calls"] = [_tool_call(call) for call in prompt.tool_calls]
    return answer


def _tool_call(call: ToolCall) -> ChatCompletionMessageFunctionToolCallParam:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _arguments(call)}}


def _arguments(call: ToolCall) -> str:
    """Return valid JSON arguments. Some endpoints parse them and would reject every request with a malformed call."""
    if call.parsed() is not None:
        return call.arguments
    return json.dumps({"malformed": call.arguments}, ensure_ascii=False)


def _text(content: Content) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.text for part in content if isinstance(part, TextPart))


def _name(name: str) -> str:
    # OpenAI accepts names of up to 64 letters, digits, _ and - only.
    return re.sub(r"[^a-zA-Z0-9_-]+", "_", name)[:64]


async def _user_content(content: Content, files: ThreadFiles) -> str | list[ChatCompletionContentPartParam]:
    if isinstance(content, str):
        return content
    parts = [await _part(part, files) for part in content]
    texts = [part["text"] for part in parts if part["type"] == "text"]
    # Some servers accept plain strings only, so a list is sent only if it is needed.
    return "\n\n".join(texts) if len(texts) == len(parts) else parts


async def _part(part: Part, files: ThreadFiles) -> ChatCompletionContentPartParam:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    if isinstance(part.source, UrlSource):
        return _linked(part, part.source.value)
    name = part_name(part)
    try:
        attachment = await _attachment(part, name, files)
    except NotFound:
        kind = "image" if isinstance(part, ImagePart) else "document"
        return {"type": "text", "text": f"[The {kind} {name or 'that was announced'} has not been uploaded.]"}
    if isinstance(part, ImagePart):
        return {"type": "image_url", "image_url": {"url": attachment.data_url}}
    if _TEXT_TYPES.fullmatch(attachment.mime_type):
        return {"type": "text", "text": _inlined(attachment)}
    return {"type": "file", "file": {"filename": attachment.name, "file_data": attachment.data_url}}


def _linked(part: ImagePart | DocumentPart, url: str) -> ChatCompletionContentPartParam:
    if isinstance(part, ImagePart):
        return {"type": "image_url", "image_url": {"url": url}}
    # Chat Completions accepts no document by URL, and fetching a caller's URL here would expose our network.
    name = part_name(part)
    return {"type": "text", "text": f"[Document{f' {name}' if name else ''} at {url}]"}


@dataclass(frozen=True, slots=True)
class _Attachment:
    name: str
    mime_type: str
    data: bytes

    @property
    def data_url(self) -> str:
        return f"data:{self.mime_type};base64,{base64.b64encode(self.data).decode()}"


async def _attachment(part: ImagePart | DocumentPart, name: str | None, files: ThreadFiles) -> _Attachment:
    source = part.source
    if isinstance(source, DataSource):
        data = base64.b64decode(source.value)
    else:
        data = await files.read(source.value)
    mime_type = (source.mime_type or "").lower()
    if not mime_type or mime_type == "application/octet-stream":
        mime_type = _guessed_type(part, name, data)
    if name is None:
        name = f"{'image' if isinstance(part, ImagePart) else 'document'}{mimetypes.guess_extension(mime_type) or ''}"
    return _Attachment(name, mime_type, data)


def _guessed_type(part: ImagePart | DocumentPart, name: str | None, data: bytes) -> str:
    if isinstance(part, ImagePart):
        return next((mime for magic, mime in _IMAGE_MAGIC if data.startswith(magic)), "image/png")
    return (mimetypes.guess_type(name)[0] if name else None) or "application/octet-stream"


def _inlined(attachment: _Attachment) -> str:
    encoding = "utf-16" if attachment.data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    text = attachment.data.decode(encoding, "replace").replace("\x00", "\ufffd")
    if len(text) > MAX_INLINED_CHARACTERS:
        text = f"{text[:MAX_INLINED_CHARACTERS]}\n[cut: the document has {len(text)} characters]"
    return (
        f'<document name="{attachment.name}" type="{attachment.mime_type}" bytes="{len(attachment.data)}">\n'
        f"{text}\n</document>"
    )
