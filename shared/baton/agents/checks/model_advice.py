"""Advice for operators about a model that lacks an ability or limit that agents need."""

from __future__ import annotations

import json
from collections.abc import Mapping
from glob import escape

from pydantic import JsonValue

from baton.domain import errors
from baton.domain.agents.agent_settings import ModelChoice
from baton.domain.agents.model_providers import Ability
from baton.domain.errors import BatonError, ModelRateLimited, ModelRefused, ModelTimeout, WrongEmbeddings

NO_TEXT = "Try the model outside Baton: it answers with nothing. A server of your own may lack its chat template."
NO_CALL = (
    "Choose another model for agents with tools, or make its server read its calls: vLLM needs "
    "--enable-auto-tool-choice and --tool-call-parser, llama.cpp --jinja."
)
NO_SCHEMA = "Choose another model for agents with an answer_schema: answers that do not fit are corrected only once."
NO_IMAGES = "Choose another model for agents whose users send images."
NOT_SEEN = (
    "It takes images and does not see them. Choose another model for agents whose users send some, or declare "
    '"images": false for it in modelProfiles of the settings.'
)
_BY_ERROR: dict[type[BatonError], str] = {
    errors.ModelMisconfigured: (
        "Check the model's name, its provider's address (OPENAI_BASE_URL, or baseUrl in modelProviders of the "
        "settings; most end in /v1) and key; of a model on Amazon Bedrock its id, region and credentials "
        "(BATON_BEDROCK_PROFILE)."
    ),
    ModelRefused: "Read the reason. What the model does not take can be declared in modelProfiles of the settings.",
    errors.OutOfCredit: "Add credit to the account at the provider, or raise its quota.",
    ModelRateLimited: "Try again in a minute. If it stays so, raise the limits at the provider, or name a fallback.",
    ModelTimeout: "Check whether the model is loaded and fast enough; a server of your own may still be starting.",
    errors.ModelUnavailable: "Check that the endpoint runs and that its address can be reached from the server.",
    errors.ContextTooLong: "Start the model's server with a longer context, and declare it as contextTokens.",
    errors.ContentFiltered: "Check the content filter at the provider: it stops a harmless question.",
    WrongEmbeddings: "Set BATON_EMBEDDING_DIMENSIONS to that number, or name another model, then rebuild the index.",
    errors.EmbedderUnavailable: (
        "Check BATON_EMBEDDING_MODEL, BATON_EMBEDDING_BASE_URL and the key; the server's log has the reason."
    ),
}


def advise_on_error(error: BatonError, ability: Ability) -> str:
    """Return advice for the operator after a trial of ``ability`` has raised ``error``."""
    if isinstance(error, ModelRefused) and not isinstance(error, errors.ModelMisconfigured):
        if ability is Ability.TOOL_CALL or ability is Ability.PARALLEL_CALLS:
            return NO_CALL
        if ability is Ability.IMAGE:
            return NO_IMAGES
    advice = next((_BY_ERROR[kind] for kind in type(error).__mro__ if kind in _BY_ERROR), None)
    return advice or "The server's log has the reason."


def advise_on_settings(dropped: tuple[str, ...], choices: Mapping[str, ModelChoice]) -> list[str]:
    """Return advice to remove settings from agents, because the model does not accept them.

    ``dropped`` are the names of the settings, and ``choices`` the model choices by agent id.
    """
    problems: list[str] = []
    for name in dropped:
        agents = [agent for agent, choice in choices.items() if _sets(choice, name)]
        if agents:
            owners = f"the agent{'s' if len(agents) > 1 else ''} {', '.join(agents)}"
            problems.append(
                f"Remove `{name}` from the model of {owners}: this model does not take it, so it is not sent."
            )
    return problems


def advise_on_limits(name: str, learned: Mapping[str, JsonValue]) -> list[str]:
    """Return advice to declare the limits ``learned`` from refusals of a model; empty if none were learned.

    ``name`` is the provider's name of the model.
    """
    if not learned:
        return []
    profile = json.dumps({escape(name): learned}, ensure_ascii=False)
    return [
        f"Declare in modelProfiles of the settings what it has refused, so that no process has to learn it: {profile}"
    ]


def _sets(choice: ModelChoice, name: str) -> bool:
    return name in choice.extra or (name in ModelChoice.model_fields and getattr(choice, name) not in (None, {}, ()))
