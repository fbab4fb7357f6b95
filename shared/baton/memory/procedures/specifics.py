"""The replacement of the specifics of one conversation by placeholders: ``{channel}`` instead of ``#ops``.

Whole URLs are replaced first, because parts of them may be literals. Then these are replaced in order: literal
arguments of the task's tool calls and names from their results, personal data that the detector finds, and words that
look like an id, a key or an address. The tools' own vocabulary (their names, and the values that their
schemas list) is not specific.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, Final

from baton.domain.text import normalise_text
from baton.ports.tenants.privacy import PiiDetector
from baton.tenants.privacy.redaction import Redactor

MIN_LITERAL: Final = 4
"""Characters from which an argument is specific. Shorter arguments are too common in other words."""
MAX_LITERALS: Final = 2_000
"""Literals of a task. A task with more becomes no procedure, because not all of them could be searched for."""
MAX_LITERAL: Final = 500
"""Characters of a literal that are compared. In a longer literal, each sentence is a separate literal."""
MAX_ARGUMENTS: Final = 50
"""Arguments of a call that the light model gets."""
MAX_DEPTH: Final = 8
"""Levels of nested arguments and schemas."""
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z_]{0,39}")
VALUE: Final = "value"
"""The name of the placeholder for a literal whose argument has no name."""

_SENTENCE: Final = re.compile(r"[^.!?\n]+[.!?]*")
_WORD: Final = re.compile(r"\w+")
_REDACTED: Final = re.compile(r"\[([a-z]+(?: [a-z]+)?)(?: \d+)?\]")
_PLACEHOLDER: Final = re.compile(r"\{[a-z0-9_]{1,40}\}")
_BRACES: Final = re.compile(r"\{([^{}]*)\}")
_URL: Final = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s{}]+", re.IGNORECASE)
_ADDRESS: Final = re.compile(r"[^\s{}<>()\[\]]+@[^\s{}<>()\[\]]+")
_TOKEN: Final = re.compile(r"[\w#][\w#/:.+=~-]*[\w=]|[\w#]")
_LONG: Final = 24
"""Characters from which a word without hyphens and slashes counts as a key."""


class Specifics:
    """The literals of one task, and the placeholders for them."""

    def __init__(self, schemas: Mapping[str, Mapping[str, Any]], detector: PiiDetector) -> None:
        """``schemas`` are the schemas of the arguments of the agent's tools, by the tools' names."""
        self._detector = detector
        self._names: set[str] = set()
        self._vocabulary: set[str] = set()
        for tool, schema in schemas.items():
            self.add_tool_name(tool)
            for name, values in _list_declared_properties(schema, 0):
                self._names.add(name)
                self._vocabulary |= {
                    _make_comparable(name),
                    *map(_make_comparable, _WORD.findall(name.replace("_", " "))),
                }
                self._vocabulary |= {_make_comparable(str(value)) for value in values}
        self._literals: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None

    def add_tool_name(self, tool: str) -> None:
        """Add the name of a tool to the vocabulary, which is not specific."""
        self._vocabulary |= {_make_comparable(tool), *map(_make_comparable, _WORD.findall(tool.replace("_", " ")))}

    @property
    def are_too_many(self) -> bool:
        """True if there are more literals than can be searched for."""
        return len(self._literals) > MAX_LITERALS

    def add(self, arguments: Mapping[str, Any]) -> None:
        """Add the values of a tool call's arguments to the literals. The arguments' names are not specific."""
        self._names |= {name for name in arguments if _NAME.fullmatch(name)}
        for name, literal in _list_literals(arguments, VALUE, self._names, 0):
            if self.are_too_many:
                break
            for part in _divide_literal(literal):
                if self._is_specific(part):
                    self._literals.setdefault(_make_comparable(part), name)
        self._pattern = None

    def add_names(self, names: Iterable[str]) -> None:
        """Add names from tools' results to the literals."""
        for name in names:
            if self.are_too_many:
                break
            if self._is_specific(name):
                self._literals.setdefault(_make_comparable(name[:MAX_LITERAL]), VALUE)
        self._pattern = None

    async def generalise(self, text: str) -> str:
        """Return the text with placeholders for all specifics. Raises as the detector does."""
        text = self._keep_own_placeholders(_normalise(text))
        text = _URL.sub("{url}", text)
        text = self._replace(text)
        redacted = await Redactor(self._detector).redact(text)
        if redacted is not None:
            text = _REDACTED.sub(lambda match: "{" + match[1].replace(" ", "_") + "}", redacted)
        return self._replace_codes(text)

    def remain_in(self, text: str) -> bool:
        """Return whether a text still contains specifics, apart from personal data."""
        text = _normalise(text)
        if self._keep_own_placeholders(text) != text:
            return True
        return self._replace(text) != text or self._replace_codes(text) != text

    @staticmethod
    def remove_placeholders(text: str) -> str:
        """Return a text from which the placeholders are removed, for names and triggers."""
        return _PLACEHOLDER.sub(" ", text)

    def make_placeholders(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return at most ``MAX_ARGUMENTS`` arguments of a call for the light model, with placeholders for literals."""
        placeholders: dict[str, Any] = {}
        for name, value in islice(arguments.items(), MAX_ARGUMENTS):
            known_name = name if name in self._names else VALUE
            is_word = isinstance(value, str) and _make_comparable(value) in self._vocabulary
            is_plain = is_word or isinstance(value, bool) or value is None
            placeholders[known_name] = value if is_plain else "{" + _make_placeholder(known_name) + "}"
        return placeholders

    def _keep_own_placeholders(self, text: str) -> str:
        """Return a text in which braces contain only names of placeholders that are not specific."""

        def check_braces(match: re.Match[str]) -> str:
            inner = match[1]
            if not _PLACEHOLDER.fullmatch(match[0]):
                return inner
            is_own = inner in map(_make_placeholder, self._names)
            is_literal = {_make_comparable(inner), _make_comparable(inner.replace("_", " "))} & self._literals.keys()
            has_code = any(character.isdecimal() for character in inner)
            return match[0] if is_own or not (is_literal or has_code) else "{" + VALUE + "}"

        return _BRACES.sub(check_braces, text)

    def _is_specific(self, literal: str) -> bool:
        return len(literal) >= MIN_LITERAL and _make_comparable(literal) not in self._vocabulary

    def _replace(self, text: str) -> str:
        if not self._literals:
            return text
        if self._pattern is None:
            chosen = sorted(self._literals, key=lambda literal: (-len(literal), literal))
            either = "|".join(r"\s+".join(map(re.escape, literal.split())) for literal in chosen)
            self._pattern = re.compile(rf"(?<!\w)(?:{either})(?!\w)", re.IGNORECASE)
        # Placeholders are left out, because their names may equal literals.
        return _change_around_placeholders(text, partial(self._pattern.sub, self._name_placeholder))

    def _name_placeholder(self, match: re.Match[str]) -> str:
        name = self._literals.get(_make_comparable(match[0]), VALUE)
        return "{" + _make_placeholder(name) + "}"

    def _replace_codes(self, text: str) -> str:
        return _change_around_placeholders(text, self._replace_codes_in)

    def _replace_codes_in(self, text: str) -> str:
        text = _URL.sub("{url}", text)
        text = _ADDRESS.sub("{address}", text)
        return re.sub(rf"{_PLACEHOLDER.pattern}|{_TOKEN.pattern}", self._replace_code, text)

    def _replace_code(self, match: re.Match[str]) -> str:
        token = match[0]
        if token.startswith("{") or _make_comparable(token) in self._vocabulary:
            return token
        is_code = any(character.isdecimal() for character in token) and len(token) >= MIN_LITERAL
        is_key = len(token) >= _LONG and "-" not in token and "/" not in token
        return "{id}" if is_code or is_key else token


def _change_around_placeholders(text: str, change: Callable[[str], str]) -> str:
    """Return a text with ``change`` applied to the parts between its placeholders."""
    pieces, end = [], 0
    for match in _PLACEHOLDER.finditer(text):
        pieces += [change(text[end : match.start()]), match[0]]
        end = match.end()
    return "".join((*pieces, change(text[end:])))


def _list_literals(value: Any, name: str, names: set[str], depth: int) -> Iterator[tuple[str, str]]:
    """Yield the literals of arguments, each with its argument's name. Keys that are not in ``names`` are literals."""
    if depth > MAX_DEPTH:
        value = str(value)
    if isinstance(value, Mapping):
        for key, item in value.items():
            if key not in names:
                yield name, str(key)
            yield from _list_literals(item, key if key in names else name, names, depth + 1)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _list_literals(item, name, names, depth + 1)
    elif isinstance(value, str):
        yield name, value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield name, str(value)


def _divide_literal(literal: str) -> Iterator[str]:
    """Yield the parts of a literal: the whole if it is not too long, its sentences, and its names and codes."""
    literal = " ".join(_normalise(literal).split()).strip(" .,;:!?\"'")
    if len(literal) <= MAX_LITERAL:
        yield literal
    if " " not in literal:
        return
    for sentence in _SENTENCE.findall(literal[: 20 * MAX_LITERAL]):
        words = sentence.split()
        yield " ".join(words)[:MAX_LITERAL].strip(" .,;:!?\"'")
        for index, word in enumerate(words):
            word = word.strip(" .,;:!?\"'()[]")
            # A capital says nothing about the first word of a sentence.
            if any(character.isdecimal() for character in word) or "@" in word or (index and word[:1].isupper()):
                yield word


def _list_declared_properties(schema: Any, depth: int) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield the names of a schema's properties, each with the values that the schema lists for it."""
    if not isinstance(schema, Mapping) or depth > MAX_DEPTH:
        return
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        for name, inner in properties.items():
            yield str(name), tuple(_list_values(inner))
            yield from _list_declared_properties(inner, depth + 1)
    for key in ("items", "additionalProperties"):
        yield from _list_declared_properties(schema.get(key), depth + 1)
    for key in ("anyOf", "oneOf", "allOf"):
        options = schema.get(key)
        for option in options if isinstance(options, list) else ():
            yield from _list_declared_properties(option, depth + 1)


def _list_values(schema: Any) -> Iterable[Any]:
    if not isinstance(schema, Mapping):
        return ()
    listed = schema.get("enum")
    values = list(listed) if isinstance(listed, list) else []
    if "const" in schema:
        values.append(schema["const"])
    return [*values, *(_list_values(schema["items"]) if "items" in schema else ())]


def _make_placeholder(name: str) -> str:
    words = re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()).strip("_")[:40].strip("_")
    return words or VALUE


def _normalise(text: str) -> str:
    return normalise_text("NFKC", text)


def _make_comparable(text: str) -> str:
    """Return the form in which literals are compared, without differences of case, width and spacing."""
    return " ".join(_normalise(text).casefold().split())
