"""The workflows of .github: what they run exists, what they use is pinned, and what they may do is little."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from baton_local.root import ROOT

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
PINNED = re.compile(r"[\w-]+/[\w.-]+@[0-9a-f]{40}")
TARGETS = set(re.findall(r"(?m)^([a-z-]+)(?: [a-z-]+)*:", (ROOT / "Makefile").read_text()))


def read(name: str) -> dict[str, Any]:
    """A workflow. YAML takes its ``on`` for a truth value."""
    workflow: dict[str, Any] = yaml.safe_load((ROOT / ".github/workflows" / name).read_text())
    return workflow


def steps_of(workflow: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The steps of all jobs."""
    for job in workflow["jobs"].values():
        yield from job["steps"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_and_commands_exist(path: Path) -> None:
    steps = list(steps_of(read(path.name)))
    assert [step["uses"] for step in steps if "uses" in step and not PINNED.fullmatch(step["uses"])] == []
    commands = "\n".join(step.get("run", "") for step in steps)
    for program in re.findall(r"\.ci/[\w.-]+", commands):
        assert (ROOT / program).is_file(), program
    assert set(re.findall(r"(?m)^make ([a-z-]+)", commands)) <= TARGETS


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_reads_only_what_its_jobs_do_not_ask_for_and_ends_in_time(path: Path) -> None:
    workflow = read(path.name)
    assert workflow["permissions"] == {"contents": "read"}
    assert all(job["timeout-minutes"] <= 300 for job in workflow["jobs"].values())
    assert "secrets." not in path.read_text()  # roles and trusted publishing need none


def test_only_the_job_in_the_reviewed_environment_publishes() -> None:
    jobs = read("release.yml")["jobs"]
    publishing = [name for name, job in jobs.items() if "pypi-publish" in str(job["steps"])]
    assert publishing == ["publish"]
    assert jobs["publish"]["environment"] == "pypi"
    assert set(jobs["publish"]["needs"]) == {"test", "build"}
    assert not any("checkout" in step["uses"] for step in jobs["publish"]["steps"])  # nothing of the repository runs


def test_the_nightly_deployment_is_of_its_own_stage_and_always_removed() -> None:
    workflow = read("deployed.yml")
    stages = tomllib.loads((ROOT / "samconfig.toml").read_text())
    stage, stack = workflow["env"]["STAGE"], workflow["env"]["STACK"]
    assert stages[stage]["global"]["parameters"]["stack_name"] == stack
    assert f"Stage={stage}" in stages[stage]["deploy"]["parameters"]["parameter_overrides"]
    last = list(steps_of(workflow))[-1]
    assert (last["if"], last["run"]) == ("always()", '.ci/remove-stage "$STAGE" "$STACK"')


TEARDOWN = """#!/bin/sh
echo "$@" >>{log}
case "$*" in
  *ARGS=*) ;;
  *) echo 'stays stack baton-nightly'; echo 'Nothing was deleted. Of: baton teardown nightly {choices}' ;;
esac
"""


@pytest.mark.parametrize(
    ("choices", "deleted"),
    [("stack table bucket secrets", "stack table bucket"), ("secrets", None)],
    ids=["all", "nothing but secrets"],
)
def test_a_stage_is_removed_but_for_its_secrets(tmp_path: Path, choices: str, deleted: str | None) -> None:
    make, log = tmp_path / "make", tmp_path / "log"
    make.write_text(TEARDOWN.format(log=log, choices=choices))
    make.chmod(0o755)
    command = [ROOT / ".ci/remove-stage", "nightly", "baton-nightly"]
    subprocess.run(command, env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, check=True, capture_output=True)
    request, *carried_out = log.read_text().splitlines()
    assert request == "--no-print-directory teardown STAGE=nightly"
    expected = f"--no-print-directory teardown STAGE=nightly ARGS=--confirm baton-nightly {deleted}"
    assert carried_out == ([expected] if deleted else [])
