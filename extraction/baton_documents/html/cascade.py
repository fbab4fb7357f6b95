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
"""The most rules of one page that may hide elements. Further ones are not applied."""
MAX_STEPS = 20_000_000
"""The approximate number of comparisons of elements with selectors. If a page needs more, its sheets are ignored."""
_STEPS_OF_A_MATCH = 10
"""The cost of an element that matches, which takes more time than an element that does not."""
_STEPS_OF_A_WALK = 5
"""The cost of an ancestor or previous sibling that is examined."""
_COMPARED_IN_A_STEP = 200
"""The product of the characters of values and of a selector that counts as one step."""
_SHOWN_BY_SCRIPTS = frozenset({"html", "body"})
"""Elements that style sheets cannot hide: a page that hides itself is shown by its scripts."""
_CSS_TYPES = frozenset({"", "text/css"})


def find_sheet_styles(parser: Any, characters: int) -> dict[int, SheetStyle]:
    """Return the styles of the elements that a style sheet may hide or show, by their ``mem_id``.

    ``characters`` is the length of the page. Empty if nothing on it is hidden, or if ``MAX_STEPS`` do not suffice.
    """
    sheets = [
        (node.attributes.get("media") or "", node.text())
        for node in parser.css("style")
        if node.parent.tag != "noscript" and (node.attributes.get("type") or "").strip().lower() in _CSS_TYPES
    ]
    rules = html_sheets.read_rules(sheets)
    hiding = [rule for rule in rules if html_visibility.may_hide(rule.style)]
    left_out = {id(rule) for rule in hiding[MAX_HIDING_RULES:]}
    del hiding[MAX_HIDING_RULES:]
    styled = _find_hiding_attributes(parser) if rules else {}
    if not hiding and not styled:
        return {}
    try:
        matcher = _Matcher(parser, characters)
        elements = set(styled).union(*(matcher.find(selector) for rule in hiding for selector in rule.selectors))
        names = html_visibility.COMPANIONS.union(*styled.values(), *(rule.style for rule in hiding))
        rules = [rule for rule in rules if id(rule) not in left_out and not names.isdisjoint(rule.style)]
        return _apply_rules(rules, matcher, elements)
    except _TooManySteps:
        return {}


def _find_hiding_attributes(parser: Any) -> dict[int, dict[str, str]]:
    """Return the inline styles that hide elements, which a style sheet may show again, by the elements' ``mem_id``."""
    styles = {
        node.mem_id: html_visibility.parse_declarations(node.attributes["style"] or "")
        for node in parser.css("[style]")
    }
    return {element: style for element, style in styles.items() if html_visibility.may_hide(style)}


def _apply_rules(rules: Iterable[Rule], matcher: _Matcher, elements: set[int]) -> dict[int, SheetStyle]:
    """Return the declarations of rules for ``elements``, and those of visibility for all elements, by ``mem_id``."""
    applied = []
    for order, rule in enumerate(rules):
        for selector in rule.selectors:
            # A layer has a lower rank than rules without one, but a higher rank if both are important (CSS Cascade 5).
            rank = (rule.is_layered == rule.is_important, selector.specificity, order)
            applied.append((rank, rule, selector))
    styles: dict[int, SheetStyle] = {}
    for _, rule, selector in sorted(applied, key=lambda match: match[0]):
        chosen = matcher.find(selector)
        # Elements inside an invisible element may be visible.
        for element in chosen if "visibility" in rule.style else chosen & elements:
            style = styles.setdefault(element, SheetStyle())
            matcher.count(_STEPS_OF_A_MATCH + len(rule.style))
            (style.important if rule.is_important else style.normal).update(rule.style)
    return styles


class _TooManySteps(Exception):
    """The style sheets of a page need more steps than ``MAX_STEPS``."""


@dataclass(slots=True)
class _Matcher:
    """A search for elements by selectors. The parser searches only for compounds: combinators multiply its time."""

    parser: Any
    characters: int
    """The length of the page, which bounds the attribute values that selectors are compared with."""
    steps: int = 0
    """The number of comparisons so far."""
    _parents: dict[int, int] = field(default_factory=dict)
    _previous: dict[int, int] = field(default_factory=dict)
    """The parents and previous siblings of elements, by ``mem_id``."""
    _compounds: dict[str, set[int]] = field(default_factory=dict)
    _selectors: dict[Selector, set[int]] = field(default_factory=dict)
    _shown: set[int] = field(default_factory=set)
    """The elements of ``_SHOWN_BY_SCRIPTS``, which no selector finds."""

    def __post_init__(self) -> None:
        for node in self.parser.root.traverse():
            parent = node.parent
            if parent is not None and not (node.tag or "-").startswith(("-", "!")):
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
        """Count steps. Raises ``_TooManySteps``."""
        self.steps += steps
        if self.steps > MAX_STEPS:
            raise _TooManySteps

    def find(self, selector: Selector) -> set[int]:
        """Return the ``mem_id`` of the elements that a selector matches. Raises ``_TooManySteps``."""
        elements = self._selectors.get(selector)
        if elements is None:
            elements = self._find_compound(selector.compounds[0])
            for combinator, compound in zip(selector.combinators, selector.compounds[1:], strict=True):
                elements = (
                    self._filter_related(self._find_compound(compound), combinator, elements) if elements else elements
                )
            self._selectors[selector] = elements = elements - self._shown
        self.count(len(elements) + 1)
        return elements

    def _find_compound(self, compound: str) -> set[int]:
        elements = self._compounds.get(compound)
        if elements is None:
            self.count(len(self._parents) + self.characters * len(compound) // _COMPARED_IN_A_STEP)
            try:
                nodes = self.parser.css(compound)
            except SelectolaxError:  # the text is not a selector
                nodes = []
            self.count(_STEPS_OF_A_MATCH * len(nodes))
            elements = {node.mem_id for node in nodes}
            self._compounds[compound] = elements
        return elements

    def _filter_related(self, elements: set[int], combinator: str, others: set[int]) -> set[int]:
        """Return the elements that are related to one of the ``others`` by the combinator.

        The other element is an ancestor (space), the parent (``>``), the previous sibling (``+``) or any earlier
        sibling (``~``). Raises ``_TooManySteps``.
        """
        before: Mapping[int, int] = self._parents if combinator in " >" else self._previous
        chosen = set()
        for element in elements:
            related = before.get(element)
            while related is not None:
                self.count(_STEPS_OF_A_WALK)
                if related in others:
                    self.count(_STEPS_OF_A_MATCH)
                    chosen.add(element)
                    break
                related = before.get(related) if combinator in " ~" else None
        return chosen
