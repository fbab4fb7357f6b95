"""Lists of the models that a deployment uses, and checks of these models, one at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from aws_lambda_powertools import Logger

from baton.agents.checks.model_advice import advise_on_error, advise_on_limits, advise_on_settings
from baton.agents.checks.model_probes import PROBE_SECONDS, ModelProbes
from baton.domain.agents.model_providers import (
    Ability,
    AbilityCheck,
    ConfiguredModel,
    ModelKind,
    ModelReport,
    ModelUse,
    Provider,
    Route,
    route,
)
from baton.domain.errors import BatonError, EmbedderUnavailable, InternalError, NotFound, RateLimited
from baton.domain.metrics import Metric, count
from baton.ports.agents.agents import ShippedAgents
from baton.ports.agents.chat_model import ChatModel, LearningModel
from baton.ports.documents.search import Embedder

logger = Logger(child=True)


@dataclass(slots=True)
class _ModelUse:
    name: str
    uses: list[ModelUse] = field(default_factory=list)
    agents: list[str] = field(default_factory=list)
    fallback_of: list[str] = field(default_factory=list)


UNKNOWN = "There is no model of this name to check. GET /v1/models lists those that can be checked."
BUSY = "Another check of a model is running. Please try again in a minute."


@dataclass
class ModelChecks:
    """The models that a deployment uses, and trials of them. A process carries out one check at a time."""

    model: ChatModel
    embedder: Callable[[], Embedder]
    """Returns the embedding model. It is loaded only when it is needed."""
    shipped_agents: ShippedAgents
    providers: Callable[[], Mapping[str, Provider]]
    default_model: str
    light_model: str
    seconds: float = PROBE_SECONDS
    _is_running: bool = field(default=False, init=False)

    def list_models(self) -> list[ConfiguredModel]:
        """Return all models that can be checked.

        The models of the deployment come first, then those of the shipped agents. A model that is configured under
        several names is listed once, under the first name. Remote agents have no model.
        """
        providers, embedding_model = self.providers(), self.embedder().name
        by_route: dict[Route, _ModelUse] = {}

        def get_use(name: str) -> _ModelUse:
            return by_route.setdefault(route(name, providers), _ModelUse(name))

        get_use(self.default_model).uses.append(ModelUse.CHAT)
        get_use(self.light_model).uses.append(ModelUse.LIGHT)
        for agent in self.shipped_agents.all():
            if agent.remote is not None:
                continue
            get_use(agent.model.name or self.default_model).agents.append(agent.id)
            for name in agent.model.fallback:
                get_use(name).fallback_of.append(agent.id)
        models: list[ConfiguredModel] = []
        for model in by_route.values():
            asking, failing_over = tuple(dict.fromkeys(model.agents)), tuple(dict.fromkeys(model.fallback_of))
            models.append(ConfiguredModel(model.name, ModelKind.CHAT, tuple(model.uses), asking, failing_over))
        if embedding_model:  # the name is empty if the deployment has no embedding model
            models.append(ConfiguredModel(embedding_model, ModelKind.EMBEDDING, (ModelUse.EMBEDDING,)))
        return models

    async def check(self, name: str) -> ModelReport:
        """Try the abilities of the model, and return a report, which also lists the trials that failed.

        Only models that the deployment uses are asked, so that callers cannot spend its money on other models. Raises
        ``NotFound`` for a name that ``list_models`` does not return, and ``RateLimited`` while another check is
        running.
        """
        configured_model = next((model for model in self.list_models() if model.name == name), None)
        if configured_model is None:
            raise NotFound(UNKNOWN)
        if self._is_running:
            raise RateLimited(BUSY)
        self._is_running = True
        is_embedder = configured_model.kind is ModelKind.EMBEDDING
        try:
            return await (self._check_embedder(configured_model) if is_embedder else self._check_chat(configured_model))
        finally:
            self._is_running = False

    async def _check_chat(self, model: ConfiguredModel) -> ModelReport:
        """Try the abilities of a chat model with the settings of the agents that use it, and report on them."""
        asking = {*model.agents, *model.fallback_of}
        choices = {agent.id: agent.model for agent in self.shipped_agents.all() if agent.id in asking}
        probes = ModelProbes(self.model, seconds=self.seconds)
        checks = await probes.check(model.name, tuple(choices.values()))
        learned = dict(self.model.list_learned_facts(model.name)) if isinstance(self.model, LearningModel) else {}
        report = ModelReport(model, checks, learned)
        name = route(model.name, self.providers()).model
        advice = (*advise_on_settings(report.dropped, choices), *advise_on_limits(name, learned))
        return ModelReport(model, checks, learned, advice, probes.tokens)

    async def _check_embedder(self, model: ConfiguredModel) -> ModelReport:
        """Try the embedding model with one text, and report on it."""
        embedder = self.embedder()
        error: BatonError
        try:
            async with asyncio.timeout(self.seconds):
                [vector] = await embedder.embed(["ready"], seconds=self.seconds)
        except TimeoutError:
            error = EmbedderUnavailable(f"The embedding model gave no answer within {self.seconds:g} seconds.")
        except BatonError as failure:
            error = failure
        except Exception:  # reading a key or calling a provider may raise any error
            logger.exception("The trial of an embedding model failed", extra={"model": model.name})
            count(Metric.INTERNAL_FAULTS)
            error = InternalError()
        else:
            remark = f"vectors of {len(vector)} numbers"
            return ModelReport(model, (AbilityCheck(Ability.EMBEDDING, works=True, remark=remark),))
        check = AbilityCheck(
            Ability.EMBEDDING,
            works=False,
            remark=error.detail,
            error=error.code,
            advice=advise_on_error(error, Ability.EMBEDDING),
        )
        return ModelReport(model, (check,))
