"""The intrinsic functions of CloudFormation that Baton's template uses."""

import base64
import re
from collections.abc import Callable, Mapping
from typing import Any

from baton_local.errors import TemplateProblem

PSEUDO_PARAMETERS: Mapping[str, Any] = {
    "AWS::AccountId": "000000000000",
    "AWS::NoValue": None,
    "AWS::NotificationARNs": [],
    "AWS::Partition": "aws",
    "AWS::Region": "us-east-1",
    "AWS::StackId": "arn:aws:cloudformation:us-east-1:000000000000:stack/baton/local",
    "AWS::StackName": "baton",
    "AWS::URLSuffix": "amazonaws.com",
}

Attribute = Callable[[str, str | None], Any]
"""(logical id, attribute or ``None`` for Ref) -> the value of the local resource."""


class Intrinsics:
    """The intrinsic functions of one template, with its parameters, conditions, mappings and local resources.

    Parameters may override pseudo parameters, such as ``AWS::StackName``.
    """

    def __init__(self, template: Mapping[str, Any], parameters: Mapping[str, Any], attribute: Attribute) -> None:
        self._parameters = parameters
        self._conditions = template.get("Conditions", {})
        self._mappings = template.get("Mappings", {})
        self._attribute = attribute

    def resolve(self, value: Any) -> Any:
        """Return ``value`` with every function replaced by its value. Properties with ``AWS::NoValue`` are left out.

        Raises ``TemplateProblem`` for a function that is not supported.
        """
        if isinstance(value, list):
            return [item for item in map(self.resolve, value) if item is not None]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            (name, argument) = next(iter(value.items()))
            if name == "Ref":
                return self._resolve_ref(argument)
            if name == "Condition" and isinstance(argument, str) and argument in self._conditions:
                return self.holds(argument)
            if name.startswith("Fn::"):
                return self._call(name, argument)
        resolved = {key: self.resolve(item) for key, item in value.items()}
        return {key: item for key, item in resolved.items() if item is not None}

    def holds(self, condition: str) -> bool:
        """Return whether the named condition is true."""
        return bool(self.resolve(self._conditions[condition]))

    def _resolve_ref(self, name: str) -> Any:
        if name in self._parameters:
            return self._parameters[name]
        if name in PSEUDO_PARAMETERS:
            return PSEUDO_PARAMETERS[name]
        return self._attribute(name, None)

    def _call(self, name: str, argument: Any) -> Any:
        """Return the value of the function ``name``. Raises ``TemplateProblem`` for one that is not supported."""
        match name:
            case "Fn::GetAtt":
                logical_id, attribute = argument.split(".", 1) if isinstance(argument, str) else argument
                return self._attribute(logical_id, attribute)
            case "Fn::Sub":
                return self._substitute(argument)
            case "Fn::If":
                condition, then, otherwise = argument
                return self.resolve(then if self.holds(condition) else otherwise)
        resolved = self.resolve(argument)
        match name:
            case "Fn::Join":
                return resolved[0].join(str(item) for item in resolved[1])
            case "Fn::Split":
                return resolved[1].split(resolved[0])
            case "Fn::Select":
                return resolved[1][int(resolved[0])]
            case "Fn::Equals":
                return str(resolved[0]) == str(resolved[1])
            case "Fn::Not":
                return not resolved[0]
            case "Fn::And":
                return all(resolved)
            case "Fn::Or":
                return any(resolved)
            case "Fn::Contains":  # used in Rules
                return resolved[1] in resolved[0]
            case "Fn::FindInMap":
                return self._mappings[resolved[0]][resolved[1]][resolved[2]]
            case "Fn::Base64":
                return base64.b64encode(resolved.encode()).decode()
        raise TemplateProblem(f"The local cloud does not know the function {name} in the template.")

    def _substitute(self, argument: Any) -> str:
        """Return the value of ``Fn::Sub``, whose argument is a text, or a text and a map of variables."""
        text, variables = (argument, {}) if isinstance(argument, str) else argument

        def replace(match: re.Match[str]) -> str:
            name = match[1].strip()
            if name.startswith("!"):
                return f"${{{name[1:]}}}"
            if name in variables:
                return str(self.resolve(variables[name]))
            if "." in name:
                return str(self._attribute(*name.split(".", 1)))
            return str(self._resolve_ref(name))

        return re.sub(r"\$\{([^}]+)\}", replace, text)
