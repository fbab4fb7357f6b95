"""Optional content of PDF files (layers) that is hidden when a file is opened (ISO 32000-1, 8.11)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pdfminer.pdftypes import PDFObjRef, PDFStream
from pdfminer.utils import decode_text

from baton_documents.pdf.bounds import CALL, PdfGraph, decode_name, identify, read_name
from baton_documents.pdf.streams import unpack

_MAX_LEVELS = 10
"""The deepest nesting of calls of forms that are examined."""
_MAX_NAMES = 1_000
"""The number of names of layers after which no further resources are examined."""


@dataclass(frozen=True, slots=True)
class FormCall:
    """A call of a form XObject."""

    is_hidden: bool
    inner: tuple[FormCall, ...] = ()
    """The calls in the form, in their order."""


@dataclass(frozen=True, slots=True)
class Layers:
    """The hidden optional content of one page."""

    names: frozenset[str] = frozenset()
    """The names of hidden layers, as marked content refers to them; "" for sets of layers, which have no name."""
    calls: tuple[FormCall, ...] = ()
    """The calls of forms, in their order; empty if no form is hidden."""


SHOWN = Layers()
"""The layers of a page on which nothing is hidden."""


def find_hidden(graph: PdfGraph | None, number: int) -> Layers:
    """Return the hidden layers of a page, whose number is from 1; ``SHOWN`` if only PDFium can read the file."""
    if graph is None:
        return SHOWN
    off = _Off.of(graph)
    if off is None:
        return SHOWN
    page = graph.find_page(number)
    states = _find_states(off, page.get("Resources"))
    calls = tuple(_find_calls(off, _read_content(graph, page), page.get("Resources"), 0))
    # If one of several layers with the same name is shown, all of them are read.
    return Layers(
        frozenset(name for name, are_hidden in states.items() if all(are_hidden)),
        calls if any(map(_hides_form, calls)) else (),
    )


@dataclass(frozen=True, slots=True)
class _Off:
    """The layers of a file that are off."""

    graph: PdfGraph
    layers: frozenset[int]
    """The numbers of the layers' objects."""

    @classmethod
    def of(cls, graph: PdfGraph) -> _Off | None:
        """Return the layers that are off; None without any."""
        properties = graph.read_dictionary(graph.catalog.get("OCProperties"))
        settings = graph.read_dictionary(properties.get("D"))
        off = set(_list_numbers(graph.read_array(settings.get("OFF"))))
        if read_name(graph.resolve(settings.get("BaseState"))) == "OFF":
            off |= set(_list_numbers(graph.read_array(properties.get("OCGs")))) - set(
                _list_numbers(graph.read_array(settings.get("ON")))
            )
        return cls(graph, frozenset(off)) if off else None

    def hides(self, reference: Any) -> bool:
        """Return whether a layer, or a set of layers, is hidden."""
        if isinstance(reference, PDFObjRef) and reference.objid in self.layers:
            return True
        content = self.graph.read_dictionary(reference)
        if read_name(content.get("Type")) != "OCMD":
            return False
        layers = content.get("OCGs")
        resolved = self.graph.resolve(layers)
        states = [
            number in self.layers for number in _list_numbers(resolved if isinstance(resolved, list) else [layers])
        ]
        if not states:
            return False
        match read_name(content.get("P")):
            case "AllOn":
                return any(states)
            case "AnyOff":
                return not any(states)
            case "AllOff":
                return not all(states)
        return all(states)


def _list_numbers(references: list[Any]) -> Iterator[int]:
    """Yield the numbers of the objects to which references refer."""
    for reference in references:
        if isinstance(reference, PDFObjRef):
            yield reference.objid


def _hides_form(call: FormCall) -> bool:
    """Return whether the called form, or a form in it, is hidden."""
    return call.is_hidden or any(map(_hides_form, call.inner))


def _find_states(off: _Off, resources: Any) -> dict[str, list[bool]]:
    """Return, by name, whether layers are hidden that resources, or resources of their forms, refer to."""
    graph = off.graph
    states: dict[str, list[bool]] = {}
    ahead, passed = [resources], set[object]()
    while ahead and len(states) < _MAX_NAMES:
        resources = ahead.pop()
        if identify(resources) in passed:
            continue
        passed.add(identify(resources))
        for reference in graph.read_dictionary(graph.read_dictionary(resources).get("Properties")).values():
            content = graph.read_dictionary(reference)
            if read_name(content.get("Type")) in ("OCG", "OCMD"):
                name = graph.resolve(content.get("Name"))
                text = decode_text(name) if isinstance(name, bytes) else ""
                states.setdefault(text, []).append(off.hides(reference))
        ahead += [graph.resolve(form).attrs.get("Resources") for form in graph.find_forms(resources).values()]
    return states


def _find_calls(off: _Off, content: bytes, resources: Any, level: int) -> Iterator[FormCall]:
    """Yield the calls of forms in the content of a page or form, in their order."""
    graph = off.graph
    forms = graph.find_forms(resources)
    for match in CALL.finditer(content):
        reference = forms.get(decode_name(match[1] or b""))
        stream = graph.resolve(reference)
        if isinstance(stream, PDFStream):
            is_hidden = off.hides(stream.attrs.get("OC"))
            inner: tuple[FormCall, ...] = ()
            if not is_hidden and level < _MAX_LEVELS:
                own = stream.attrs.get("Resources", resources)
                inner = tuple(_find_calls(off, unpack(stream) or b"", own, level + 1))
            yield FormCall(is_hidden, inner)


def _read_content(graph: PdfGraph, page: Mapping[str, Any]) -> bytes:
    """Return the content of all streams of a page. Streams that are too large are left out."""
    contents = graph.resolve(page.get("Contents"))
    streams = [graph.resolve(content) for content in (contents if isinstance(contents, list) else [contents])]
    return b"\n".join(unpack(stream) or b"" for stream in streams if isinstance(stream, PDFStream))
