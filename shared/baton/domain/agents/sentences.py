"""The default texts of Baton's fixed sentences, and answers of agents that say that nothing was found."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from baton.domain.agents.agent import AgentDefinition
from baton.domain.definition import find_similar_name
from baton.domain.schemas.argument_schema import ArgumentSchema
from baton.domain.text import PLACEHOLDER

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
    "desk_waiting": "{agent} has been asked. Somebody will answer here soon.",
    "desk_queued": (
        "{agent} is closed at the moment and opens on {weekday}, {date} at {time} ({zone}). Your messages wait there."
    ),
    "desk_closed": (
        "{agent} is closed at the moment and opens on {weekday}, {date} at {time} ({zone}). I can help you until then."
    ),
    "desk_taken": "You are talking to {person} now.",
    "desk_returned": "{person} has left the conversation. You are talking to {agent} again.",
    "desk_nobody": "Nobody of {desk} is free at the moment. I can help you until somebody is: just ask.",
    "desk_silent": "{desk} has not answered for some time, so you are talking to {agent} again.",
    "desk_over": "{desk} is closed now, so you are talking to {agent} again.",
    "workflow_changed": "The steps have changed since you were last here, so we go on with {label}.",
}
"""The default sentences by name, in English; ``{...}`` is filled in."""
_OPENING = frozenset({"agent", "weekday", "date", "time", "zone"})
_RETURN = frozenset({"agent", "desk", "person"})
_ALSO_FILLED: Mapping[str, frozenset[str]] = {
    "busy": frozenset({"agent"}),
    "desk_queued": _OPENING,
    "desk_closed": _OPENING,
    "desk_taken": frozenset({"agent"}),
    "desk_returned": _RETURN,
    "desk_nobody": _RETURN,
    "desk_silent": _RETURN,
    "desk_over": _RETURN,
}
"""Placeholders of sentences besides those of the default texts."""
RESULT = "result"
"""The placeholder for the answer of the tool that has completed a workflow."""
_OF_WORKFLOWS = ("completed", "main_confirms")
"""Sentences in which the data that a workflow has collected is filled in."""


def find_placeholder_problems(agent: AgentDefinition, name: str, text: str) -> Iterator[str]:
    """Yield a problem for each placeholder that nothing fills in ``text``, the agent's own sentence ``name``."""
    filled = {*PLACEHOLDER.findall(SENTENCES[name]), *_ALSO_FILLED.get(name, ())}
    workflow = agent.workflow if name in _OF_WORKFLOWS else None
    if workflow is not None:
        filled |= workflow.fields | ({RESULT} if workflow.on_complete is not None else set())
    for placeholder in PLACEHOLDER.findall(text):
        field = placeholder.partition(".")[0]
        if workflow is not None and field in workflow.fields:
            if problem := workflow.find_problem(placeholder):
                yield f"nothing fills {{{placeholder}}}, {problem}"
        elif placeholder not in filled and not (workflow is not None and field in filled):
            similar = find_similar_name(placeholder, filled)
            available = ", ".join(f"{{{other}}}" for other in sorted(filled)) or "none"
            advice = f"did you mean {{{similar}}}?" if similar else f"available: {available}"
            yield f"nothing fills {{{placeholder}}} ({advice})"


def find_result_placeholder_problems(
    agent: AgentDefinition, schema: Mapping[str, Any]
) -> Iterator[tuple[str, str, str]]:
    """Yield locale, name and problem of each sentence with a placeholder that the tool's result never fills.

    ``schema`` describes the result of the tool that completes the agent's workflow.
    """
    around = ArgumentSchema({"properties": {RESULT: schema}, "$defs": schema.get("$defs", {})})
    collected = agent.workflow.fields if agent.workflow is not None else ()
    for locale, texts in agent.sentences.items():
        for name in _OF_WORKFLOWS:
            for placeholder in PLACEHOLDER.findall(texts.get(name, "")):
                is_of_result = placeholder.partition(".")[0] == RESULT and RESULT not in collected
                if is_of_result and (problem := around.find_problem(placeholder)):
                    yield locale, name, f"nothing fills {{{placeholder}}}, {problem}"


def fill_sentence(
    agent: AgentDefinition, name: str, value_of: Callable[[str], str | None], *, locale: str | None = None
) -> str | None:
    """Return the sentence ``name`` filled with ``value_of(placeholder)``; None if a placeholder has no value."""
    text = agent.find_sentence(name, locale) or SENTENCES[name]
    values = {placeholder: value_of(placeholder) for placeholder in PLACEHOLDER.findall(text)}
    if None in values.values():
        return None
    return PLACEHOLDER.sub(lambda match: values[match[1]] or "", text)


def write_sentence(agent: AgentDefinition, name: str, /, *, locale: str | None = None, **filled: str) -> str:
    """Return the sentence ``name`` from the agent's definition, in ``locale`` if it has that, or Baton's default.

    A placeholder that is not filled stays as it is.
    """
    text = agent.find_sentence(name, locale) or SENTENCES[name]
    return PLACEHOLDER.sub(lambda match: filled.get(match[1], match[0]), text)


MAX_CHARS = 400
"""The most characters of an answer that only says that nothing was found. A longer answer says more."""

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
    """Return whether a text only says that nothing was found.

    Its first sentence must say so in English, German, Spanish, Chinese or Arabic. The text must be short, without a
    list and without a "but".
    """
    plain = re.sub(r"[*_`]+", "", text.replace("\u2019", "'")).strip()
    if len(plain) > MAX_CHARS or _ITEM.search(plain) or _BUT.search(plain):
        return False
    return re.search(_SAYS_SO, _SENTENCE_END.split(plain, maxsplit=1)[0], re.IGNORECASE) is not None
