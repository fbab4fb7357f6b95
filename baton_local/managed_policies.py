"""AWS's managed policies, from moto. Roles of Baton's functions have none, but roles that SAM creates do."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from baton_local.errors import TemplateProblem


def managed_policy(arn: str) -> Mapping[str, Any]:
    """Return the document of the policy with this ARN. Raises ``TemplateProblem`` if it is unknown."""
    known = _managed_policies()
    name = arn.rpartition("/")[2]
    if name not in known:
        raise TemplateProblem(f"A role in the template has the managed policy {arn}, which is not known here.")
    document: Mapping[str, Any] = known[name]["Document"]
    return document


@cache
def _managed_policies() -> dict[str, Any]:
    module = importlib.import_module("moto.iam.aws_managed_policies")  # a megabyte: only when a role has one
    known: dict[str, Any] = json.loads(module.aws_managed_policies_data)
    return known
