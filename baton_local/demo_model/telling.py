"""The demo model acknowledges statements of users, answers from them, and notes them as facts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from baton_local.demo_model.language.answering import answers, everything, unknown
from baton_local.demo_model.language.questions import Question, questions, wants_everything
from baton_local.demo_model.language.sentences import sentences
from baton_local.demo_model.language.statements import Statement, conversation, statements
from baton_local.demo_model.language.vocabulary import MOODS, REQUESTS, VERBS, words

MAX_ACKNOWLEDGED = 600
"""Characters of a message that is repeated to the user."""
_CHAT = re.compile(
    r"^(?:not )?(?:back|it|this|that|them|you|your|so|too)\b|\byou(?:r|rs)?\b|"
    r"^(?:(?:a|an|some|another|one|two) )?(?:\w+ )?(?:questions?|problems?|issues?|ideas?|requests?|look|doubts?)\b",
    re.IGNORECASE,
)
_EMPTY = frozenset("be do have can will would like love go come".split())  # noqa: SIM905
_END_OF_DAY = "~"
"""A time after all others of a day."""
_SAID = re.compile(r"^The user (?:said|told|wrote): [“\"](?P<said>.+)[”\"]\.?$", re.DOTALL)


def acknowledgement(said: str, earlier: Sequence[str] = ()) -> str:
    """Return a user's statements about themselves, in the second person; empty if they said something else as well.

    ``earlier`` has their messages of before, the newest first: they may say who "he" is.
    """
    if len(said) > MAX_ACKNOWLEDGED or said.rstrip().endswith("?"):
        return ""
    before = [str(text) for text in earlier[:1]]
    stated = conversation([*before, said])[len(conversation(before)) :]
    found = [each for each in stated if not each.is_implied]
    if not any(each.is_own for each in found) or not all(_is_fact(each) for each in found):
        return ""
    if any(not _is_stated(sentence, found) for sentence in sentences(said)):
        return ""
    first, *others = found
    rest = [each.continued for each in others]
    return f"{', '.join([first.reply, *rest[:-1]])} and {rest[-1]}." if rest else f"{first.reply}."


def answer_from(earlier: Sequence[str], said: str) -> str:
    """Return statements of this message and ``earlier`` ones, the newest first, that answer its questions.

    Empty if that is nothing, or if it asks nothing about the user and their things.
    """
    asked, is_everything = questions(said), wants_everything(said)
    if not asked and not is_everything:
        return ""
    stated = conversation([*reversed([str(text) for text in earlier]), said])
    if is_everything:
        return _listed([each.reply for each in everything(stated)])
    found = [(each, answers(each, stated)) for each in asked]
    if not any(known for _, known in found):
        return ""
    said_of = [[f"{answer.text}." for answer in known] or _unknown(each) for each, known in found]
    return " ".join(dict.fromkeys(part for parts in said_of for part in parts))


def recollections(recalled: Sequence[Any], said: str) -> list[dict[str, Any]]:
    """Return the recalled messages and facts that answer a question, each with the ``quote`` that does.

    Of what changes, the newest counts. A fact that no recalled message says is the newest of its day: it knows what has
    replaced the messages.
    """
    items = [each for each in recalled if isinstance(each, dict) and _is_users(each)]
    # Of those that are of one time, the one that is ranked higher counts as later.
    stated = [(statement, item) for item in reversed(items) for statement in _of_user(item)]
    stated = [stated[place] for place in sorted(range(len(stated)), key=lambda place: _said_at(*stated[place], stated))]
    every = [statement for statement, _ in stated]
    if wants_everything(said):
        chosen = everything(every)
    else:
        chosen = [answer.statement for asked in questions(said) for answer in answers(asked, every)]
    found: list[dict[str, Any]] = []
    for statement in chosen:
        same = [pair for pair in stated if _is_same(pair[0], statement)]
        newest = max(str(item.get("date", "")) for _, item in same)
        of_that_day = [pair for pair in same if pair[1].get("date", "") == newest]
        source, item = next((pair for pair in of_that_day if pair[1].get("kind") == "message"), of_that_day[-1])
        quoted = {**item, "quote": _quote(source, str(item.get("text", "")))}
        if quoted not in found:
            found.append(quoted)
    return found


def untold(said: str) -> str:
    """Return what of the user a question asks for, as in "where you live"; empty if it asks for something else."""
    asked = questions(said)
    return unknown(asked[0]) if asked else ""


def _unknown(asked: Question) -> list[str]:
    return [f"You have not told me {left} yet."] if (left := unknown(asked)) else []


def facts_in(text: str) -> list[str]:
    """Return the statements of a message, each as it can stand alone; the whole message if it is only one."""
    found: list[str] = []
    for sentence in sentences(text):
        stated = [each for each in statements(sentence) if not each.is_implied]
        if not stated and _means_something(sentence):
            sentences_of_it = [sentence]
        elif all(each.is_alone for each in stated):
            sentences_of_it = [_sentence(each.text) for each in stated]
        else:
            sentences_of_it = [sentence]
        if found and re.match(r"(?:he|she|it|they|his|her|its|their)\b", sentence, re.IGNORECASE):
            found[-1] = f"{found[-1]} {sentence}"
        else:
            found += sentences_of_it
    return found if len(found) > 1 else [text]


def _is_fact(statement: Statement) -> bool:
    if not statement.subject and not statement.attribute and statement.is_own:
        if statement.verb in REQUESTS or (statement.verb in _EMPTY and not statement.rest):
            return False
        if statement.verb == "be" and words(statement.rest)[:1] and words(statement.rest)[0] in MOODS:
            return False
        return _CHAT.search(statement.rest) is None
    return True


def _is_stated(sentence: str, found: Sequence[Statement]) -> bool:
    """Return whether a sentence consists of statements, or is an interjection."""
    stated = {each.text for each in found}
    return not _means_something(sentence) or any(text in sentence for text in stated) or bool(statements(sentence))


def _means_something(sentence: str) -> bool:
    """Return whether a sentence without statements is more than an interjection."""
    found = words(sentence)
    return len(found) > 3 or any(word in VERBS and word not in ("thank", "thanks") for word in found)


def _is_users(item: dict[str, Any]) -> bool:
    return item.get("kind") == "fact" or (item.get("kind") == "message" and item.get("role") == "user")


def _of_user(item: dict[str, Any]) -> tuple[Statement, ...]:
    return statements(_first_person(str(item.get("text", ""))))


def _said_at(
    statement: Statement, item: dict[str, Any], stated: Sequence[tuple[Statement, dict[str, Any]]]
) -> tuple[str, str]:
    """Return the day and the time of a statement, as far as they are known; a fact's time is that of its message."""
    day = str(item.get("date", ""))
    if item.get("kind") == "message":
        return day, str(item.get("at", ""))
    times = [
        str(other.get("at", ""))
        for said, other in stated
        if other.get("kind") == "message" and other.get("date") == day and _is_same(said, statement)
    ]
    return day, max(times, default=_END_OF_DAY)


def _is_same(statement: Statement, other: Statement) -> bool:
    return statement.reply.casefold() == other.reply.casefold()


def _first_person(text: str) -> str:
    """Return a fact about "the user" in the first person."""
    if said := _SAID.match(text.strip()):
        return said["said"]
    if possessive := re.match(r"the user's (.+)", text, re.IGNORECASE):
        return f"My {possessive[1]}"
    if verb := re.match(r"the user (?P<verb>\w+)\b(?P<rest>.*)", text, re.IGNORECASE):
        form = verb["verb"].casefold()
        own = {"is": "am", "was": "was"}.get(form, VERBS.get(form, form) if form.endswith("s") else form)
        return re.sub(r"\b(?:their|his|her)\b", "my", f"I {own}{verb['rest']}")
    return text


def _quote(statement: Statement, text: str) -> str:
    """Return the part of a message that says it, or all of it if it says little else."""
    said = _SAID.match(text.strip())
    whole = said["said"] if said else text
    stated = [each for each in statements(_first_person(text)) if not each.is_implied]
    if len(stated) < 2 or not statement.is_alone or statement.text not in whole:
        return text
    part = _sentence(statement.text)
    return f"The user said: “{part}”" if said else part


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _listed(listed: Sequence[str]) -> str:
    if not listed:
        return ""
    return "\n".join(["This is what you have told me:", "", *(f"- {each}." for each in listed)])
