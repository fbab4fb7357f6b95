"""SAM, publishing and the checks use one region, or say why they cannot."""

from __future__ import annotations

import pytest

from baton_deployment.errors import DeploymentError
from baton_deployment.regions import advise_on_region, choose_region, with_region
from baton_deployment.sam import make_sam_variables


@pytest.mark.parametrize(
    "environment",
    [
        {"AWS_REGION": "eu-central-1"},
        {"AWS_DEFAULT_REGION": "eu-central-1"},
        {"AWS_REGION": "eu-central-1", "AWS_DEFAULT_REGION": "eu-central-1"},
        {"AWS_REGION": "eu-central-1", "AWS_DEFAULT_REGION": ""},
    ],
)
def test_either_variable_names_the_region_and_wins_over_the_profile(environment: dict[str, str]) -> None:
    assert choose_region(environment, profile="us-west-2") == "eu-central-1"


def test_without_variables_the_profile_names_the_region() -> None:
    assert choose_region({}, profile="us-west-2") == "us-west-2"


@pytest.mark.parametrize(
    ("environment", "configured"),
    [
        ({"AWS_REGION": "eu-central-1", "AWS_DEFAULT_REGION": "us-east-1"}, None),
        ({"AWS_REGION": "eu-central-1"}, "us-east-1"),
        ({"AWS_DEFAULT_REGION": "eu-central-1"}, "us-east-1"),
    ],
)
def test_two_regions_are_an_error_that_names_both(environment: dict[str, str], configured: str | None) -> None:
    with pytest.raises(DeploymentError, match=r"eu-central-1.* is us-east-1"):
        choose_region(environment, configured)


def test_no_region_is_an_error_that_names_the_variable() -> None:
    with pytest.raises(DeploymentError, match="set AWS_REGION"):
        choose_region({})


@pytest.mark.parametrize(
    ("region", "advice"),
    [
        ("eu-central-1", "Is the network up"),
        ("eu-centrl-1", "eu-centrl-1 is no region that is known here. Is eu-central-1 meant?"),
        ("frankfurt!", "frankfurt! is no region that is known here."),
    ],
)
def test_a_region_in_which_aws_cannot_be_reached_may_be_misspelt(region: str, advice: str) -> None:
    assert advise_on_region(region).startswith(advice)


def test_a_program_finds_the_region_in_both_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    assert with_region({"AWS_REGION": "eu-central-1"}, "eu-central-1")["AWS_DEFAULT_REGION"] == "eu-central-1"
    monkeypatch.setenv("UV", "/usr/bin/uv")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    variables = make_sam_variables("eu-central-1")
    assert (variables["AWS_REGION"], variables["AWS_DEFAULT_REGION"]) == ("eu-central-1", "eu-central-1")
