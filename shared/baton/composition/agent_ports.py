"""The agents, models, tools and identities of a deployment."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING

from baton.composition import parts
from baton.composition.current_settings import CurrentSettings, make_deployed_settings
from baton.composition.store_ports import StorePorts
from baton.ports.tracing import NO_TRACER

if TYPE_CHECKING:
    from baton.composition.models.current_models import CurrentModels
    from baton.composition.outside_clients import Outside


class AgentPorts(StorePorts):
    """The ports to agents, their models and tools, and to callers' identities. See ``Ports``."""

    @cached_property
    def settings(self) -> CurrentSettings:
        """The current settings."""
        return make_deployed_settings()

    @cached_property
    def agent_files(self) -> parts.AgentFiles:
        """The agents' files. Raises ``AgentFileError`` for a file that cannot be used."""
        settings = parts.AgentSettings()
        return parts.AgentFiles.load(settings.agents_dir, settings.default_agent)

    @cached_property
    def shipped_agents(self) -> parts.ShippedAgents:
        """The agents that ship with the deployment."""
        return self.agent_files

    @cached_property
    def provider_models(self) -> CurrentModels:
        """The clients of all providers. Their libraries are loaded by the first call, or by ``load``."""
        from baton.composition.models.current_models import CurrentModels

        return CurrentModels(lambda: self.settings.document, self.secrets)

    @property
    def model_settings(self) -> parts.ProviderSettings:
        """The current settings of the model endpoints."""
        return self.provider_models.settings

    @property
    def model_providers(self) -> Mapping[str, parts.Provider]:
        """The current providers of models, by name."""
        return self.model_settings.providers

    @property
    def model_key(self) -> str | Callable[[], Awaitable[str]]:
        """The key of the default model provider, or a function that reads the key from its secret."""
        from baton.composition.models.provider_models import make_key_source

        return make_key_source(self.model_providers.get(parts.DEFAULT_PROVIDER, parts.Provider()), self.secrets)

    @cached_property
    def model(self) -> parts.ChatModel:
        """The model endpoint."""
        if self.tracer is NO_TRACER:
            return self.provider_models
        from baton.composition.tracing import find_provider

        def find_provider_of(model: str) -> str:
            return find_provider(self.model_settings, model)

        return parts.TracedModel(self.provider_models, find_provider_of, lambda: self.settings.prices)

    @cached_property
    def tracer(self) -> parts.Tracer:
        """The traces of runs."""
        from baton.composition.tracing import make_tracer

        return make_tracer(parts.TraceSettings(), lambda: self.secrets)

    @cached_property
    def default_model(self) -> str:
        """The name of the model for agents whose definition names no model."""
        return parts.ModelNameSettings().chat_model

    def find_context_limit(self, model: str) -> int | None:
        """Return the declared limit of a model's prompts, in tokens; None without a declaration."""
        return self.provider_models.find_context_limit(model)

    @cached_property
    def light_model(self) -> str:
        """The name of the model for tasks that need speed more than quality."""
        return parts.ModelNameSettings().light_model or self.default_model

    @cached_property
    def counter(self) -> parts.TokenCounter:
        """The counter of tokens."""
        return self.tiktoken

    @cached_property
    def tiktoken(self) -> parts.TiktokenCounter:
        """The counter with OpenAI's vocabulary. Its files are read for the first text, or by ``prepare``."""
        return parts.TiktokenCounter(parts.TokenizerSettings().tokenizer_dir)

    @cached_property
    def outside(self) -> Outside:
        """Tools and remote agents, called through guarded HTTP clients."""
        from baton.composition.outside_clients import Outside

        return Outside(
            self.agent_files, self.secrets, lambda: self.settings.egress, self.subject_tokens, lambda: self.functions
        )

    @cached_property
    def functions(self) -> parts.Functions:
        """The Python functions of agents and tools."""
        from baton.composition.outside_clients import make_functions

        return make_functions()

    @cached_property
    def tools(self) -> parts.Tools:
        """The client of tools outside Baton."""
        return self.outside.toolbox

    @cached_property
    def agent_client(self) -> parts.AgentClient:
        """The client of agents outside Baton."""
        return parts.DeferredAgentClient(lambda: self.outside.remote_agents)

    # Identity

    @cached_property
    def secrets(self) -> parts.SecretsManager:
        """The reader of secrets. Its client is built when the first secret is read."""
        return parts.SecretsManager()

    @cached_property
    def verifier(self) -> parts.TokenVerifier:
        """The verifier of tokens."""
        return self.jwt_verifier

    @cached_property
    def jwt_verifier(self) -> parts.JwtVerifier:
        """The verifier of signed tokens."""
        from baton.composition.startup.preloading import preload

        settings = parts.IdentitySettings()
        keys = None
        if settings.embed_keys_secret is not None:
            preload("baton.adapters.aws.blocking_calls")  # the secret is read with the first token
            keys = parts.EmbedKeys(self.secrets, settings.embed_keys_secret, allow_any_tenant=settings.is_local)
        return parts.JwtVerifier(
            lambda: self.settings.issuers, keys, allow_http=settings.is_local, subject_tokens=self.subject_tokens
        )

    @cached_property
    def subject_tokens(self) -> parts.SubjectTokens | None:
        """The encryption of users' tokens; None in deployments without keys for it."""
        settings = parts.DelegationSettings()
        read: Callable[[], str]
        if settings.keys is not None:
            read = settings.keys.get_secret_value
        elif settings.keys_secret is not None:
            read = partial(self.secrets.get, settings.keys_secret)
        else:
            return None
        return parts.SubjectTokens(read)

    @cached_property
    def card_signer(self) -> parts.CardSigner | None:
        """The signer of agent cards; None in deployments without keys for it."""
        settings = parts.CardSettings()
        if settings.keys is not None:
            return parts.JwkCardSigner(settings.keys.get_secret_value)
        if settings.keys_secret is not None:
            return parts.JwkCardSigner(partial(self.secrets.get, settings.keys_secret))
        return None
