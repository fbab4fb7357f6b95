"""Citations of a consulted agent's answer, in the numbers of the run that asked it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from baton.agents.call_outcome import CallOutcome
from baton.domain.documents.citation_marks import CitationMark, replace_marks
from baton.domain.documents.numbered_passages import CONSULTED, DOCUMENT_SOURCE, PassageNumbers, list_numbered
from baton.memory.prompt.quoting import quote

CITED = "(It cites {}.)"
DATA_LINE = "[Data: "
"""The beginning of a line with structured data of a remote agent, in which brackets are no citations."""


def renumber(outcome: CallOutcome, numbers: PassageNumbers, *, lists: bool) -> CallOutcome:
    """Return the outcome of a question with the citations of the answer in ``numbers``.

    Two agents that are asked at once both number their passages from 1, and so does the one that asks: its model gets
    each passage under one number. A number that the answer's sources do not have is put in round brackets, so that it
    cannot pass for one of the run. ``lists``: the text ends with the cited passages, by their numbers.
    """
    if outcome.error is not None:
        return outcome
    own = list_numbered(outcome.sources)
    sources = tuple(_renumber_source(source, numbers) for source in outcome.sources)
    text = replace_marks(outcome.output, lambda mark: _rewrite(outcome.output, mark, own, numbers))
    cited = [_describe(source) for source in sources if source.get("number") is not None]
    if lists and cited:
        text = f"{text}\n\n{CITED.format('; '.join(cited))}"
    return replace(outcome, output=text, sources=sources)


def _rewrite(
    text: str, mark: CitationMark, own: Mapping[int, Mapping[str, Any]], numbers: PassageNumbers
) -> str | None:
    if text.startswith(DATA_LINE, text.rfind("\n", 0, mark.start) + 1):
        return None
    cited = [numbers.number(own[number]) for number in mark.numbers if number in own]
    if not cited:
        return f"({text[mark.start + 1 : mark.end - 1]})"
    return "".join(f"[{number}]" for number in cited)


def _renumber_source(source: Mapping[str, Any], numbers: PassageNumbers) -> Mapping[str, Any]:
    if source.get("kind") != DOCUMENT_SOURCE or source.get(CONSULTED):
        return source
    fields = {name: value for name, value in source.items() if name != "places"}
    return {**fields, "number": numbers.number(source)}


def _describe(source: Mapping[str, Any]) -> str:
    """Return a passage as a model can cite it: the document's own words are quoted."""
    page, section = source.get("page"), source.get("section")
    location = f", page {page}" if page is not None else f", section {quote(str(section))}" if section else ""
    return f"[{source['number']}] {quote(str(source.get('title') or ''))}{location}"
