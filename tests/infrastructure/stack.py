"""Reading the template: as written, translated, resources by type, and what they refer to."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

from baton_local.stack.template_translation import parse

ROOT = Path(__file__).parents[2]
REGION = "us-east-1"
TOOLS = Path(sys.executable).parent
BUILD_INPUTS = ("template.yaml", "samconfig.toml", "pyproject.toml", "uv.lock", "README.md")
"""The files that `sam build` reads, besides folders."""
PRIVATE_UV = ROOT / ".baton/tools/bin/uv"

Resource = dict[str, Any]


def run(*command: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run a tool of the environment without the machine's AWS settings: no account, no region, no telemetry."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("AWS_")}
    environment |= {"SAM_CLI_TELEMETRY": "0", "AWS_DEFAULT_REGION": REGION}
    if not environment.get("UV") and PRIVATE_UV.exists():
        environment["UV"] = str(PRIVATE_UV)
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def read_template(name: str = "template.yaml") -> dict[str, Any]:
    return parse((ROOT / name).read_text())


def translate(template: dict[str, Any], **parameters: str) -> dict[str, Any]:
    """Expand the SAM template as AWS does at deployment, with what `sam package` would have uploaded."""
    for resource in template["Resources"].values():
        for key in ("CodeUri", "ContentUri", "DefinitionUri"):
            if key in resource.get("Properties", {}):
                resource["Properties"][key] = "s3://artifacts/" + resource["Properties"][key]
    session = boto3.Session(region_name=REGION)  # the translator asks it for the partition
    translated: dict[str, Any] = Translator({}, Parser(), boto_session=session).translate(template, parameters)
    return translated


class Stack:
    """A template; ``resources`` are its resources by logical id."""

    def __init__(self, template: dict[str, Any]) -> None:
        self.template = template
        self.resources: dict[str, Resource] = template["Resources"]

    def __getitem__(self, logical_id: str) -> dict[str, Any]:
        """The properties of one resource."""
        return self.resources[logical_id]["Properties"]  # type: ignore[no-any-return]

    def of_type(self, kind: str) -> dict[str, dict[str, Any]]:
        """Logical id -> properties, of every resource of that type."""
        return {name: item.get("Properties", {}) for name, item in self.resources.items() if item["Type"] == kind}

    @property
    def functions(self) -> dict[str, dict[str, Any]]:
        return self.of_type("AWS::Lambda::Function")

    def role_of(self, function: str) -> str:
        """The logical id of the role a function runs under."""
        return str(self[function]["Role"]["Fn::GetAtt"][0])

    def statements(self, role: str) -> list[dict[str, Any]]:
        """The statements of a role's inline policies, ``Action`` and ``Resource`` always lists."""
        return [
            statement | {"Action": as_list(statement["Action"]), "Resource": as_list(statement["Resource"])}
            for policy in self[role].get("Policies", [])
            for statement in policy["PolicyDocument"]["Statement"]
        ]

    def routes(self) -> dict[tuple[str, str], dict[str, Any]]:
        """(METHOD, path) -> API Gateway's integration, of the REST API; ANY stands for what no other method takes."""
        methods = {"x-amazon-apigateway-any-method": "ANY"}
        return {
            (methods.get(method, method.upper()), path): operation["x-amazon-apigateway-integration"]
            for path, operations in self["RestApi"]["Body"]["paths"].items()
            for method, operation in operations.items()
        }


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def text(value: Any) -> str:
    """One string of a value with intrinsic functions, to look for names in."""
    return json.dumps(value, sort_keys=True)


def find_references(value: Any) -> Iterator[str]:
    """The names a value refers to, by Ref, GetAtt or Sub; of ``X.Arn`` only ``X``."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key == "Ref":
                yield item
            elif key == "Fn::GetAtt":
                yield item[0] if isinstance(item, list) else item.split(".")[0]
            elif key == "Fn::Sub":
                pattern, names = item if isinstance(item, list) else (item, {})
                yield from (name.split(".")[0] for name in re.findall(r"\$\{([^!}]+)\}", pattern) if name not in names)
                yield from find_references(names)
            else:
                yield from find_references(item)
    elif isinstance(value, list):
        for item in value:
            yield from find_references(item)
