"""The sentences of a message, without what says nothing: greetings, openings, afterthoughts and contractions."""

from __future__ import annotations

import re
from collections.abc import Iterator

_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"”')\]]*\s+|\n+|\s*;\s*")
_ABBREVIATED = re.compile(r"(?:\b(?:Dr|Mr|Mrs|Ms|St|Prof|No|vs|Jr|Sr|e\.g|i\.e|approx)|\b[A-Z])\.$")
_QUESTION = re.compile(
    r"^(?:(?:and|so|but|ok|well) )?(?:what|who|whom|whose|which|where|when|why|how|is|are|am|was|were|do|does|did|can|"
    r"could|will|would|should|may|have|has|shall)\b(?!n't)",
    re.IGNORECASE,
)
_GREETING = (
    r"(?:hi|hello|hey|hallo|good (?:morning|afternoon|evening|day)|greetings|dear baton)\b(?: there| baton| everyone)?"
    r"[\s,.!:-]+"
)
_INTERJECTION = (
    r"(?:well|so|ok(?:ay)?|oh|ah|and|but|also|yes|yeah|no|sure|actually|by the way|btw|fyi|in fact|of course|thanks|"
    r"thank you|great|nice|cool|correction|sorry|no wait|wait|first|firstly|secondly|finally|besides|too|now|right|"
    r"then|perfect|in addition)(?:[,:!.]\s*|\s+(?=(?:i|my|our|we|he|she|it|they|his|her|its|the|call)\b))"
)
_REQUEST = r"(?:(?:please|can you|could you|will you) )*(?:remember|note|keep in mind|don't forget|do not forget)"
_ANNOUNCEMENTS = (
    rf"{_REQUEST}(?: that|:| this:)?\s+(?=\S)",
    r"(?:know that|(?:just )?so (?:that )?you know|for your information|for the record)[,:]?\s+",
    r"let me introduce myself[:,.]?\s*",
    r"(?:as )?i(?:'ve| have)? (?:just )?(?:told|said|mentioned|say)(?: to)?(?: you)?(?: before| already| earlier)?"
    r"(?: that\s+|[,:]\s*|\s+(?=(?:i|my|we|our)\b))",
    r"(?:i(?:'d| would)? (?:want|like) you to|you (?:should|must|may|can)) (?:know|remember|note)(?: that)?[,:]?\s+",
    r"i (?:must|should|have to|can|may) (?:say|add|tell you|admit)(?: that)?[,:]?\s+",
    r"i think(?: that)? (?=my\b)",
)
_OPENING = re.compile(rf"^(?:{'|'.join((_GREETING, _INTERJECTION, *_ANNOUNCEMENTS))})", re.IGNORECASE)
_TO_REMEMBER = re.compile(rf"{_REQUEST} (?:that |this: )?(?:my|our|i|we|the)\b", re.IGNORECASE)
_AFTERTHOUGHT = re.compile(
    r"(?<![,\s])[,\s]+(?:as you (?:may |might )?know|by the way|btw|actually|you know|please|thanks|thank you|too|"
    r"as well|of course|just so you know)$",
    re.IGNORECASE,
)
_CONTRACTIONS = [
    (re.compile(pattern, re.IGNORECASE), whole)
    for pattern, whole in (
        (r"\b(i)'m\b", r"\1 am"),
        (r"\b(i)m\b(?= )", r"\1 am"),
        (r"\b(what|where|who|when|how)s\b(?= (?:my|our|the)\b)", r"\1 is"),
        (r"\b(do|does|did)nt\b", r"\1 not"),
        (r"\b(\w+)'re\b", r"\1 are"),
        (r"\b(\w+)'ve\b", r"\1 have"),
        (r"\b(\w+)'ll\b", r"\1 will"),
        (r"\b(\w+)'d\b", r"\1 would"),
        (r"\bcan't\b|\bcannot\b", "can not"),
        (r"\bwon't\b", "will not"),
        (r"\b(do|does|did|is|are|was|were|has|have|had|would|should|could|must)n't\b", r"\1 not"),
        (r"\b(he|she|it|that|there|what|who|where|when|how|which|here)'s\b", r"\1 is"),
    )
]
_IS = re.compile(
    r"\b((?i:my|our|his|her|its|their|the)(?: [\w-]+){1,3})'s (?="
    r"(?:called|named|a|an|the|in|at|on|from|not|now|about|almost|born|\d|my|our)\b|"
    r"[A-ZÄÖÜ][\w-]*(?:$|[,.!]| (?!\w+ (?:is|are|was)\b)))"
)
"""The "'s" of "my name's Ada", which is a verb; that of "my dog's toys" is not."""


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences and lines of a text, as they are."""
    begun, position = "", 0
    for end in [*_SENTENCE_END.finditer(text), None]:
        piece = text[position : end.start() if end else len(text)]
        begun = f"{begun} {piece}".strip()
        position = end.end() if end else len(text)
        if end is not None and "\n" not in end[0] and _ABBREVIATED.search(begun):
            continue
        if begun:
            yield begun
        begun = ""


def statement_in(sentence: str) -> str:
    """Return what a sentence states, without what leads to it; empty if it asks."""
    if _TO_REMEMBER.match(sentence):  # "Can you remember that my dog is called Rex?"
        sentence = sentence.rstrip(" ?")
    sentence = sentence.strip(" \"“”'*-•>")
    for _ in range(4):
        shorter = _OPENING.sub("", sentence, count=1)
        if shorter == sentence:
            break
        sentence = shorter
    if sentence.endswith("?") or _QUESTION.match(sentence):
        return ""
    return _AFTERTHOUGHT.sub("", sentence.rstrip(" .!…"))


def without_contractions(text: str) -> str:
    """Return the text with "I am" for "I'm", and "my name is" for "my name's"."""
    text = _IS.sub(r"\1 is ", text)
    for pattern, whole in _CONTRACTIONS:
        text = pattern.sub(whole, text)
    return re.sub(r"\s+", " ", text).strip()
