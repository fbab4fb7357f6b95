"""Panels: parts of a web page that a control of the page opens, as in tabs, accordions and expanding sections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from baton_documents.html.visibility import SheetStyle, is_hidden

MAX_CONTROLS = 2_000
"""The most controls of a page that are examined."""
MAX_NAME = 200
"""The most characters of a control's name."""
_MAX_NODES = 200
"""The most nodes of a control that are searched for its name."""
_MAX_DEPTH = 50
"""The most ancestors of a control that are searched for the header of a page."""
_MAX_LEVELS = 3
"""The most elements around a control, such as a heading, whose sibling may be its panel."""
_MAX_BETWEEN = 20
"""The most texts and comments between a control and its panel."""
_CONTROLS = "[role=tab], [aria-controls], [aria-expanded], [data-toggle], [data-bs-toggle]"
_TOGGLES = frozenset({"collapse", "tab", "pill"})
"""Values of ``data-toggle`` and ``data-bs-toggle`` (Bootstrap)."""
_POPUPS = frozenset({"menu", "listbox", "tree", "grid", "dialog", "true"})
"""Values of ``aria-haspopup`` of controls that open no part of the text."""
_NAMED_IN_PLACE = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "summary", "dt"})
"""Elements in which the text of a button is read, and need not be repeated."""


@dataclass(slots=True)
class Panels:
    """The panels of a page, by the ``mem_id`` of their elements."""

    names: dict[int, str] = field(default_factory=dict)
    """The text to insert before each panel; empty if the control's text precedes it anyway."""
    tab_lists: set[int] = field(default_factory=set)
    """Rows of tabs, which are left out: the names of tabs are inserted before their panels."""


def find_panels(root: Any, styles: Mapping[int, SheetStyle]) -> Panels:
    """Return the panels of a page, found by WAI-ARIA's roles and by conventions of Bootstrap and Confluence.

    ``styles`` holds the styles of elements that a style sheet may hide, by their ``mem_id``.
    """
    panels = Panels()
    elements = {element.attributes["id"]: element for element in root.css("[id]") if element.attributes["id"]}
    for control in root.css(_CONTROLS)[:MAX_CONTROLS]:
        if _opens_text(control):
            for panel in _find_controlled(control, elements, styles):
                panels.names.setdefault(panel.mem_id, _find_name(control))
    for tab_list in root.css("[role=tablist]")[:MAX_CONTROLS]:
        panels.tab_lists.add(tab_list.mem_id)
    for panel, tab in _pair_tab_panels(root):
        if panel.mem_id not in panels.names:
            label = elements.get((panel.attributes.get("aria-labelledby") or "").strip(), tab)
            panels.names[panel.mem_id] = (
                _read_text(label) if label is not None else panel.attributes.get("aria-label") or ""
            )
    for panel in root.css(".expand-content")[:MAX_CONTROLS]:  # Confluence, whose control is the text before the panel
        panels.names.setdefault(panel.mem_id, "")
    return panels


def _opens_text(control: Any) -> bool:
    """Return whether a control opens a part of the text, not a menu or dialog of the site."""
    attributes = control.attributes
    if attributes.get("role") == "combobox" or (attributes.get("aria-haspopup") or "").lower() in _POPUPS:
        return False
    toggle = attributes.get("data-toggle") or attributes.get("data-bs-toggle")
    opens = attributes.get("role") == "tab" or "aria-expanded" in attributes or toggle in _TOGGLES
    return opens and not _is_in_site_header(control)


def _is_in_site_header(control: Any) -> bool:
    """Return whether a control is in the header, navigation or footer of a page, where it opens menus and searches."""
    node = control.parent
    for _ in range(_MAX_DEPTH):
        if node is None or node.tag in ("main", "article", "section"):
            return False
        if node.tag in ("header", "nav", "footer"):
            return True
        node = node.parent
    return False


def _find_controlled(control: Any, elements: Mapping[str, Any], styles: Mapping[int, SheetStyle]) -> Iterator[Any]:
    """Yield the elements that a control opens, except dialogs and menus."""
    attributes = control.attributes
    ids = (attributes.get("aria-controls") or "").split()
    for name in ("data-target", "data-bs-target", "href"):
        ids += [attributes[name][1:]] if (attributes.get(name) or "").startswith("#") else []
    panels = [elements[panel_id] for panel_id in ids if panel_id in elements]
    if not panels and "aria-expanded" in attributes:
        panels = list(_find_hidden_after(control, styles))
    yield from (panel for panel in panels if panel.attributes.get("role") not in ("dialog", "menu", "listbox"))


def _find_hidden_after(control: Any, styles: Mapping[int, SheetStyle]) -> Iterator[Any]:
    """Yield the hidden element after a control or after an element around it, such as a heading, if there is one."""
    for _ in range(_MAX_LEVELS):
        sibling, passed = control.next, 0
        while sibling is not None and (sibling.tag or "-").startswith("-") and passed < _MAX_BETWEEN:
            sibling, passed = sibling.next, passed + 1
        if sibling is not None and is_hidden(sibling.attributes, styles.get(sibling.mem_id)):
            yield sibling
            return
        control = control.parent
        if control is None:
            return


def _pair_tab_panels(root: Any) -> Iterator[tuple[Any, Any | None]]:
    """Yield the panels of tabs, each with the tab at the same place in the row of tabs; None without one."""
    tabs: list[Any] = []
    used = 0
    for element in root.css("[role=tab], [role=tabpanel]")[: 2 * MAX_CONTROLS]:
        if element.attributes.get("role") == "tab":
            if used:
                tabs, used = [], 0
            tabs.append(element)
        else:
            yield element, tabs[used] if used < len(tabs) else None
            used += 1


def _find_name(control: Any) -> str:
    """Return the name of a tab, or of a button outside headings, whose text is not read otherwise; else empty."""
    if control.attributes.get("role") == "tab":
        return _read_text(control)
    if control.tag != "button":
        return ""
    parent = control.parent
    for _ in range(_MAX_LEVELS):
        if parent is None:
            break
        if parent.tag in _NAMED_IN_PLACE:
            return ""
        parent = parent.parent
    return _read_text(control)


def _read_text(control: Any) -> str:
    """Return the text of a control; without text, its ``aria-label``; empty without both."""
    texts: list[str] = []
    open_nodes, count = [control.child], 0
    while open_nodes and count < _MAX_NODES:
        node = open_nodes.pop()
        if node is None:
            continue
        count += 1
        open_nodes.append(node.next)
        if node.tag == "-text":
            texts.append(node.text_content or "")
        elif node.tag not in ("svg", "style", "script"):
            open_nodes.append(node.child)
    text = " ".join("".join(texts).split()) or (control.attributes.get("aria-label") or "").strip()
    return text[:MAX_NAME]
