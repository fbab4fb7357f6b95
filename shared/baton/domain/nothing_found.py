"""Recognise answers that say that nothing was found, in the languages of the chat widget."""

from __future__ import annotations

import re

MAX_CHARS = 400
"""Characters of an answer that says only that it found nothing. A longer one says something besides."""

_THINGS = (
    r"(?:(?:relevant|specific|further|useful|such|direct|clear) )*"
    r"(?:information|info|mention|results?|answers?|match(?:es)?|details?|data|passages?|documents?|sources?|evidence)"
)
_NOTHING = (
    r"nothing(?: (?:at all|relevant|useful))?(?= (?:about|on|of|for|regarding|concerning|related|in|that|there|here)\b|"
    r"[^\w ]|$)"
)
_PLACES = (
    r"\b(?:documents?|documentation|sources?|knowledge(?: base)?|passages?|materials?|records?|context)\b"
    r"[^.!?\n]{0,80}?"
)
_NOT = "(?: not|n't)"
_SUBJECTS = r"(?: (?:about|what|who|whose|which|where|when|why|how|whether|if|that|this|it|the answer)\b|[^\w ]|$)"

_ENGLISH = (
    rf"\b(?:finds?|found|have|knows?|sees?|there (?:is|was|were|are)) (?:{_NOTHING}|no {_THINGS}\b)",
    rf"\b(?:could|can|do|did|does|was|were|am){_NOT} (?:able to )?(?:find|locate|see|have|know of) "
    rf"(?:anything|any {_THINGS}|an answer|{_THINGS})\b",
    r"\bcannot (?:find|see) (?:anything|an answer)\b|\b(?:unable|not able) to (?:find|locate|answer)\b",
    rf"\b(?:i|we) (?:cannot|(?:do|can|could){_NOT}) (?:know|say|tell|answer)(?={_SUBJECTS})",
    rf"{_PLACES} (?:do|does|did){_NOT} (?:mention|contain|say|cover|include|have|answer)\b",
    rf"{_PLACES} (?:says?|contains?|has|have|mentions?) (?:{_NOTHING}|no {_THINGS}\b)",
    rf"^no {_THINGS}\b[^.!?\n]{{0,80}}?\b(?:found|available|there)\b|^nothing (?:\w+ ){{0,3}}found\b",
)
_GERMAN_NOTHING = r"\b(?:nichts|keine?n? (?:\w+ )?(?:informationen|angaben|antwort|hinweise?|treffer))\b"
_GERMAN = (
    rf"\b(?:finde|fand|weiß|habe|steht)\b[^.!?\n]{{0,80}}?{_GERMAN_NOTHING}",
    rf"{_GERMAN_NOTHING}[^.!?\n]{{0,80}}?\b(?:gefunden|finden|bekannt|steht|vor|enthalten)\b",
    r"\bweiß ich (?:\w+ )?nicht\b|\bich weiß (?:es |das )?(?:\w+ )?nicht\b",
)
_SPANISH = (
    r"\bno (?:he |hemos |pude |se )?(?:encontr\w+|encuentro|hay|tengo) "
    r"(?:nada|ningun\w*|información|resultados|respuesta)\b|\bno (?:lo )?sé\b"
)
_CHINESE = r"没有?找到|未找到|找不到|没有(?:相关|任何)(?:信息|资料|内容)|不知道"
_ARABIC = r"لم (?:أجد|أعثر|نجد)|لا (?:أعرف|أعلم|توجد معلومات|يوجد شيء)"

_SAYS_SO = re.compile("|".join((*_ENGLISH, *_GERMAN, _SPANISH, _CHINESE, _ARABIC)), re.IGNORECASE)
_BUT = re.compile(r"\b(?:but|however|although|aber|jedoch|allerdings|pero|sin embargo)\b|但|不过|لكن", re.IGNORECASE)
_ITEM = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s", re.MULTILINE)
_SENTENCE_END = re.compile("(?<=[.!?])\\s+|\n+|(?<=[。\uff01\uff1f])")


def says_nothing_found(text: str) -> bool:
    """Return whether a text says that it found nothing, and nothing else.

    Its first sentence says so in English, German, Spanish, Chinese or Arabic. It is short, lists nothing and goes on
    with no "but": in doubt it says something.
    """
    said = re.sub(r"[*_`]+", "", text.replace("\u2019", "'")).strip()
    if len(said) > MAX_CHARS or _ITEM.search(said) or _BUT.search(said):
        return False
    return _SAYS_SO.search(_SENTENCE_END.split(said, maxsplit=1)[0]) is not None
