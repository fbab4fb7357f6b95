"""A clause read: what it is about, its verb, and what follows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from baton_local.demo_model.language.nouns import NAME, thing_and_attribute
from baton_local.demo_model.language.sentences import without_contractions
from baton_local.demo_model.language.vocabulary import VERBS, lemma, words

_OPENING = re.compile(
    r"^(?:(?:also|now|currently|today|then|really|originally|actually|these days|at the moment),? )+", re.IGNORECASE
)
_INVERTED = re.compile(r"^(?P<rest>[^,]+?) (?:is|are|was|were) (?:my|our) (?P<np>[\w' -]+)$", re.IGNORECASE)
_CALL_ME = re.compile(
    r"^(?:(?:please|just|you|they|people|friends|everyone|everybody|all|my friends|can|may|should) )*calls? me "
    r"(?P<rest>.+)$",
    re.IGNORECASE,
)
_ADVERBS = (
    r"(?: (?:both|all|also|now|currently|really|usually|always|just|actually|still|often|never|only|even|no longer|"
    r"mostly|mainly|sometimes|recently|originally|personally))*"
)
_FIRST = re.compile(rf"^(?:(?P<others>.+?) and )?(?:I|i|[Ww]e){_ADVERBS} (?P<verb>\w+)(?: (?P<rest>.*))?$")
_PRONOUN = re.compile(rf"^(?:he|she|it|they){_ADVERBS} (?P<verb>\w+)(?: (?P<rest>.*))?$", re.IGNORECASE)
_NAMED = re.compile(rf"^(?P<subject>{NAME}) (?P<verb>\w+)(?: (?P<rest>.*))?$")
_DETERMINERS = frozenset("my our the this that his her its their".split())  # noqa: SIM905
_POSSESSIVES = frozenset("his her its their".split())  # noqa: SIM905
_NOT_IN_SUBJECT = frozenset("where that who when because it he she which if whether i we you they what and or".split())  # noqa: SIM905
_NO_VALUE = frozenset("that this it what there here".split())  # noqa: SIM905
_NO_VERB = frozenset("a the and or".split())  # noqa: SIM905
_GOING = re.compile(r"(?:(?:not|now|currently|also|still) )*(?P<verb>\w+ing)(?: (?P<rest>.*))?$")
_THEN = re.compile(r"(?:(?P<adverb>not|also|always|never) )?(?P<verb>\w+)(?: (?P<rest>.*))?$")


@dataclass(frozen=True, slots=True)
class Reading:
    """The parts of a clause."""

    text: str
    """The clause without contractions and openings."""
    subject: str
    """The subject, in lower case: "dog" of "my dog"; empty if it is the user."""
    attribute: str
    """The property of the subject, as in "my dog's name"; else empty."""
    verb: str
    """The first form of its verb."""
    rest: str
    """The words after the verb."""
    is_own: bool = True
    """True if it is about the user or something that belongs to them."""
    is_pronoun: bool = False
    """True if a pronoun stands for its subject."""
    names: tuple[str, ...] = ()
    """The subject's name, as far as the clause gives it."""
    reply: str = ""
    """The words for the user, if they differ."""


def read(clause: str, thing: str) -> Reading | None:
    """Read a clause, in which "it" stands for ``thing``; None if it states nothing about anybody or anything."""
    text = _OPENING.sub("", without_contractions(clause))
    if match := _CALL_ME.match(text):
        name = match["rest"]
        return Reading(text, "", "name", "call", name, names=(name,), reply=f"Your name is {name}")
    return _of_user(text) or _of_noun(text, thing) or _inverted(text) or _of_pronoun(text, thing) or _of_name(text)


def _of_user(text: str) -> Reading | None:
    """Read "I live in Vienna"."""
    match = _FIRST.match(text)
    if match is None or (match["others"] and not re.match(r"(?:my|our)\b|[A-Z]", match["others"])):
        return None
    form = match["verb"].casefold()
    if form in _NO_VERB:
        return None
    verb, rest = _main_verb(lemma(form) or form, match["rest"] or "")
    return Reading(text, "", "", verb, rest)


def _main_verb(verb: str, rest: str) -> tuple[str, str]:
    """Return of "have moved to Rome", "do not eat meat" or "am going home" the verb that matters, and the rest."""
    first, _, others = rest.partition(" ")
    following = lemma(first)
    if verb == "have":
        is_done = following not in (None, "have") and first not in ("got", "work", "cut", "been")
        return (str(following), others) if is_done else (verb, others if first == "got" else rest)
    if verb == "use" and first == "to" and (used := _THEN.match(others)) and lemma(used["verb"]):
        return str(lemma(used["verb"])), used["rest"] or ""
    if verb == "be" and (going := _GOING.match(rest)) and lemma(going["verb"]):
        return str(lemma(going["verb"])), going["rest"] or ""
    if verb in ("do", "can", "will", "would", "should", "must") and (then := _THEN.match(rest)):
        main = lemma(then["verb"])
        if verb == "do":
            is_negated = then["adverb"] == "not" and main is not None
            return (str(main), f"not {then['rest'] or ''}".strip()) if is_negated else (verb, rest)
        if main is None or main in ("like", "love"):
            return "want", rest
        return main, f"{then['adverb'] or ''} {then['rest'] or ''}".strip()
    return verb, rest


def _of_noun(text: str, thing: str) -> Reading | None:
    """Read "My dog is called Rex"."""
    split = next(_splits(text), None)
    if split is None:
        return None
    determiner, np, verb, rest = split
    subject, attribute, names = thing_and_attribute(np)
    if determiner in _POSSESSIVES:
        if not thing:
            return None
        return Reading(text, thing, f"{subject} {attribute}".strip(), verb, rest, is_pronoun=True)
    is_own = determiner in ("my", "our")
    of = re.match(r"(?P<attribute>.+?) of (?:my|our) (?P<np>.+)$", np, re.IGNORECASE)
    if not is_own and of is not None:
        subject, _, names = thing_and_attribute(of["np"])
        attribute, is_own = of["attribute"].casefold(), True
    return Reading(text, subject, attribute, verb, rest, is_own=is_own, names=names)


def _splits(text: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield the ways to read a text as determiner, noun, verb and rest, the likeliest first."""
    tokens = text.split(" ")
    determiner = tokens[0].casefold()
    if determiner not in _DETERMINERS:
        return
    unlikely = []
    for place, token in enumerate(tokens[2:8], start=2):
        form = token.casefold()
        if form not in VERBS or _NOT_IN_SUBJECT & {each.casefold() for each in tokens[1:place]}:
            continue
        split = determiner, " ".join(tokens[1:place]), VERBS[form], " ".join(tokens[place + 1 :])
        if form.endswith("s") or VERBS[form] in ("be", "have"):
            yield split
        else:
            unlikely.append(split)
    yield from unlikely


def _inverted(text: str) -> Reading | None:
    """Read "Green is my favourite colour"."""
    match = _INVERTED.match(text)
    if match is None or _NO_VALUE & set(words(match["rest"])[:1]):
        return None
    subject, attribute, names = thing_and_attribute(match["np"])
    if not attribute and match["rest"][:1].isupper():
        names = (*names, match["rest"])
    return Reading(text, subject, attribute, "be", match["rest"], names=names)


def _of_pronoun(text: str, thing: str) -> Reading | None:
    match = _PRONOUN.match(text)
    verb = lemma(match["verb"]) if match else None
    if match is None or verb is None or not thing:
        return None
    return Reading(text, thing, "", verb, match["rest"] or "", is_pronoun=True)


def _of_name(text: str) -> Reading | None:
    """Read "Rex is a beagle"."""
    match = _NAMED.match(text)
    verb = lemma(match["verb"]) if match else None
    if match is None or verb is None:
        return None
    name = match["subject"]
    return Reading(text, name.casefold(), "", verb, match["rest"] or "", is_own=False, names=(name,))
