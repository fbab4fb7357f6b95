"""A stage belongs to the account and region of its first deployment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from baton_deployment.account import Account
from baton_deployment.checks import Outcome, note, unknown
from baton_deployment.errors import DeploymentError
from baton_deployment.preflight import Preflight, run_preflight
from baton_deployment.stage_home import Home, open_account, read_home, record_home
from baton_deployment.stages import Stage
from tests.command_line import make_project, run_baton

REGION = "eu-central-1"
OURS, THEIRS = "111111111111", "222222222222"


class Caller(Account):
    """An account that STS identifies; other services do not answer."""

    def __init__(self, number: str, region: str = REGION) -> None:
        super().__init__(region)
        self._number = number

    def client(self, service: str, **_: Any) -> Any:
        assert service == "sts"
        return self

    def get_caller_identity(self) -> dict[str, str]:
        return {"Account": self._number, "Arn": f"arn:aws:sts::{self._number}:assumed-role/deployer/session"}


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage("prod", tmp_path / "samconfig.toml", "baton-prod", {})


def test_an_account_without_quotation_marks_is_refused(stage: Stage) -> None:
    (stage.file.parent / "deployed.toml").write_text(f'[prod]\naccount = {OURS}\nregion = "{REGION}"\n')
    with pytest.raises(DeploymentError, match="the account of prod is a text of twelve digits"):
        read_home(stage)


def test_the_first_deployment_records_where_it_was(stage: Stage) -> None:
    assert record_home(Caller(OURS), stage) == (
        f"prod now belongs to account {OURS} in {REGION}: commit deployed.toml."
    )
    assert read_home(stage) == Home(OURS, REGION)
    assert record_home(Caller(OURS), stage) == ""
    dev = Stage("dev", stage.file, "baton-dev", {})
    record_home(Caller(THEIRS), dev)
    assert (read_home(stage), read_home(dev)) == (Home(OURS, REGION), Home(THEIRS, REGION))


def test_a_stage_may_have_a_name_that_is_no_bare_key(tmp_path: Path) -> None:
    stage = Stage("prod.eu west", tmp_path / "samconfig.toml", "baton-prod", {})
    record_home(Caller(OURS), stage)
    assert read_home(stage) == Home(OURS, REGION)


@pytest.mark.parametrize("caller", [Caller(THEIRS), Caller(OURS, "us-east-1")])
def test_another_account_or_region_is_refused_with_the_remedy(
    stage: Stage, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Account, "of", lambda stage: caller)
    open_account(stage)
    record_home(Caller(OURS), stage)
    with pytest.raises(
        DeploymentError, match=rf"prod belongs to account {OURS} in {REGION}, and this is .*AWS_PROFILE"
    ):
        open_account(stage)
    monkeypatch.setattr(Account, "of", lambda stage: Caller(OURS))
    open_account(stage)


@pytest.mark.parametrize(
    "command",
    [
        ("settings", "prod"),
        ("settings", "prod", "--show"),
        ("publish", "prod"),
        ("smoke", "prod"),
        ("search", "prod", "verify"),
        ("restore", "prod", "--from", "table"),
        ("teardown", "prod"),
    ],
)
def test_no_command_works_on_a_stage_in_another_account(
    tmp_path: Path, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    project = make_project(tmp_path, '[prod.deploy.parameters]\nstack_name = "shop-prod"\n')
    (project / "deployed.toml").write_text(f'[prod]\naccount = "{OURS}"\nregion = "{REGION}"\n')
    monkeypatch.setattr(Account, "of", lambda stage: Caller(THEIRS))
    process = run_baton(*command, "--folder", project)
    assert (process.exit_code, f"prod belongs to account {OURS}" in process.stderr) == (1, True), process.output


def test_the_checks_before_a_deployment_refuse_it_too(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    record_home(Caller(OURS), stage)
    monkeypatch.setattr(Account, "of", lambda stage: Caller(THEIRS))
    monkeypatch.setattr(Preflight, "_check_account", lambda *_: iter(()))
    rows = [check for check in Preflight(stage, stage.file.parent / "build").run_checks() if check.name == "account"]
    assert [check.outcome for check in rows] == [Outcome.FINE, Outcome.FAILS]
    assert "deployed.toml" in rows[1].advice


@pytest.mark.parametrize("text", ["[prod]\n", "prod = 1\n", '[prod]\naccount = "1"\nregion = "r"\n', "[prod"])
def test_a_record_with_faults_is_no_permission(stage: Stage, text: str) -> None:
    (stage.file.parent / "deployed.toml").write_text(text)
    with pytest.raises(DeploymentError, match=r"deployed\.toml"):
        read_home(stage)


def test_checks_that_cannot_be_made_stop_unless_that_is_accepted(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [unknown("permissions", "the caller may not ask"), note("package sizes", "nothing is built yet")]
    monkeypatch.setattr(Preflight, "run_checks", lambda self: iter(rows))
    preflight = Preflight(stage, stage.file.parent)
    with pytest.raises(DeploymentError, match=r"^permissions: not checked: nothing was deployed\. .*--unchecked"):
        run_preflight(preflight, lambda line: None, consequence=": nothing was deployed")
    run_preflight(preflight, lambda line: None, accepts_unchecked=True)
