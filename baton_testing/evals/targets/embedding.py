"""The embedding model that the environment names, called as in a deployment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from baton.adapters.aws.secrets import SecretsManager
from baton.adapters.models.embedding_pace import EmbeddingPaces
from baton.adapters.models.openai.embedder import OpenAIEmbedder
from baton.composition.models.provider_models import make_key_source
from baton.domain.agents.model_providers import DEFAULT_PROVIDER, Provider
from baton.domain.documents.search import Vector
from baton.ports.documents.search import EmbeddingPurpose
from baton.settings.models import EmbeddingSettings
from baton_testing.conversation_ports import make_token_counter
from baton_testing.errors import CannotRun
from baton_testing.models.real import read_settings
from baton_testing.virtual_time import real_time


@dataclass(frozen=True)
class RealTimeEmbedder:
    """``ports.documents.search.Embedder`` over another one. While it works, real time passes."""

    embedder: OpenAIEmbedder

    @property
    def name(self) -> str:
        """See ``Embedder``."""
        return self.embedder.name

    @property
    def dimensions(self) -> int:
        """See ``Embedder``."""
        return self.embedder.dimensions

    async def embed(
        self,
        texts: Sequence[str],
        *,
        purpose: EmbeddingPurpose = EmbeddingPurpose.DOCUMENT,
        seconds: float | None = None,
        tenant_id: str | None = None,
    ) -> Sequence[Vector]:
        """See ``Embedder``."""
        async with real_time():
            return await self.embedder.embed(texts, purpose=purpose, seconds=seconds, tenant_id=tenant_id)

    async def aclose(self) -> None:
        """Close the connections."""
        await self.embedder.aclose()


def make_embedder() -> RealTimeEmbedder | None:
    """Return the model of ``BATON_EMBEDDING_MODEL``; None if unset. Raises ``CannotRun`` for a model on Bedrock."""
    embedding = EmbeddingSettings()
    if embedding.model is None:
        return None
    settings = read_settings()
    if settings.is_on_bedrock(embedding.model):
        raise CannotRun(
            f"BATON_EMBEDDING_MODEL: {embedding.model} is on Bedrock, which evaluations of a project do not call. Name "
            "another one, or none; or evaluate a deployment with --url."
        )
    embedder = OpenAIEmbedder(
        embedding.model,
        embedding.dimensions,
        counter=make_token_counter(),
        api_key=make_key_source(settings.providers.get(DEFAULT_PROVIDER, Provider()), SecretsManager()),
        base_url=embedding.base_url or str(settings.base_url),
        paces=EmbeddingPaces(),
    )
    return RealTimeEmbedder(embedder)
