"""Optional content of PDF files (layers) that is hidden when a file is opened (ISO 32000-1, 8.11)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pdfminer.pdftypes import PDFObjRef, PDFStream
from pdfminer.utils import decode_text

from baton_documents.pdf.bounds import CALL, PdfGraph, name_of
from baton_documents.pdf.streams import unpacked

_MAX_LEVELS = 10


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


def hidden(graph: PdfGraph | None, number: int) -> Layers:
    """Return the hidden layers of a page."""
    if graph is None:
        return SHOWN
    off = _Off.of(graph)
    if off is None:
        return SHOWN
    page = graph.page(number)
    states: dict[str, list[bool]] = {}
    _add_states(off, page.get("Resources"), states, 0)
    calls = tuple(_calls(off, _content(graph, page), page.get("Resources"), 0))
    # If one of several layers with the same name is shown, all of them are read.
    return Layers(
        frozenset(name for name, hidden in states.items() if all(hidden)), calls if any(map(_hides, calls)) else ()
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
        properties = graph.dictionary(graph.catalog.get("OCProperties"))
        settings = graph.dictionary(properties.get("D"))
        off = set(_numbers(graph.array(settings.get("OFF"))))
        if name_of(graph.resolved(settings.get("BaseState"))) == "OFF":
            off |= set(_numbers(graph.array(properties.get("OCGs")))) - set(_numbers(graph.array(settings.get("ON"))))
        return cls(graph, frozenset(off)) if off else None

    def hides(self, reference: Any) -> bool:
        """Return whether a layer, or a set of layers, is hidden."""
        if isinstance(reference, PDFObjRef) and reference.objid in self.layers:
            return True
        content = self.graph.dictionary(reference)
        if name_of(content.get("Type")) != "OCMD":
            return False
        layers = content.get("OCGs")
        resolved = self.graph.resolved(layers)
        states = [number in self.layers for number in _numbers(resolved if isinstance(resolved, list) else [layers])]
        if not states:
            return False
        match name_of(content.get("P")):
            case "AllOn":
                return any(states)
            case "AnyOff":
                return not any(states)
            case "AllOff":
                return not all(states)
        return all(states)


def _numbers(references: list[Any]) -> Iterator[int]:
    for reference in references:
        if isinstance(reference, PDFObjRef):
            yield reference.objid


def _hides(call: FormCall) -> bool:
    return call.is_hidden or any(map(_hides, call.inner))


def _add_states(off: _Off, resources: Any, states: dict[str, list[bool]], level: int) -> None:
    """Add to ``states``, by name, whether each layer is hidden that resources name, or resources of their forms."""
    graph = off.graph
    for reference in graph.dictionary(graph.dictionary(resources).get("Properties")).values():
        content = graph.dictionary(reference)
        if name_of(content.get("Type")) in ("OCG", "OCMD"):
            name = graph.resolved(content.get("Name"))
            text = decode_text(name) if isinstance(name, bytes) else ""
            states.setdefault(text, []).append(off.hides(reference))
    if level < _MAX_LEVELS and len(states) < 1_000:
        for form in _forms(graph, resources).values():
            inner = graph.resolved(form).attrs.get("Resources")
            if inner is not None:
                _add_states(off, inner, states, level + 1)


def _forms(graph: PdfGraph, resources: Any) -> Mapping[str, Any]:
    return dict(graph.forms(resources))


def _calls(off: _Off, content: bytes, resources: Any, level: int) -> Iterator[FormCall]:
    graph = off.graph
    forms = _forms(graph, resources)
    for match in CALL.finditer(content):
        reference = forms.get((match[1] or b"").decode("latin-1"))
        stream = graph.resolved(reference)
        if isinstance(stream, PDFStream):
            is_hidden = off.hides(stream.attrs.get("OC"))
            inner: tuple[FormCall, ...] = ()
            if not is_hidden and level < _MAX_LEVELS:
                own = stream.attrs.get("Resources", resources)
                inner = tuple(_calls(off, unpacked(stream) or b"", own, level + 1))
            yield FormCall(is_hidden, inner)


def _content(graph: PdfGraph, page: Mapping[str, Any]) -> bytes:
    contents = graph.resolved(page.get("Contents"))
    streams = [graph.resolved(content) for content in (contents if isinstance(contents, list) else [contents])]
    return b"\n".join(unpacked(stream) or b"" for stream in streams if isinstance(stream, PDFStream))
