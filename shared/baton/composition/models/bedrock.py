"""The clients of Amazon Bedrock, with the regions, credentials and guardrails of the settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from baton.composition import parts

if TYPE_CHECKING:
    from botocore.session import Session


def make_connection(provider: parts.Provider) -> parts.BedrockConnection:
    """Return the connection to a provider's region. Raises ``ValueError`` if no region is known."""
    endpoint = provider.base_url or parts.BedrockSettings().endpoint
    return parts.BedrockConnection(find_region(provider), select_credential_source, endpoint=endpoint)


def find_region(provider: parts.Provider) -> str:
    """Return the region of a provider on Amazon Bedrock.

    It is the region of the provider, of the settings, of the developer's profile or of the process. Raises
    ``ValueError`` if none of these names a region.
    """
    region = provider.region or parts.BedrockSettings().region
    if region is None:
        profile = _open_profile()
        region = parts.get_own_region() if profile is None else profile.get_config_variable("region")
    if region is None:
        raise ValueError(
            "BATON_BEDROCK_REGION: is missing, and neither the provider nor AWS_REGION names a region of Amazon Bedrock"
        )
    return region


def select_credential_source() -> parts.CredentialSource:
    """Return the source of the credentials with which requests are signed.

    It is the developer's profile if the settings name one, otherwise the session of this process. In the local cloud,
    if the settings have neither a profile nor an endpoint of Bedrock, ``get_credentials`` raises ``NoCredentials``.
    """
    profile = _open_profile()
    if profile is not None:
        return profile
    if parts.BedrockSettings().endpoint is None and parts.IdentitySettings().is_local:
        return parts.NoSession()
    return parts.get_own_session()


def _open_profile() -> Session | None:
    """Return the session of the developer's AWS profile; None if the settings name no profile."""
    settings = parts.BedrockSettings()
    if settings.profile is None:
        return None
    return parts.make_profile_session(settings.profile, settings.config_file, settings.credentials_file)


def find_guardrail(provider: parts.Provider) -> parts.BedrockGuardrail | None:
    """Return the guardrail of a provider, otherwise that of the deployment; None if neither has one.

    Raises ``ValueError`` if only the deployment has a guardrail and the provider is in another region.
    """
    settings = parts.BedrockSettings()
    name = provider.guardrail or settings.guardrail
    if name is None:
        return None
    uses_deployments = provider.guardrail is None and provider.region is not None
    if uses_deployments and provider.region != find_region(parts.Provider(kind=parts.ProviderKind.BEDROCK)):
        raise ValueError(
            f"modelProviders: a provider in {provider.region} has no `guardrail`, and that of "
            "BATON_BEDROCK_GUARDRAIL is in another region"
        )
    identifier, _, version = name.rpartition(":")
    return parts.BedrockGuardrail(identifier, version)


def make_embedder(
    model: str,
    dimensions: int,
    models: parts.ProviderSettings,
    counter: parts.TokenCounter,
    paces: parts.EmbeddingPaces,
) -> parts.Embedder:
    """Return the embedder of a model with the name ``<provider>/<id>``.

    Raises ``ValueError`` for an unknown model, and if no region is known.
    """
    selected = models.route(model)
    return parts.BedrockEmbedder(
        selected.model,
        dimensions,
        connection=make_connection(models.providers[selected.provider]),
        counter=counter,
        paces=paces,
        name=model,
        family=parts.find_family(selected.model, parts.read_profile_overrides(models.model_profiles)),
    )
