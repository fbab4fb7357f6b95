"""Lambda's filter of log lines, for functions with JSON logs.

"Log-level filtering" (docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-log-level.html): lines below the
function's ApplicationLogLevel are not sent to CloudWatch Logs. A line has the level INFO if its ``level`` is invalid or
missing, as in metrics (Embedded Metric Format), or if its ``timestamp`` is not in the format of RFC 3339.
"""

import json
import re
from typing import Any

LEVELS = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")
"""Lambda's log levels, from the most detailed one."""
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")
"""RFC 3339, section 5.6."""
_OTHER_NAMES = {"WARNING": "WARN", "CRITICAL": "FATAL"}
"""Python's names of levels. AWS's page does not list them, but Powertools' log relies on them."""


def is_kept(line: str, lowest: str) -> bool:
    """Return whether Lambda sends the line to CloudWatch Logs.

    ``lowest`` is the function's ApplicationLogLevel, one of ``LEVELS``.
    """
    return LEVELS.index(read_level(line)) >= LEVELS.index(lowest)


def read_level(line: str) -> str:
    """Return the level that Lambda gives a line of standard output or error."""
    record = read_fields(line) or {}
    named = record.get("level")
    level = named.upper() if isinstance(named, str) else ""
    level = _OTHER_NAMES.get(level, level)
    return level if level in LEVELS and TIMESTAMP.fullmatch(str(record.get("timestamp"))) else "INFO"


def read_fields(line: str) -> dict[str, Any] | None:
    """Return the line as a JSON object; None if it is not one."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def read_metrics(line: str) -> dict[str, float]:
    """Return the metrics that CloudWatch extracts from a line in the Embedded Metric Format, by name.

    The values of a list are added up. Other lines have no metrics. Raises ``KeyError`` if a declared value is missing.
    """
    record = read_fields(line) or {}
    declared = (record.get("_aws") or {}).get("CloudWatchMetrics") or []
    names = [metric["Name"] for directive in declared for metric in directive["Metrics"]]
    values = {name: record[name] for name in names}
    return {name: float(sum(value) if isinstance(value, list) else value) for name, value in values.items()}
