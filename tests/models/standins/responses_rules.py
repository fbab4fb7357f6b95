"""The rules of the Responses API, by models of one endpoint."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.models.standins.chat_tool_rules import MAX_TOOLS, TOOL_NAME, nodes
from tests.models.standins.journal import Refusal
from tests.models.standins.memory import digest
from tests.models.standins.openai_types import RESPONSES, unknown_keys, wrong_type
from tests.models.standins.question import Json

MIN_OUTPUT_TOKENS = 16


@dataclass(frozen=True, slots=True)
class Host:
    """An endpoint of the Responses API. Encrypted reasoning belongs to it."""

    name: str
    reasons: bool = True
    efforts: tuple[str, ...] = ("none", "low", "medium", "high", "xhigh")
    context: int = 400_000
    takes_files: bool = True
    takes_sampling: bool = False
    """True if it takes a temperature while it reasons."""


HOSTS = {
    host.name: host
    for host in (
        Host("openai"),
        Host("openai-astra", efforts=("low", "medium", "high", "xhigh")),
        Host("openai-gpt4", reasons=False),
        Host("azure"),
        Host("mantle"),
        Host("xai", efforts=("low", "medium", "high"), takes_sampling=True),
    )
}


def make_refusal(message: str, param: str | None = None, code: str | None = None, status: int = 400) -> Refusal:
    """Return an error as OpenAI words it."""
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return Refusal(status, {"error": error})


def encrypt(host: str, item_id: str, thinking: str) -> str:
    """Return the encrypted content of a reasoning item: ``thinking`` bound to its host and its id."""
    return "gAAAAA" + digest("encrypted", host, item_id, thinking)


def summary_of(item: Json) -> str:
    """Return the text of a reasoning item's summary."""
    return "".join(part["text"] for part in item["summary"])


def items_of(body: Json) -> list[Json]:
    """Return the input as items."""
    options = body.get("input", [])
    return [{"role": "user", "content": options}] if isinstance(options, str) else options


def complaint(host: Host, body: Any) -> Refusal | None:
    """Return why ``host`` refuses a request."""
    if not isinstance(body, dict):
        return make_refusal("We could not parse the JSON body of your request.")
    return (
        _types(body) or next(_settings(host, body), None) or next(_tools(body), None) or next(_items(host, body), None)
    )


def _types(body: Json) -> Refusal | None:
    if unknown := unknown_keys(RESPONSES, body):
        return make_refusal(f"Unknown parameter: '{unknown[0]}'.", unknown[0], "unknown_parameter")
    if wrong := wrong_type(RESPONSES, {"stream": True, **body}):
        return make_refusal(f"Invalid type for '{wrong[0]}': {wrong[1]}.", wrong[0], "invalid_type")
    return None


def _settings(host: Host, body: Json) -> Iterator[Refusal]:
    if body.get("store") is not False:
        yield make_refusal("Store must be false: this stand-in keeps no responses.", "store", "invalid_value")
    for field in ("previous_response_id", "conversation", "background", "truncation"):
        if body.get(field) not in (None, False, "disabled"):
            yield make_refusal(f"'{field}' needs a stored response, or drops input.", field, "unsupported_parameter")
    effort = (body.get("reasoning") or {}).get("effort")
    if effort is not None and (not host.reasons or effort not in host.efforts):
        supported = ", ".join(f"'{effort}'" for effort in host.efforts)
        yield make_refusal(
            f"Unsupported value: '{effort}' is not supported with this model. Supported values are: {supported}.",
            "reasoning.effort",
            "unsupported_value",
        )
    for field in ("temperature", "top_p", "top_logprobs"):
        if host.reasons and not host.takes_sampling and effort != "none" and body.get(field) is not None:
            yield make_refusal(
                f"Unsupported parameter: '{field}' is not supported with this model.", field, "unsupported_parameter"
            )
    limit = body.get("max_output_tokens")
    if limit is not None and limit < MIN_OUTPUT_TOKENS:
        yield make_refusal(
            "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got"
            f" {limit} instead.",
            "max_output_tokens",
            "integer_below_min_value",
        )
    metadata = body.get("metadata") or {}
    if len(metadata) > 16 or any(len(name) > 64 or len(value) > 512 for name, value in metadata.items()):
        yield make_refusal(
            "Invalid 'metadata': too many properties, or too long ones.", "metadata", "object_above_max_properties"
        )


def _tools(body: Json) -> Iterator[Refusal]:
    tools = [tool for tool in body.get("tools") or () if tool["type"] == "function"]
    if len(tools) > MAX_TOOLS:
        yield make_refusal(f"Invalid 'tools': array too long. Got {len(tools)}.", "tools", "array_above_max_length")
    for at, tool in enumerate(tools):
        path = f"tools[{at}]"
        if not TOOL_NAME.fullmatch(tool["name"]) or tool["name"] in [tool["name"] for tool in tools[:at]]:
            yield make_refusal(
                f"Invalid '{path}.name': string does not match pattern.", f"{path}.name", "invalid_value"
            )
        schema = tool["parameters"] or {}
        if schema.get("type") != "object" or "properties" not in schema or not _fits_strict(schema, tool["strict"]):
            yield make_refusal(
                f"Invalid schema for function '{tool['name']}': In context=(), object schema missing properties.",
                f"{path}.parameters",
                "invalid_function_parameters",
            )
    answer = (body.get("text") or {}).get("format") or {}
    if answer.get("type") == "json_schema" and not _fits_strict(answer["schema"], answer.get("strict")):
        yield make_refusal(
            f"Invalid schema for response_format '{answer['name']}': In context=(), 'additionalProperties' is required"
            " to be supplied and to be false.",
            "text.format.schema",
            "invalid_json_schema",
        )


def _fits_strict(schema: Json, strict: object) -> bool:
    return not strict or all(
        node.get("additionalProperties") is False and set(node.get("required", ())) == set(node.get("properties", ()))
        for node in nodes(schema)
        if node.get("type") == "object"
    )


def _items(host: Host, body: Json) -> Iterator[Refusal]:
    items = items_of(body)
    if not items and not body.get("prompt"):
        yield make_refusal("One of 'input' or 'prompt' must be provided.", "input", "missing_required_parameter")
    open_calls: list[str] = []
    for at, item in enumerate(items):
        kind, path = item.get("type", "message"), f"input[{at}]"
        if kind == "reasoning":
            yield from _reasoning(host, items, at)
        elif kind == "function_call":
            if item["call_id"] in open_calls:
                yield make_refusal(f"Duplicate call_id {item['call_id']}.", path, None)
            open_calls.append(item["call_id"])
        elif kind == "function_call_output":
            if item["call_id"] not in open_calls:
                yield make_refusal(
                    f"No tool call found for function call output with call_id {item['call_id']}.", "input"
                )
                return
            open_calls.remove(item["call_id"])
        elif kind == "message":
            yield from _content(host, item, path)
    if open_calls:
        yield make_refusal(f"No tool output found for function call {open_calls[0]}.", "input")


def _reasoning(host: Host, items: list[Json], at: int) -> Iterator[Refusal]:
    item = items[at]
    following = items[at + 1] if at + 1 < len(items) else {}
    is_output = following.get("type") == "function_call" or following.get("role") == "assistant"
    if not is_output and following.get("type") != "reasoning":
        yield make_refusal(
            f"Item '{item['id']}' of type 'reasoning' was provided without its required following item.", "input"
        )
    content = item.get("encrypted_content")
    if not content:
        yield make_refusal(
            f"Item with id '{item['id']}' not found. Items are not persisted when `store` is set to false. Try"
            " again with"
            " `store` set to true, or remove this item from your input.",
            "input",
            status=404,
        )
    elif content != encrypt(host.name, item["id"], summary_of(item)):
        yield make_refusal(
            f"The encrypted content {content[:4]}...{content[-4:]} could not be verified. Reason: Encrypted"
            " content could"
            " not be decrypted or parsed.",
            code="invalid_encrypted_content",
        )


def _content(host: Host, item: Json, path: str) -> Iterator[Refusal]:
    content = item["content"]
    allowed = {"output_text", "refusal"} if item["role"] == "assistant" else {"input_text", "input_image", "input_file"}
    if not host.takes_files:
        allowed -= {"input_file"}
    for number, part in enumerate(content if isinstance(content, list) else ()):
        if part["type"] not in allowed:
            supported = " and ".join(f"'{entry}'" for entry in sorted(allowed))
            yield make_refusal(
                f"Invalid value: '{part['type']}'. Supported values are: {supported}.",
                f"{path}.content[{number}]",
                "invalid_value",
            )
