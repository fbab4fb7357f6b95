"""Answers from what users have said about themselves: the statements that are nearest to a question, quoted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from baton_local.demo_model.statements import (
    MAX_CHARS,
    find_statements,
    is_question,
    is_statement,
    split_clauses,
    split_sentences,
    to_second_person,
    to_sentence,
)
from baton_local.demo_model.words import CLEAR, compute_share, find_content_words

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


def acknowledge(message: str, earlier: Sequence[str] = ()) -> str:
    """Return a user's statements about themselves, in the second person; empty if the message says anything else.

    The text is also empty for a message of more than ``MAX_CHARS``. ``earlier`` has the user's earlier messages, newest
    first; only the newest may say who "he" is.
    """
    if len(message) > MAX_CHARS:
        return ""
    parts = split_sentences(message)
    context = " ".join(find_statements(str(earlier[0]))) if earlier else ""
    for sentence in parts:
        if not is_statement(sentence, context):
            return ""
        context += f" {sentence}"
    return " ".join(to_second_person(to_sentence(sentence)) for sentence in parts)


def divide_facts(text: str) -> list[str]:
    """Return the clauses of a message, each of which can stand alone; the unchanged message if there is only one."""
    parts = split_clauses(text)
    return parts if len(parts) > 1 else [text]


def asks_everything(message: str) -> bool:
    """Return whether a message asks for all that is known about the user."""
    return _EVERYTHING.search(message) is not None


def answer_from(earlier: Sequence[str], message: str, likeness: Likeness | None = None) -> str:
    """Return the user's statements that answer the questions of a message; empty if none is near.

    The statements are in ``earlier`` messages, newest first, and in the message itself. A newer statement replaces an
    older one about the same.
    """
    stated = find_statements("\n".join(str(text)[:MAX_CHARS] for text in (*reversed(earlier), message)))
    if not asks_everything(message):
        return " ".join(to_second_person(stated[index]) for index in _find_nearest(stated, message, likeness))
    lines = [f"- {to_second_person(stated[index])}" for index in _find_newest(stated)]
    return "\n".join(["This is what you have told me:", "", *lines]) if lines else ""


def find_recollections(recalled: Sequence[Any], message: str, likeness: Likeness | None = None) -> list[dict[str, Any]]:
    """Return the recalled messages and facts of the user that answer a question, each with its ``quote``.

    A newer statement replaces an older one about the same. A fact is as old as the message that states it. A fact
    without a message counts as the newest of its day, because facts include later corrections.
    """
    quotes: dict[str, tuple[str, dict[str, Any]]] = {}
    # Of equally old items of one kind, the one ranked higher counts as later. A message replaces the fact that repeats
    # it.
    items = [item for item in reversed(recalled) if isinstance(item, dict)]
    for item in sorted(items, key=lambda item: (item.get("kind") == "message", _order_by_time(item))):
        quotes |= {statement.casefold(): (statement, item | {"quote": quote}) for statement, quote in _quote_item(item)}
    ordered = sorted(quotes.values(), key=lambda entry: _order_by_time(entry[1]))
    stated = [statement for statement, _ in ordered]
    indices = _find_newest(stated) if asks_everything(message) else _find_nearest(stated, message, likeness)
    return [ordered[index][1] for index in indices]


def _order_by_time(item: dict[str, Any]) -> tuple[str, str]:
    """Return the key that sorts recalled items by their day and time. A fact without a time is the last of its day."""
    return str(item.get("date", "")), str(item.get("at") or ("~" if item.get("kind") == "fact" else ""))


def _quote_item(item: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each statement of a recalled item, with its quote."""
    text = str(item.get("text", ""))
    if item.get("kind") == "message" and item.get("role") == "user":
        is_single = len(split_clauses(text[:MAX_CHARS])) < 2
        yield from ((statement, text if is_single else statement) for statement in find_statements(text[:MAX_CHARS]))
    elif item.get("kind") == "fact":
        fact = _FACT.match(text.strip())
        parts = divide_facts(fact["words"]) if fact else [text]
        yield from ((to_sentence(part), f"The user said: “{part}”" if len(parts) > 1 else text) for part in parts)


def _find_nearest(stated: Sequence[str], message: str, likeness: Likeness | None) -> list[int]:
    """Return the indices of the statements that are nearest to each of a message's questions, without repetitions."""
    indices: list[int] = []
    for question in _find_questions(message):
        candidates = [index for index, statement in enumerate(stated) if _may_answer(statement, question)]
        texts = [_normalize(stated[index]) for index in candidates]
        scores, least = (likeness(_normalize(question), texts) if likeness and texts else None), NEAR
        if scores is None:
            words = find_content_words(_normalize(question))
            scores, least = [compute_share(words, text) if words else 0.0 for text in texts], CLEAR
        least = max(least, CLOSE * max(scores, default=0.0))
        near = [index for index, score in zip(candidates, scores, strict=True) if score >= least]
        indices += [near[number] for number in _find_newest([stated[index] for index in near])][-MAX_QUOTES:]
    return list(dict.fromkeys(indices))


def _find_questions(message: str) -> Iterator[str]:
    """Yield the questions of a message, without phrases such as "can you tell me"."""
    for sentence in split_sentences(message):
        if is_question(sentence):
            yield from (_REQUEST.sub("", question).strip(" ,") for question in _NEXT_QUESTION.split(sentence))


def _may_answer(statement: str, question: str) -> bool:
    """Return whether a statement may answer a question.

    Any statement may answer a question about the user, and one that shares a word with it any other question. Questions
    for instructions ("how do I") and for explanations ("what is") are about knowledge, which documents have.
    """
    if _OWN.search(question):
        return _HOW_TO.match(question) is None
    words = find_content_words(question)
    return _WHAT_IS.match(question) is None and bool(words) and compute_share(words, statement) > 0


def _find_newest(stated: Sequence[str]) -> list[int]:
    """Return the indices of the statements that no later one replaces."""
    newest = {_find_subject(_normalize(statement)): index for index, statement in enumerate(stated)}
    return sorted(newest.values())


def _find_subject(statement: str) -> str:
    """Return what a statement is about, such as "my name is"; the whole statement if no pattern finds its subject."""
    subject = _SUBJECT.match(statement)
    return (subject[0] if subject else statement).casefold()


def _normalize(text: str) -> str:
    """Return a text with one phrase in place of each of its synonyms."""
    for pattern, words in _SYNONYMS:
        text = pattern.sub(words, text)
    return text
