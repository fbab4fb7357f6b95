"""The rules of Bedrock and its models for ConverseStream requests, beyond its service model."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from itertools import pairwise

from tests.models.standins.bedrock_families import Family
from tests.models.standins.chat_tool_rules import nodes
from tests.models.standins.question import Json

MAX_IMAGES, MAX_DOCUMENTS = 20, 5
"""In a message."""
MAX_IMAGE_BYTES = int(3.75 * 1024 * 1024)
MAX_DOCUMENT_BYTES = int(4.5 * 1024 * 1024)
MAX_CACHE_POINTS = 4
MAX_STRICT_TOOLS = 20
DOCUMENT_NAME = re.compile(r"(?!.*\s\s)[a-zA-Z0-9\s\-()\[\]]{1,200}")
MAGIC = {"png": b"\x89PNG", "jpeg": b"\xff\xd8\xff", "gif": b"GIF8", "webp": b"RIFF"}
STRICTLY_REFUSED = {"minimum", "maximum", "multipleOf", "exclusiveMinimum", "exclusiveMaximum", "maxItems"}
TEXT_MISSING = "A text block must accompany the documents at messages.{at}.content."
ALONE = "Conversation blocks and tool result blocks cannot be provided in the same turn."
MODEL = "The model returned the following errors: "


def complaints(family: Family, body: Json) -> Iterator[str]:
    """Yield what is wrong, in Bedrock's words."""
    yield from _order(family, body["messages"])
    yield from _blanks(body)
    yield from _tool_blocks(family, body)
    yield from _media(family, body["messages"])
    yield from _settings(family, body)
    yield from _cache_points(family, body)


def uses_cache(body: Json) -> bool:
    """Return whether a request has a cache point."""
    return bool(_points(body))


def _order(family: Family, messages: list[Json]) -> Iterator[str]:
    roles = [message["role"] for message in messages]
    if not roles:
        yield "A conversation must have at least one message."
        return
    if roles[0] != "user" and family.begins_with_user:
        yield (
            "A conversation must start with a user message. Try again with a conversation that starts with a"
            " user message."
        )
    if any(one == other for one, other in pairwise(roles)):
        yield (
            "A conversation must alternate between user and assistant roles. Make sure the conversation"
            " alternates between"
            " user and assistant roles and try again."
        )
    if "system" in roles:
        yield "The model does not support the system role in messages."
    if roles[-1] == "assistant" and not family.prefill:
        yield (
            f"{MODEL}This model does not support assistant message prefill. The conversation must end with a"
            " user message."
        )


def _blanks(body: Json) -> Iterator[str]:
    for at, message in enumerate(body["messages"]):
        if not message["content"]:
            yield f"The content field in the Message object at messages.{at} is empty. Add a ContentBlock object."
        for number, block in enumerate(message["content"]):
            if not block.get("text", "x").strip():
                yield (
                    f"The text field in the ContentBlock object at messages.{at}.content.{number} is blank. Add text to"
                    " the text field, and try again."
                )
    for number, block in enumerate(body.get("system") or ()):
        if not block.get("text", "x").strip():
            yield f"The text field in the SystemContentBlock object at system.{number} is blank."


def _tool_blocks(family: Family, body: Json) -> Iterator[str]:
    messages = body["messages"]
    expected: list[str] = []
    for at, message in enumerate(messages):
        blocks = message["content"]
        results = [block["toolResult"] for block in blocks if "toolResult" in block]
        missing = [item for item in expected if item not in [result["toolUseId"] for result in results]]
        if missing:
            yield f"Expected toolResult blocks at messages.{at}.content for the following Ids: {', '.join(missing)}"
        if len(results) > len(expected) - len(missing):
            yield (
                f"The number of toolResult blocks at messages.{at}.content exceeds the number of toolUse blocks of"
                " previous turn."
            )
        if any("toolResult" not in block for block in blocks[: len(results)]):
            yield f"{MODEL}messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after"
        # Cache points are not content of the conversation.
        if results and family.results_alone and any(not {"toolResult", "cachePoint"} & set(block) for block in blocks):
            yield ALONE
        is_claude = family.name.startswith("claude")
        if results and is_claude and any(set(block) & {"document", "video"} for block in blocks):
            yield f"{MODEL}messages.{at}: documents cannot be provided beside tool results."
        for number, result in enumerate(results):
            yield from _result(family, result, f"messages.{at}.content.{number}")
        expected = [block["toolUse"]["toolUseId"] for block in blocks if "toolUse" in block]
        if expected and message["role"] != "assistant":
            yield "User messages cannot contain tool uses."
        if len(set(expected)) < len(expected):
            yield f"{MODEL}messages.{at}: `tool_use` ids must be unique"
        if any(not isinstance(block["toolUse"]["input"], dict) for block in blocks if "toolUse" in block):
            yield f"The format of the value at messages.{at}.content.0.toolUse.input is invalid. Provide a json object"
    if expected:
        yield f"Expected toolResult blocks at messages.{len(messages)}.content for the following Ids: {expected[0]}"
    uses = any({"toolUse", "toolResult"} & set(block) for message in messages for block in message["content"])
    if uses and not body.get("toolConfig"):
        yield "The toolConfig field must be defined when using toolUse and toolResult content blocks."


def _result(family: Family, result: Json, path: str) -> Iterator[str]:
    content = result["content"]
    if result.get("status") == "error" and not any(item.get("text", "x").strip() for item in content):
        yield f"The content field at {path}.toolResult cannot be empty when status value is error."
    for number, item in enumerate(content):
        if "json" in item and not isinstance(item["json"], dict):
            yield (
                f"The format of the value at {path}.toolResult.content.{number}.json is invalid. Provide a json object"
                " for the field and try again."
            )
        if not set(item) <= family.result_content:
            yield f"This model doesn't support {next(iter(item))} content in tool results."


def _media(family: Family, messages: list[Json]) -> Iterator[str]:
    seen: set[str] = set()
    for at, message in enumerate(messages):
        inside = [item for block in message["content"] for item in block.get("toolResult", {}).get("content", ())]
        blocks = [*message["content"], *inside]
        images = [block["image"] for block in blocks if "image" in block]
        documents = [block["document"] for block in blocks if "document" in block]
        if (images or documents) and message["role"] != "user":
            yield "Assistant messages cannot contain images or documents."
        if images and "image" not in family.media:
            yield (
                "This model doesn't support the image content block that you provided. Choose a model that supports it."
            )
        if documents and "document" not in family.media:
            yield "This model doesn't support documents. Try again without the document content block."
        if len(images) > MAX_IMAGES or len(documents) > MAX_DOCUMENTS:
            yield f"{MODEL}too many images or documents at messages.{at}: {len(images)} and {len(documents)}"
        for image in images:
            data = base64.b64decode(image["source"].get("bytes", ""))
            if len(data) > MAX_IMAGE_BYTES:
                yield f"{MODEL}image exceeds 3.75 MB maximum: {len(data)} bytes"
            if not data.startswith(MAGIC[image["format"]]):
                yield f"{MODEL}Image does not match the provided media type image/{image['format']}"
        for document in documents:
            yield from _document(document, seen)
        if documents and not any("text" in block for block in message["content"]):
            yield TEXT_MISSING.format(at=at)


def _document(document: Json, seen: set[str]) -> Iterator[str]:
    name = document["name"]
    if not DOCUMENT_NAME.fullmatch(name):
        yield (
            "The document file name can only contain alphanumeric characters, whitespace characters, hyphens,"
            " parentheses,"
            " and square brackets. The name can't contain more than one consecutive whitespace character."
        )
    if name in seen:
        yield "Messages can't contain duplicate document names. Rename the documents and try again."
    seen.add(name)
    if len(base64.b64decode(document["source"].get("bytes", ""))) > MAX_DOCUMENT_BYTES:
        yield f"{MODEL}document exceeds 4.5 MB maximum: {name}"


def _settings(family: Family, body: Json) -> Iterator[str]:
    inference = body.get("inferenceConfig") or {}
    for name in ("temperature", "topP"):
        if family.sampling == "none" and name in inference:
            yield f"{MODEL}`{'top_p' if name == 'topP' else name}` is deprecated for this model."
    if family.sampling == "one" and {"temperature", "topP"} <= set(inference):
        yield f"{MODEL}`temperature` and `top_p` cannot both be specified for this model. Please use only one."
    extra = body.get("additionalModelRequestFields") or {}
    for key in sorted(set(extra) - family.keys):
        yield (
            f"Malformed input request: #: extraneous key [{key}] is not permitted, please reformat your input"
            " and try again."
        )
    thinking = extra.get("thinking") or {}
    if thinking and thinking.get("type") not in family.thinking_types:
        kind = f'"thinking.type.{thinking.get("type")}" is not supported for this model.'
        yield f"{MODEL}{kind} Use thinking.type.adaptive and output_config.effort"
    if thinking.get("budget_tokens", 0) >= inference.get("maxTokens", 10**9):
        yield f"{MODEL}`max_tokens` must be greater than `thinking.budget_tokens`."
    choice = (body.get("toolConfig") or {}).get("toolChoice") or {"auto": {}}
    is_forced = "auto" not in choice
    if is_forced and (not family.forced_choice or thinking.get("type") in ("enabled", "adaptive")):
        yield f"{MODEL}Thinking may not be enabled when tool_choice forces tool use."
    if "outputConfig" in body and "textFormat" in body["outputConfig"] and not family.structured:
        yield "This model doesn't support the outputConfig field. Remove outputConfig and try again."
    if body.get("system") and not family.system:
        yield "This model doesn't support system messages. Try again without a system message or use a model that does."
    strict = [tool["toolSpec"] for tool in (body.get("toolConfig") or {}).get("tools") or () if _is_strict(tool)]
    if len(strict) > MAX_STRICT_TOOLS:
        yield f"{MODEL}Too many strict tools ({len(strict)}). The maximum number of strict tools supported is 20."

    yield from _strict_schemas(body, strict)


def _strict_schemas(body: Json, strict: list[Json]) -> Iterator[str]:
    schemas = [spec["inputSchema"]["json"] for spec in strict]
    answer = ((body.get("outputConfig") or {}).get("textFormat") or {}).get("structure")
    if answer:
        try:
            schemas.append(json.loads(answer["jsonSchema"]["schema"]))
        except ValueError:
            yield "The schema field at outputConfig.textFormat.structure.jsonSchema is no valid JSON."
    for node in nodes(schemas):
        if result := sorted(key for key in STRICTLY_REFUSED & set(node) if not isinstance(node[key], dict)):
            yield f"{MODEL}output_config.format.schema: property '{result[0]}' is not supported"
        if node.get("type") == "object" and node.get("additionalProperties") is not False:
            yield (
                f"{MODEL}output_config.format.schema: For 'object' type, 'additionalProperties' must be"
                " explicitly set to false"
            )


def _is_strict(tool: Json) -> bool:
    return bool(tool.get("toolSpec", {}).get("strict"))


def _points(body: Json) -> list[tuple[str, Json, Json | None]]:
    """Return where each cache point is, the point, and the block before it."""
    lists = [("tools", (body.get("toolConfig") or {}).get("tools") or []), ("system", body.get("system") or [])]
    lists += [("messages", message["content"]) for message in body["messages"]]
    return [
        (where, block["cachePoint"], blocks[number - 1] if number else None)
        for where, blocks in lists
        for number, block in enumerate(blocks)
        if "cachePoint" in block
    ]


def _cache_points(family: Family, body: Json) -> Iterator[str]:
    points = _points(body)
    if len(points) > MAX_CACHE_POINTS:
        yield f"{MODEL}A maximum of 4 blocks with cache_control may be provided. Found {len(points)}."
    ttls = [point.get("ttl", "5m") for _, point, _ in points]
    if any(ttl not in family.ttls for ttl in ttls):
        yield f"{MODEL}cache_control.ttl: this model does not support a ttl of 1h"
    if "1h" in ttls and "5m" in ttls[: len(ttls) - ttls[::-1].index("1h")]:
        yield f"{MODEL}a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block."
    for where, _, before in points:
        if before is None or "cachePoint" in before:
            yield f"{MODEL}cachePoint must follow the content that it ends, in {where}"
            continue
        if before.get("document", {}).get("format", "pdf") != "pdf":
            yield f"{MODEL}cachePoint cannot be placed directly after a document that is no PDF"
        if family.cache == "nova" and where == "tools":
            yield "Malformed input request: #/toolConfig/tools/1: extraneous key [cachePoint] is not permitted"
        if family.cache == "nova" and "toolResult" in before:
            yield "Malformed input request: #/messages: extraneous key [cachePoint] is not permitted after toolResult"
