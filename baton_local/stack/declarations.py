"""The template's declarations, as types of the local cloud."""

import importlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from baton_local.errors import TemplateProblem
from baton_local.stack.apis import RestApi, SocketApi, read_rest_api, read_socket_api
from baton_local.stack.template import Endpoints, Template, read_function_name


@dataclass(frozen=True)
class FunctionDefinition:
    """One Lambda function: its code and its environment."""

    name: str
    folder: Path
    handler: str
    """``module.attribute``, or a start script such as ``run.sh`` for a web app."""
    timeout: float
    """Seconds."""
    memory: int
    """Megabytes."""
    variables: Mapping[str, str]
    layers: tuple[str, ...] = ()
    """The layers in /opt, by logical ids, or ARNs of other templates' layers. Later files hide earlier ones."""
    role: str = ""
    """The logical id of the function's role."""
    log_level: str = "INFO"
    """The lowest level of log lines that Lambda keeps."""

    @property
    def is_web_app(self) -> bool:
        """Whether its handler is a start script of a web app, behind the Lambda Web Adapter."""
        return self.handler.endswith(".sh")


@dataclass(frozen=True)
class QueueDefinition:
    """One SQS queue with its attributes as the SQS API takes them."""

    name: str
    arn: str
    attributes: Mapping[str, str]
    dead_letters_to: str | None
    """ARN of the dead letter queue."""
    receives_before_that: int
    """Deliveries of a message before it moves there."""


@dataclass(frozen=True)
class QueueConsumer:
    """A function fed from a queue."""

    function: str
    queue_name: str
    queue_arn: str
    batch_size: int
    reports_failures: bool
    """Whether the answer's ``batchItemFailures`` are used (ReportBatchItemFailures)."""
    takes_dead_letters: bool


@dataclass(frozen=True)
class StateMachineDefinition:
    """One Step Functions state machine."""

    name: str
    arn: str
    file: Path
    """Its definition in the Amazon States Language, with placeholders."""
    substitutions: Mapping[str, str]

    def read_definition(self) -> str:
        """Return the definition with values in place of its ``${placeholders}``. Raises ``TemplateProblem``."""
        try:
            text = self.file.read_text()
            for name, value in self.substitutions.items():
                text = text.replace(f"${{{name}}}", json.dumps(value)[1:-1])
            json.loads(text)
        except (OSError, ValueError) as problem:
            raise TemplateProblem(f"Cannot read the state machine {self.file}: {problem}") from problem
        if forgotten := re.search(r"\$\{\w+\}", text):
            raise TemplateProblem(
                f"{self.file} uses {forgotten[0]}, which the template's DefinitionSubstitutions lack."
            )
        return text


@dataclass(frozen=True)
class ScheduleDefinition:
    """One EventBridge schedule that invokes a function at a steady rate."""

    name: str
    function: str
    seconds: float
    """Seconds from one invocation to the next."""
    input: Any
    """The event, or ``None`` for EventBridge Scheduler's default event."""
    enabled: bool


@dataclass(frozen=True)
class ObjectRule:
    """One rule of EventBridge that invokes a function for stored objects."""

    function: str
    buckets: tuple[str, ...]
    """Names; empty for any bucket."""
    keys: tuple[str, ...]
    """Wildcards, in which ``*`` stands for any characters; empty for any key."""

    def matches(self, bucket: str, key: str) -> bool:
        """Return whether the rule applies to an object."""
        patterns = (".*".join(map(re.escape, wildcard.split("*"))) for wildcard in self.keys)
        has_key = not self.keys or any(re.fullmatch(pattern, key, re.DOTALL) for pattern in patterns)
        return has_key and (not self.buckets or bucket in self.buckets)


@dataclass(frozen=True)
class Stack:
    """All declarations of the template that this machine runs."""

    functions: Mapping[str, FunctionDefinition]
    policies: Mapping[str, tuple[Mapping[str, Any], ...]]
    """Policy documents of the functions' roles, by the role's logical id."""
    table: Mapping[str, Any]
    buckets: tuple[str, ...]
    queues: tuple[QueueDefinition, ...]
    consumers: tuple[QueueConsumer, ...]
    secrets: tuple[str, ...]
    state_machines: tuple[StateMachineDefinition, ...]
    schedules: tuple[ScheduleDefinition, ...]
    object_rules: tuple[ObjectRule, ...]
    rest: RestApi
    sockets: SocketApi

    @property
    def bucket(self) -> str:
        """The bucket with the settings, uploads and documents: the first that the template declares."""
        return self.buckets[0]


def read_stack(path: Path, parameters: Mapping[str, str], endpoints: Endpoints, cache_dir: Path | None = None) -> Stack:
    """Read the template at ``path``, and keep its translation in ``cache_dir``. Raises ``TemplateProblem``."""
    template = Template(path, parameters, endpoints, cache_dir)
    if not any(template.of_type("AWS::S3::Bucket")):
        raise TemplateProblem("The local cloud needs an AWS::S3::Bucket in the template and found none.")
    sockets = read_socket_api(template)
    rest = read_rest_api(template)
    queues = tuple(_read_queues(template))
    functions = {function.name: function for function in _read_functions(template, rest, sockets)}
    roles = {function.role for function in functions.values()}
    attached = read_attached_policies(template)
    return Stack(
        functions=functions,
        policies={
            name: (*_read_policies(role), *attached.get(name, ()))
            for name, role in template.of_type("AWS::IAM::Role")
            if name in roles
        },
        table=_read_table(template),
        buckets=tuple(template.resolve_attribute(name, None) for name, _ in template.of_type("AWS::S3::Bucket")),
        queues=queues,
        consumers=tuple(_read_consumers(template, queues)),
        secrets=tuple(
            template.resolve_attribute(name, None) for name, _ in template.of_type("AWS::SecretsManager::Secret")
        ),
        state_machines=tuple(_read_state_machines(template)),
        schedules=tuple(_read_schedules(template)),
        object_rules=tuple(_read_object_rules(template)),
        rest=rest,
        sockets=sockets,
    )


def _read_functions(template: Template, rest: RestApi, sockets: SocketApi) -> list[FunctionDefinition]:
    """Return the functions, with local addresses in their variables."""

    def to_this_machine(value: str) -> str:
        """Replace the addresses of the template's APIs in the cloud by local ones."""
        for api_id, scheme, local_url in (
            (sockets.api_id, "https", template.endpoints.connections),
            (sockets.api_id, "wss", template.endpoints.sockets),
            (rest.api_id, "https", template.endpoints.gateway),
        ):
            value = re.sub(rf"{scheme}://{api_id}\.execute-api\.[^/]+(/{sockets.stage})?", local_url, value)
        return value

    return [
        FunctionDefinition(
            name=name,
            folder=template.folder / template.code_folders[name],
            handler=properties["Handler"],
            timeout=float(properties.get("Timeout", 3)),
            memory=int(properties.get("MemorySize", 128)),
            variables={
                key: to_this_machine(str(value))
                for key, value in properties.get("Environment", {}).get("Variables", {}).items()
            },
            layers=template.find_layers(properties.get("Layers", [])),
            role=str(properties["Role"]).rpartition("/")[2],
            log_level=properties.get("LoggingConfig", {}).get("ApplicationLogLevel", "INFO"),
        )
        for name, properties in template.of_type("AWS::Lambda::Function")
    ]


def read_attached_policies(template: Template) -> dict[str, list[Mapping[str, Any]]]:
    """Return the policy documents that separate resources attach to roles, by the role's logical id."""
    policies: dict[str, list[Mapping[str, Any]]] = {}
    for kind in ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy", "AWS::IAM::RolePolicy"):
        for _, policy in template.of_type(kind):
            for role in policy.get("Roles") or [policy["RoleName"]]:
                policies.setdefault(role, []).append(policy["PolicyDocument"])
    return policies


def _read_policies(role: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Return the documents of a role's managed and inline policies."""
    managed = [read_managed_policy(arn) for arn in role.get("ManagedPolicyArns", [])]
    return (*managed, *(policy["PolicyDocument"] for policy in role.get("Policies", [])))


def _read_table(template: Template) -> dict[str, Any]:
    name, properties = template.find_only("AWS::DynamoDB::Table")
    return {**properties, "TableName": template.resolve_attribute(name, None)}


def _read_queues(template: Template) -> list[QueueDefinition]:
    """Return the queues, FIFO and standard."""
    queues = []
    for name, properties in template.of_type("AWS::SQS::Queue"):
        redrive = properties.pop("RedrivePolicy", {})
        properties.pop("QueueName", None)
        attributes = {
            key: _format_sqs_value(value)
            for key, value in properties.items()
            if key not in {"Tags", "SqsManagedSseEnabled", "KmsMasterKeyId", "RedriveAllowPolicy"}
        }
        queues.append(
            QueueDefinition(
                name=template.resolve_attribute(name, "QueueName"),
                arn=template.resolve_attribute(name, "Arn"),
                attributes=attributes,
                dead_letters_to=redrive.get("deadLetterTargetArn"),
                receives_before_that=int(redrive.get("maxReceiveCount", 0)),
            )
        )
    return queues


def _format_sqs_value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _read_consumers(template: Template, queues: tuple[QueueDefinition, ...]) -> list[QueueConsumer]:
    """Return the functions that Lambda's event source mappings feed from ``queues``."""
    dead_letter_queues = {queue.dead_letters_to for queue in queues}
    by_arn = {queue.arn: queue for queue in queues}
    return [
        QueueConsumer(
            function=read_function_name(mapping["FunctionName"]),
            queue_name=by_arn[mapping["EventSourceArn"]].name,
            queue_arn=mapping["EventSourceArn"],
            batch_size=int(mapping.get("BatchSize", 10)),
            reports_failures="ReportBatchItemFailures" in mapping.get("FunctionResponseTypes", []),
            takes_dead_letters=mapping["EventSourceArn"] in dead_letter_queues,
        )
        for _, mapping in template.of_type("AWS::Lambda::EventSourceMapping")
        if mapping["EventSourceArn"] in by_arn
    ]


def _read_state_machines(template: Template) -> list[StateMachineDefinition]:
    return [
        StateMachineDefinition(
            name=template.resolve_attribute(name, "Name"),
            arn=template.resolve_attribute(name, None),
            file=template.folder / template.definition_files[name],
            substitutions={key: str(value) for key, value in properties.get("DefinitionSubstitutions", {}).items()},
        )
        for name, properties in template.of_type("AWS::StepFunctions::StateMachine")
    ]


def _read_schedules(template: Template) -> list[ScheduleDefinition]:
    return [
        ScheduleDefinition(
            name=name,
            function=read_function_name(properties["Target"]["Arn"]),
            seconds=_read_rate(properties["ScheduleExpression"]),
            input=json.loads(properties["Target"]["Input"]) if "Input" in properties["Target"] else None,
            enabled=properties.get("State", "ENABLED") == "ENABLED",
        )
        for name, properties in template.of_type("AWS::Scheduler::Schedule")
    ]


def _read_object_rules(template: Template) -> list[ObjectRule]:
    """Return the rules for created objects. Raises ``TemplateProblem`` for others."""
    rules = []
    for name, properties in template.of_type("AWS::Events::Rule"):
        pattern = properties["EventPattern"]
        if pattern.get("source") != ["aws.s3"] or pattern.get("detail-type") != ["Object Created"]:
            raise TemplateProblem(f"The local cloud knows rules for created objects only, not that of {name}.")
        detail = pattern.get("detail", {})
        keys = [key if isinstance(key, str) else key.get("wildcard") for key in detail.get("object", {}).get("key", [])]
        if None in keys:
            raise TemplateProblem(f"The local cloud knows keys and wildcards of keys only, not those of {name}.")
        buckets = tuple(detail.get("bucket", {}).get("name", []))
        rules += [
            ObjectRule(read_function_name(target["Arn"]), buckets, tuple(keys))
            for target in properties.get("Targets", [])
        ]
    return rules


def _read_rate(expression: str) -> float:
    """Return the seconds of ``rate(value unit)``. Raises ``TemplateProblem`` for cron and one-time expressions."""
    match = re.fullmatch(r"rate\((\d+) (minute|hour|day)s?\)", expression)
    if not match:
        raise TemplateProblem(f"The local cloud knows schedules of the form rate(1 minute) only, not {expression}.")
    return int(match[1]) * {"minute": 60.0, "hour": 3600.0, "day": 86400.0}[match[2]]


def read_managed_policy(arn: str) -> Mapping[str, Any]:
    """Return the document of the policy with this ARN. Raises ``TemplateProblem`` if it is unknown."""
    policies = _read_managed_policies()
    name = arn.rpartition("/")[2]
    if name not in policies:
        raise TemplateProblem(
            f"A role in the template has the managed policy {arn}, which the local cloud does not know."
        )
    document: Mapping[str, Any] = policies[name]["Document"]
    return document


@cache
def _read_managed_policies() -> dict[str, Any]:
    # Imported here, because the module has a megabyte, and most templates need none of it.
    module = importlib.import_module("moto.iam.aws_managed_policies")
    policies: dict[str, Any] = json.loads(module.aws_managed_policies_data)
    return policies
