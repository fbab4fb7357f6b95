"""The sources of an answer: those that it rests on, of all that the agent was given or asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from baton.domain.agent import AgentDefinition
from baton.domain.extracted import DOCUMENT_SOURCE, FILE_SOURCE
from baton.domain.sentences import says_nothing_found

Source = Mapping[str, Any]

MAX_CITATION = 160
"""Characters behind a title in which its page or section is looked for."""

MAX_READ = 50_000
"""Characters of an answer in which citations are looked for."""
MAX_CITATIONS = 100
"""Citations of one document that are looked at."""
_OPENING = "([\uff08\u3010"
_CLOSING = re.compile("[)\\]\uff09\u3011;\n]")
_QUOTES = frozenset("\"'“”„«»*_《》")


def select_answer_sources(text: str, given: Sequence[Source]) -> tuple[Source, ...]:
    """Return the sources among ``given`` that an answer rests on, in their order.

    An answer that says only that it found nothing rests on nothing but files that came with it. One that cites some of
    its documents rests on those; one that cites none may rest on all that were in its prompt. Agents and what tools
    have named are kept: they were asked for this answer.
    """
    if has_found_nothing(text, given):
        return tuple(source for source in given if source.get("kind") == FILE_SOURCE)
    cited = find_cited_documents(text, given)
    if not cited:
        return tuple(given)
    return tuple(source for source in given if source.get("kind") != DOCUMENT_SOURCE or source in cited)


def select_consulted_sources(
    agent: AgentDefinition, answer: str, documents: Sequence[Source] = (), files: Sequence[Source] = ()
) -> tuple[Source, ...]:
    """Return the additions of a consulted agent's ``answer`` to the sources of the answer for which it was asked.

    That is the agent itself, unless it says only that it found nothing; the files that it has sent; and those of its
    ``documents`` that it cites: of others the asking agent has learned nothing.
    """
    if not files and has_found_nothing(answer, documents):
        return ()
    return (make_agent_source(agent), *find_cited_documents(answer, documents), *files)


def make_agent_source(agent: AgentDefinition) -> dict[str, Any]:
    """Return an agent as a source of an answer."""
    return {"kind": "agent", "id": agent.id, "title": agent.name, "agentId": agent.id, "score": None}


def has_found_nothing(text: str, given: Sequence[Source] = ()) -> bool:
    """Return whether an answer says that it found nothing, and says nothing else.

    One that cites some of ``given`` in brackets says something.
    """
    return says_nothing_found(text) and not any(_is_in_brackets(text, source) for source in given)


def find_cited_documents(text: str, given: Sequence[Source]) -> list[Source]:
    """Return the passages among ``given`` that a text cites, by the title or the address of their document.

    Of a document that it cites with a page or a section, only the passages that stand there.
    """
    text = text[:MAX_READ]
    found: list[Source] = []
    documents = [source for source in given if source.get("kind") == DOCUMENT_SOURCE]
    for document_id in dict.fromkeys(source.get("id") for source in documents):
        passages = [source for source in documents if source.get("id") == document_id]
        places = list(islice(_find_citations(text, passages[0]), MAX_CITATIONS))
        if places:
            exact = [source for source in passages if any(_stands_at(source, place) for place in places)]
            found += exact or passages
    return [source for source in documents if source in found]


def _find_citations(text: str, source: Source) -> Iterator[str]:
    """Yield the text after each citation of the source, up to the end of its bracket or line.

    A title of one word is a citation only in brackets or quotation marks: elsewhere it may be a word like any other.
    """
    title, url = _title(source), str(source.get("url") or "")
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
    title = _title(source)
    return bool(title) and any(
        _is_open(text, match.start()) for match in re.finditer(re.escape(title), text[:MAX_READ], re.IGNORECASE)
    )


def _is_marked(text: str, match: re.Match[str]) -> bool:
    around = {text[max(0, match.start() - 1) : match.start()], text[match.end() : match.end() + 1]}
    return not _QUOTES.isdisjoint(around) or _is_open(text, match.start())


def _is_open(text: str, at: int) -> bool:
    """Return whether a bracket is open at this place of a text."""
    near = text[max(0, at - MAX_CITATION) : at]
    return max(near.rfind(mark) for mark in _OPENING) > max(near.rfind(mark) for mark in ")]\uff09\u3011")


def _title(source: Source) -> str:
    return str(source.get("title") or "").strip()


def _stands_at(source: Source, place: str) -> bool:
    """Return whether a citation's page or section is that of the passage, or neither has one."""
    page, section = source.get("page"), str(source.get("section") or "").rsplit(" > ", maxsplit=1)[-1].strip()
    if page is None and not section:
        return not place.strip(" ,.:\"'”»`*_")
    if page is not None and re.search(rf"(?<!\d){page}(?!\d)", place):
        return True
    return bool(section) and section.casefold() in place.casefold()
