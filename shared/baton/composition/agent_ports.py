"""The ports to agents, and to who calls them. ``composition.aws_agents`` has those of a deployment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from baton.domain.model_providers import Provider
    from baton.ports.a2a import CardSigner
    from baton.ports.agent_client import AgentClient
    from baton.ports.agents import AgentCatalog
    from baton.ports.chat_model import ChatModel, TokenCounter
    from baton.ports.identity import TokenVerifier
    from baton.ports.tools import Tools


class AgentPorts(Protocol):
    """The ports to agents, their models and tools, and to callers' identities. See ``Ports``."""

    @property
    def catalog(self) -> AgentCatalog:
        """Definitions of agents."""
        ...

    @property
    def model(self) -> ChatModel:
        """The model endpoint."""
        ...

    @property
    def default_model(self) -> str:
        """The name of the model for agents that name none."""
        ...

    def context_tokens(self, model: str) -> int | None:
        """Return how many tokens of a prompt a model is declared to read; None if nothing is declared."""
        ...

    @property
    def light_model(self) -> str:
        """The name of the model for tasks that need speed more than quality."""
        ...

    @property
    def model_providers(self) -> Mapping[str, Provider]:
        """The providers of models, by name."""
        ...

    @property
    def counter(self) -> TokenCounter:
        """The counter of tokens."""
        ...

    @property
    def tools(self) -> Tools:
        """Tools outside Baton."""
        ...

    @property
    def agent_client(self) -> AgentClient:
        """Agents outside Baton."""
        ...

    @property
    def verifier(self) -> TokenVerifier:
        """The verifier of tokens."""
        ...

    @property
    def card_signer(self) -> CardSigner | None:
        """The signer of agent cards; None where they are not signed."""
        ...
