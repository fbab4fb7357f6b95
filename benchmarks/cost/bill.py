"""The bill of a deployment for a month."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.cost.activities import (
    CHECKS_OF_CONVERSATION,
    INVOCATION_KB,
    SUMMARY_FROM,
    TURNS_OF_SUMMARY,
    Activity,
    find_billed_units,
    make_activities,
)
from benchmarks.cost.deployment import MONTH_MINUTES, Deployment
from benchmarks.cost.measured import Measured
from benchmarks.cost.profile import Profile
from benchmarks.instruments.prices import PriceList

METRICS = 21
"""The metrics that Baton writes if nothing fails."""
IDLE_SECONDS = 0.1
"""Seconds of a scheduled invocation without work."""
POLLS_A_MINUTE = 15
"""Requests of Lambda's five pollers of an empty queue, each of up to 20 seconds."""
TURN_BYTES = 5_000
"""Bytes of a turn in the table: question, answer, and the records of the run and of the inspector."""
CHUNK_BYTES = 16_000
"""Bytes of a document's chunk in an index file (``benchmarks.embedded_search``)."""
TURNS_OF_INDEXED = 3
"""Turns of the conversation for which the growth of the index file was measured."""
LOG_COMPRESSION = 0.2
"""The bytes that CloudWatch stores for a byte of log lines, which it compresses."""
SECRET_READS_OF_START = 3
"""Secrets that an execution environment reads at its start."""
HOURS = 730
"""The hours of a month, for which AWS bills nodes."""


@dataclass(frozen=True, slots=True)
class Line:
    """One item of a bill."""

    name: str
    amount: str
    """The amount in words."""
    units: Mapping[str, float]
    """The amounts in the whole month, by unit of the price list."""


@dataclass(frozen=True, slots=True)
class Bill:
    """The costs of a deployment in a month, with a number of users."""

    users: int
    lines: Sequence[Line]
    prices: PriceList

    def price_line(self, line: Line) -> float:
        """Return the cost of a line in USD. Raises ``UnknownPrice``."""
        return self.prices.sum(line.units)

    @property
    def by_service(self) -> dict[str, float]:
        """The costs in USD by service."""
        sums = dict.fromkeys(self.prices.services, 0.0)
        for line in self.lines:
            for service, usd in self.prices.sum_by_service(line.units).items():
                sums[service] += usd
        return sums

    @property
    def total(self) -> float:
        """The cost in USD of all lines."""
        return sum(self.by_service.values())


class Calculator:
    """A calculator of the bills of one deployment, for one price list and one profile."""

    def __init__(self, deployment: Deployment, measured: Measured, prices: PriceList, profile: Profile) -> None:
        self.deployment = deployment
        self.measured = measured
        self.prices = prices
        self.profile = profile
        self.activities = make_activities(measured, profile, deployment)

    def find_units(self, activity: Activity) -> dict[str, float]:
        """Return the units of one occurrence, including Lambda and cold starts."""
        return find_billed_units(activity, self.deployment, self.profile.cold_starts)

    def price_activity(self, activity: Activity) -> float:
        """Return the price of one occurrence in USD. Raises ``UnknownPrice``."""
        return self.prices.sum(self.find_units(activity))

    def count_monthly(self) -> dict[str, float]:
        """Return the number of occurrences for one user in a month, by the short name of the activity."""
        profile = self.profile
        conversations = profile.conversations
        questions = conversations * profile.turns
        # A background task has its own turn, and the turn that reports its result.
        own = profile.reminders + 2 * profile.background_tasks
        summaries = max(0.0, profile.turns - SUMMARY_FROM) / TURNS_OF_SUMMARY
        stays = conversations * profile.share_at_desks
        return {
            "turn": questions * (1 - profile.share_over_sse) + own,
            "sse_turn": questions * profile.share_over_sse,
            "beginning": conversations,
            "title": conversations if self.deployment.makes_titles else 0.0,
            "summary": conversations * summaries,
            "check": conversations * CHECKS_OF_CONVERSATION,
            "closing": conversations,
            "opening": conversations * profile.panel_openings,
            "panel_hour": conversations * profile.panel_minutes / 60,
            "desk_stay": stays,
            "desk_hour": stays * profile.desk_list_hours,
            "reminder": profile.reminders,
            "background_task": profile.background_tasks,
            "document": profile.documents,
        }

    def make_idle_lines(self) -> list[Line]:
        """Return the lines of a month without traffic."""
        deployment = self.deployment
        queues = deployment.fifo_queues + deployment.standard_queues
        polls = POLLS_A_MINUTE * MONTH_MINUTES
        invocations = sum(deployment.schedules.values())
        gb_seconds = sum(
            count * IDLE_SECONDS * deployment.memory[function] for function, count in deployment.schedules.items()
        )
        lines = [
            Line("alarms", f"{deployment.alarm_metrics} metrics", {"alarm_metric": deployment.alarm_metrics}),
            Line("secrets", f"{deployment.secrets}", {"secret": deployment.secrets}),
            Line(
                f"pollers of {queues} queues",
                f"{polls * queues / 1e6:.1f} million requests at most",
                {"fifo_request": polls * deployment.fifo_queues, "queue_request": polls * deployment.standard_queues},
            ),
            Line(
                "schedules",
                f"{invocations:,.0f} invocations of {IDLE_SECONDS:g} s",
                {
                    "schedule_invocation": invocations,
                    "lambda_request": invocations,
                    f"gb_second_{deployment.architecture}": gb_seconds,
                    "log_gb": invocations * INVOCATION_KB / 1e6,
                },
            ),
        ]
        if deployment.dashboards:
            lines.append(Line("dashboard", f"{deployment.dashboards}", {"dashboard": deployment.dashboards}))
        if rules := deployment.web_acl_rules:
            units = {"web_acl": len(rules), "web_acl_rule": sum(rules)}
            lines.append(Line("firewall", f"{len(rules)} web ACL, {sum(rules)} rules", units))
        if domain := deployment.search_domain:
            units = {f"node_hour_{domain.node_type}": domain.nodes * HOURS, "volume_gb": domain.gigabytes}
            lines.append(Line("search domain", f"{domain.nodes} x {domain.node_type}", units))
        return lines

    def make_bill(self, users: int) -> Bill:
        """Return the bill of a month with traffic."""
        lines = [*self.make_idle_lines(), Line("metrics", f"{METRICS} with values", {"metric": METRICS})]
        counts = {name: users * count for name, count in self.count_monthly().items()}
        starts = rest_requests = log_gb = 0.0
        for name, count in counts.items():
            activity = self.activities[name]
            units = {unit: amount * count for unit, amount in self.find_units(activity).items()}
            lines.append(Line(_form_plural(activity.name), f"{count:,.0f}", units))
            starts += count * sum(call.count for call in activity.calls) * self.profile.cold_starts
            rest_requests += units.get("rest_request", 0.0)
            log_gb += units.get("log_gb", 0.0)
        lines += self._make_storage_lines(users, log_gb)
        secrets = {"secret_request": starts * SECRET_READS_OF_START}
        lines.append(Line("reads of secrets by new environments", f"{secrets['secret_request']:,.0f}", secrets))
        if self.deployment.web_acl_rules:
            units = {"web_acl_request": rest_requests}
            lines.append(Line("requests that the firewall judges", f"{rest_requests:,.0f}", units))
        return Bill(users, lines, self.prices)

    def _make_storage_lines(self, users: int, log_gb: float) -> list[Line]:
        """Return the lines of stored data. ``log_gb`` is the size of the log lines written in the month."""
        profile, deployment = self.profile, self.deployment
        turns = users * profile.conversations * profile.turns * profile.months_stored
        chunks = users * profile.documents * profile.document_chunks * profile.months_stored
        table_gb = turns * TURN_BYTES / 1e9
        index_bytes = turns / TURNS_OF_INDEXED * self.measured.conversation_index_bytes + chunks * CHUNK_BYTES
        index_gb = index_bytes / 1e9 if deployment.uses_embedded_search else 0.0
        stored_log_gb = log_gb * LOG_COMPRESSION * deployment.log_days / 30
        backup_gb = table_gb if deployment.has_backups else 0.0
        return [
            Line("conversations in the table", f"{table_gb:,.1f} GB", {"table_gb": table_gb, "backup_gb": backup_gb}),
            Line("index files", f"{index_gb:,.1f} GB", {"bucket_gb": index_gb}),
            Line("stored log lines", f"{stored_log_gb:,.1f} GB", {"stored_log_gb": stored_log_gb}),
        ]


def _form_plural(name: str) -> str:
    """Return the plural of an activity's name, whose first word is the noun."""
    noun, _, rest = name.partition(" ")
    return f"{noun}s {rest}".strip()
