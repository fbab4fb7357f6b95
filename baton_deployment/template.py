"""The template for operators' checks: its parameters, rules, resources, and the functions' variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from baton_local.stack.intrinsics import Intrinsics
from baton_local.stack.template_translation import parse

SUFFIX = "ABCDEFGHIJKL"
"""An example of the random suffix of CloudFormation's names."""
ACCOUNT = "123456789012"
API = "a1b2c3d4e5"
"""An example of the id of an API."""


class DeployedTemplate:
    """template.yaml with the parameters and the names of one stack.

    Names that only a deployment knows are replaced by examples of the same length.
    """

    def __init__(self, source: Mapping[str, Any], parameters: Mapping[str, str], stack: str, region: str) -> None:
        self.source = source
        self.parameters = parameters
        self.stack = stack
        self.region = region
        self._names = {
            "AWS::StackName": stack,
            "AWS::Region": region,
            "AWS::AccountId": ACCOUNT,
            "AWS::StackId": f"arn:aws:cloudformation:{region}:{ACCOUNT}:stack/{stack}/{'0' * 36}",
        }

    @classmethod
    def read(cls, path: Path, parameters: Mapping[str, str], stack: str, region: str) -> DeployedTemplate:
        """Read the template at ``path``. ``parameters`` are the stage's."""
        return cls(parse(path.read_text()), parameters, stack, region)

    @property
    def declared(self) -> Mapping[str, Mapping[str, Any]]:
        """The declarations of parameters, by name."""
        declared: Mapping[str, Mapping[str, Any]] = self.source["Parameters"]
        return declared

    @property
    def values(self) -> dict[str, str]:
        """The value of each parameter: the stage's value, or the default."""
        defaults = {name: str(parameter.get("Default", "")) for name, parameter in self.declared.items()}
        return {**defaults, **{name: value for name, value in self.parameters.items() if name in self.declared}}

    @cached_property
    def intrinsics(self) -> Intrinsics:
        """The resolver of the template's values."""
        values: dict[str, Any] = {}
        for name, value in self.values.items():
            is_list = self.declared[name].get("Type") == "CommaDelimitedList"
            values[name] = [part.strip() for part in value.split(",")] if is_list else value
        return Intrinsics(self.source, {**values, **self._names}, self._resolve_attribute)

    def list_resources(self, kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield the logical id and the properties of each resource of a type."""
        for name, resource in self.source["Resources"].items():
            if resource["Type"] == kind:
                yield name, resource.get("Properties", {})

    def list_variables(self) -> dict[str, dict[str, Any]]:
        """Return the unresolved variables of each function, by the function's logical id."""
        common = self.source["Globals"]["Function"]["Environment"]["Variables"]
        functions = self.list_resources("AWS::Serverless::Function")
        return {
            name: {**common, **properties.get("Environment", {}).get("Variables", {})} for name, properties in functions
        }

    def find_references(self, value: Any) -> Iterator[str]:
        """Yield the parameters on which a value depends, including those of its conditions."""
        if isinstance(value, str) and value in self.source.get("Conditions", {}):
            yield from self.find_references(self.source["Conditions"][value])
        elif isinstance(value, str):
            yield from (name for name in self.declared if f"${{{name}}}" in value)
        elif isinstance(value, list):
            for part in value:
                yield from self.find_references(part)
        elif isinstance(value, dict):
            if value.get("Ref") in self.declared:
                yield value["Ref"]
            for part in value.values():
                yield from self.find_references(part)

    def _resolve_attribute(self, logical_id: str, attribute: str | None) -> str:
        """Return an example of a resource's attribute, or of its ``Ref`` if ``attribute`` is None."""
        kind = self.source["Resources"].get(logical_id, {}).get("Type", "")
        name = f"{self.stack}-{logical_id}-{SUFFIX}"
        region = self._names["AWS::Region"]
        if kind.startswith("AWS::Serverless::") and kind.endswith("Api"):
            return API
        if kind == "AWS::SQS::Queue" and attribute is None:
            return f"https://sqs.{region}.amazonaws.com/{ACCOUNT}/{name}.fifo"
        if kind == "AWS::S3::Bucket":
            name = name.lower()
        if attribute == "Arn" or (attribute is None and kind == "AWS::Serverless::StateMachine"):
            return f"arn:aws:states:{region}:{ACCOUNT}:stateMachine:{name}"
        return name
