"""The generated parts of the cost page, each between ``<!-- cost: NAME -->`` and ``<!-- end -->``."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping, Sequence

from baton_local.root import ROOT
from benchmarks.cost.bill import Bill, Calculator
from benchmarks.cost.profile import FILE as PROFILE
from benchmarks.cost.quotas import find_chatting_demand, find_profile_demand, find_quotas
from benchmarks.instruments.report import format_table

PAGE = ROOT / "docs/explanation/cost.md"
USERS = (1_000, 10_000, 100_000)
OPEN_HOURS = 8
"""The hours of a working day for which a page with an open panel is visible in an example."""
SMALL_USD = 0.005
"""Lines of bills that are cheaper than this for all numbers of users are left out."""
_BLOCK = re.compile(r"(<!-- cost: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_ASSUMPTION = re.compile(r"^(\w+): (\S+) # (.+)$", re.MULTILINE)

_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "write units": ("write_unit",),
    "read units": ("read_unit",),
    "frames": ("socket_message",),
    "HTTP requests": ("rest_request",),
    "SQS": ("fifo_request", "queue_request"),
    "Lambda": ("lambda_request",),
    "GB-seconds": ("gb_second_arm64", "gb_second_x86_64"),
    "transitions": ("transition",),
    "S3": ("s3_read", "s3_write"),
}


def update_page(calculator: Calculator, text: str, users: Sequence[int] = USERS) -> str:
    """Return the page's text with new generated parts. Raises ``ValueError`` if the page names an unknown part."""
    parts = make_parts(calculator, users)

    def replace(match: re.Match[str]) -> str:
        if match[2] not in parts:
            raise ValueError(f"The page has the unknown part {match[2]}. The parts are {', '.join(parts)}.")
        return f"{match[1]}{parts[match[2]]()}\n{match[3]}"

    return _BLOCK.sub(replace, text)


def make_parts(calculator: Calculator, users: Sequence[int]) -> dict[str, Callable[[], str]]:
    """Return the functions that generate the parts, by the parts' names in the page."""
    bills = [calculator.make_bill(count) for count in users]
    return {
        "activities": lambda: _format_activities(calculator),
        "panels": lambda: _format_panels(calculator),
        "idle": lambda: _format_idle(calculator),
        "services": lambda: _format_services(bills),
        "items": lambda: _format_items(bills),
        "open": lambda: _format_open_panels(calculator, bills),
        "quotas": lambda: _format_quotas(calculator),
        "tokens": lambda: _format_tokens(calculator),
        "assumptions": lambda: _format_assumptions(calculator),
        "prices": lambda: _format_prices(calculator),
    }


def _format_activities(calculator: Calculator) -> str:
    rows = []
    for activity in calculator.activities.values():
        units = calculator.find_units(activity)
        amounts = [_format_amount(sum(units.get(unit, 0.0) for unit in own)) for own in _COLUMNS.values()]
        rows.append((activity.name, f"**{1_000 * calculator.price_activity(activity):.3f}**", *amounts))
    return format_table(["one", "USD for 1,000", *_COLUMNS], rows)


def _format_panels(calculator: Calculator) -> str:
    panel, turn = calculator.activities["panel_hour"], calculator.activities["turn"]
    hour = calculator.price_activity(panel)
    counted = calculator.measured.panel
    minutes = 60 * calculator.prices.find_price("connection_minute")
    most_panels = calculator.deployment.read_limit("SocketRequestsPerSecond") * 3_600 / counted.sent
    return _wrap(
        f"An hour of an open panel at rest takes {counted.sent:.1f} frames in and {counted.received:.1f} out. It costs "
        f"USD {1_000 * hour:.3f} for 1,000 panels, as much as {hour / calculator.price_activity(turn):.1f} turns. "
        f"{minutes / hour:.0%} of it is for connection minutes. `SocketRequestsPerSecond` binds at "
        f"{_round_down(most_panels)} open panels."
    )


def _format_idle(calculator: Calculator) -> str:
    lines = calculator.make_idle_lines()
    sums = [calculator.prices.sum(line.units) for line in lines]
    rows = [(line.name, line.amount, _format_usd(usd)) for line, usd in zip(lines, sums, strict=True)]
    return format_table(
        ["what", "amount", "USD a month"], [*rows, ("**together**", "", f"**{_format_usd(sum(sums))}**")]
    )


def _format_services(bills: Sequence[Bill]) -> str:
    rows = []
    for service in bills[0].prices.services:
        sums = [bill.by_service[service] for bill in bills]
        if max(sums) >= SMALL_USD:
            rows.append((service, *map(_format_usd, sums)))
    rows.append(("**together**", *(f"**{_format_usd(bill.total)}**" for bill in bills)))
    rows.append(("for each user", *(f"{bill.total / bill.users:.4f}" for bill in bills)))
    return format_table(["USD a month", *(f"{bill.users:,} users" for bill in bills)], rows)


def _format_items(bills: Sequence[Bill]) -> str:
    largest = bills[-1]
    order = sorted(range(len(largest.lines)), key=lambda number: -largest.price_line(largest.lines[number]))
    rows = []
    for number in order:
        usd = [bill.price_line(bill.lines[number]) for bill in bills]
        if max(usd) >= SMALL_USD:
            line = largest.lines[number]
            rows.append((line.name, line.amount, *map(_format_usd, usd), f"{usd[-1] / largest.total:.0%}"))
    head = ["USD a month", f"amount for {largest.users:,}", *(f"{bill.users:,} users" for bill in bills), "share"]
    return format_table(head, rows)


def _format_open_panels(calculator: Calculator, bills: Sequence[Bill]) -> str:
    hours = OPEN_HOURS * calculator.profile.working_days
    hour = calculator.price_activity(calculator.activities["panel_hour"])
    sums = [f"USD {_format_usd(bill.users * hours * hour)} with {bill.users:,} users" for bill in bills]
    days = f"{calculator.profile.working_days:g} days"
    return _wrap(
        f"If every user has a page with the panel open for {OPEN_HOURS} hours of {days}, this adds {', '.join(sums)}."
    )


def _format_quotas(calculator: Calculator) -> str:
    monthly, chatting = find_profile_demand(calculator), find_chatting_demand(calculator)
    quotas = sorted(find_quotas(calculator), key=lambda quota: quota.count_users(monthly) or float("inf"))
    rows = [
        (
            quota.name,
            f"{quota.value:,.0f} {quota.unit}".strip(),
            _round_down(quota.count_users(monthly)),
            _round_down(quota.count_users(chatting)),
            quota.remedy,
        )
        for quota in quotas
    ]
    return format_table(["limit", "by default", "users in a month", "users at once", "to raise it"], rows, texts=(0, 4))


def _format_tokens(calculator: Calculator) -> str:
    tokens = 60 * find_profile_demand(calculator).prompt_tokens
    return _wrap(
        "Of the model's own rate limits, 1,000 users of the profile take about "
        f"{_round_down(1_000 * tokens)} prompt tokens a minute in the busiest hour."
    )


def _format_assumptions(calculator: Calculator) -> str:
    values = calculator.profile.model_dump()
    meanings = [(name, meaning) for name, _, meaning in _ASSUMPTION.findall(PROFILE.read_text())]
    return format_table(
        ["line", "value", "meaning"], [(f"`{name}`", f"{values[name]:g}", text) for name, text in meanings], (0, 2)
    )


def _format_prices(calculator: Calculator) -> str:
    rows = []
    for name, service in calculator.prices.services.items():
        prices = ", ".join(f"{unit} {_format_price(usd)}" for unit, usd in service.prices.items())
        rows.append((f"[{name}]({service.source})", prices, service.checked))
    return format_table(
        [f"{calculator.prices.currency}, {calculator.prices.region}", "prices", "checked"], rows, (0, 1, 2)
    )


def _format_price(usd: float) -> str:
    """Return a price as text; a small one as the price of a million units."""
    return f"{1e6 * usd:g} a million" if usd < 0.001 else f"{usd:g}"


def _format_amount(number: float) -> str:
    """Return an amount with about three digits; empty for 0."""
    if not number:
        return ""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _format_usd(usd: float) -> str:
    return f"{usd:,.0f}" if usd >= 1_000 else f"{usd:.2f}"


def _round_down(number: float | None) -> str:
    """Return a number, rounded down to a whole number with two significant digits; empty for None."""
    if number is None:
        return ""
    digits = 10 ** max(0, len(str(int(number))) - 2)
    return f"{int(number) // digits * digits:,}"


def _wrap(text: str) -> str:
    return textwrap.fill(text, 120)
