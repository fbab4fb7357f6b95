"""Styles that the style sheets of a web page give to its elements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from selectolax.lexbor import SelectolaxError

from baton_documents.html import style_sheets as html_sheets
from baton_documents.html import visibility as html_visibility
from baton_documents.html.style_sheets import Rule, Selector
from baton_documents.html.visibility import SheetStyle

MAX_HIDING_RULES = 500
"""The largest number of rules of one page. Further rules are not applied."""
MAX_STEPS = 20_000_000
"""Elements that are compared with selectors, about. If a page needs more of them, its style sheets are not applied."""
_STEPS_OF_A_MATCH = 10
"""The cost of an element that is found, which takes more time than one that is passed."""
_STEPS_OF_A_WALK = 5
"""The cost of an element that is passed on the way up or back."""
_COMPARED_IN_A_STEP = 200
"""Characters of values, times those of a selector."""
_SHOWN_BY_SCRIPTS = frozenset({"html", "body"})
"""A page that hides itself is shown as soon as its scripts run."""
_OF_SCREEN = frozenset({"", "text/css"})


def sheet_styles(parser: Any, characters: int) -> dict[int, SheetStyle]:
    """Return the styles of the elements that a style sheet may hide, by their ``mem_id``.

    ``characters`` are those of the page.
    """
    sheets = [
        (node.attributes.get("media") or "", node.text())
        for node in parser.css("style")
        if node.parent.tag != "noscript" and (node.attributes.get("type") or "").strip().lower() in _OF_SCREEN
    ]
    rules = html_sheets.rules(sheets)
    hiding = [rule for rule in rules if html_visibility.may_hide(rule.style)]
    left_out = {id(rule) for rule in hiding[MAX_HIDING_RULES:]}
    del hiding[MAX_HIDING_RULES:]
    styled = _hidden_by_attributes(parser) if rules else {}
    if not hiding and not styled:
        return {}
    try:
        matcher = _Matcher(parser, characters)
        elements = set(styled).union(*(matcher.find(selector) for rule in hiding for selector in rule.selectors))
        names = html_visibility.COMPANIONS.union(*styled.values(), *(rule.style for rule in hiding))
        rules = [rule for rule in rules if id(rule) not in left_out and not names.isdisjoint(rule.style)]
        return _cascade(rules, matcher, elements)
    except _TooManySteps:
        return {}


def _hidden_by_attributes(parser: Any) -> dict[int, dict[str, str]]:
    """Return the inline styles that hide elements. A style sheet may show these again."""
    styles = {
        node.mem_id: html_visibility.declarations(node.attributes["style"] or "") for node in parser.css("[style]")
    }
    return {element: style for element, style in styles.items() if html_visibility.may_hide(style)}


def _cascade(rules: Iterable[Rule], matcher: _Matcher, elements: set[int]) -> dict[int, SheetStyle]:
    applied = []
    for order, rule in enumerate(rules):
        for selector in rule.selectors:
            rank = (rule.is_layered == rule.is_important, selector.specificity, order)
            applied.append((rank, rule, selector))
    styles: dict[int, SheetStyle] = {}
    for _, rule, selector in sorted(applied, key=lambda match: match[0]):
        chosen = matcher.find(selector)
        # Elements in one that is not visible may be so.
        for element in chosen if "visibility" in rule.style else chosen & elements:
            style = styles.setdefault(element, SheetStyle())
            matcher.count(_STEPS_OF_A_MATCH + len(rule.style))
            (style.important if rule.is_important else style.normal).update(rule.style)
    return styles


class _TooManySteps(Exception):
    """The style sheets of a page need more steps than ``MAX_STEPS``."""


@dataclass(slots=True)
class _Matcher:
    """A search for elements by selectors. It asks the parser for compounds only: combinators multiply its time."""

    parser: Any
    characters: int
    """The characters of the page. Selectors are compared with the values of attributes."""
    steps: int = 0
    _parents: dict[int, int] = field(default_factory=dict)
    _previous: dict[int, int] = field(default_factory=dict)
    _compounds: dict[str, set[int]] = field(default_factory=dict)
    _selectors: dict[Selector, set[int]] = field(default_factory=dict)
    _shown: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        for node in self.parser.root.traverse():
            parent = node.parent
            if parent is not None and not node.tag.startswith(("-", "!")):
                self.count(2 * _STEPS_OF_A_MATCH)
                self._parents[node.mem_id] = parent.mem_id
                if node.tag in _SHOWN_BY_SCRIPTS:
                    self._shown.add(node.mem_id)
        last: dict[int, int] = {}
        for element, parent in self._parents.items():
            if parent in last:
                self._previous[element] = last[parent]
            last[parent] = element

    def count(self, steps: int) -> None:
        self.steps += steps
        if self.steps > MAX_STEPS:
            raise _TooManySteps

    def find(self, selector: Selector) -> set[int]:
        """Return the ``mem_id`` of the elements of a selector."""
        elements = self._selectors.get(selector)
        if elements is None:
            elements = self._compound(selector.compounds[0])
            for combinator, compound in zip(selector.combinators, selector.compounds[1:], strict=True):
                elements = self._related(self._compound(compound), combinator, elements) if elements else elements
            self._selectors[selector] = elements = elements - self._shown
        self.count(len(elements) + 1)
        return elements

    def _compound(self, compound: str) -> set[int]:
        elements = self._compounds.get(compound)
        if elements is None:
            self.count(len(self._parents) + self.characters * len(compound) // _COMPARED_IN_A_STEP)
            try:
                nodes = self.parser.css(compound)
            except SelectolaxError:  # no selector
                nodes = []
            self.count(_STEPS_OF_A_MATCH * len(nodes))
            elements = {node.mem_id for node in nodes}
            self._compounds[compound] = elements
        return elements

    def _related(self, elements: set[int], combinator: str, others: set[int]) -> set[int]:
        """Return those elements that stand below or behind the others."""
        before: Mapping[int, int] = self._parents if combinator in " >" else self._previous
        chosen = set()
        for element in elements:
            other = before.get(element)
            while other is not None:
                self.count(_STEPS_OF_A_WALK)
                if other in others:
                    self.count(_STEPS_OF_A_MATCH)
                    chosen.add(element)
                    break
                other = before.get(other) if combinator in " ~" else None
        return chosen
