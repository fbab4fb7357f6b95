"""The one region of a stage: for SAM, and for everything that Baton asks AWS itself.

SAM and botocore read ``AWS_DEFAULT_REGION`` or the profile, other SDKs and the AWS CLI of today read ``AWS_REGION``
first. Tools that choose differently deploy to one region and publish to another.
"""

from collections.abc import Mapping

from baton_deployment.errors import DeploymentError

VARIABLES = ("AWS_REGION", "AWS_DEFAULT_REGION")


def choose_region(environment: Mapping[str, str], configured: str | None = None, profile: str | None = None) -> str:
    """Return the region that the ``environment`` names, else the ``configured`` one, else that of the ``profile``.

    ``configured`` is ``region`` of samconfig.toml, which SAM prefers to the environment. Raises ``DeploymentError``
    if two sources differ, or none names a region.
    """
    named = {name: environment[name] for name in VARIABLES if environment.get(name)}
    if configured:
        named["region of samconfig.toml"] = configured
    if len(set(named.values())) > 1:
        both = ", ".join(f"{name} is {value}" for name, value in named.items())
        raise DeploymentError(f"Regions differ: {both}. Set them to the same region, or unset all but one.")
    region = next(iter(named.values()), profile)
    if not region:
        raise DeploymentError("There is no region: set AWS_REGION, for instance AWS_REGION=eu-central-1.")
    return region


def with_region(environment: Mapping[str, str], region: str) -> dict[str, str]:
    """Return the ``environment`` of a program that must use ``region``, however it reads it."""
    return {**environment, **dict.fromkeys(VARIABLES, region)}
