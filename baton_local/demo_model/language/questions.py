"""Reading of questions about a user's statements: "Do you remember where I live?" asks for the user's home."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from baton_local.demo_model.language.sentences import sentences, without_contractions
from baton_local.demo_model.language.topics import Topic, attribute_topic
from baton_local.demo_model.language.vocabulary import AUXILIARIES, NOUNS_LIKE_VERBS, SMALL_WORDS, VERBS, lemma, words

MAX_QUESTION = 300
"""Limit of a question in characters."""
KIND = "what kind"
"""The question word of "What breed is my dog?"."""
THAT = "it"
"""The subject of a question about the last statement: "How old is he?"."""


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_OPENINGS = _any(
    r"^(?:so|and|but|ok(?:ay)?|hey|hi|hello|please|well|now|then|thanks|thank you|great|by the way|sorry|just|also|"
    r"baton|hm+|quick question)\b[\s,.!:]*",
)
_REQUESTS = _any(
    r"^(?:(?:can|could|would|will) you )?(?:please |maybe )*(?:tell me|remind me|recall|repeat)\b"
    r"(?: again| please| of(?= my| our))*[\s,:]+",
    r"^(?:(?:do|can|could|would) )?you (?:still |even |happen to |maybe )*(?:know|remember|recall|guess)\b"
    r"(?: again)?[\s,:]*",
    r"^(?:what|did|do|have)(?: did| have)? i (?:ever |already )?(?:tell|told|mention|mentioned|say|said)(?: to)?"
    r"(?: you)?(?: that)? (?=(?:about|where|who|what|when|how|my|our|i)\b)",
    r"^what (?:do|did) you (?:still |already )?(?:know|remember|learn) (?=about\b)",
    r"^i(?: have)? (?:forgot(?:ten)?|forget|wonder|was wondering)[\s,:]+",
    r"^i would (?:like|love) to know[\s,:]+",
)
_TRAILER = _any(
    r"(?<![\s,])[\s,]+(?:again|please|exactly|now|right now|currently|today|at the moment|by the way|then|actually|"
    r"these days|nowadays|(?:do|can|could) you (?:still )?(?:know|remember|recall)(?: it| that)?|remember|thanks|"
    r"for me)$",
)
_EVERYTHING = _any(
    r"\b(?:what|anything|everything|something)\b[^?]{0,30}\byou (?:still |already )?(?:know|remember|learn\w*)"
    r"(?: so far)? about me\b",
    r"\bwhat (?:did|have) i (?:tell|told|say|said|mention\w*)(?: to)?(?: you)?(?: so far)?(?: about (?:me|myself))\b",
    r"\btell me (?:everything |something |what you know )?about (?:me|myself)\b",
    r"\bdo you (?:still )?(?:know|remember) me\b",
    r"\bwhat have i told you\b(?: so far)?\W*$",
)
_WH = _any(
    r"^(?:(?:in|at|for|from|to|with|on|by|since) )?(?P<wh>what|which|who|whom|whose|where|when|why|how)\b"
    r"(?: (?P<degree>old|many|much|tall|long|far|often|big|high|heavy|late|early|fast)\b)?",
)
_YES_NO = _any(r"^(?:am|is|are|was|were|do|does|did|have|has|can)\b")
_HOW_TO = _any(
    r"^how (?:do|can|could|should|would|may|must|did) (?:i|we)\b(?! (?:like|love|take|prefer|get to work|feel|commute))"
)
_NOUN = _any(
    r"^(?:\w+ )?(?:what|which) (?:(?:kind|sort|type|breed)s? of )?(?P<noun>\w+)\b"
    r"(?= (?:do|does|did|am|are|is|have|has|was) )"
)
_BEST = _any(
    r"^(?:what|which) (?P<noun>[\w ]+?)s? do (?:i|we) (?:like|love|prefer|enjoy)(?: (?:the )?(?:best|most|more))?$"
)
_MARRIED = _any(r"\bwho (?:am i|are we) married to\b|\bwho did i marry\b")
_HOME = _any(r"^where is home$")
_FAVOURITE = _any(r"^(?:what|which) (?P<noun>[\w ]+?)s? (?:is|are) my favou?rites?$")
_PARTS = _any(r"\?\s+|,?\s+(?:and|&)\s+(?=(?:also )?(?:what|which|who|where|when|how|whose|do|am|is|did|my)\b)")
_OF = _any(r"\b(?P<attribute>[\w-]+(?: of birth)?) of (?:my|our) (?P<np>[\w' -]+)")
_OWN = _any(r"\b(?:my|our) (?P<np>[\w' -]+)")
_THEIRS = _any(r"\b(?:his|her|its|their) (?P<np>[\w' -]+)")
_WHERE_NOUNS = frozenset("city town country place street village state region district area address location".split())  # noqa: SIM905
_KIND_NOUNS = frozenset("breed kind type sort make model race".split())  # noqa: SIM905
_WHEN_NOUNS = frozenset("year day date time month weekday hour".split())  # noqa: SIM905
_AFTER_NOUN = frozenset(
    """
    is are was were am be called named do does did has have had again in at on for from to with about and or if when
    where located parked based now today please born cost costs made take takes place tomorrow tonight by
    """.split()  # noqa: SIM905
)
_TOPICS: tuple[tuple[str, tuple[Topic, ...]], ...] = (
    (r"\b(?:called|named|names?)\b|\bwho (?:am i|i am)$|\bcall me\b", (Topic.NAME,)),
    (r"\bfor (?:a living|work)\b", (Topic.JOB, Topic.EMPLOYER)),
    (r"\bhow old\b|\bage\b", (Topic.AGE, Topic.BIRTH)),
    (r"\bwhere\b.*\bborn\b|\bborn in\b", (Topic.BIRTH, Topic.ORIGIN)),
    (r"\bborn\b|\bbirthday\b|\bbirth\b", (Topic.BIRTH,)),
    (
        r"\bcomes? from\b|\b(?:am|is|are) .*\bfrom\b|\bfrom$|\bgr[eo]w up\b|\bhome ?town\b|\bnationality\b",
        (Topic.ORIGIN, Topic.HOME, Topic.PLACE),
    ),
    (
        r"\b(?:liv(?:e|es|ed|ing)|resid(?:e|es|ing)|based|mov(?:e|es|ed|ing)|settled?|stay(?:ing)?|dwell)\b|"
        r"\b(?:where|what|which)\b.*\b(?:my|our|'s) (?:home |current )?(?:home|address|residence)$|\bat home$|"
        r"\b(?:city|town|country|village)\b.*\b(?:am i|are we|i am)\b",
        (Topic.HOME, Topic.ORIGIN, Topic.PLACE),
    ),
    (
        r"\bwhere\b.*\bwork(?:s|ing)?\b|\b(?:who|whom|which|what)\b.*\bwork(?:s|ing)?\b.*\b(?:for|at)\b|\bemployer\b|"
        r"\bfor (?:who|whom|which)\b.*\bwork|\b(?:company|firm)\b.*\bwork",
        (Topic.EMPLOYER, Topic.JOB),
    ),
    (
        r"\b(?:job|profession|occupation|career)\b|\bwhat (?:do|does) (?!you\b).*\bdo$|"
        r"\bwork(?:s|ing)? as\b|\bwhat work\b|\bby (?:profession|trade)\b|^am i an? [\w ]+$|\bwhat (?:i|we) do$",
        (Topic.JOB, Topic.EMPLOYER),
    ),
    (r"\b(?:dislikes?|hates?|not stand)\b|\bnot (?:i |we |my \w+ )?(?:like|love|enjoy)\b", (Topic.DISLIKE,)),
    (
        r"\b(?:hobby|hobbies|interests?|pastimes?|passions?)\b|\b(?:free|spare) time\b|"
        r"\b(?:do|does|did) .*\b(?:like|love|enjoy|adore|prefer)\b|\b(?:into|fond of|a fan of|keen on)\b|"
        r"\b(?:i|we) (?:like|love|enjoy)\b",
        (Topic.LIKE,),
    ),
    (
        r"\b(?:do|does|did) (?:i|we|my \w+) (?:still )?(?:have|own|keep)\b(?! to\b)|\bhave (?:i|we) got\b|"
        r"\b(?:pets?|children|kids|siblings) (?:i|we) have\b",
        (Topic.HAVE,),
    ),
    (r"\b(?:what|which) colou?r\b|\bcolou?r of\b", (Topic.COLOUR,)),
)
_TOPIC_WORDS = frozenset(
    """
    name names called named old age job profession occupation living employer company firm hobby hobbies interest
    interests pastime pastimes colour color free spare time home town hometown people call work born birthday birth
    come comes grow grew trade married live lives living lived reside based move moved moving works working have own
    keep got
    """.split()  # noqa: SIM905
)
"""Words that say what a question is about, and need not be in its answer."""
_DETERMINERS = frozenset("the a an my our this that next last".split())  # noqa: SIM905
_LIKING = frozenset("like likes love loves enjoy enjoys prefer adore hate hates dislike".split())  # noqa: SIM905


@dataclass(frozen=True, slots=True)
class Question:
    """A question, as far as it matters for finding the statement that answers it."""

    text: str
    """The question without openings such as "Do you remember", and without its mark."""
    subject: str | None
    """"dog" of "my dog", empty for the user, ``THAT``, or None for something that is not the user's."""
    attribute: str
    """"name" of "my dog's name"; else empty."""
    topics: tuple[Topic, ...]
    """The statements that would answer it, the best first; empty if it is about something else."""
    verb: str
    """The first form of its main verb."""
    wh: str
    """The question word: ``where``, ``when``, ``how old``, ...; empty if it is answered by yes or no."""
    wanted: tuple[str, ...] = ()
    """Further words that the answer has to contain."""
    is_open: bool = False
    """True if everything about the subject is asked for."""

    @property
    def is_past(self) -> bool:
        """True if it asks how something was."""
        return re.search(r"\b(?:did|was|were|used to|lived|worked)\b", self.text, re.IGNORECASE) is not None

    @property
    def is_negative(self) -> bool:
        """True if it asks what is not so."""
        return re.search(r"\b(?:not|never)\b", self.text, re.IGNORECASE) is not None


def wants_everything(text: str) -> bool:
    """Return whether it is asked what is known about the user."""
    return _EVERYTHING.search(without_contractions(text)) is not None


def questions(text: str) -> list[Question]:
    """Return the questions of a message: two of "What is my name and where do I live?"; none if a part is none."""
    if len(text) > MAX_QUESTION:
        return []
    text = " ".join(each for each in sentences(text) if each.endswith("?")) or text  # "I moved. Where do I live?"
    parts = [part for part in _PARTS.split(text.strip().rstrip("?")) if part.strip()]
    whole = question(text)
    if len(parts) < 2:
        return [whole] if whole is not None else []
    opening = "" if _WH.match(_bare(parts[0])[0]) else "tell me "
    read = [
        question(part if not number or _WH.match(part) else f"{opening}{part}") for number, part in enumerate(parts)
    ]
    found = [each for each in read if each is not None]
    return found if len(found) == len(read) else [whole] if whole is not None else []


@lru_cache(maxsize=256)
def question(text: str) -> Question | None:
    """Read a question; None if the text is none, is too long, or asks how to do something."""
    text = text.strip()
    if len(text) > MAX_QUESTION or "\n" in text:
        return None
    bare, is_request = _bare(text)
    about = re.match(r"about (?=(?:my|our)\b)", bare, re.IGNORECASE)
    bare = bare[about.end() :] if about else bare
    bare = _HOME.sub("where is my home", _MARRIED.sub("who is my spouse", bare))
    match = _WH.match(bare)
    is_statement = match is None and _YES_NO.match(bare) is None
    if not bare or _HOW_TO.match(bare):
        return None
    is_noun = re.match(r"(?:my|our)\b", bare, re.IGNORECASE) is not None
    is_asked = is_request and re.match(r"(?:the|if|whether|i)\b", bare, re.IGNORECASE) is not None
    if is_statement and not is_asked and not (is_noun and (is_request or text.endswith("?"))):
        return None
    subject, attribute = _subject(bare)
    if best := _BEST.match(bare) or _FAVOURITE.match(bare):
        subject, attribute = "", f"favourite {best['noun']}"
    wh, noun = _asked_for(bare, match)
    known = words(f"{subject or ''} {attribute}")
    verb = _verb(bare, known)
    topics = _topics(bare, attribute)
    if noun and (verb not in AUXILIARIES or wh in ("where", "when", KIND)):
        known.append(noun)  # "which languages do I speak": the answer names some, and not the word
    return Question(
        bare,
        subject,
        attribute,
        topics,
        verb,
        wh,
        _find_required_words(bare, verb, topics, known),
        is_open=about is not None or (is_request and bool(subject) and words(bare)[1:] == words(subject or "")),
    )


def _bare(text: str) -> tuple[str, bool]:
    """Return a question without what stands around it, and whether it was asked with words such as "tell me"."""
    bare, is_request = without_contractions(text).strip(" \"“”'").rstrip(" ?!."), False
    for _ in range(5):
        shorter = _OPENINGS.sub("", bare, count=1)
        requested = _REQUESTS.sub("", shorter, count=1)
        if requested == bare or not requested.strip():
            break
        is_request = is_request or requested != shorter
        bare = requested.strip()
    for _ in range(3):
        shorter = _TRAILER.sub("", bare)
        if shorter == bare:
            break
        bare = shorter.rstrip(" ?!.,")
    return bare, is_request


def _subject(text: str) -> tuple[str | None, str]:
    """Return what a question is about, and the attribute of it that is asked for."""
    if of := _OF.search(text):
        return _noun(of["np"]), of["attribute"].casefold()
    if own := _OWN.search(text):
        return _owner(own["np"].casefold())
    if theirs := _THEIRS.search(text):
        return THAT, _noun(theirs["np"])
    if re.search(r"\b(?:i|me|we|us|myself|mine)\b", text, re.IGNORECASE):
        return "", ""
    if re.search(r"\b(?:he|she|it|they|him|them)\b", text, re.IGNORECASE):
        return THAT, ""
    return None, ""


def _owner(np: str) -> tuple[str, str]:
    tokens = np.split()
    for end in range(len(tokens), 0, -1):
        start = " ".join(tokens[:end])
        if attribute_topic(start) is not None and (end == len(tokens) or not tokens[end - 1].endswith("'s")):
            return "", start
    np = _noun(np)
    if possessive := re.match(r"(?P<owner>.+?)(?:'s|s') (?P<attribute>.+)$", np):
        return possessive["owner"], possessive["attribute"]
    return ("", np) if np.startswith(("favourite", "favorite")) else (np, "")


def _noun(np: str) -> str:
    """Return a noun without what follows it: "dog" of "dog called"."""
    kept: list[str] = []
    for word in np.casefold().split():
        is_verb = word in VERBS and word not in NOUNS_LIKE_VERBS and not (kept and kept[-1].startswith("favo"))
        if kept and (word in _AFTER_NOUN or is_verb):
            break
        kept.append(word)
    return " ".join(kept)


def _asked_for(text: str, match: re.Match[str] | None) -> tuple[str, str]:
    """Return the question word, "where" for "which city", and the noun that stands behind it."""
    if match is None:
        return ("" if re.match(r"(?:if|whether|i)\b", text) or _YES_NO.match(text) else "what"), ""
    found = _NOUN.match(text)
    noun = found["noun"].casefold() if found else ""
    if noun in _WHERE_NOUNS:
        return "where", noun
    if noun in _WHEN_NOUNS:
        return "when", noun
    if noun in _KIND_NOUNS:
        return KIND, noun
    degree = match["degree"]
    return match["wh"].casefold() + (f" {degree.casefold()}" if degree else ""), noun


def _topics(text: str, attribute: str) -> tuple[Topic, ...]:
    if not attribute:
        lowered = text.casefold()
        return next((topics for pattern, topics in _TOPICS if re.search(pattern, lowered)), ())
    topic = Topic.LIKE if attribute.startswith(("favourite", "favorite")) else attribute_topic(attribute)
    if topic is None:
        return ()
    return next((topics for _, topics in _TOPICS if topics[0] is topic), (topic,))


def _verb(text: str, nouns: Sequence[str]) -> str:
    """Return the main verb: not the helper of the question, if there is another."""
    there = words(text)
    is_noun = [
        word in nouns or (before in _DETERMINERS and word in NOUNS_LIKE_VERBS)
        for before, word in zip(["", *there], there, strict=False)
    ]
    found = [verb for word, noun in zip(there, is_noun, strict=True) if not noun and (verb := lemma(word)) is not None]
    main = [verb for verb in found if verb not in AUXILIARIES]
    return (main or [verb for verb in reversed(found) if verb != "be"] or ["be"])[0]


def _find_topic_words(topics: tuple[Topic, ...]) -> frozenset[str]:
    """Return the words that say which topics are asked for."""
    places = _WHERE_NOUNS if set(topics) & {Topic.HOME, Topic.ORIGIN} else frozenset()
    return (_TOPIC_WORDS | _LIKING | places) if topics else frozenset()


def _find_required_words(text: str, verb: str, topics: tuple[Topic, ...], known: Sequence[str]) -> tuple[str, ...]:
    """Return the words that the answer has to contain besides its subject, topic and verb."""
    skipped = {*SMALL_WORDS, *known, *_find_topic_words(topics)}
    return tuple(dict.fromkeys(word for word in words(text) if word not in skipped and lemma(word) != verb))
