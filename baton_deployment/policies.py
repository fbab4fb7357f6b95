"""The documented policies for deploying, restoring and removing stages, adapted to the names of a stage."""

from __future__ import annotations

import json
from typing import Any

from baton_deployment.errors import DeploymentError
from baton_deployment.stages import Stage
from baton_deployment.template import DeployedTemplate
from baton_local.root import ROOT

POLICIES = ("deployer", "restore", "teardown")
NAMES = "baton-*"
"""The pattern of stack names in the documented policies. All names of a stack's resources begin with the stack's."""
SECRETS = ":secret:baton/*"
"""The end of the ARN of stages' secrets in the documented policies."""
LIMIT = 6144
"""IAM's limit of the characters of a managed policy, without white space."""


def read_policy(name: str) -> dict[str, Any]:
    """Return the documented policy of a name, one of ``POLICIES``."""
    policy: dict[str, Any] = json.loads((ROOT / "docs" / "reference" / f"{name}-policy.json").read_text())
    return policy


def render_policy(name: str, stage: Stage) -> str:
    """Return a policy as JSON, for the stack of a stage and its secrets.

    The statements have no names if the policy would be too long with them. Raises ``DeploymentError``.
    """
    if name not in POLICIES:
        raise DeploymentError(f"There is no policy {name!r}. There are: {', '.join(POLICIES)}.")
    policy = read_policy(name)
    secrets = _list_secret_patterns(stage)
    for statement in policy["Statement"]:
        resources = statement["Resource"]
        if isinstance(resources, list):
            statement["Resource"] = [named for arn in resources for named in _rename(arn, stage.stack, secrets)]
    if _measure(policy) > LIMIT:
        for statement in policy["Statement"]:
            del statement["Sid"]  # which IAM does not need
    length = _measure(policy)
    if length > LIMIT:
        raise DeploymentError(
            f"With the names of {stage.stack} the policy has {length} characters; a managed policy may have {LIMIT}. "
            f"Choose a shorter stack_name, or take docs/reference/{name}-policy.json with a shorter prefix."
        )
    return json.dumps(policy, indent=2)


def _measure(policy: dict[str, Any]) -> int:
    """Return the number of characters that IAM counts: those without white space."""
    return len(json.dumps(policy, separators=(",", ":")))


def _list_secret_patterns(stage: Stage) -> list[str]:
    """Return the patterns of the stage's secrets: those that parameters name, and those of its tools and agents."""
    template = DeployedTemplate.read(ROOT / "template.yaml", stage.parameters, stage.stack, "eu-central-1")
    named = [f"{value}-??????" for name, value in template.values.items() if name.endswith("Secret") and value]
    return [*named, f"baton/{template.values['Stage']}/*"]


def _rename(arn: str, stack: str, secrets: list[str]) -> list[str]:
    """Return the ARNs in place of a documented one, with the names of a stack, or with ``secrets``."""
    if arn.endswith(SECRETS):
        return [f"{arn.removesuffix(SECRETS)}:secret:{name}" for name in secrets]
    # The stack itself is named without a suffix: baton-*/* becomes shop-dev/*.
    return [arn.replace(f"stack/{NAMES}/", f"stack/{stack}/").replace(NAMES, f"{stack}*")]
