"""What a user's words say about a skill: what it does, what it could be called, which steps it takes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from local.demo_model.agreement import is_no, is_vague, is_yes

MAX_WISH = 1000
"""Characters of a message in which a wish is looked for."""
_POLITE = ", please"
OFF_TOPIC = "What is the weather like today?"
"""A message that should start no skill but one about the weather."""
_KIND = r"\b(?:skills?|workflows?|assistants?)\b"
_THAT = re.compile(
    rf"{_KIND}(?:\s+(?:called|named)\s+[^.?!,]{{1,64}}?)?\s*,?\s+(?:of mine )?"
    r"(?:that|which|to|for(?=\s+\w+ing\b))\s+(?:can |will |should |helps? (?:me )?(?:to )?)?([^.?!\n]+)",
    re.IGNORECASE,
)
_AS = re.compile(
    r"(?:\b(?:help me|can you|could you|i want to|i'd like to|i would like to|let'?s|please)\s+)+"
    r"(?!.*\b(?:help me|can you|could you)\s)"
    rf"([^.?!\n]+?)\s+(?:as|into|with|using|through|by)\s+(?:a |an |my )?(?:new )?{_KIND}",
    re.IGNORECASE,
)
_SHOULD = re.compile(
    r"^(?:(?:well|ok(?:ay)?|so|please|yes|sure|it'?s|this is)[\s,]+)*"
    r"(?:(?:it|the skill|this|this skill)\s+(?:should|shall|must|will|would|can|needs to|has to)\s+(?:be able to\s+)?"
    r"|(?:i (?:want|need|would like)|i'd like) (?:it |the skill )?to\s+|to\s+"
    r"|(?:it|the skill|this skill|a skill that)\s+)?",
    re.IGNORECASE,
)
_CALLED = re.compile(
    r"(?i:\b(?:called|named|call it|name it|rename it(?: to)?)\s+)"
    r"(?:[“\"„']([^“”\"„']+)[”\"“']|((?:[A-Z][\w-]*\s?){1,5}))"
)
_NAMED = re.compile(
    rf"{_KIND}\s+(?:called|named)\s+([^\s.?!,“\"„][^.?!,\n]{{0,63}}?)"
    r"(?=\s+(?:that|which|who|to|for|and|please)\b|\s*[.?!,\n]|\s*\Z)",
    re.IGNORECASE,
)
_OBJECT_ENDS = re.compile(
    r"\s+(?:to|for|from|when|with|in|on|at|and|or|whenever|every|each|if|into|about|as|that|which|who|by|via|so|after"
    r"|before|of|using|per|out)\b.*|[,;:(].*",
    re.IGNORECASE,
)
_DETERMINERS = re.compile(
    r"^(?:(?:my|the|a|an|our|your|all|any|new|some|me|us|their|user's|these|those|up)\s+)+", re.IGNORECASE
)
_WHOM = re.compile(
    r"^(?:(?:me|us|them|him|her|people|everybody|everyone|the user)\s+)?(?:(?:about|of|on|for|to|at|after)\s+)?",
    re.IGNORECASE,
)
_DEED = (
    ("summar", "Summary"),
    ("translat", "Translation"),
    ("remind", "Reminder"),
    ("check", "Check"),
    ("review", "Review"),
    ("convert", "Conversion"),
    ("analy", "Analysis"),
    ("search", "Search"),
    ("find", "Search"),
    ("monitor", "Monitor"),
    ("watch", "Monitor"),
    ("plan", "Plan"),
)
_IRREGULAR = {"is": "be", "has": "have", "does": "do", "goes": "go", "are": "be"}
_THEIRS = {"my": "the user's", "our": "the users'", "me": "the user", "us": "the users", "i": "the user"}
_TOOL = re.compile(r"`([A-Za-z0-9_-]{1,64})`|\b([a-z][a-z0-9]*(?:_[a-z0-9]+)+)\b")
_OWN = re.compile(r"(?:ask|transfer_to)_.*|return_to_main|advance_workflow|end_conversation")
_DO = re.compile(
    r"(?:then |always |never |first |please |do not |don't )*(?:add|ask|attach|call|check|collect|compare|copy|count"
    r"|create|end|fetch|find|format|get|give|include|keep|limit|list|look|make|mark|mention|name|open|post|put|read|send|share|show"
    r"|skip|sort|start|summari[sz]e|take|tell|translate|turn|use|write)\b",
    re.IGNORECASE,
)
_IT = r"\s*(?:it|the skill|this skill)\s+"
_SHALL = re.compile(
    rf"{_IT}(?:should|shall|must|will|can|needs to|has to)\s+(?!be\b|have\b|not\b|never\b)(.+)", re.I | re.DOTALL
)
_USES = re.compile(rf"{_IT}(?:needs|uses|requires)\s+(?!to\b)(.+)", re.IGNORECASE | re.DOTALL)
_CLAUSE = re.compile(
    r"(?:it|they|this|that|there|the (?:\w+ ){1,3}?)\s*(?:is|are|has|have|needs?|should|shall|must|may|can|will|would"
    r"|looks?|comes?|goes|contains?|knows?)\b",
    re.IGNORECASE,
)
_META = re.compile(r"[\\.^$*+?{}\[\]()|]")


@dataclass(frozen=True, slots=True)
class SkillWish:
    """A skill as somebody has wished for it."""

    does: str
    """A clause about it: ``sends Slack alerts``."""

    @property
    def description(self) -> str:
        """What it does, as a sentence."""
        return f"{self.does[0].upper()}{_of_the_user(self.does[1:])}."

    @property
    def object(self) -> str:
        """What it works on: ``Slack alerts``."""
        _, _, rest = self.does.partition(" ")
        rest = _WHOM.sub("", rest)
        return _DETERMINERS.sub("", _OBJECT_ENDS.sub("", rest)).strip()

    @property
    def name(self) -> str | None:
        """What it could be called: ``Slack Alert``."""
        words = self.object.split()[:4]
        if not words:
            return None
        words[-1] = _singular(words[-1])
        verb = self.does.lower()
        deed = next((noun for begins, noun in _DEED if verb.startswith(begins)), None)
        titled = [word if word[:1].isupper() else word.capitalize() for word in words]
        if deed and deed.lower() not in (word.lower() for word in words):
            titled.append(deed)
        return " ".join(titled)[:64].strip()


def wish_in(text: str, *, is_answer: bool = False) -> SkillWish | None:
    """What a message says a skill should do; ``is_answer``: it was asked for that, so it need not speak of a skill."""
    text = " ".join(text[:MAX_WISH].split())
    if told := _THAT.search(text):
        return _wish(told[1])
    if told := _AS.search(text):
        return _wish(told[1])
    if not is_answer or text.endswith("?") or is_vague(text) or is_yes(text) or is_no(text):
        return None
    return _wish(re.split(r"(?<=[.!])\s", _SHOULD.sub("", text, count=1), maxsplit=1)[0])


def name_in(text: str) -> str | None:
    """The name that a message gives a skill."""
    text = text[:MAX_WISH]
    told = _CALLED.search(text)
    if told and told[1]:
        return str(told[1]).strip()[:64]
    named = _NAMED.search(text) or (told and re.match(r"(.*)", told[2]))
    return str(named[1]).strip() if named else None


def phrase_for(known: Mapping[str, Any]) -> str | None:
    """A phrase that could start a skill of which this is known: ``send slack alert``."""
    wish = _known_wish(known)
    if wish is None:
        return None
    verb, words = _base(wish.does.split()[0]), wish.object.lower().split()[:4]
    return " ".join([verb, *words[:-1], _singular(words[-1])]).lower() if words else None


def steps_for(known: Mapping[str, Any]) -> list[dict[str, str]]:
    """The steps of a skill of which this is known; each says what the user has said."""
    wish = _known_wish(known)
    about = f"the details of the {wish.object}" if wish and wish.object else "the details"
    steps = [{"text": _sentence(f"Ask for {about}"), "condition": "skip if the message gives details"}]
    requirements = [each for each in known.get("requirements", ()) if isinstance(each, str)]
    steps += [{"text": _sentence(_to_do(each))} for each in requirements]
    if wish is not None:
        verb, _, rest = wish.does.partition(" ")
        steps.append({"text": _sentence(f"{_base(verb).capitalize()} {_of_the_user(rest)}")})
    else:
        steps.append({"text": _sentence(str(known.get("description") or "Do what the message asks for"))})
    return [*steps, {"text": "Tell the user what was done."}]


def tools_in(known: Mapping[str, Any]) -> list[str]:
    """The tools that are named in what is known."""
    texts = [str(known.get("description", "")), *map(str, known.get("requirements", ()))]
    found = [code or plain for text in texts for code, plain in _TOOL.findall(text)]
    return [tool for tool in dict.fromkeys(found) if not _OWN.fullmatch(tool)]


def samples_for(triggers: Sequence[str]) -> list[str]:
    """Messages that should start a skill with these triggers, and one that should not; empty where none is plain."""
    plain = [spelled for trigger in triggers if (spelled := _spelled(trigger))]
    if not plain:
        return []
    return [*(f"{trigger[0].upper()}{trigger[1:]}{_POLITE}" for trigger in plain[:3]), OFF_TOPIC]


def is_proposed(sample: str) -> bool:
    """Whether a sample message is one that ``samples_for`` makes up."""
    return sample == OFF_TOPIC or sample.endswith(_POLITE)


def to_the_user(text: str) -> str:
    """A text about the user, as it is said to them."""
    return re.sub(r"\bthe user('s|s')?(?!\w)", lambda of: "your" if of[1] else "you", text)


def _wish(clause: str) -> SkillWish | None:
    clause = re.sub(r"[\s,]*\b(?:please|thanks|thank you|bitte)\b.*$", "", clause, flags=re.IGNORECASE).strip(
        ' .,;!?"”“'
    )
    clause = re.sub(r"[\s,]+(?:called|named)\s.*$|[\s,]+and (?:call|name) it\s.*$", "", clause, flags=re.IGNORECASE)
    verb, _, rest = clause.partition(" ")
    if not rest or not verb:
        return None
    return SkillWish(f"{_third(verb.lower())} {rest}"[:1000])


def _known_wish(known: Mapping[str, Any]) -> SkillWish | None:
    return wish_in(str(known.get("description", "")), is_answer=True)


def _third(verb: str) -> str:
    """``send`` and ``sends`` are ``sends``; gerunds stay."""
    if verb.endswith("ing") or (verb.endswith("s") and not verb.endswith("ss")):
        return verb
    if re.search(r"(?:s|x|z|ch|sh|o)$", verb):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if re.search(r"[^aeiou]y$", verb) else f"{verb}s"


def _base(verb: str) -> str:
    verb = verb.lower()
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if re.search(r"[^aeiou]ies$", verb):
        return f"{verb[:-3]}y"
    if re.search(r"(?:ss|x|zz|ch|sh)es$", verb):
        return verb[:-2]
    return verb[:-1] if verb.endswith("s") and not verb.endswith("ss") else verb


def _singular(noun: str) -> str:
    low = noun.lower()
    if low.endswith("ies") and len(noun) > 4:
        return f"{noun[:-3]}y"
    if re.search(r"(?:ss|x|zz|ch|sh)es$", low):
        return noun[:-2]
    if low.endswith("s") and not re.search(r"(?:ss|us|is|news)$", low) and len(noun) > 3:
        return noun[:-1]
    return noun


def _of_the_user(text: str) -> str:
    return re.sub(r"(?<!\w)(?:my|our|me|us|i)(?!\w)", lambda word: _THEIRS[word[0].lower()], text, flags=re.IGNORECASE)


def _to_do(requirement: str) -> str:
    """What is to be done so that a requirement is met."""
    if _DO.match(requirement):
        return requirement
    if deed := _SHALL.match(requirement):
        return deed[1]
    if used := _USES.match(requirement):
        return f"Use {used[1]}"
    if _CLAUSE.match(requirement):
        return f"Keep in mind that {requirement[0].lower()}{requirement[1:]}"
    return f"Keep in mind: {requirement}"


def _sentence(text: str) -> str:
    text = " ".join(text.split())
    return f"{text[0].upper()}{text[1:]}{'' if text[-1] in '.!?' else '.'}"


def _spelled(trigger: str) -> str | None:
    """A text that a trigger matches, as far as it is plain enough to tell."""
    text = re.sub(r"\\b|^\^|\$$", "", trigger)
    text = re.sub(r"\\s[+*]?", " ", text)
    text = re.sub(r"\(\?:([^()|]*)(?:\|[^()]*)?\)|\(([^()|]*)(?:\|[^()]*)?\)", lambda m: m[1] or m[2] or "", text)
    text = re.sub(r"(\w)\?", r"\1", text).strip()
    return text if text and not _META.search(text) else None
