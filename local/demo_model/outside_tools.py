"""Calling tools that a user plainly asks for, whatever they are: by their names, descriptions and schemas."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from local.demo_model.conversation import Conversation
from local.demo_model.reply import Call, Reply
from local.demo_model.wire import OfferedFunction

MAX_WISH = 1000
"""Characters at the beginning of a message in which a wish is looked for: patterns take long over long texts."""
_OWN = re.compile(r"(?:ask|transfer_to)_.*|return_to_main|advance_workflow|end_conversation")
_SEARCH = re.compile(r"search|look_?up|find|query", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]{3,}")
_ARTICLES = ("the", "and", "for", "with", "about", "from", "this", "that", "its", "one", "all", "any", "are", "can")
_SMALL_WORDS = frozenset([*_ARTICLES, "use", "using", "tool", "please"])
_POLITE = re.compile(r"[\s,]*\b(?:please|thanks|thank you)[\s.!]*$", re.IGNORECASE)
_VERB = re.compile(r"^(?:please\s+)?(?:(?:can|could|would) you\s+)?(?:please\s+)?(?:look up|\w+)\s+", re.IGNORECASE)
_LEAD = re.compile(
    r"^(?:[\s,:;]|(?:the\s+)?tool\b|and\b|to\b|for\b|about\b|with\b|on\b|of\b|in\b|at\b)+", re.IGNORECASE
)
_NEXT_WISH = re.compile(
    r"[,;.]?\s+(?:and|then)\s+(?:then\s+)?(?:use|call|ask|consult|run)\b.*", re.IGNORECASE | re.DOTALL
)


def tools_asked_for(conversation: Conversation) -> Reply | None:
    """Calls every tool that the message names, else the one whose description fits it best."""
    if conversation.results:
        return None
    text = _POLITE.sub("", conversation.now.text[:MAX_WISH])
    tools = outside_tools(conversation)
    named = [(tool, at) for tool in tools.values() if (at := _mention(text, tool.name))]
    if named:
        return Reply("", tuple(Call(tool.name, arguments_for(tool, text, _subject(text, at))) for tool, at in named))
    fitting = max(tools.values(), key=lambda tool: _fit(text, tool), default=None)
    if fitting is None or _fit(text, fitting) == 0:
        return None
    return Reply("", (Call(fitting.name, arguments_for(fitting, text, _wish(text))),))


def outside_tools(conversation: Conversation) -> dict[str, OfferedFunction]:
    """The tools that are not Baton's own."""
    return {name: tool for name, tool in conversation.tools.items() if not _OWN.fullmatch(name)}


def search_tool(conversation: Conversation) -> OfferedFunction | None:
    """A tool that finds something by one text, if there is one."""
    for name, tool in outside_tools(conversation).items():
        properties = _properties(tool)
        required = (tool.parameters or {}).get("required", [])
        if _SEARCH.search(name) and len(required) == 1 and properties.get(required[0], {}).get("type") == "string":
            return tool
    return None


def arguments_for(tool: OfferedFunction, text: str, subject: str) -> dict[str, Any]:
    """Arguments that fit the tool's schema, as far as ``text`` gives them: what it requires, and what was named."""
    numbers = re.findall(r"-?\d+(?:\.\d+)?", text)
    required = (tool.parameters or {}).get("required", [])
    arguments: dict[str, Any] = {}
    for name, schema in _properties(tool).items():
        given = re.search(rf"\b{re.escape(name)}\s*[=:]\s*(?:\"([^\"]*)\"|([^\s,;]+))", text, re.IGNORECASE)
        if given:
            arguments[name] = _typed(schema, given[1] if given[1] is not None else given[2])
        elif name in required:
            is_number = schema.get("type") in ("integer", "number")
            arguments[name] = _typed(schema, (numbers.pop(0) if numbers else "1") if is_number else subject)
    return arguments


def _properties(tool: OfferedFunction) -> Mapping[str, Any]:
    properties = (tool.parameters or {}).get("properties", {})
    return {name: schema if isinstance(schema, dict) else {} for name, schema in properties.items()}


def _typed(schema: Mapping[str, Any], value: str) -> Any:
    if choices := schema.get("enum"):
        return next((choice for choice in choices if str(choice).lower() in value.lower()), choices[0])
    match schema.get("type"):
        case "integer" | "number" as kind:
            try:
                return int(float(value)) if kind == "integer" else float(value)
            except (ValueError, OverflowError):
                return value  # the tool's own check tells what is wrong
        case "boolean":
            return value.lower() not in ("false", "no", "0")
        case "array":
            return [value]
        case "object":
            return {}
    return value


def _mention(text: str, name: str) -> re.Match[str] | None:
    """Where the text names a tool: as it is written, or with spaces between its words if there are several."""
    spelled = r"[\s_-]".join(map(re.escape, re.split(r"[_-]+", name.strip("_-"))))
    if not re.search(r"[_-]", name.strip("_-")):
        spelled = rf"(?:use|call|run|with)\s+(?:the\s+)?(?:tool\s+)?{spelled}|{spelled}\s+tool"
    return re.search(rf"(?<![\w-])(?:{spelled})(?![\w-])", text, re.IGNORECASE)


def _subject(text: str, mention: re.Match[str]) -> str:
    """What a named tool shall be used for: what follows its name, else what precedes it."""
    after = _LEAD.sub("", _NEXT_WISH.sub("", text[mention.end() :]))
    before = re.sub(r"\b(?:with|using|use|call|run|by|from|the|tool|[\s,:])+$", "", text[: mention.start()].strip())
    return after.strip(' .!?"') or _wish(before) or text


def _wish(text: str) -> str:
    """What remains of a sentence without its verb."""
    about = re.search(r"\b(?:for|about|on|of|in)\s+(.+)", text, re.IGNORECASE | re.DOTALL)
    return (about[1] if about else _VERB.sub("", text)).strip(' .!?"')


def _fit(text: str, tool: OfferedFunction) -> int:
    """How many words of the tool's name and description a message shares that uses its verb; 0: too few."""
    said = _words(text)
    described = f"{re.sub('[_-]', ' ', tool.name)} {tool.description or ''}"
    name, description = tool.name.replace("-", "_").split("_"), _WORD.findall(tool.description or "")
    verbs = {word.lower() for word in (*name[:1], *description[:1])}
    shared = said & _words(described)
    return len(shared) if len(shared) > 1 and verbs & said else 0


def _words(text: str) -> frozenset[str]:
    found = (word.lower() for word in _WORD.findall(text))
    return frozenset(word.removesuffix("s") if len(word) > 4 else word for word in found if word not in _SMALL_WORDS)
