"""The sources that an agent gets, the sources that its answer is based on, and the renumbering of citations."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from baton.agents.call_outcome import CallOutcome
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.sentences import says_nothing_found
from baton.domain.documents.citation_marks import CitationMark, find_definitions, find_marks, replace_marks
from baton.domain.documents.numbered_passages import (
    AGENT_SOURCE,
    CONSULTED,
    DOCUMENT_SOURCE,
    FILE_SOURCE,
    PassageNumbers,
    Source,
    derive_source_key,
    drop_citation,
    map_sources_by_number,
)
from baton.domain.runs.tool_call import ToolCallRecord
from baton.memory.prompt.quoting import quote

MAX_SOURCES = 50
"""Sources of an answer. Further ones are left out."""
MAX_SOURCE_FIELD = 500
"""Characters of a field of a source. A longer text is cut, and a longer link is replaced by None."""
MAX_FILE_URL = 4_096
"""Characters of the address of a kept file, which is longer because it is signed."""


class SourceCollection:
    """Passages, files and sources of tools in the order in which they were added, shortened and without duplicates."""

    def __init__(self) -> None:
        self._sources: dict[str, Mapping[str, Any]] = {}

    @property
    def all(self) -> tuple[Mapping[str, Any], ...]:
        """All sources, at most ``MAX_SOURCES``."""
        return tuple(self._sources.values())

    def of_kind(self, kind: str) -> tuple[Mapping[str, Any], ...]:
        """Return the sources of a kind, such as ``DOCUMENT_SOURCE`` or ``FILE_SOURCE``."""
        return tuple(source for source in self._sources.values() if source.get("kind") == kind)

    def add(self, sources: Sequence[Mapping[str, Any]]) -> None:
        """Add sources, except new ones beyond ``MAX_SOURCES``.

        A source replaces an existing one only if the existing one was merely consulted and the new one was not.
        """
        for source in sources:
            short_source = _shorten_source(source)
            key = derive_source_key(short_source)
            existing = self._sources.get(key)
            is_better = existing is not None and existing.get(CONSULTED) and not short_source.get(CONSULTED)
            if is_better or (existing is None and len(self._sources) < MAX_SOURCES):
                self._sources[key] = short_source


def limit_sources(sources: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    """Return the sources within the limits of an answer: shortened, without duplicates, at most ``MAX_SOURCES``."""
    collection = SourceCollection()
    collection.add(sources)
    return collection.all


def _shorten_source(source: Mapping[str, Any]) -> dict[str, Any]:
    """Return a source with its fields shortened, and without the places of its citations."""
    longest_url = MAX_FILE_URL if source.get("kind") == FILE_SOURCE else MAX_SOURCE_FIELD
    return {key: _shorten_field(key, value, longest_url) for key, value in source.items() if key != "places"}


def _shorten_field(key: str, value: Any, longest_url: int) -> Any:
    """Return a field of a source, shortened. Values other than strings, numbers and None become strings.

    A link that is too long becomes None, because a cut link does not work.
    """
    if key == "url" and isinstance(value, str) and len(value) > longest_url:
        return None
    if isinstance(value, str):
        return value[:MAX_SOURCE_FIELD]
    return value if isinstance(value, int | float | None) else str(value)[:MAX_SOURCE_FIELD]


MAX_CITATION = 160
"""Characters after a title that are searched for the cited page or section."""

MAX_READ = 50_000
"""Characters of an answer that are searched for citations."""
MAX_CITATIONS = 100
"""Citations of one passage or document that are evaluated."""
_BLANK = " ,.:\"'”»`*_"
_OPENING = "([\uff08\u3010"
_CLOSING = re.compile("[)\\]\uff09\u3011;\n]")
_QUOTES = frozenset("\"'“”„«»*_《》")


def select_answer_sources(
    model_text: str, sources: Sequence[Source], visible_text: str | None = None, *, caller: str | None = None
) -> tuple[Source, ...]:
    """Return those of ``sources`` that an answer is based on, in their order.

    - An answer that only says that nothing was found has no sources except its files.
    - If the answer cites documents, the cited documents are its sources. If it cites none, it may be based on any
      document of its prompt, so all documents are sources. They count only as consulted if the answer cites numbers
      that no passage has. The documents of ``caller``, the id of the answering agent if it has called tools, also count
      only as consulted.
    - Consulted agents, and sources that tools name, are always sources.

    ``visible_text`` is the text that the user sees, if it differs from the model's. The places of citations are offsets
    in the visible text.
    """
    if has_found_nothing(model_text, sources):
        return tuple(source for source in sources if source.get("kind") == FILE_SOURCE)
    cited_sources, is_wrong = _find_cited(model_text, sources, model_text if visible_text is None else visible_text)
    if cited_sources:
        selected_sources = (
            cited_sources.get(derive_source_key(source)) if _may_be_cited(source) else source for source in sources
        )
        return tuple(source for source in selected_sources if source is not None)
    # Excerpts are useful only beside a citation.
    sources_without_excerpts = (
        {name: value for name, value in source.items() if name != "excerpt"} for source in sources
    )
    return tuple(
        _mark_consulted(source)
        if _may_be_cited(source) and (is_wrong or source.get("agentId") == (caller or ""))
        else source
        for source in sources_without_excerpts
    )


def select_cited_sources(text: str, sources: Sequence[Source], visible_text: str | None = None) -> tuple[Source, ...]:
    """Return the documents among ``sources`` that a text cites, in their order.

    ``visible_text`` is explained at ``select_answer_sources``.
    """
    return tuple(_find_cited(text, sources, text if visible_text is None else visible_text)[0].values())


def select_consulted_sources(
    agent: AgentDefinition, answer: str, documents: Sequence[Source] = (), files: Sequence[Source] = ()
) -> tuple[Source, ...]:
    """Return the sources that a consulted agent's ``answer`` adds to the answer of the agent that asked it.

    These are the agent itself, its ``files``, and those of its ``documents`` that it cites. If it cites none, all its
    documents count as consulted, because nobody knows which of them it used. An answer without files that only says
    that nothing was found adds no sources.
    """
    if not files and has_found_nothing(answer, documents):
        return ()
    cited_sources = select_cited_sources(answer, documents)
    may_use_all = not cited_sources and not has_found_nothing(answer, documents)
    consulted_sources = [_mark_consulted(document) for document in documents if may_use_all or document.get(CONSULTED)]
    asked_agent = {"kind": AGENT_SOURCE, "id": agent.id, "title": agent.name, "agentId": agent.id, "score": None}
    return (asked_agent, *cited_sources, *consulted_sources, *files)


def select_recorded_sources(agent: AgentDefinition | None, call: ToolCallRecord) -> tuple[Source, ...]:
    """Return the sources of a recorded call. ``agent`` is the agent that the call has asked, None for a tool's call."""
    consulted_sources = select_consulted_sources(agent, call.output or "") if agent is not None else ()
    return (*consulted_sources, *call.sources, *call.files)


def has_found_nothing(text: str, sources: Sequence[Source] = ()) -> bool:
    """Return whether an answer says only that nothing was found.

    An answer that cites one of ``sources`` in brackets says more than that.
    """
    if not says_nothing_found(text) or any(_is_in_brackets(text, source) for source in sources):
        return False
    return not _find_places(text, sources)[0]


def _find_cited(model_text: str, sources: Sequence[Source], visible_text: str) -> tuple[dict[str, Source], bool]:
    """Return the cited documents by their keys, and whether the text cites numbers that no passage has."""
    documents = [source for source in sources if _may_be_cited(source)]
    places, is_wrong = _find_places(visible_text, documents)
    numbered_ids = {source.get("id") for source in documents if source.get("number") in places}
    titled_sources = _find_titled(model_text, documents, numbered_ids)
    cited_sources: dict[str, Source] = {}
    for source in documents:
        number = source.get("number")
        if number in places:
            cited_sources[derive_source_key(source)] = {**source, "places": places[number]}
        elif source in titled_sources:
            cited_sources[derive_source_key(source)] = {**source, "places": []} if number is not None else source
    return cited_sources, is_wrong


def _find_places(text: str, sources: Sequence[Source]) -> tuple[dict[int, list[dict[str, int]]], bool]:
    """Return the places where a text cites ``sources``, by number, and whether it cites a number that no source has."""
    text, known_sources = text[:MAX_READ], map_sources_by_number(sources)
    footnotes = {
        number
        for number, definition in find_definitions(text).items()
        if number not in known_sources or not _describes(definition, known_sources[number])
    }
    places: dict[int, list[dict[str, int]]] = {}
    is_wrong = False
    for mark in find_marks(text):
        for number in mark.numbers:
            if number in known_sources and number not in footnotes:
                places_of_number = places.setdefault(number, [])
                if len(places_of_number) < MAX_CITATIONS:
                    places_of_number.append({"start": mark.start, "end": mark.end})
            is_wrong |= number not in known_sources and number not in footnotes
    return places, is_wrong


def _describes(footnote: str, source: Source) -> bool:
    """Return whether a footnote describes the passage: it has the passage's title or address, or is empty."""
    names = [name for name in (_get_title(source), str(source.get("url") or "")) if name]
    return not footnote.strip() or any(name.casefold() in footnote.casefold() for name in names)


def _may_be_cited(source: Source) -> bool:
    return source.get("kind") == DOCUMENT_SOURCE and not source.get(CONSULTED)


def _mark_consulted(source: Source) -> Source:
    return {**drop_citation(source), CONSULTED: True}


def _find_titled(text: str, documents: Sequence[Source], numbered: Collection[Any]) -> list[Source]:
    """Return the passages that a text cites by the title or the address of their document.

    A citation with a page or a section selects the passages of that page or section; a citation with only a title
    selects all passages of the document. ``numbered`` has the ids of documents that are also cited by number: their
    titles alone select no further passage.
    """
    text = text[:MAX_READ]
    sources: list[Source] = []
    for document_id in dict.fromkeys(source.get("id") for source in documents):
        passages = [source for source in documents if source.get("id") == document_id]
        references = list(islice(_find_citations(text, passages[0]), MAX_CITATIONS))
        if document_id in numbered:
            references = [reference for reference in references if reference.strip(_BLANK)]
        if references:
            matching_passages = [
                source for source in passages if any(_names_part(reference, source) for reference in references)
            ]
            sources += matching_passages or ([] if document_id in numbered else passages)
    return [source for source in documents if source in sources]


def _find_citations(text: str, source: Source) -> Iterator[str]:
    """Yield the text that follows each citation of the source by its title, up to the end of the bracket or line.

    At most ``MAX_CITATION`` characters follow. A citation by the address yields an empty text, only once. A title
    of one word is a citation only in brackets or quotation marks: elsewhere it may be an ordinary word.
    """
    title, url = _get_title(source), str(source.get("url") or "")
    if url and url in text:
        yield ""
    if not title:
        return
    is_word = " " not in title
    pattern = r"(?<!\w)" + r"\s+".join(map(re.escape, title.split())) + r"(?!\w)"
    for match in re.finditer(pattern, text, 0 if is_word else re.IGNORECASE):
        if not is_word or _is_marked(text, match):
            yield _CLOSING.split(text[match.end() : match.end() + MAX_CITATION], maxsplit=1)[0]


def _is_in_brackets(text: str, source: Source) -> bool:
    title = _get_title(source)
    return bool(title) and any(
        _is_open(text, match.start()) for match in re.finditer(re.escape(title), text[:MAX_READ], re.IGNORECASE)
    )


def _is_marked(text: str, match: re.Match[str]) -> bool:
    """Return whether a quotation mark is beside the match, or a bracket is open before it."""
    neighbours = {text[max(0, match.start() - 1) : match.start()], text[match.end() : match.end() + 1]}
    return not _QUOTES.isdisjoint(neighbours) or _is_open(text, match.start())


def _is_open(text: str, at: int) -> bool:
    """Return whether a bracket is open at the offset ``at`` of a text."""
    preceding_text = text[max(0, at - MAX_CITATION) : at]
    last_opening = max(preceding_text.rfind(bracket) for bracket in _OPENING)
    return last_opening > max(preceding_text.rfind(bracket) for bracket in ")]\uff09\u3011")


def _get_title(source: Source) -> str:
    return str(source.get("title") or "").strip()


def _names_part(reference: str, source: Source) -> bool:
    """Return whether a citation names the page or section of the passage.

    If the passage has no page and no section, return whether the citation names none either.
    """
    page, section = source.get("page"), str(source.get("section") or "").rsplit(" > ", maxsplit=1)[-1].strip()
    if page is None and not section:
        return not reference.strip(_BLANK)
    if page is not None and re.search(rf"(?<!\d){page}(?!\d)", reference):
        return True
    return bool(section) and section.casefold() in reference.casefold()


CITED = "(It cites {}.)"
DATA_LINE = "[Data: "
"""The beginning of a line with structured data of a remote agent, in which brackets are no citations."""


def renumber_citations(outcome: CallOutcome, numbers: PassageNumbers, *, lists: bool) -> CallOutcome:
    """Return the outcome of a question to an agent with its citations renumbered by ``numbers``; a failure unchanged.

    Every agent numbers its passages from 1. After the renumbering, each passage has one number for the asking model. A
    number that no source of the answer has is put in round brackets, so that it is not taken for a number of the run.
    With ``lists``, a list of the cited passages is added to the text.
    """
    if outcome.error is not None:
        return outcome
    own_sources = map_sources_by_number(outcome.sources)
    sources = tuple(_renumber_source(source, numbers) for source in outcome.sources)
    text = replace_marks(outcome.output, lambda mark: _rewrite_mark(outcome.output, mark, own_sources, numbers))
    passages = [_describe_passage(source) for source in sources if source.get("number") is not None]
    if lists and passages:
        text = f"{text}\n\n{CITED.format('; '.join(passages))}"
    return replace(outcome, output=text, sources=sources)


def _rewrite_mark(
    text: str, mark: CitationMark, own: Mapping[int, Mapping[str, Any]], numbers: PassageNumbers
) -> str | None:
    """Return a mark with the numbers of the run, or in round brackets if no source has its numbers.

    Return None to leave a mark in structured data unchanged.
    """
    if text.startswith(DATA_LINE, text.rfind("\n", 0, mark.start) + 1):
        return None
    run_numbers = [numbers.assign_number(own[number]) for number in mark.numbers if number in own]
    if not run_numbers:
        return f"({text[mark.start + 1 : mark.end - 1]})"
    return "".join(f"[{number}]" for number in run_numbers)


def _renumber_source(source: Mapping[str, Any], numbers: PassageNumbers) -> Mapping[str, Any]:
    if source.get("kind") != DOCUMENT_SOURCE or source.get(CONSULTED):
        return source
    fields = {name: value for name, value in source.items() if name != "places"}
    return {**fields, "number": numbers.assign_number(source)}


def _describe_passage(source: Mapping[str, Any]) -> str:
    """Return a passage's number, quoted title and location, as a model can cite it."""
    page, section = source.get("page"), source.get("section")
    location = f", page {page}" if page is not None else f", section {quote(str(section))}" if section else ""
    return f"[{source['number']}] {quote(str(source.get('title') or ''))}{location}"
