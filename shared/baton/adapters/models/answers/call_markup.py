"""Read tool calls that a model has written as text, in notations that some servers pass on unread."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any

from baton.adapters.models.tool_schemas import ModelTools

OPENINGS = (
    *(f"<{name}>" for name in ("tool_call", "tool_calls", "toolcall", "function_call", "function_calls")),
    *("<functioncall>", "<tool_code>", "<tools>", "<start_function_call>", "<longcat_tool_call>"),
    *(f"<{maker}:tool_call>" for maker in ("minimax", "seed")),
    *("<function=", "<invoke name="),
    *("[tool_calls]", "[tool_call]"),  # Mistral
    "[tool_request]",  # LM Studio
    *("<|python_tag|>", "<|python_start|>"),  # Llama
    *("<|tool_call>", "<|tool_call|>", "<|tool_calls|>", "<|tool_call_start|>", "<|tool_call_begin|>"),
    *("<|tool_calls_section_begin|>", "<|tool_calls_begin|>", "<|tools_prefix|>"),
    *("<|start_action|>", "<|action_start|>"),
    *("<\uff5ctool\u2581calls\u2581begin\uff5c>", "<\uff5ctool\u2581call\u2581begin\uff5c>"),  # DeepSeek
    *("<\uff5ctool_calls_begin\uff5c>", "<\uff5cdsml\uff5cfunction_calls>", "<\uff5cdsml\uff5cinvoke name="),
    "<|channel|>commentary to=",  # gpt-oss, as ``Harmony`` leaves it
)
"""The marks that begin calls, in lower case."""
BARE = (
    *('{"name":"', '{"type":"function"', '{"function":', '{"tool_name":"', '{"tool":"', '{"tool_calls":'),
    *('[{"name":"', '[{"type":"function"', '[{"function":', '[{"tool_name":"'),
    'functools[{"name":"',  # Phi
)
"""The beginnings of lines with calls that have no marks, in lower case and without blanks."""
MAX_CALLS = 1_000
"""The maximum number of calls in one answer. Further calls are left out."""
MAX_PYTHON = 50_000
"""The maximum number of characters of calls in Python's notation. Python's parser takes seconds for a megabyte."""
MAX_RAW = 4_000
"""The maximum number of characters of an unreadable call that are shown to the model."""

_NOISE = re.compile(
    r"""\s+ | [,;]
    | <tool_response>[\s\S]*                                           # an invented result
    | <[|\uff5c][\w\u2581/.:-]{1,40}[|\uff5c]?> (?:json\b)?             # special tokens
    | <[\w\u2581]{1,40}[|\uff5c]> | </s> | <end_of_turn>
    | </?\uff5cDSML\uff5c\w+>
    | </?(?:\w+:)?(?:longcat_|start_|end_)?(?:tools?|functions?)_?(?:calls?|code)?>
    | </?(?:\w+:)?(?:invoke|parameters?)>
    | \[/?(?:TOOL_CALLS?|ARGS)\] | \[CALL_ID\]\w+ | \[(?:END_)?TOOL_REQUEST\]
    | ```(?:json)? | functools(?=\[)
    | function(?=\s*<[|\uff5c]tool)""",
    re.IGNORECASE | re.VERBOSE,
)
_ELEMENT = re.compile(
    r"<[^<>\s=]{0,20}?(?:function|invoke)\s*(?:=|name=|\sname=)\s*[\"']?(?P<name>[\w.:/-]+)[\"']?\s*>"
    r"(?P<body>[\s\S]*?)(?:</[^<>\s]{0,20}(?:function|invoke)>|\Z)",
    re.IGNORECASE,
)
_PARAMETER = re.compile(
    r"<[^<>\s=]{0,20}?parameter\s*(?:=|\sname=)\s*[\"']?(?P<name>[^<>\"'\n]{1,200}?)[\"']?(?:\s[^<>\n]*)?>"
    r"(?P<value>[\s\S]*?)(?:</[^<>\s]{0,20}parameter>|(?=<[^<>\s=]{0,20}?parameter\s*(?:=|\sname=))|\Z)",
    re.IGNORECASE,
)
_PAIR = re.compile(r"\s*<arg_key>(?P<name>[^<>]*)</arg_key>\s*<arg_value>(?P<value>[\s\S]*?)</arg_value>")
_NAMED = re.compile(r"(?:(?:commentary|analysis)\s+)?(?:call:|to=)?(?P<name>[A-Za-z_][\w.:/-]*)")
# The text before the name of a tool in a call.
_BEFORE_NAME = (
    r"(?:[\"'](?:name|tool_name|function|tool)[\"']\s*:\s*[\"']|(?:function|invoke name|to)=\"?|call:)(?:functions?\.)?"
)
_STRING = re.compile(r"<\|\"\|>([\s\S]*?)<\|\"\|>|<escape>([\s\S]*?)<escape>")
_KEY = re.compile(r"([{,]\s*)([A-Za-z_]\w*)\s*:")
_NAMES = ("name", "tool_name", "function", "tool")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "tool_input")
_OTHERS = frozenset({"type", "id", "tool_call_id", "call_id", "index"})
_JSON = json.JSONDecoder()
WrittenCall = tuple[str, str]
"""A call that was written as text: the tool's name, and the arguments as JSON, or unchanged if they are unreadable."""


class Unreadable(Exception):
    """The text is not in a known notation of calls."""


def read_calls(text: str, tools: ModelTools, *, is_bare: bool) -> list[WrittenCall]:
    """Return the calls in ``text``, which reaches from the first mark to the end of the answer.

    The list has at most ``MAX_CALLS`` calls. It is empty if no call names an offered tool, or if other text follows the
    calls. An unreadable call that names an offered tool after a mark gets the beginning of the text as its arguments.
    ``is_bare`` means that the text has no mark.
    """
    reader = _Reader(text, tools, is_bare=is_bare)
    calls: list[WrittenCall] = []
    try:
        for call in islice(reader.read_all(), MAX_CALLS):
            calls.append(call)  # noqa: PERF402 - the calls before an error decide whether text follows them
    # Values that Python has and JSON has not, such as sets, raise TypeError.
    except (Unreadable, TypeError, ValueError, RecursionError, MemoryError, SyntaxError):
        is_followed = bool(calls) and not any(opening in reader.rest.lower() for opening in OPENINGS)
        return [] if is_bare or is_followed else _keep_unread(text, tools)
    return calls if any(tools.find_offered_name(name) is not None for name, _ in calls) else []


def _keep_unread(text: str, tools: ModelTools) -> list[WrittenCall]:
    """Return a call of the first offered tool that the text names; an empty list if it names none.

    The arguments are the first ``MAX_RAW`` characters of the text.
    """
    names = "|".join(re.escape(tool.name) for tool in tools.tools)
    start = 0
    while (noise := _NOISE.match(text, start)) is not None and noise.end() > start:
        start = noise.end()
    match = re.compile(rf"(?:{names})(?![\w-])").match(text, start) or re.search(
        rf"{_BEFORE_NAME}({names})(?![\w-])", text, re.IGNORECASE | re.ASCII
    )
    if match is None:
        return []
    name = next(tool.name for tool in tools.tools if tool.name.lower() == (match[match.lastindex or 0]).lower())
    return [(name, text[:MAX_RAW])]


class _Reader:
    """A reader of the calls in one text."""

    def __init__(self, text: str, tools: ModelTools, *, is_bare: bool) -> None:
        self._text = text
        self._position = 0
        self._tools = tools
        self._is_bare = is_bare

    @property
    def rest(self) -> str:
        """The text that is not read yet."""
        return self._text[self._position :]

    def read_all(self) -> Iterator[WrittenCall]:
        """Yield the calls. Raises ``Unreadable``, and the errors of parsers that ``read_calls`` catches."""
        while True:
            self._skip_noise()
            if self._position >= len(self._text):
                return
            if self._text[self._position] in "{[":
                yield from self._read_value()
            elif (element := _ELEMENT.match(self._text, self._position)) is not None:
                self._position = element.end()
                yield element["name"], self._read_parameters(element["name"], element["body"])
            else:
                yield from self._read_named()

    def _skip_noise(self) -> None:
        while (noise := _NOISE.match(self._text, self._position)) is not None and noise.end() > self._position:
            self._position = noise.end()

    def _read_value(self) -> Iterator[WrittenCall]:
        """Read a JSON object or list of calls, or a list of calls as Python writes them."""
        try:
            value, self._position = _JSON.raw_decode(self._text, self._position)
        except ValueError:
            if self._text[self._position] != "[":
                raise
            yield from self._read_python()
            return
        if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
            value = value["tool_calls"]
        for member in value if isinstance(value, list) else [value]:
            yield self._read_call(member)

    def _read_call(self, value: Any) -> WrittenCall:
        """Return the call in an object. Raises ``Unreadable`` if it is none.

        Models name the tool and its arguments by various keys. A bare call has both, and no unknown key.
        """
        if not isinstance(value, dict):
            raise Unreadable
        inner = value.get("function")
        fields = {**value, **inner} if isinstance(inner, dict) else value
        if isinstance(inner, dict):
            fields.pop("function", None)
        name = next((fields[key] for key in _NAMES if isinstance(fields.get(key), str)), None)
        key = next((key for key in _ARGUMENTS if key in fields), None)
        if name is None and len(value) == 1:  # {"name of the tool": {...}}
            [(name, arguments)] = value.items()
            if self._is_bare or self._tools.find_offered_name(name) is None or not isinstance(arguments, dict):
                raise Unreadable
            return name, json.dumps(arguments, ensure_ascii=False)
        others = set(fields) - {*_NAMES, *_ARGUMENTS, *_OTHERS}
        if name is None or (self._is_bare and (others or key is None)):
            raise Unreadable
        arguments = fields[key] if key is not None else {}
        if isinstance(arguments, str):
            return name, arguments
        return name, json.dumps(arguments, ensure_ascii=False)

    def _read_named(self) -> Iterator[WrittenCall]:
        """Read a name and the arguments after it: an object, pairs of tags, or arguments in Python's notation."""
        named = _NAMED.match(self._text, self._position)
        if named is None:
            raise Unreadable
        name, begin, self._position = named["name"], named.start("name"), named.end()
        if self._text.startswith("(", self._position):
            self._position = begin
            yield from self._read_python()
            return
        if (pair := _PAIR.match(self._text, self._position)) is not None:
            pairs: list[tuple[str, str]] = []
            while pair is not None:
                pairs.append((pair["name"], pair["value"]))
                self._position = pair.end()
                pair = _PAIR.match(self._text, self._position)
            yield name, self._to_typed_json(name, pairs)
            return
        self._skip_noise()
        if self._text.startswith("{", self._position):
            yield name, self._read_object()
        elif self._tools.find_offered_name(name) is not None and self._position >= len(self._text):
            yield name, "{}"
        else:
            raise Unreadable

    def _read_object(self) -> str:
        """Return the arguments as a JSON object, even if they are in Gemma's notation, without quotes around names."""
        with suppress(ValueError):
            value, end = _JSON.raw_decode(self._text, self._position)
            self._position = end
            return json.dumps(value, ensure_ascii=False)
        mended = _STRING.sub(lambda match: json.dumps(match[1] or match[2] or ""), self._text[self._position :])
        self._text = _KEY.sub(r'\1"\2":', mended)
        value, self._position = _JSON.raw_decode(self._text)
        if not isinstance(value, dict):
            raise Unreadable
        return json.dumps(value, ensure_ascii=False)

    def _read_parameters(self, name: str, body: str) -> str:
        if body.lstrip().startswith("{"):
            return body.strip()
        return self._to_typed_json(name, [(match["name"], match["value"]) for match in _PARAMETER.finditer(body)])

    def _to_typed_json(self, name: str, pairs: list[tuple[str, str]]) -> str:
        """Return the arguments as JSON. Their texts are converted to the types in the tool's schema."""
        offered = self._tools.find_offered_name(name)
        schema: Mapping[str, Any] = next((tool.parameters for tool in self._tools.tools if tool.name == offered), {})
        properties = schema.get("properties") or {}
        return json.dumps({key.strip(): _convert_value(text, properties.get(key.strip())) for key, text in pairs})

    def _read_python(self) -> Iterator[WrittenCall]:
        """Read calls as Python writes them, up to the next special token."""
        end = re.compile(r"<[|\uff5c/]|```").search(self._text, self._position)
        part = self._text[self._position : end.start() if end is not None else len(self._text)]
        self._position += len(part)
        if len(part) > MAX_PYTHON:
            raise Unreadable
        for statement in ast.parse(part.strip()).body:
            if not isinstance(statement, ast.Expr):
                raise Unreadable
            value = statement.value
            for node in value.elts if isinstance(value, ast.List | ast.Tuple) else [value]:
                if not isinstance(node, ast.Call) or node.args:
                    raise Unreadable
                arguments = {
                    keyword.arg: ast.literal_eval(keyword.value) for keyword in node.keywords if keyword.arg is not None
                }
                yield ast.unparse(node.func), json.dumps(arguments, ensure_ascii=False, allow_nan=False)


def _convert_value(text: str, schema: Any) -> Any:
    """Return the value of a parameter that was written as text.

    If the text is JSON and the schema asks for no text, it is parsed. Otherwise the text is returned without its outer
    line ends.
    """
    text = text.removeprefix("\n").removesuffix("\n")
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    if kind != "string":
        with suppress(ValueError, RecursionError):
            return json.loads(text)
    return text
