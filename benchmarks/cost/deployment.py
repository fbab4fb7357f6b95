"""The billed resources and the limits that a template declares."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from baton_deployment.template import DeployedTemplate
from baton_local.root import ROOT

TEMPLATE = ROOT / "template.yaml"
MONTH_MINUTES = 60 * 24 * 30
_MINUTES = {"minute": 1, "hour": 60, "day": 1440}


class UnpricedTemplate(Exception):
    """This program cannot price a resource or parameter of a template."""


@dataclass(frozen=True, slots=True)
class SearchDomain:
    """A domain of OpenSearch Service."""

    node_type: str
    nodes: int
    gigabytes: int
    """The storage of all nodes together."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """The billed resources of a stack. Functions are named by their logical ids without ``Function``."""

    memory: Mapping[str, float]
    """The memory of each function in GB."""
    architecture: str
    schedules: Mapping[str, float]
    """The scheduled invocations of each function in a month of 30 days."""
    fifo_queues: int
    """The number of FIFO queues from which functions receive messages."""
    standard_queues: int
    """The number of other queues from which functions receive messages."""
    alarm_metrics: int
    """The number of metrics that alarms watch."""
    secrets: int
    dashboards: int
    log_days: int
    """The days for which log lines are stored."""
    has_backups: bool
    web_acl_rules: tuple[int, ...]
    """The number of rules of each web ACL."""
    search_domain: SearchDomain | None
    closing_transitions: int
    """The state transitions of a closing that succeeds at the first attempt."""
    parameters: Mapping[str, str]

    def read_limit(self, parameter: str) -> int:
        """Return the value of a parameter that is a whole number. Raises ``ValueError`` for other values."""
        return _read_number(self.parameters, parameter)

    @property
    def uses_embedded_search(self) -> bool:
        """Whether the search index is in the bucket."""
        return self.parameters["SearchEngine"] == "embedded"

    @property
    def makes_titles(self) -> bool:
        """Whether the light model writes titles."""
        return self.parameters["ThreadTitles"] == "model"

    @property
    def writes_facts(self) -> bool:
        """Whether closings call the light model."""
        return self.parameters["EpisodeFacts"] == "true"


def read_deployment(parameters: Mapping[str, str] | None = None, path: Path = TEMPLATE) -> Deployment:
    """Read the template at ``path`` with ``parameters`` in place of defaults.

    Raises ``UnpricedTemplate`` if a resource has another price model, or if the template lacks one of the parameters,
    ``KeyError`` if it lacks what Baton's template has, and ``ValueError`` if ``LogRetentionDays`` is no whole number.
    """
    template = DeployedTemplate.read(path, parameters or {}, "baton", "us-east-1")
    if unknown := sorted(set(parameters or {}) - set(template.declared)):
        raise UnpricedTemplate(f"The template has no parameter {', '.join(unknown)}.")
    resources = _Resources(template)
    functions = resources.of_type("AWS::Serverless::Function")
    queues = resources.of_type("AWS::SQS::Queue")
    events = [(name, event) for name, function in functions.items() for event in function.get("Events", {}).values()]
    sources = (properties for _, properties in template.list_resources("AWS::Serverless::Function"))
    polled = [
        event["Properties"]["Queue"]["Fn::GetAtt"][0]
        for source in sources
        for event in source.get("Events", {}).values()
        if event["Type"] == "SQS"
    ]
    fifo = sum(bool(queues[name].get("FifoQueue")) for name in polled)
    tables = list(resources.of_type("AWS::DynamoDB::Table").values())
    if len(tables) != 1:
        raise UnpricedTemplate(f"The template has {len(tables)} tables. This program prices exactly one.")
    [table] = tables
    if table.get("BillingMode") != "PAY_PER_REQUEST":
        raise UnpricedTemplate("The table has provisioned capacity. This program prices tables on demand only.")
    if provisioned := [name for name, item in functions.items() if "ProvisionedConcurrencyConfig" in item]:
        raise UnpricedTemplate(f"{', '.join(provisioned)} has provisioned concurrency, which is not priced here.")
    [architecture] = template.source["Globals"]["Function"]["Architectures"]
    recovery = table.get("PointInTimeRecoverySpecification", {})
    return Deployment(
        memory={_shorten_name(name): properties["MemorySize"] / 1024 for name, properties in functions.items()},
        architecture=architecture,
        schedules=_count_invocations(events),
        fifo_queues=fifo,
        standard_queues=len(polled) - fifo,
        alarm_metrics=sum(map(_count_metrics, resources.of_type("AWS::CloudWatch::Alarm").values())),
        secrets=len(resources.of_type("AWS::SecretsManager::Secret")) + _count_named_secrets(template),
        dashboards=len(resources.of_type("AWS::CloudWatch::Dashboard")),
        log_days=_read_number(template.values, "LogRetentionDays"),
        has_backups=bool(recovery.get("PointInTimeRecoveryEnabled")),
        web_acl_rules=tuple(len(acl["Rules"]) for acl in resources.of_type("AWS::WAFv2::WebACL").values()),
        search_domain=_find_search_domain(resources),
        closing_transitions=_count_transitions(path.parent / "statemachines/close_session.asl.json"),
        parameters=template.values,
    )


class _Resources:
    """The resolved resources of a template whose conditions hold."""

    def __init__(self, template: DeployedTemplate) -> None:
        self._template = template

    def of_type(self, kind: str) -> dict[str, Mapping[str, Any]]:
        """Return the properties of the resources of a type by their logical ids."""
        resolver = self._template.intrinsics
        conditions = {name: resource.get("Condition") for name, resource in self._template.source["Resources"].items()}
        return {
            name: resolver.resolve(properties)
            for name, properties in self._template.list_resources(kind)
            if (condition := conditions[name]) is None or resolver.holds(condition)
        }


def _shorten_name(function: str) -> str:
    return function.removesuffix("Function")


def _count_invocations(events: list[tuple[str, Mapping[str, Any]]]) -> dict[str, float]:
    """Return the scheduled invocations in a month by function. Raises ``UnpricedTemplate`` for cron schedules."""
    invocations: dict[str, float] = {}
    for function, event in events:
        properties = event["Properties"]
        if event["Type"] != "ScheduleV2" or properties.get("State") == "DISABLED":
            continue
        expression = properties["ScheduleExpression"]
        match = re.fullmatch(r"rate\((\d+) (minute|hour|day)s?\)", expression)
        if match is None:
            raise UnpricedTemplate(f"{function} has the schedule {expression}. Only rates can be priced.")
        monthly = MONTH_MINUTES / (int(match[1]) * _MINUTES[match[2]])
        invocations[_shorten_name(function)] = invocations.get(_shorten_name(function), 0.0) + monthly
    return invocations


def _count_metrics(alarm: Mapping[str, Any]) -> int:
    """Return the number of metrics that an alarm watches."""
    return 1 if "MetricName" in alarm else sum("MetricStat" in metric for metric in alarm["Metrics"])


def _count_named_secrets(template: DeployedTemplate) -> int:
    """Count the secrets that operators create and name in parameters."""
    return sum(bool(value) for name, value in template.values.items() if name.endswith("Secret"))


def _find_search_domain(resources: _Resources) -> SearchDomain | None:
    """Return the search domain; None without one."""
    for domain in resources.of_type("AWS::OpenSearchService::Domain").values():
        cluster, nodes = domain["ClusterConfig"], int(domain["ClusterConfig"]["InstanceCount"])
        return SearchDomain(cluster["InstanceType"], nodes, nodes * int(domain["EBSOptions"]["VolumeSize"]))
    return None


def _count_transitions(definition: Path) -> int:
    """Return the state transitions of an execution that follows ``Next`` from the start to the end."""
    states = json.loads(definition.read_text())
    transitions, state = 1, states["States"][states["StartAt"]]
    while "Next" in state:
        transitions, state = transitions + 1, states["States"][state["Next"]]
    return transitions


def _read_number(values: Mapping[str, str], name: str) -> int:
    """Return a parameter that is a whole number. Raises ``ValueError``."""
    try:
        return int(values[name])
    except ValueError:
        raise ValueError(f"{name} is {values[name]!r}, and must be a whole number.") from None
