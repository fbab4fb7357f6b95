"""Request fields that ask for thinking, in the words of the model's family."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from baton.adapters.models.profiles.profile import EffortForm, ModelProfile
from baton.ports.agents.chat_model import ModelSettings

LEVELS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
BUDGETS = {"minimal": 1_024, "low": 2_048, "medium": 10_000, "high": 16_384, "xhigh": 32_768, "max": 32_768}
"""Tokens of thinking by effort, for models that take a number. 1,024 is the least."""
ROOM_FOR_ANSWER = 4_096
"""Tokens that an answer has besides a budget, which counts against its limit."""


@dataclass(frozen=True, slots=True)
class Thinking:
    """The request's fields for thinking."""

    fields: dict[str, Any] = field(default_factory=dict)
    """Fields of ``additionalModelRequestFields``."""
    budget: int = 0
    """Tokens of thinking, for models that take a number. Such a request takes neither sampling nor forced calls."""


def thinking_of(settings: ModelSettings, profile: ModelProfile, max_output: int | None) -> Thinking | None:
    """Return what a request says; None if the model takes no word of the effort that the agent asks for."""
    asked_effort = settings.reasoning_effort
    if "reasoning_effort" in profile.dropped or profile.effort is EffortForm.NONE:
        return None if asked_effort else Thinking()
    if profile.effort is EffortForm.ADAPTIVE:
        return _adaptive(asked_effort, profile, shows=settings.shows_reasoning)
    if profile.effort is EffortForm.BUDGET:
        return _budget(asked_effort or ("low" if settings.shows_reasoning else None), max_output)
    if asked_effort is None:
        return Thinking()
    effort = _nearest(asked_effort, profile)
    if profile.effort is EffortForm.REASONING:
        return Thinking({"reasoning": {"effort": effort}})
    if profile.effort is EffortForm.REASONING_CONFIG:
        return Thinking({"reasoning_config": effort})
    if profile.effort is EffortForm.NOVA:
        enabled = {"type": "enabled", "maxReasoningEffort": effort}
        return Thinking({"reasoningConfig": {"type": "disabled"} if effort == "none" else enabled})
    return Thinking({"reasoning_effort": effort})


def _adaptive(effort: str | None, profile: ModelProfile, *, shows: bool) -> Thinking:
    off = profile.further.get("thinking_off", "disabled")
    if effort == "none" and off != "never":
        return Thinking({"thinking": {"type": off}})
    if effort is None and not shows:
        return Thinking()
    thinking: dict[str, Any] = {"type": "adaptive"}
    if shows and "display" in profile.further:
        thinking["display"] = profile.further["display"]
    if effort is None:
        return Thinking({"thinking": thinking})
    return Thinking({"thinking": thinking, "output_config": {"effort": _nearest(effort, profile)}})


def _budget(effort: str | None, max_output: int | None) -> Thinking | None:
    if effort in (None, "none"):
        return Thinking()
    budget = BUDGETS.get(effort or "", BUDGETS["medium"])
    if max_output is not None:
        budget = min(budget, max_output // 2)
    if budget < BUDGETS["minimal"]:
        return None
    return Thinking({"thinking": {"type": "enabled", "budget_tokens": budget}}, budget)


def _nearest(effort: str, profile: ModelProfile) -> str:
    """Return the level of the model that is nearest to the one asked for, the higher one of two."""
    efforts = profile.further.get("efforts", "").split(",")
    if effort in efforts or effort not in LEVELS or efforts == [""]:
        return effort
    rank = LEVELS.index(effort)
    levels = [level for level in efforts if level in LEVELS and (level != "none" or effort == "none")]
    return min(levels, key=lambda level: (abs(LEVELS.index(level) - rank), -LEVELS.index(level)))
