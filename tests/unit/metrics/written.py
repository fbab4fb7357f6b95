"""Metrics that functions write for CloudWatch, read from their standard output."""

from __future__ import annotations

import importlib.util
import json
import sys
import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from baton.composition.app import build
from baton.domain.metrics import PERCENTAGES, TIMES
from tests.fakes.ports import FakePorts

ROOT = Path(__file__).parents[3]


@dataclass
class Context:
    """Lambda's context."""

    function_name: str = "function"
    memory_limit_in_mb: int = 512
    invoked_function_arn: str = "arn:aws:lambda:eu-central-1:123456789012:function:function"
    aws_request_id: str = "00000000-0000-4000-8000-000000000000"

    def get_remaining_time_in_millis(self) -> int:
        return 60_000


def function(monkeypatch: pytest.MonkeyPatch, path: str, built: Mapping[str, Any]) -> ModuleType:
    """Return the module of a function. What ``built`` has by its path in ``App`` replaces the own."""
    from baton import composition

    app = build(FakePorts())
    for location, value in built.items():
        owner, _, name = location.rpartition(".")
        setattr(attrgetter(owner)(app) if owner else app, name, value)
    monkeypatch.setattr(composition, "prepare_turns", lambda: None)
    monkeypatch.setattr(composition, "deployed", lambda: app)
    monkeypatch.setattr(composition, "deployed_ports", lambda: app.ports)
    name = f"function_{uuid.uuid4().hex}"
    spec = importlib.util.spec_from_file_location(name, ROOT / "functions" / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


def lines(output: str) -> list[dict[str, Any]]:
    """The lines in Embedded Metric Format."""
    return [json.loads(line) for line in output.splitlines() if line.startswith('{"_aws"')]


def counts(output: str) -> Counter[str]:
    """CloudWatch's view of the output: the sums of its metrics, all of them of one stack."""
    sums: Counter[str] = Counter()
    for line in lines(output):
        [directive] = line["_aws"]["CloudWatchMetrics"]
        assert (directive["Namespace"], directive["Dimensions"]) == ("Baton", [["stack", "service"]])
        assert (line["service"], line["stack"]) == ("baton", "baton-test")
        for metric in directive["Metrics"]:
            assert metric["Unit"] == (
                "Milliseconds" if metric["Name"] in TIMES else "Percent" if metric["Name"] in PERCENTAGES else "Count"
            )
            sums[metric["Name"]] += round(sum(line[metric["Name"]]))
    return sums
