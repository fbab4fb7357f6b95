"""The rules in a web page's style sheets that may hide or show its elements."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tinycss2

from baton_documents.html import visibility as html_visibility

MAX_CHARACTERS = 200_000
"""The most characters of a page's style sheets."""
MAX_COMPOUND = 200
"""The most characters of a compound: the part of a selector between combinators."""
MAX_LEVELS = 10
"""The deepest nesting of blocks such as ``@media``."""
_WIDTH = 1_200
"""The width in pixels of the supposed window, for media queries."""
_MEDIUM = re.compile(r"(?:only )?(screen|all)(?: and )?", re.IGNORECASE)
_FEATURE = re.compile(r"\((?:(min|max)-width:|width ?(>=?|<=?)) ?([0-9.]+[a-z]+)\)(?: and |\Z)", re.IGNORECASE)
_PSEUDO_CLASSES = frozenset({"root", "first-child", "last-child", "only-child", "empty", "checked", "disabled"})
"""Pseudo-classes that do not depend on a user's actions and take a bounded time. Others are not applied."""
_FUNCTIONS = frozenset({"not", "is", "where"})
_COMBINATORS = frozenset({">", "+", "~"})


@dataclass(frozen=True, slots=True)
class Selector:
    """A selector of elements: compounds, with the combinators between them."""

    compounds: tuple[str, ...]
    combinators: tuple[str, ...]
    specificity: tuple[int, int, int]
    """The numbers of ids, of classes, attributes and pseudo-classes, and of element names."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule with either the important declarations or the others."""

    selectors: tuple[Selector, ...]
    style: Mapping[str, str]
    is_important: bool
    is_layered: bool
    """Whether the rule is in a cascade layer."""


def read_rules(sheets: Sequence[tuple[str, str]]) -> list[Rule]:
    """Return the rules of style sheets that apply to a screen, in their order. ``sheets`` are pairs of media and text.

    A sheet that makes the sum of their lengths exceed ``MAX_CHARACTERS``, and all sheets after it, are left out.
    """
    collected: list[Rule] = []
    remaining = MAX_CHARACTERS
    for media, sheet in sheets:
        remaining -= len(sheet)
        if remaining < 0:
            break
        if _is_of_screen(media):
            collected += _read_nested_rules(tinycss2.parse_stylesheet(sheet, skip_comments=True, skip_whitespace=True))
    return collected


def _read_nested_rules(nodes: Sequence[Any], level: int = 0, *, is_layered: bool = False) -> Iterator[Rule]:
    """Yield the rules among the nodes of a style sheet or block, and in the blocks that apply to a screen."""
    for node in nodes:
        if node.type == "qualified-rule":
            yield from _read_style_rule(node, is_layered=is_layered)
        elif node.type == "at-rule" and node.content is not None and level < MAX_LEVELS:
            name, condition = node.lower_at_keyword, _serialise(node.prelude)
            is_layer = name == "layer"
            is_supported = name == "supports" and not condition.lower().startswith("not")
            if is_layer or is_supported or (name == "media" and _is_of_screen(condition)):
                content = tinycss2.parse_rule_list(node.content, skip_comments=True, skip_whitespace=True)
                yield from _read_nested_rules(content, level + 1, is_layered=is_layered or is_layer)


def _read_style_rule(node: Any, *, is_layered: bool) -> Iterator[Rule]:
    """Yield a rule for the declarations that are not important, and a rule for those that are."""
    styles: tuple[dict[str, str], dict[str, str]] = {}, {}
    for declaration in tinycss2.parse_blocks_contents(node.content, skip_comments=True, skip_whitespace=True):
        if declaration.type == "declaration" and (value := _serialise(declaration.value)):
            styles[declaration.important].update(
                html_visibility.parse_declarations(f"{declaration.lower_name}:{value}")
            )
    if any(styles) and (selectors := tuple(_parse_selectors(node.prelude))):
        for is_important, style in enumerate(styles):
            if style:
                yield Rule(selectors, style, bool(is_important), is_layered)


def _parse_selectors(prelude: Sequence[Any]) -> Iterator[Selector]:
    """Yield the selectors of a rule, except those that are not applied."""
    yield from filter(None, map(_parse_selector, _split_at_commas(prelude)))


def _split_at_commas(tokens: Sequence[Any]) -> list[list[Any]]:
    """Return the tokens between commas."""
    parts: list[list[Any]] = [[]]
    for token in tokens:
        if token.type == "literal" and token.value == ",":
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _parse_selector(tokens: Sequence[Any]) -> Selector | None:
    """Return a selector; None if it is not valid, or takes too much time to find."""
    compounds: list[list[Any]] = [[]]
    combinators: list[str] = []
    between = ""
    for token in tokens:
        if token.type == "whitespace":
            between = between or " "
        elif token.type == "literal" and token.value in _COMBINATORS:
            if between.strip() or not compounds[-1]:
                return None
            between = token.value
        else:
            if between and compounds[-1]:
                combinators.append(between)
                compounds.append([])
            between = ""
            compounds[-1].append(token)
    if between.strip() or not all(map(_is_simple, compounds)):
        return None
    weights = [_measure_specificity(compound) for compound in compounds]
    texts = tuple(map(_serialise, compounds))
    if not all(0 < len(text) <= MAX_COMPOUND for text in texts):
        return None
    return Selector(
        texts,
        tuple(combinators),
        (
            sum(weight[0] for weight in weights),
            sum(weight[1] for weight in weights),
            sum(weight[2] for weight in weights),
        ),
    )


def _is_simple(compound: Sequence[Any]) -> bool:
    """Return whether a compound can be found in a time that is proportional to the number of elements."""
    before = ""
    for token in compound:
        if token.type == "function":
            if before != ":" or token.lower_name not in _FUNCTIONS:
                return False
            inner = [argument for argument in token.arguments if argument.type != "whitespace"]
            if any(part.type == "function" for part in inner) or not all(
                map(_is_one_compound, _split_at_commas(token.arguments))
            ):
                return False
            if not all(map(_is_simple, _split_at_commas(inner))):
                return False
        elif token.type == "ident":
            if before == ":" and token.lower_value not in _PSEUDO_CLASSES:
                return False
        elif token.type not in ("hash", "[] block") and token not in (".", ":", "*"):
            return False
        before = token.value if token.type == "literal" else ""
    return True


def _is_one_compound(tokens: Sequence[Any]) -> bool:
    """Return whether a selector is one compound: it has white space only at its ends."""
    kinds = [token.type == "whitespace" for token in tokens]
    return False in kinds and True not in kinds[kinds.index(False) : len(kinds) - kinds[::-1].index(False)]


def _measure_specificity(compound: Sequence[Any]) -> tuple[int, int, int]:
    """Return the specificity of a compound, in the form of ``Selector.specificity``."""
    ids = classes = names = 0
    before = ""
    for token in compound:
        if token.type == "function":
            heaviest = max(map(_measure_specificity, _split_at_commas(token.arguments)))
            if token.lower_name != "where":
                ids, classes, names = ids + heaviest[0], classes + heaviest[1], names + heaviest[2]
        ids += token.type == "hash"
        classes += token.type == "[] block" or (token.type == "ident" and before in (".", ":"))
        names += token.type == "ident" and before not in (".", ":")
        before = token.value if token.type == "literal" else ""
    return ids, classes, names


def _is_of_screen(media: str) -> bool:
    """Return whether a list of media queries applies to a screen of the width ``_WIDTH``."""
    return not media.strip() or any(_is_met(" ".join(part.split()).replace(": ", ":")) for part in media.split(","))


def _is_met(query: str) -> bool:
    """Return whether a media query applies to the screen. A query with other features than the width does not."""
    medium = _MEDIUM.match(query)
    position = medium.end() if medium else 0
    while position < len(query):
        feature = _FEATURE.match(query, position)
        width = html_visibility.parse_pixels(feature[3].lower()) if feature else None
        if feature is None or width is None:
            return False
        if (width > _WIDTH) if (feature[1] or feature[2]).lower() in ("min", ">", ">=") else (width < _WIDTH):
            return False
        position = feature.end()
    return bool(query)


def _serialise(tokens: Sequence[Any]) -> str:
    """Return the text of tokens; empty if their brackets are nested too deeply."""
    try:
        return str(tinycss2.serialize(tokens)).strip()
    except RecursionError:
        return ""
