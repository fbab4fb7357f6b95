"""The translated SAM template, resolved with the resources of this machine."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from baton_local.account import ACCOUNT, REGION
from baton_local.errors import TemplateProblem
from baton_local.stack.intrinsics import Intrinsics
from baton_local.stack.template_translation import translate


@dataclass(frozen=True)
class Endpoints:
    """The URLs of the template's APIs and queues on this machine, without a slash at the end."""

    gateway: str
    """Base of the REST API."""
    sockets: str
    """The WebSocket URL."""
    connections: str
    """Base of the @connections management API."""
    queues: str
    """The local queues."""


Resolver = Callable[["Template", str, Any, str | None], Any]
"""A function from template, logical id, resource, and attribute (None for Ref) to the value of the local resource."""


class Template:
    """One translated template with its parameters."""

    def __init__(
        self, path: Path, parameters: Mapping[str, str], endpoints: Endpoints, cache_dir: Path | None = None
    ) -> None:
        """Read and translate the file at ``path``; ``parameters`` win over the template's defaults.

        The translation is kept in ``cache_dir`` if there is one. Raises ``TemplateProblem`` when the file is missing or
        the translator refuses it.
        """
        self.folder = path.parent
        translated = translate(path, cache_dir)
        source = translated.source
        self.code_folders = translated.code_folders
        self.definition_files = translated.definition_files
        self._layers = [
            name for name, item in source["Resources"].items() if item["Type"] == "AWS::Serverless::LayerVersion"
        ]
        self._resources: dict[str, dict[str, Any]] = translated.result["Resources"]
        self._endpoints = endpoints
        declared = source.get("Parameters", {})
        values = {name: _parse_value(parameter, parameter.get("Default", "")) for name, parameter in declared.items()}
        values.update(
            {name: _parse_value(declared[name], value) for name, value in parameters.items() if name in declared}
        )
        self._intrinsics = Intrinsics(source, values, self.resolve_attribute)

    def of_type(self, resource_type: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield (logical id, resolved properties) of every resource of ``resource_type`` whose condition holds."""
        for logical_id, resource in self._resources.items():
            if resource["Type"] == resource_type and self._exists(resource):
                yield logical_id, self._intrinsics.resolve(resource.get("Properties", {}))

    def find_only(self, resource_type: str) -> tuple[str, dict[str, Any]]:
        """Return the only resource of ``resource_type``. Raises ``TemplateProblem`` unless there is exactly one."""
        resources = list(self.of_type(resource_type))
        if len(resources) != 1:
            raise TemplateProblem(
                f"The local cloud needs one {resource_type} in the template and found {len(resources)}."
            )
        return resources[0]

    def resolve_attribute(self, logical_id: str, attribute: str | None) -> Any:
        """Return the value of ``Ref`` (``attribute`` is ``None``) or ``Fn::GetAtt`` for a local resource.

        Raises ``TemplateProblem`` if the template does not define it.
        """
        resource = self._resources.get(logical_id)
        if resource is None:
            raise TemplateProblem(f"The template refers to {logical_id}, which it does not define.")
        resolve: Resolver = _RESOLVERS.get(resource["Type"], _resolve_other)
        return resolve(self, logical_id, resource, attribute)

    def name_of(self, logical_id: str, name: Any, *, separator: str = "-") -> str:
        """Return a resource's physical name: that ``name`` in the template, or the stack's name and the logical id."""
        return str(self._intrinsics.resolve(name)) if name else f"baton{separator}{logical_id}"

    def find_layers(self, references: Iterable[str]) -> tuple[str, ...]:
        """Return the layers of a function in their order: ids of the template's layers, ARNs of others.

        The translator adds a hash to the ids.
        """
        return tuple(next((layer for layer in self._layers if name.startswith(layer)), name) for name in references)

    @property
    def endpoints(self) -> Endpoints:
        """The addresses at which this machine serves the template's APIs and queues."""
        return self._endpoints

    def _exists(self, resource: Mapping[str, Any]) -> bool:
        return "Condition" not in resource or self._intrinsics.holds(resource["Condition"])


def read_function_name(arn_or_uri: str) -> str:
    """Return the name of a function from its ARN, its alias's ARN, or an integration URI with one of these."""
    match = re.search(r"function:(\w+)", arn_or_uri)
    return match[1] if match else arn_or_uri


def _parse_value(parameter: Mapping[str, Any], value: Any) -> Any:
    """Return the value of a parameter: a list if the parameter's type is a list, otherwise text."""
    if parameter.get("Type") in {"CommaDelimitedList", "List<Number>"}:
        return [item.strip() for item in str(value).split(",")]
    return str(value)


def _resolve_function(template: Template, logical_id: str, _: Any, attribute: str | None) -> str:
    return f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{logical_id}" if attribute == "Arn" else logical_id


def _resolve_alias(template: Template, logical_id: str, resource: Any, attribute: str | None) -> str:
    function = template.resolve_attribute(resource["Properties"]["FunctionName"]["Ref"], "Arn")
    return f"{function}:{resource['Properties']['Name']}"


def _resolve_queue(template: Template, logical_id: str, resource: Any, attribute: str | None) -> str:
    properties = resource.get("Properties", {})
    name = template.name_of(logical_id, properties.get("QueueName"))
    if properties.get("FifoQueue") and not name.endswith(".fifo"):
        name += ".fifo"
    match attribute:
        case "Arn":
            return f"arn:aws:sqs:{REGION}:{ACCOUNT}:{name}"
        case "QueueName":
            return name
    return f"{template.endpoints.queues}/{ACCOUNT}/{name}"


def _resolve_bucket(template: Template, logical_id: str, resource: Any, attribute: str | None) -> str:
    name = template.name_of(logical_id, resource.get("Properties", {}).get("BucketName")).lower()
    return f"arn:aws:s3:::{name}" if attribute == "Arn" else name


def _resolve_table(template: Template, logical_id: str, resource: Any, attribute: str | None) -> str:
    name = template.name_of(logical_id, resource.get("Properties", {}).get("TableName"))
    return f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{name}" if attribute == "Arn" else name


def _resolve_log_group(template: Template, logical_id: str, resource: Any, attribute: str | None) -> str:
    name = template.name_of(logical_id, resource.get("Properties", {}).get("LogGroupName"))
    return f"arn:aws:logs:{REGION}:{ACCOUNT}:log-group:{name}:*" if attribute == "Arn" else name


def _resolve_role(template: Template, logical_id: str, _: Any, attribute: str | None) -> str:
    return f"arn:aws:iam::{ACCOUNT}:role/{logical_id}" if attribute == "Arn" else logical_id


def _resolve_secret(template: Template, logical_id: str, resource: Any, attribute: str | None) -> str:
    return template.name_of(logical_id, resource.get("Properties", {}).get("Name"), separator="/")


def _resolve_state_machine(template: Template, logical_id: str, resource: Any, attribute: str | None) -> str:
    name = template.name_of(logical_id, resource.get("Properties", {}).get("StateMachineName"))
    return name if attribute == "Name" else f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:{name}"


def _resolve_other(template: Template, logical_id: str, resource: Any, attribute: str | None) -> str:
    """Return a name for a resource that has no effect on this machine, such as a deployment."""
    return f"{logical_id}.{attribute}" if attribute else logical_id


_RESOLVERS: dict[str, Resolver] = {
    "AWS::DynamoDB::Table": _resolve_table,
    "AWS::IAM::Role": _resolve_role,
    "AWS::Lambda::Alias": _resolve_alias,
    "AWS::Lambda::Function": _resolve_function,
    "AWS::Logs::LogGroup": _resolve_log_group,
    "AWS::S3::Bucket": _resolve_bucket,
    "AWS::SQS::Queue": _resolve_queue,
    "AWS::SecretsManager::Secret": _resolve_secret,
    "AWS::StepFunctions::StateMachine": _resolve_state_machine,
}
