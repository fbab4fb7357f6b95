"""The one region of a stage: for SAM, and for everything that Baton asks AWS itself.

SAM and botocore read ``AWS_DEFAULT_REGION`` or the profile, other SDKs and the AWS CLI of today read ``AWS_REGION``
first. Tools that choose differently deploy to one region and publish to another.
"""

from collections.abc import Mapping
from difflib import get_close_matches

import boto3

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


def advice_on_region(region: str) -> str:
    """Return what to look at when AWS cannot be reached in ``region``: its name, or the network."""
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
    """Return the ``environment`` of a program that must use ``region``, however it reads it."""
    return {**environment, **dict.fromkeys(VARIABLES, region)}
