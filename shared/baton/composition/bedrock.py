"""The clients of Amazon Bedrock, as the settings name them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from botocore.session import Session

    from baton.adapters.aws.session import CredentialSource
    from baton.adapters.models.bedrock.connection import BedrockConnection
    from baton.adapters.models.bedrock.request import Guardrail
    from baton.adapters.models.embedding_pace import EmbeddingPaces
    from baton.domain.agents.model_providers import Provider
    from baton.ports.agents.chat_model import TokenCounter
    from baton.ports.documents.search import Embedder
    from baton.settings.models import ModelSettings


def connection(provider: Provider) -> BedrockConnection:
    """Return the connection to a provider's region. Raises ``ValueError`` if no region is known."""
    from baton.adapters.models.bedrock.connection import BedrockConnection
    from baton.settings.models import BedrockSettings

    endpoint = provider.base_url or BedrockSettings().endpoint
    return BedrockConnection(region_of(provider), aws_session, endpoint=endpoint)


def region_of(provider: Provider) -> str:
    """Return the region of a provider on Amazon Bedrock. Raises ``ValueError`` if nothing names one."""
    from baton.adapters.aws.session import own_region
    from baton.settings.models import BedrockSettings

    region = provider.region or BedrockSettings().region
    if region is None:
        developers = _profile()
        region = own_region() if developers is None else developers.get_config_variable("region")
    if region is None:
        raise ValueError(
            "BATON_BEDROCK_REGION: is missing, and neither the provider nor AWS_REGION names a region of Amazon Bedrock"
        )
    return region


def aws_session() -> CredentialSource:
    """Return the session whose credentials sign requests: the function's, or in the local cloud a developer's."""
    from baton.adapters.aws.session import own_session
    from baton.adapters.models.bedrock.connection import NoSession
    from baton.settings.identity import IdentitySettings
    from baton.settings.models import BedrockSettings

    developers = _profile()
    if developers is not None:
        return developers
    if BedrockSettings().endpoint is None and IdentitySettings().is_local:
        return NoSession()
    return own_session()


def _profile() -> Session | None:
    from baton.adapters.models.bedrock.connection import profile_session
    from baton.settings.models import BedrockSettings

    settings = BedrockSettings()
    if settings.profile is None:
        return None
    return profile_session(settings.profile, settings.config_file, settings.credentials_file)


def guardrail(provider: Provider) -> Guardrail | None:
    """Return the guardrail of a provider, or that of the deployment.

    Raises ``ValueError`` if the deployment has one and the provider, in a separate region, does not.
    """
    from baton.adapters.models.bedrock.request import Guardrail
    from baton.settings.models import BedrockSettings

    settings = BedrockSettings()
    name = provider.guardrail or settings.guardrail
    if name is None:
        return None
    if provider.guardrail is None and provider.region not in (None, settings.region):
        raise ValueError(
            f"modelProviders: a provider in {provider.region} has no `guardrail`, and that of "
            "BATON_BEDROCK_GUARDRAIL is in another region"
        )
    identifier, _, version = name.rpartition(":")
    return Guardrail(identifier, version)


def embedder(
    model: str, dimensions: int, models: ModelSettings, counter: TokenCounter, paces: EmbeddingPaces
) -> Embedder:
    """Return the embedder of a model named ``<provider>/<id>``. Raises ``ValueError`` for a model that is not known."""
    from baton.adapters.models.bedrock.embedder import BedrockEmbedder
    from baton.adapters.models.profiles.known_profiles import family_of
    from baton.adapters.models.profiles.profile_overrides import profile_overrides

    selected = models.route(model)
    return BedrockEmbedder(
        selected.model,
        dimensions,
        connection=connection(models.providers[selected.provider]),
        counter=counter,
        paces=paces,
        name=model,
        family=family_of(selected.model, profile_overrides(models.model_profiles)),
    )
