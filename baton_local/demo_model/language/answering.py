"""The choice of the statements that answer a user's question."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from baton_local.demo_model.language.questions import KIND, THAT, Question
from baton_local.demo_model.language.second_person import second_person
from baton_local.demo_model.language.statements import Statement
from baton_local.demo_model.language.topics import LISTS, Topic
from baton_local.demo_model.language.vocabulary import (
    AUXILIARIES,
    COLOURS,
    MOTIONS,
    NUMBERS,
    PLACE,
    SMALL_WORDS,
    TIME,
    covers,
    is_alike,
    lemma,
    words,
)

MAX_ANSWERS = 6
_FREQUENCY = re.compile(r"\b(?:every|once|twice|daily|weekly|monthly)\b", re.IGNORECASE)
_REASON = re.compile(r"\b(?:because|since|so that|to)\b", re.IGNORECASE)
_THINGS = frozenset(["what", "who", "which", "where", "when", ""])
"""Questions that any statement about a thing may answer."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A statement that answers a question."""

    statement: Statement
    opening: str = ""
    """"Yes" or "No", where that was asked."""

    @property
    def text(self) -> str:
        """The answer as it is said to the user, without its full stop."""
        reply = self.statement.reply
        return (
            f"{self.opening}, {reply[:1].lower() + reply[1:] if self.statement.is_own else reply}"
            if self.opening
            else reply
        )


def answers(asked: Question, statements: Sequence[Statement]) -> list[Answer]:
    """Return the statements that answer a question, in the order in which the user made them.

    ``statements`` has the oldest first. Of what somebody has one at a time, such as a home, only the newest counts.
    """
    names = _names(statements)
    if asked.subject is None:
        asked = _resolve_name(asked, names)
    last = next((each.subject for each in reversed(statements) if each.subject and each.is_own), "")
    asked = replace(asked, subject=last or None) if asked.subject == THAT else asked
    if asked.is_open:
        about = [each for each in statements if _is_about(asked, each, names)]
        return [Answer(each) for each in _distinct(about)[-MAX_ANSWERS:]]
    ranked = [
        (rank, -place, each) for place, each in enumerate(statements) if (rank := _rank(asked, each, names)) is not None
    ]
    if not ranked:
        return []
    best, _, newest = min(ranked, key=lambda each: each[:2])
    if asked.wh and not asked.attribute and set(asked.topics[:1]) & LISTS:
        alike = [each for rank, _, each in ranked if rank == best]
        return [Answer(each) for each in _distinct(alike)[-MAX_ANSWERS:]]
    answer = Answer(newest, _opening(asked, newest))
    return [answer] if _is_known(asked, answer) else []


def everything(statements: Sequence[Statement]) -> list[Statement]:
    """Return all that is known about the user, the oldest first; of what has changed, the newest."""
    kept: dict[object, Statement] = {}
    for statement in statements:
        if not statement.is_own or statement.is_implied:
            continue
        topics = [topic for topic in statement.topics if topic not in LISTS]
        key = (statement.subject, statement.attribute or (topics[0] if topics else statement.text.casefold()))
        kept.pop(key, None)
        kept[key] = statement
    return list(kept.values())


def unknown(asked: Question) -> str:
    """Return what the user has not said, as in "where you live"; empty if the question is about something else."""
    if asked.subject in (None, THAT) or not asked.wh or not set(asked.topics) - {Topic.HAVE, Topic.COLOUR}:
        return ""
    reply = second_person(asked.text)
    reply = reply[:1].lower() + reply[1:]
    inverted = re.match(
        r"(?P<wh>.*?\b(?:what|which|who|whom|where|when|how)\b.*?) (?P<helper>do|does|did|are|is|was|were|have|has) "
        r"(?P<who>you\b|your [\w'-]+(?: [\w'-]+){0,3}?)(?: (?P<rest>\w+\b.*))?$",
        reply,
    )
    if named := re.match(r"(?:what|who) (?:is|are) (?P<np>the [\w ]+ of your [\w ]+)$", reply):
        return named["np"]
    if inverted is None:
        return reply if reply.startswith("your ") else ""
    wh, helper, who, rest = (inverted[name] or "" for name in ("wh", "helper", "who", "rest"))
    is_thing = "'s" in who or (lemma(rest.split(" ")[0]) is None and rest != "from")
    if helper in ("is", "are") and who.startswith("your") and is_thing:
        thing = f"{who} {rest}".strip()
        return thing if wh in ("what", "who", "which") else f"{wh} {thing} {helper}"
    if helper == "does":
        first, *others = rest.split(" ")
        return " ".join([wh, who, {"do": "does", "have": "has"}.get(first, f"{first}s"), *others])
    return " ".join(part for part in (wh, who, "" if helper == "do" else helper, rest) if part)


def _distinct(statements: Sequence[Statement]) -> list[Statement]:
    """Drop what is said twice, and what others imply."""
    unique = {" ".join(words(each.reply)): each for each in statements}
    explicit = [each for each in unique.values() if not each.is_implied]
    return explicit or list(unique.values())


def _names(statements: Sequence[Statement]) -> dict[str, str]:
    """Return what the user's things go by: their names in lower case, and the things; the user's own is ""."""
    found: dict[str, str] = {}
    for statement in statements:
        if not statement.is_own:
            continue
        names = list(statement.names)
        if Topic.NAME in statement.topics and (statement.subject or statement.attribute):
            names.append(re.sub(r"^(?:also )?(?:called|named) ", "", statement.rest))
        for name in names:
            found |= {each.casefold(): statement.subject for each in re.split(r", | and ", name) if each[:1].isupper()}
    return found


def _resolve_name(asked: Question, names: dict[str, str]) -> Question:
    """Return a question about "Rex" as one about the thing of that name; its name need not be in the answer."""
    there = words(asked.text)
    for name, thing in names.items():
        if all(word in there for word in words(name)):
            wanted = tuple(word for word in asked.wanted if word not in words(name))
            text = re.sub(rf"\b{re.escape(name)}\b", f"my {thing}" if thing else "I", asked.text, flags=re.IGNORECASE)
            topics = asked.topics or ((Topic.NAME,) if asked.wh == "who" and asked.verb == "be" and not wanted else ())
            return replace(asked, text=text, subject=thing, wanted=wanted, topics=topics)
    return asked


def _rank(asked: Question, statement: Statement, names: dict[str, str]) -> int | None:
    """Return how well a statement answers: 0 is best; None if it does not."""
    if not _is_about(asked, statement, names):
        return None
    rank = _attribute_rank(asked, statement) if asked.attribute else _topic_rank(asked, statement)
    if rank is None:
        return None
    is_open = Topic.DISLIKE in asked.topics or bool(set(asked.topics) - LISTS) or not asked.wh
    if asked.is_negative != statement.is_negative and not is_open:
        return None
    if asked.is_past != statement.is_past:
        return rank * 10 + (5 if statement.is_past and Topic.BIRTH not in statement.topics else 1)
    return rank * 10


def _is_about(asked: Question, statement: Statement, names: dict[str, str]) -> bool:
    subject = statement.subject
    if asked.subject is None:
        return bool(subject) and not statement.is_own and covers(words(subject), words(asked.text))
    if asked.subject == "":  # a statement about "my dog" implies one
        return statement.is_own and (not subject or Topic.HAVE in asked.topics)
    if not statement.is_own:  # "Rex is a beagle", of the dog that is called so
        return any(name in words(subject) for name, thing in names.items() if _is_same(asked.subject, thing))
    if not subject:  # "I have a dog": the thing is in the rest
        return covers(words(asked.subject), words(statement.rest))
    return _is_same(asked.subject, subject)


def _is_same(asked: str, subject: str) -> bool:
    wanted, there = words(asked), words(subject)
    if not wanted or not there:
        return wanted == there
    return covers(wanted, there) or (is_alike(wanted[-1], there[-1]) and covers(there, wanted)) or wanted[:-1] == there


def _attribute_rank(asked: Question, statement: Statement) -> int | None:
    mine, theirs = words(asked.attribute), words(statement.attribute)
    if theirs and covers(theirs, mine) and (covers(mine, theirs) or not asked.wh):
        return 0 if not asked.wh or covers(asked.wanted, statement.words) else None
    if mine[:1] in (["favourite"], ["favorite"]):
        is_liked = not statement.attribute and statement.topics[:1] == (Topic.LIKE,)
        is_colour = is_alike(mine[-1], "colour") and bool(set(words(statement.rest)) & COLOURS)
        return 2 if is_liked and (is_colour or covers(mine[1:], words(statement.rest))) else None
    found = [place for place, topic in enumerate(asked.topics) if topic in statement.topics]
    if found:
        return 1 + found[0]
    is_thing = bool(statement.subject) and not statement.attribute
    return 4 if is_thing and covers(mine, words(statement.text)) else None


def _topic_rank(asked: Question, statement: Statement) -> int | None:
    is_mentioned = bool(asked.subject) and not statement.subject and statement.is_own
    if asked.topics[:1] == (Topic.COLOUR,):
        is_coloured = bool(set(words(statement.rest)) & COLOURS)
        return 0 if is_coloured and covers(asked.wanted, statement.words) else None
    if not asked.topics:
        return _other_rank(asked, statement, is_mentioned=is_mentioned)
    found = [place for place, topic in enumerate(asked.topics) if topic in statement.topics]
    if found and not (is_mentioned and asked.topics[found[0]] is not Topic.HAVE):
        return found[0] if _is_within(asked, statement, asked.topics[found[0]]) else None
    if Topic.HAVE in asked.topics and statement.subject and statement.is_own:
        return 3 if asked.wanted and covers(asked.wanted, words(statement.subject)) else None
    if asked.verb != statement.verb or asked.verb in AUXILIARIES or is_mentioned:
        return None
    return 4 if covers(asked.wanted, statement.words) and _fits(asked, statement) else None


def _is_within(asked: Question, statement: Statement, topic: Topic) -> bool:
    """Return whether a statement on the topic has what else is asked for."""
    if topic is Topic.BIRTH and asked.wh == "where":
        return PLACE.search(statement.rest) is not None
    must_match = topic in LISTS or asked.subject is None or (topic in (Topic.HOME, Topic.PLACE) and asked.wh)
    return not must_match or covers(asked.wanted, statement.words)


def _other_rank(asked: Question, statement: Statement, *, is_mentioned: bool) -> int | None:
    """Return the rank for a question on no topic: by its verb, its words and its question word."""
    if not covers(asked.wanted, statement.words) or not _fits(asked, statement):
        return None
    if is_mentioned:
        return 4 if asked.verb in ("be", "have", statement.verb) and asked.wh in _THINGS else None
    is_same_verb = asked.verb == statement.verb or {asked.verb, statement.verb} <= MOTIONS
    if is_same_verb and asked.verb not in ("be", "do"):
        return 0
    if asked.verb in ("be", "do") and statement.verb == "be":
        if asked.wh == "who":
            return 0 if Topic.NAME in statement.topics else 1
        if asked.subject:
            return 0 if statement.attribute in ("", "name") else 1
        return 0 if asked.wanted or asked.subject is None else None
    if asked.verb == "do" and asked.wanted and asked.subject == "":
        return 1
    return 2 if asked.subject and asked.verb == "be" and asked.wh in _THINGS else None


def _fits(asked: Question, statement: Statement) -> bool:
    """Return whether the statement has what the question word asks for."""
    rest = statement.rest
    kind = asked.wh.partition(" ")[2]
    if asked.wh == "where":
        return PLACE.search(rest) is not None
    if asked.wh == "when" or kind in ("late", "early", "often"):
        return TIME.search(rest) is not None or _FREQUENCY.search(rest) is not None or _has_number(rest)
    if asked.wh == KIND:
        return re.search(r"(?:^|\b(?:not|is) )(?:an?|my) \w", rest) is not None
    if asked.wh == "why":
        return _REASON.search(statement.text) is not None
    if kind:
        return _has_number(rest)
    return True


def _has_number(text: str) -> bool:
    return any(word in NUMBERS or word[:1].isdigit() for word in words(text))


def _opening(asked: Question, statement: Statement) -> str:
    if asked.wh:
        return ""
    if statement.is_negative != asked.is_negative:
        return "No"
    return "Yes" if covers(_claimed(asked, statement), statement.words) else "No"


def _claimed(asked: Question, statement: Statement) -> Iterator[str]:
    """Yield the words of a yes-or-no question that the statement has to contain for a yes."""
    known = {*SMALL_WORDS, *words(statement.subject), *words(statement.attribute)}
    subject, attribute = words(asked.subject or ""), words(asked.attribute)
    for word in words(asked.text):
        verb = lemma(word)
        is_topic = bool(asked.topics) and word in ("called", "named", "name", "living", "based", "work", "own")
        if word in known or is_topic or (verb is not None and verb == (asked.verb if asked.topics else statement.verb)):
            continue
        if word in (*subject, *attribute) and covers([word], statement.words):
            continue
        yield word


def _is_known(asked: Question, answer: Answer) -> bool:
    """Return whether an answer is not a guess: a user who named no dog may have one all the same."""
    if answer.opening != "No" or answer.statement.is_negative:
        return True
    return bool(set(asked.topics) - LISTS) or bool(asked.attribute) or (bool(asked.subject) and asked.verb == "be")
