"""The bill of a deployment and the limits that bind first: ``python -m benchmarks.cost``.

Without options, the bill is computed for the template's defaults, the prices of us-east-1 and the use of
``profile.yaml``. ``--write`` updates ``docs/explanation/cost.md`` with it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from pydantic import ValidationError
from yaml import YAMLError

from benchmarks.cost.bill import Calculator
from benchmarks.cost.deployment import TEMPLATE, UnpricedTemplate, read_deployment
from benchmarks.cost.measured import read_measured
from benchmarks.cost.page import PAGE, USERS, make_parts, update_page
from benchmarks.cost.profile import read_profile
from benchmarks.instruments.prices import FILE as PRICES
from benchmarks.instruments.prices import UnknownPrice, read_prices

MAX_USERS = 10**9


def main(arguments: list[str] | None = None) -> None:
    """Print the tables, or write them into the page. Exit with 2 if an option or a file is wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cost", description=__doc__)
    parser.add_argument(
        "--users", type=_parse_users, default=USERS, help="numbers of users, such as 25000 or 1000,50000"
    )
    parser.add_argument("--profile", type=Path, help="a YAML file with lines of profile.yaml that are different")
    parser.add_argument("--prices", type=Path, default=PRICES, help="a file such as prices.yaml, of another region")
    parser.add_argument("--template", type=Path, default=TEMPLATE, help="another template")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the template")
    parser.add_argument("--write", action="store_true", help=f"update {PAGE.name}")
    options = parser.parse_args(arguments)
    if options.write and options != parser.parse_args(["--write"]):
        parser.error("The page is written with the defaults. Leave the other options out.")
    try:
        parameters = dict(map(_parse_parameter, options.set))
        calculator = Calculator(
            read_deployment(parameters, options.template),
            read_measured(),
            read_prices(options.prices),
            read_profile(options.profile),
        )
        if options.write:
            PAGE.write_text(update_page(calculator, PAGE.read_text()))
            return
        parts = make_parts(calculator, options.users)
        print("\n\n".join(make() for make in parts.values()))
    except KeyError as missing:
        parser.error(f"{options.template} lacks {missing}, which Baton's template has.")
    except (OSError, ValidationError, ValueError, YAMLError, UnknownPrice, UnpricedTemplate) as problem:
        parser.error(str(problem))


def _parse_parameter(text: str) -> tuple[str, str]:
    """Return the name and the value of a parameter. Raises ``ValueError`` if the value is missing."""
    name, separator, value = text.partition("=")
    if not separator:
        raise ValueError(f"--set {text} has no value. Write --set {name}=VALUE.")
    return name, value


def _parse_users(text: str) -> list[int]:
    """Return numbers of users. Raises ``ValueError`` or ``ArgumentTypeError`` for other texts."""
    numbers = [int(part) for part in text.split(",")]
    if not all(0 < number <= MAX_USERS for number in numbers):
        raise argparse.ArgumentTypeError(f"each number must be between 1 and {MAX_USERS:,}")
    return numbers


if __name__ == "__main__":
    main()
