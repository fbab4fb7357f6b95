"""Answers from what users have said about themselves: the statements that are nearest to a question, quoted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from baton_local.demo_model.statements import (
    MAX_CHARS,
    clauses,
    is_question,
    is_statement,
    second_person,
    sentences,
    statements,
    whole,
)
from baton_local.demo_model.words import CLEAR, content_words, share

Likeness = Callable[[str, Sequence[str]], Sequence[float] | None]
"""The similarity in meaning, at most 1, of a question to each of some sentences; None where it cannot be computed."""

NEAR = 0.36
"""The cosine similarity of MiniLM from which a sentence answers a question. Unrelated ones are below 0.3."""
CLOSE = 0.85
"""The share of the best sentence's similarity that another sentence needs to be quoted too."""
MAX_QUOTES = 3

_OWN = re.compile(r"\b(?:I|me|my|mine|myself|we|us|our|ours)\b", re.IGNORECASE)
_NEXT_QUESTION = re.compile(r",? and (?=(?:what|who|where|when|how|which|am|do|is)\b)", re.IGNORECASE)
_REQUEST = re.compile(
    r"^(?:(?:do|can|could|would) you (?:still |please )*(?:know|remember|recall|tell me|remind me)|"
    r"(?:tell|remind) me)\b",
    re.IGNORECASE,
)
_HOW_TO = re.compile(r"^how (?:do|can|could|should|would) (?:I|we)\b", re.IGNORECASE)
_WHAT_IS = re.compile(r"^what(?:'s|s| is| are| about)\b", re.IGNORECASE)
_EVERYTHING = re.compile(
    r"\b(?:what|anything|everything|something)\b[^?]{0,30}\byou (?:still |already )?(?:know|remember|learn\w*)"
    r"(?: so far)? about me\b|\btell me (?:everything |something |what you know )?about (?:me|myself)\b|"
    r"\bwhat (?:did|have) i (?:tell|told)(?: you)?(?: so far)?(?: about (?:me|myself))?\W*$",
    re.IGNORECASE,
)
_SYNONYMS = [
    (re.compile(pattern, re.IGNORECASE), words)
    for pattern, words in (
        (r"\bwho am i\b|\bwhat am i called\b", "what is my name"),
        (r"\b(?:what|where)(?:'s|s| is) my (?:address|home|city|town)\b|\bwhere my home is\b", "where do I live"),
        (r"\bwhat do i do for a living\b|\bwhat(?:'s|s| is) my (?:job|profession|occupation)\b", "what do I work as"),
        (r"\bcall me\b|\bI(?: am|'m) called\b|\bI(?: am|'m)(?= (?-i:[A-Z])\w+(?:$|[,.!]| from\b))", "my name is"),
        (r"\b(?:I|we)(?: have|'ve)? moved to\b", "I live in"),
        (r"^the user's\b", "my"),
        (r"^the user\b", "I"),
    )
]
"""Phrases about names and homes that mean the same, but whose vectors are not similar."""
_SUBJECT = re.compile(r"(?:my|our) .+? (?:is|are|was|were)(?: called| named)?\b|I live in\b", re.IGNORECASE)
_FACT = re.compile(r"^The user (?:said|told|wrote): [“\"](?P<words>.+)[”\"]\.?$", re.DOTALL)


def acknowledgement(message: str, earlier: Sequence[str] = ()) -> str:
    """Return a user's statements about themselves, in the second person; empty if the message says anything else.

    ``earlier`` has the user's earlier messages, newest first, which may say who "he" is.
    """
    if len(message) > MAX_CHARS:
        return ""
    parts = sentences(message)
    context = " ".join(statements(str(earlier[0]))) if earlier else ""
    for sentence in parts:
        if not is_statement(sentence, context):
            return ""
        context += f" {sentence}"
    return " ".join(second_person(whole(sentence)) for sentence in parts)


def facts_in(text: str) -> list[str]:
    """Return the clauses of a message, each of which can stand alone; the unchanged message if there is only one."""
    parts = clauses(text)
    return parts if len(parts) > 1 else [text]


def asks_everything(message: str) -> bool:
    """Return whether a message asks for all that is known about the user."""
    return _EVERYTHING.search(message) is not None


def answer_from(earlier: Sequence[str], message: str, likeness: Likeness | None = None) -> str:
    """Return the user's statements that answer the questions of a message; empty if none is near.

    The statements are in ``earlier`` messages, newest first, and in the message itself. A newer statement replaces an
    older one about the same.
    """
    stated = statements("\n".join(str(text)[:MAX_CHARS] for text in (*reversed(earlier), message)))
    if not asks_everything(message):
        return " ".join(second_person(stated[index]) for index in _nearest(stated, message, likeness))
    lines = [f"- {second_person(stated[index])}" for index in _newest(stated)]
    return "\n".join(["This is what you have told me:", "", *lines]) if lines else ""


def recollections(recalled: Sequence[Any], message: str, likeness: Likeness | None = None) -> list[dict[str, Any]]:
    """Return the recalled messages and facts of the user that answer a question, each with its ``quote``.

    A newer statement replaces an older one about the same. A fact is as old as the message that states it. A fact
    without a message counts as the newest of its day, because facts include later corrections.
    """
    quotes: dict[str, tuple[str, dict[str, Any]]] = {}
    # Of equally old items of one kind, the one ranked higher counts as later. A message replaces the fact that repeats
    # it.
    items = [item for item in reversed(recalled) if isinstance(item, dict)]
    for item in sorted(items, key=lambda item: (item.get("kind") == "message", _time(item))):
        quotes |= {statement.casefold(): (statement, item | {"quote": quote}) for statement, quote in _quotes(item)}
    ordered = sorted(quotes.values(), key=lambda entry: _time(entry[1]))
    stated = [statement for statement, _ in ordered]
    indices = _newest(stated) if asks_everything(message) else _nearest(stated, message, likeness)
    return [ordered[index][1] for index in indices]


def _time(item: dict[str, Any]) -> tuple[str, str]:
    return str(item.get("date", "")), str(item.get("at") or ("~" if item.get("kind") == "fact" else ""))


def _quotes(item: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each statement of a recalled item, with its quote."""
    text = str(item.get("text", ""))
    if item.get("kind") == "message" and item.get("role") == "user":
        is_single = len(clauses(text[:MAX_CHARS])) < 2
        yield from ((statement, text if is_single else statement) for statement in statements(text[:MAX_CHARS]))
    elif item.get("kind") == "fact":
        fact = _FACT.match(text.strip())
        parts = facts_in(fact["words"]) if fact else [text]
        yield from ((whole(part), f"The user said: “{part}”" if len(parts) > 1 else text) for part in parts)


def _nearest(stated: Sequence[str], message: str, likeness: Likeness | None) -> list[int]:
    """Return the indices of the statements that are nearest to each of a message's questions."""
    indices: list[int] = []
    for question in _questions(message):
        candidates = [index for index, statement in enumerate(stated) if _may_answer(statement, question)]
        texts = [_normalize(stated[index]) for index in candidates]
        scores, least = (likeness(_normalize(question), texts) if likeness and texts else None), NEAR
        if scores is None:
            words = content_words(_normalize(question))
            scores, least = [share(words, text) if words else 0.0 for text in texts], CLEAR
        least = max(least, CLOSE * max(scores, default=0.0))
        near = [index for index, score in zip(candidates, scores, strict=True) if score >= least]
        indices += [near[number] for number in _newest([stated[index] for index in near])][-MAX_QUOTES:]
    return list(dict.fromkeys(indices))


def _questions(message: str) -> Iterator[str]:
    for sentence in sentences(message):
        if is_question(sentence):
            yield from (_REQUEST.sub("", question).strip(" ,") for question in _NEXT_QUESTION.split(sentence))


def _may_answer(statement: str, question: str) -> bool:
    """Return whether a statement is about the subject of a question: the user, or somebody they mentioned."""
    if _OWN.search(question):
        return _HOW_TO.match(question) is None
    words = content_words(question)
    return _WHAT_IS.match(question) is None and bool(words) and share(words, statement) > 0


def _newest(stated: Sequence[str]) -> list[int]:
    """Return the indices of the statements that no later one replaces."""
    newest = {_subject(_normalize(statement)): index for index, statement in enumerate(stated)}
    return sorted(newest.values())


def _subject(statement: str) -> str:
    subject = _SUBJECT.match(statement)
    return (subject[0] if subject else statement).casefold()


def _normalize(text: str) -> str:
    for pattern, words in _SYNONYMS:
        text = pattern.sub(words, text)
    return text
