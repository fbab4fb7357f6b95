"""The one region of a stage, for SAM and for Baton's own calls of AWS.

SAM and botocore read ``AWS_DEFAULT_REGION`` or the profile. Other SDKs and newer AWS CLIs read ``AWS_REGION`` first.
Without a common choice, one tool would deploy to one region and another publish to a second one.
"""

from collections.abc import Mapping
from difflib import get_close_matches

import boto3

from baton_deployment.errors import DeploymentError

VARIABLES = ("AWS_REGION", "AWS_DEFAULT_REGION")


def choose_region(environment: Mapping[str, str], configured: str | None = None, profile: str | None = None) -> str:
    """Return the region of samconfig.toml or the ``environment``; if neither names a region, that of the profile.

    ``configured`` is ``region`` of samconfig.toml, which SAM prefers to the environment, and ``profile`` is the region
    of the profile. Raises ``DeploymentError`` if samconfig.toml and variables differ, or if no source names a region.
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


def advise_on_region(region: str) -> str:
    """Return advice for the case that AWS cannot be reached in ``region``: check its name, or the network."""
    session = boto3.session.Session()
    available_regions = {
        available_region
        for partition in session.get_available_partitions()
        for available_region in session.get_available_regions("cloudformation", partition)
    }
    if region in available_regions:
        return "Is the network up, and is a proxy needed (HTTPS_PROXY)?"
    close = get_close_matches(region, sorted(available_regions), n=1)
    return f"{region} is no region that is known here." + (f" Is {close[0]} meant?" if close else "")


def with_region(environment: Mapping[str, str], region: str) -> dict[str, str]:
    """Return ``environment`` with ``region`` in all variables from which programs read it."""
    return {**environment, **dict.fromkeys(VARIABLES, region)}
