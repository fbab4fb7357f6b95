"""Statements of users about themselves: the clauses of a message that begin with "I" or "my".

A few patterns suffice. A statement that they miss is quoted with its whole sentence, or not at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

MAX_CHARS = 600
"""The most characters of a message that callers pass on, because patterns are slow on long texts."""
_SENTENCE_END = re.compile(r"(?<=[!?…])\s+|(?<=\.)\s+(?=[A-ZÄÖÜ\"“]|(?:i|we|my|our|he|she|it|they)\b)|\n+|\s*;\s*")
_CLAUSE_END = re.compile(r"(?:,? (?:and|but)(?: also| now)*|,) (?=(?:I|we|my|our)\b)", re.IGNORECASE)
_LEAD = re.compile(
    r"^(?:(?:hi|hello|hey|hallo|good (?:morning|evening|day)|well|so|ok(?:ay)?|oh|and|but|also|yes|no|sorry|actually|"
    r"now|then|great|by the way|thanks|thank you|please|remember|note|keep in mind|don't forget)\b"
    r"(?: there| baton| that)?[\s,.!:-]*)+",
    re.IGNORECASE,
)
_REQUEST_TO_REMEMBER = re.compile(r"\b(?:remember|note|keep in mind|don't forget)\b", re.IGNORECASE)
_AFTERTHOUGHT = re.compile(
    r",? (?:as you (?:might )?know|by the way|please|thanks|thank you|you know)\.?$", re.IGNORECASE
)
_TELLING = re.compile(
    r"(?:my|our) [\w'-]+ \w|call me \w|(?:I|we)(?:'m|'ve|'re)? \w|"
    r"(?!(?:that|this|it|here|there)\b)[^,?]{2,60} (?:is|are) (?:my|our) \w",
    re.IGNORECASE,
)
_AUXILIARIES = (
    r"(?:'d|'ll|'m|'re)?"
    r"(?: \w+ly| also| just| am| are| do| would| will| can| could| should| must| not| don't| can't)*"
)
_CHAT = re.compile(
    rf"^(?:I|we){_AUXILIARIES} (?:want|need|wish|wonder|think|guess|hope|mean|know|understand|see|agree|try|look|ask|"
    r"say|said|tell|told|thank|believe|suppose|remember|forget|forgot|feel|find|stop|like to|sorry|sure|fine|good|well|"
    r"ok|okay|done|ready|back|here|lost|hungry|tired|bored|happy|glad|sad|curious|confused|wrong|right|stuck|trying|"
    r"looking|wondering|asking)\b|^(?:I|we) \w+ (?:it|this|that|them|so|too)\b|\byou(?:r|rs)?\b|"
    r"[,:] (?:how|what|why|where|can|could)\b|"
    r"\b(?:an?|some|another) (?:\w+ )?(?:question|problem|issue|idea|request|doubt)s?\b",
    re.IGNORECASE,
)
"""Sentences that state no fact about somebody who says "I"."""
_BARE_NOUN = re.compile(r"(?:my|our) \w+(?: \w+)?", re.IGNORECASE)
_PRONOUN = re.compile(r"(?:he|she|it|they|his|her|its|their)\b", re.IGNORECASE)
_NAME = re.compile(r"[A-ZÄÖÜ][\w-]+(?= \w)")
_QUESTION = re.compile(
    r"^(?:what|whats|who|whom|whose|(?:in )?which|where|when|why|how|is|are|am|was|were|do|does|did|can|could|will|"
    r"would|should|may|have|has|shall|tell me|remind me)\b(?!n't)",
    re.IGNORECASE,
)
_SECOND_PERSON = [
    (re.compile(pattern, re.IGNORECASE), words)
    for pattern, words in (
        (r"^call me\b", "your name is"),
        (r"\bI(?:'m| am)\b", "you are"),
        (r"\bI was\b", "you were"),
        (r"\b(?:I|we)'(ve|ll|d|re)\b", r"you'\1"),
        # A last "I" may be a Roman numeral, as in "Elizabeth I".
        (r"\bI\b(?!\.?$)|\bwe\b", "you"),
        (r"\bmyself\b", "yourself"),
        (r"\b(?:mine|ours)\b", "yours"),
        (r"\b(?:my|our)\b", "your"),
        (r"\bme\b|\b(?-i:us)\b", "you"),
    )
]


def find_statements(text: str) -> list[str]:
    """Return the statements of a message about its author, and those that the author asks to remember."""
    return [clause for clause, is_statement in _join_clauses(text) if is_statement]


def split_clauses(text: str) -> list[str]:
    """Return all clauses of a message, joined so that each can stand alone, which "He is four" cannot."""
    return [clause for clause, _ in _join_clauses(text)]


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a message without introductory words, such as a greeting."""
    parts = _SENTENCE_END.split(text.strip())
    return [sentence for part in parts if (sentence := _drop_lead(part))]


def is_statement(sentence: str, context: str) -> bool:
    """Return whether a sentence is about its author, or about somebody in ``context``, as "Rex is four"."""
    if is_question(sentence) or _CHAT.search(sentence):
        return False
    name = _NAME.match(sentence)
    is_about_context = _PRONOUN.match(sentence) or (name and re.search(rf"\b{re.escape(name[0])}\b", context))
    return bool(_TELLING.match(sentence) or (context and is_about_context))


def is_question(sentence: str) -> bool:
    """Return whether a sentence is a question, or a request for an answer."""
    return sentence.endswith("?") or _QUESTION.match(sentence) is not None


def to_second_person(text: str) -> str:
    """Return a text in the second person: "My name is Ada" becomes "Your name is Ada"."""
    for pattern, words in _SECOND_PERSON:
        text = pattern.sub(words, text)
    return text[:1].upper() + text[1:]


def to_sentence(clause: str) -> str:
    """Return a clause as a sentence, with a capital and a full stop, unless another mark ends it."""
    return f"{clause[:1].upper()}{clause[1:]}{'' if clause.endswith(('.', '!', '?', '…')) else '.'}"


def _join_clauses(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the clauses of a message as sentences, and whether each is a statement of its author."""
    clause, is_stated = "", False
    for part in _SENTENCE_END.split(text.strip()):
        sentence = _drop_lead(part)
        is_to_remember = _REQUEST_TO_REMEMBER.search(part[: len(part) - len(sentence)]) is not None
        for words in _divide(sentence):
            if clause and _PRONOUN.match(words):
                clause = f"{clause} {to_sentence(words)}"
                continue
            if clause:
                yield clause, is_stated
            context = clause if is_stated else ""
            is_stated = is_statement(words, context) or (is_to_remember and not is_question(words))
            clause = to_sentence(words)
    if clause:
        yield clause, is_stated


def _divide(sentence: str) -> Iterator[str]:
    """Yield the clauses of a sentence. "My wife and I" is not divided."""
    begin = 0
    for end in _CLAUSE_END.finditer(sentence):
        if not _BARE_NOUN.fullmatch(sentence[begin : end.start()]):
            yield sentence[begin : end.start()]
            begin = end.end()
    if sentence[begin:]:
        yield sentence[begin:]


def _drop_lead(sentence: str) -> str:
    """Return a sentence without its introductory and closing words, such as a greeting."""
    return _AFTERTHOUGHT.sub("", _LEAD.sub("", sentence.strip(' "“”*-•>'), count=1))
