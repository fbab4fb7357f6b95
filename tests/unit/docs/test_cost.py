"""The page on cost is what its program makes of the template, and the program's sums are right."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from benchmarks.cost.__main__ import main
from benchmarks.cost.bill import Calculator
from benchmarks.cost.deployment import TEMPLATE, Deployment, UnpricedTemplate, read_deployment
from benchmarks.cost.measured import Measured, Units, read_measured
from benchmarks.cost.page import PAGE, update_page
from benchmarks.cost.profile import read_profile
from benchmarks.instruments.prices import UnknownPrice, read_prices

NOTHING_ELSE = """
panel_openings: 0
panel_minutes: 0
reminders: 0
background_tasks: 0
documents: 0
share_at_desks: 0
"""
"""Changes of the profile that leave turns, titles and closings."""


@cache
def read_default_deployment() -> Deployment:
    """The deployment of the template with its defaults."""
    return read_deployment()


def calculator(
    deployment: Deployment | None = None, profile: Path | None = None, measured: Measured | None = None
) -> Calculator:
    return Calculator(
        deployment or read_default_deployment(), measured or read_measured(), read_prices(), read_profile(profile)
    )


def deployment_of(tmp_path: Path, replacements: Mapping[str, str]) -> Deployment:
    """The deployment of a changed template."""
    text = TEMPLATE.read_text()
    for old, new in replacements.items():
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "statemachines").symlink_to(TEMPLATE.parent / "statemachines")
    path = tmp_path / "template.yaml"
    path.write_text(text)
    return read_deployment(path=path)


def test_the_page_is_what_the_program_makes() -> None:
    text = PAGE.read_text()
    assert update_page(calculator(), text) == text, "run `python -m benchmarks.cost --write`"


def test_a_change_of_the_template_changes_the_page(tmp_path: Path) -> None:
    smaller = deployment_of(tmp_path, {"      MemorySize: 1024\n": "      MemorySize: 512\n"})
    text = PAGE.read_text()
    assert update_page(calculator(smaller), text) != text


def test_a_bill_is_the_sum_that_one_computes_by_hand(tmp_path: Path) -> None:
    changes = tmp_path / "my.yaml"
    changes.write_text(NOTHING_ELSE)
    counts = {"later_turn": Units(7, 5), "frames": 13, "closing": Units(8, 9), "closing_model_calls": 2}
    counts |= {"closing_s3_reads": 4, "closing_s3_writes": 2}
    bill = calculator(profile=changes, measured=read_measured().model_copy(update=counts)).make_bill(1_000)
    usd = {line.name: bill.price_line(line) for line in bill.lines}
    # 45,000 turns: 4.15 s of 1 GB and a cold start of 1.18 s in a hundred; 25 ms of 0.5 GB and one of 0.67 s.
    gb_seconds = 4.15 + 0.0118 + 0.5 * (0.025 + 0.0067)
    turn = 7 * 0.625 + 5 * 0.125 + 14 * 1 + 5 * 0.5 + 2 * 0.2 + gb_seconds * 13.3334 + 2 * 0.4 + 100 * 0.02
    turn += 2.5 * 0.5 + 17.2 * 0.09  # KB of logs, and of prompts and frames
    assert usd["turns over a WebSocket"] == pytest.approx(45_000 * turn / 1e6)
    closing = 8 * 0.625 + 9 * 0.125 + 25 + 0.5 * (4.5 + 0.0072) * 13.3334 + 0.2 + 4 * 0.4 + 2 * 5 + 2_200 * 0.02
    closing += 4 * 0.5 + 16 * 0.09
    assert usd["closings of a session"] == pytest.approx(15_000 * closing / 1e6)
    assert usd["conversations in the table"] == pytest.approx(45_000 * 12 * 5_000 / 1e9 * 0.45)
    assert bill.total == pytest.approx(sum(usd.values()))


def test_a_month_without_traffic_is_that_of_the_alarms_secrets_queues_and_schedules() -> None:
    lines = calculator().make_idle_lines()
    assert [line.name for line in lines] == ["alarms", "secrets", "pollers of 4 queues", "schedules"]
    assert sum(map(read_prices().sum, (line.units for line in lines))) == pytest.approx(10.9, abs=0.1)


def test_an_hour_of_an_open_panel_costs_less_than_half_a_turn_and_ten_frames_at_most() -> None:
    panel = read_measured().panel
    assert panel.sent + panel.received <= 10
    own = calculator()
    assert own.price_activity(own.activities["panel_hour"]) < own.price_activity(own.activities["turn"]) / 2


def test_parameters_add_what_they_deploy() -> None:
    parameters = {"RestRequestLimit": "1000", "CreateSearchDomain": "true", "Dashboard": "true"}
    default, more = calculator().make_idle_lines(), calculator(read_deployment(parameters)).make_idle_lines()
    assert {line.name for line in more} - {line.name for line in default} == {"dashboard", "firewall", "search domain"}


@pytest.mark.parametrize(
    ("old", "new", "cause"),
    [
        ("BillingMode: PAY_PER_REQUEST", "BillingMode: PROVISIONED", "on demand only"),
        ("rate(1 minute)", "cron(0 3 * * ? *)", "Only rates"),
    ],
)
def test_a_template_with_another_price_model_is_refused(tmp_path: Path, old: str, new: str, cause: str) -> None:
    with pytest.raises(UnpricedTemplate, match=cause):
        deployment_of(tmp_path, {old: new})


def test_a_unit_without_a_price_is_named() -> None:
    domain = read_deployment({"CreateSearchDomain": "true", "SearchInstanceType": "m7g.large.search"})
    with pytest.raises(UnknownPrice, match=r"node_hour_m7g\.large\.search"):
        assert calculator(domain).make_bill(1_000).total


@pytest.mark.parametrize(
    ("changes", "cause"),
    [("conversation: 4", "conversation"), ("turns: .nan", "turns"), ("- 4", "lines such as"), ("a: [", "expected")],
)
def test_a_wrong_profile_is_refused_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changes: str, cause: str
) -> None:
    path = tmp_path / "my.yaml"
    path.write_text(changes)
    with pytest.raises(SystemExit) as exit_info:
        main(["--profile", str(path)])
    assert exit_info.value.code == 2
    assert cause in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        (["--set", "LogRetentionDays"], "has no value"),
        (["--set", "LogRetention=3"], "no parameter LogRetention"),
        (["--users", "0"], "between 1 and"),
        (["--write", "--users", "5"], "Leave the other options out"),
        (["--template", "pyproject.yaml"], "No such file"),
        (["--prices", "benchmarks/cost/profile.yaml"], "validation errors"),
    ],
)
def test_a_wrong_option_is_refused_with_its_reason(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, options: list[str], cause: str
) -> None:
    monkeypatch.chdir(TEMPLATE.parent)
    with pytest.raises(SystemExit) as exit_info:
        main(options)
    assert exit_info.value.code == 2
    assert cause in capsys.readouterr().err


def test_an_operator_gets_tables_for_other_users_and_another_profile(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "my.yaml"
    path.write_text("conversations: 5\nturns: 4\n")
    main(["--users", "25000", "--profile", str(path), "--set", "LogRetentionDays=90"])
    printed = capsys.readouterr().out
    assert "25,000 users" in printed
    assert "| `conversations`       |     5 |" in printed
