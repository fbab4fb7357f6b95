"""The default texts of Baton's fixed sentences, and answers of agents that say that nothing was found."""

from __future__ import annotations

import re
from collections.abc import Mapping

from baton.domain.agents.agent import AgentDefinition

_PLACEHOLDER = re.compile(r"\{(\w+)\}")
SENTENCES: dict[str, str] = {
    "limited_resources": "I'm working with limited resources right now, but here's what I know...",
    "refused": "I can't help with that.",
    "unchecked": "I can't answer that at the moment. Please try again later.",
    "still_waiting": "This is taking longer than expected. I'll let you know when I have results...",
    "researching": "Researching...",
    "approval_needed": "May I use {tool}?",
    "client_tool_waiting": "Waiting for {tool} in your application.",
    "sign_in_needed": "{agent} goes on when you have done that. Tell it here then.",
    "connecting": "Connecting you with {agent}...",
    "unavailable": (
        "The {agent} is currently unavailable. Would you like me to help you with something else, or try again later?"
    ),
    "forbidden": "You don't have permission to use {agent}. Can I help with something else?",
    "busy": "You're currently in a {session} session. Would you like to finish that first?",
    "exit": "No problem! Returning you to the main assistant.",
    "saved_for_later": "Let me know if you'd like to continue that later.",
    "completed": "Returning you to the main assistant.",
    "main_confirms": "You're back with me. What else can I do for you?",
    "continued_elsewhere": "You went on with {workflow} in another conversation.",
    "back_with": "You are talking to {agent} again.",
    "welcome_back": "Welcome back! Would you like to continue {workflow}, which you left on {date}?",
    "workflow_changed": "The steps have changed since you were last here, so we go on with {label}.",
}
"""The default sentences by name, in English; ``{...}`` is filled in."""


def fill_sentence(
    agent: AgentDefinition, name: str, values: Mapping[str, str], *, locale: str | None = None
) -> str | None:
    """Return the sentence ``name`` with ``values`` filled in; None if a placeholder has no value."""
    text = sentence(agent, name, locale=locale, **values)
    return None if _PLACEHOLDER.search(text) else text


def sentence(agent: AgentDefinition, name: str, /, *, locale: str | None = None, **filled: str) -> str:
    """Return the sentence ``name`` from the agent's definition, in ``locale`` if it has that, or Baton's default.

    A placeholder that is not filled stays as it is.
    """
    text = agent.sentence(name, locale) or SENTENCES[name]
    return _PLACEHOLDER.sub(lambda match: filled.get(match[1], match[0]), text)


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

_SAYS_SO = "|".join((*_ENGLISH, *_GERMAN, _SPANISH, _CHINESE, _ARABIC))
"""The pattern's text. Compiling it takes 50 ms, and most functions never need it."""
_BUT = re.compile(r"\b(?:but|however|although|aber|jedoch|allerdings|pero|sin embargo)\b|但|不过|لكن", re.IGNORECASE)
_ITEM = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s", re.MULTILINE)
_SENTENCE_END = re.compile("(?<=[.!?])\\s+|\n+|(?<=[。\uff01\uff1f])")


def says_nothing_found(text: str) -> bool:
    """Return whether a text says that it found nothing, and nothing else.

    Its first sentence says so in English, German, Spanish, Chinese or Arabic. It is short, lists nothing and continues
    with no "but": in doubt it says something.
    """
    plain = re.sub(r"[*_`]+", "", text.replace("\u2019", "'")).strip()
    if len(plain) > MAX_CHARS or _ITEM.search(plain) or _BUT.search(plain):
        return False
    return re.search(_SAYS_SO, _SENTENCE_END.split(plain, maxsplit=1)[0], re.IGNORECASE) is not None
