"""Collect the models of a deployment: those of its settings, and those that its agents name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from baton.domain.agent import AgentDefinition, ModelChoice
from baton.domain.model_providers import ConfiguredModel, ModelKind, ModelUse, Provider, Route, route


@dataclass(slots=True)
class _Found:
    name: str
    uses: list[ModelUse] = field(default_factory=list)
    agents: list[str] = field(default_factory=list)
    fallback_of: list[str] = field(default_factory=list)


def list_configured_models(
    agents: Sequence[AgentDefinition],
    providers: Mapping[str, Provider],
    *,
    default_model: str,
    light_model: str,
    embedding_model: str,
) -> list[ConfiguredModel]:
    """Return each model once, under the name that comes first: the deployment's models, then those of agents.

    ``agents`` are those that ship with the deployment; remote ones have no model. ``embedding_model`` is empty where
    there is none.
    """
    found: dict[Route, _Found] = {}

    def at(name: str) -> _Found:
        return found.setdefault(route(name, providers), _Found(name))

    at(default_model).uses.append(ModelUse.CHAT)
    at(light_model).uses.append(ModelUse.LIGHT)
    for agent in agents:
        if agent.remote is not None:
            continue
        at(agent.model.name or default_model).agents.append(agent.id)
        for name in agent.model.fallback:
            at(name).fallback_of.append(agent.id)
    models = [
        ConfiguredModel(
            each.name,
            ModelKind.CHAT,
            tuple(each.uses),
            tuple(dict.fromkeys(each.agents)),
            tuple(dict.fromkeys(each.fallback_of)),
        )
        for each in found.values()
    ]
    if embedding_model:
        models.append(ConfiguredModel(embedding_model, ModelKind.EMBEDDING, (ModelUse.EMBEDDING,)))
    return models


def find_choices(model: ConfiguredModel, agents: Sequence[AgentDefinition]) -> dict[str, ModelChoice]:
    """Return the settings with which agents ask a model, by the agents' ids."""
    asking = {*model.agents, *model.fallback_of}
    return {agent.id: agent.model for agent in agents if agent.id in asking}
