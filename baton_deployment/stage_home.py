"""The account and region of a stage, recorded at its first deployment. Commands refuse others."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from baton_deployment.account import Account, problems_explained
from baton_deployment.errors import DeploymentError
from baton_deployment.stages import Stage

FILE = "deployed.toml"
HEAD = """# The account and region of each stage, written by its first deployment. Others are refused.
# Commit this file. If a stage moves for good, remove its table.
"""


@dataclass(frozen=True)
class Home:
    """The account and region that a stage belongs to."""

    account: str
    """The number of the account."""
    region: str

    def __str__(self) -> str:
        """Return a phrase for messages."""
        return f"account {self.account} in {self.region}"


def find_home_file(stage: Stage) -> Path:
    """Return the path of the record, beside samconfig.toml."""
    return stage.file.parent / FILE


def read_home(stage: Stage) -> Home | None:
    """Return the home of a stage; None if none is recorded. Raises ``DeploymentError`` if the file is wrong."""
    file = find_home_file(stage)
    if not file.is_file():
        return None
    try:
        table = tomllib.loads(file.read_text()).get(stage.name)
        home = None if table is None else Home(table["account"], table["region"])
    except (OSError, ValueError, TypeError, KeyError) as problem:
        raise DeploymentError(
            f"{file} cannot be read: {problem!r}. Each stage has `account` and `region`."
        ) from problem
    if home is not None and not (isinstance(home.account, str) and re.fullmatch(r"\d{12}", home.account)):
        raise DeploymentError(f"{file}: the account of {stage.name} is a text of twelve digits.")
    return home


def find_home_problem(stage: Stage, account: str, region: str) -> str:
    """Return the reason why a stage does not belong to an account and region; empty if it may.

    Raises ``DeploymentError`` if the file is wrong.
    """
    home, here = read_home(stage), Home(account, region)
    if home is None or home == here:
        return ""
    return f"{stage.name} belongs to {home}, and this is {here}"


def advise(stage: Stage) -> str:
    """Return advice on using a stage's own account and region, or on moving the stage."""
    return (
        f"Choose its credentials and region (AWS_PROFILE, AWS_REGION). If {stage.name} moves for good, remove "
        f"[{stage.name}] from {find_home_file(stage)}."
    )


def open_account(stage: Stage) -> Account:
    """Return the account and region of a stage. Raises ``DeploymentError`` if the stage belongs to others.

    AWS is asked only if a home is recorded.
    """
    account = Account.of(stage)
    if read_home(stage) is not None and (
        problem := find_home_problem(stage, _find_account_number(account), account.region)
    ):
        raise DeploymentError(f"{problem}. {advise(stage)}")
    return account


def record_home(account: Account, stage: Stage) -> str:
    """Record the account and region of a stage, unless they are recorded.

    Return a line about what was recorded, or why nothing could be; an empty one if they were recorded before. Raises
    ``DeploymentError`` if the file is wrong, or AWS does not answer.
    """
    if read_home(stage) is not None:
        return ""
    file, home = find_home_file(stage), Home(_find_account_number(account), account.region)
    try:
        before = file.read_text() if file.is_file() else HEAD
        name = stage.name if re.fullmatch(r"[\w-]+", stage.name, re.ASCII) else json.dumps(stage.name)  # TOML's keys
        file.write_text(f'{before}\n[{name}]\naccount = "{home.account}"\nregion = "{home.region}"\n')
    except OSError as problem:
        return f"{stage.name} is in {home}, which cannot be recorded: {problem}"
    return f"{stage.name} now belongs to {home}: commit {file.name}."


def _find_account_number(account: Account) -> str:
    """Return the number of an account, for which AWS is asked. Raises ``DeploymentError``."""
    with problems_explained("The account is unknown"):
        return str(account.client("sts").get_caller_identity()["Account"])
