"""The examples of the Python client, run as a developer would."""

import subprocess
import sys

import pytest

from baton_local.root import ROOT
from tests.e2e.cloud import RunningCloud
from tests.environment import INITIAL_ENVIRONMENT

pytestmark = pytest.mark.nightly


def test_agents_are_asked_in_parallel_and_each_of_them_can_be_read(demo_cloud: RunningCloud) -> None:
    finished = subprocess.run(
        [sys.executable, ROOT / "examples" / "python" / "research.py"],
        env={**INITIAL_ENVIRONMENT, "BATON_URL": demo_cloud.url, "BATON_TOKEN": demo_cloud.token("demo", "researcher")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert finished.returncode == 0, finished.stderr
    visible = finished.stdout
    started = [visible.index(f"[{name} is at work]") for name in ("Knowledge", "Research")]
    end = [visible.index(f"[{name} has answered]") for name in ("Knowledge", "Research")]
    answer, sources = visible.index("best practices"), visible.index("Sources: Knowledge")
    assert max(started) < min(end) < answer < sources
    for name in ("Knowledge", "Research"):
        assert f"\n{name} (completed, " in visible[sources:]
