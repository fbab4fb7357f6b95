"""Checks of a stage's parameters against the template and the functions' settings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from baton.domain.definition import get_message
from baton.settings.base import Settings
from baton_deployment.checks import Check, fails, fine, note
from baton_deployment.settings_file import MOVED
from baton_deployment.template import DeployedTemplate
from baton_local.environment import applied
from baton_local.settings import import_families

ENVIRONMENT_BYTES = 4096
"""Lambda's limit of a function's variables, names and values together."""
LEAST_WEB_ACL_RATE = 10
"""The lowest limit of requests that AWS WAF accepts."""
CLOSE_BYTES = 100
"""The distance to the limit from which the check warns."""
MIGRATION = "`baton settings STAGE --from-parameters` writes such a file; see docs/how-to/upgrade.md."


def check_parameters(template: DeployedTemplate) -> Iterator[Check]:
    """Yield the parameters that CloudFormation or the functions would refuse, and the size of the variables."""
    problems = [*_check_forms(template), *_check_rules(template), *_check_rates(template)]
    yield from problems or [fine("parameters", f"{len(template.parameters)} given, all known to the template")]
    wrong = list(_check_settings(template))
    yield from wrong or [fine("settings", "the functions accept the values")]
    yield _check_size(template)


def _check_forms(template: DeployedTemplate) -> Iterator[Check]:
    """Yield the parameters that the template does not have, and values that CloudFormation refuses."""
    for name, value in template.parameters.items():
        if name not in template.declared:
            moved = f"{name} is now the field {MOVED[name]} of the settings" if name in MOVED else ""
            advice = MIGRATION if moved else "Names are in docs/how-to/deploy.md."
            yield fails("parameters", moved or f"the template has no parameter {name}", advice)
        elif reason := _find_refusal(template.declared[name], value):
            yield fails("parameters", f"{name}: {reason}")


def _find_refusal(declared: Mapping[str, Any], value: str) -> str:
    """Return the reason why CloudFormation refuses a value; empty if it does not."""
    allowed = [str(allowed_value) for allowed_value in declared.get("AllowedValues", ())]
    if allowed and value not in allowed:
        return f"{value!r} is none of {', '.join(allowed)}"
    if declared["Type"] == "Number":
        if re.fullmatch(r"-?\d+(\.\d+)?", value) is None:
            return f"{value!r} is no number"
        least, most = declared.get("MinValue"), declared.get("MaxValue")
        if least is not None and float(value) < least:
            return f"{value} is less than {least}"
        if most is not None and float(value) > most:
            return f"{value} is more than {most}"
    if not int(declared.get("MinLength", 0)) <= len(value) <= int(declared.get("MaxLength", 4096)):
        return f"has {len(value)} characters, not {declared.get('MinLength', 0)} to {declared.get('MaxLength', 4096)}"
    entries = [part.strip() for part in value.split(",")] if declared["Type"] == "CommaDelimitedList" else [value]
    pattern = declared.get("AllowedPattern")
    if pattern and any(re.fullmatch(pattern, entry) is None for entry in entries):
        return str(declared.get("ConstraintDescription", f"does not match {pattern}"))
    return ""


def _check_rules(template: DeployedTemplate) -> Iterator[Check]:
    """Yield the assertions of the template's rules that do not hold."""
    for rule in template.source.get("Rules", {}).values():
        condition = rule.get("RuleCondition")
        if condition is None or template.intrinsics.resolve(condition):
            for assertion in rule["Assertions"]:
                if not template.intrinsics.resolve(assertion["Assert"]):
                    yield fails("parameters", assertion["AssertDescription"])


def _check_rates(template: DeployedTemplate) -> Iterator[Check]:
    """Yield the limits of requests that AWS WAF would refuse."""
    for name in ("RestRequestLimit", "RestRequestLimitOfAddress"):
        value = template.values[name]
        if value.isdecimal() and 0 < int(value) < LEAST_WEB_ACL_RATE:
            yield fails("parameters", f"{name}: AWS WAF takes {LEAST_WEB_ACL_RATE} or more, and 0 counts none")


def _check_settings(template: DeployedTemplate) -> Iterator[Check]:
    """Yield the parameters because of which functions would not start."""
    written: dict[str, Any] = {}
    for variables in template.list_variables().values():
        written |= variables
    values = {name: str(template.intrinsics.resolve(value)) for name, value in written.items()}
    seen = set()
    with applied(values):
        for family in import_families():
            for variable, message in _find_problems(family):
                parameters = sorted(set(template.find_references(written.get(variable))))
                named = " or ".join(parameters) or variable
                if variable in written and (named, message) not in seen:
                    seen.add((named, message))
                    yield fails("settings", f"{named}: {message}")


def _find_problems(family: type[Settings]) -> Iterator[tuple[str, str]]:
    """Yield each wrong variable of a class of settings, and its problem."""
    try:
        family()
    except ValidationError as problem:
        for error in problem.errors(include_url=False, include_input=False):
            location = [str(part) for part in error["loc"]]
            within = f" (at {'.'.join(location[1:])})" if location[1:] else ""
            yield (location[0] if location else family.__name__), f"{get_message(error)}{within}"


def _check_size(template: DeployedTemplate) -> Check:
    """Return whether the variables of the function with the most are within Lambda's limit."""
    sizes = {
        # Lambda measures the variables as a JSON object, which its error quotes.
        function: len(
            json.dumps(
                {name: str(template.intrinsics.resolve(value)) for name, value in variables.items()},
                separators=(",", ":"),
            )
        )
        for function, variables in template.list_variables().items()
    }
    largest = max(sizes, key=lambda name: sizes[name])
    detail = f"{largest} has the most: about {sizes[largest]} of {ENVIRONMENT_BYTES} bytes"
    advice = "Shorten the name of the stack, or names of secrets, models and addresses."
    if sizes[largest] > ENVIRONMENT_BYTES:
        return fails("variables", f"{detail}, which Lambda refuses", advice)
    if sizes[largest] > ENVIRONMENT_BYTES - CLOSE_BYTES:
        return note("variables", detail, advice)
    return fine("variables", detail)
