"""`baton eval` against the running product: cases of rated answers, a server's agents, published results."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from baton_testing.evals.results import EvaluationRecord
from tests.e2e.fixtures import NewUser
from tests.fault_model import FaultModel

pytestmark = pytest.mark.nightly

BATON = [sys.executable, "-c", "from baton_client.command import main; main()"]


def test_a_complaint_becomes_a_case_that_is_evaluated_and_published(
    new_user: NewUser, model: FaultModel, tmp_path: Path
) -> None:
    admin = new_user("boss", "agent:write", "thread:read_all")
    headers = {"Authorization": f"Bearer {admin.token}"}
    with httpx.Client(base_url=f"{admin.cloud.url}/v1", headers=headers, timeout=60, trust_env=False) as client:
        request = {"message": "I am ada@example.com", "messageId": "m1"}
        answer = client.post("/messages", json=request).raise_for_status().json()
        path = f"/threads/{answer['sessionId']}/messages/{answer['messages'][-1]['id']}/feedback"
        client.post(path, json={"rating": "down"}).raise_for_status()
        dataset, results = tmp_path / "complaints.jsonl", tmp_path / "results.json"
        server = ["--url", admin.cloud.url]
        _run(admin.token, tmp_path, "collect", *server, "--feedback", "negative", "--out", str(dataset))
        case = json.loads(dataset.read_text())
        assert case["input"] == "I am [email]"
        case["checks"] = [{"type": "contains", "text": "[email]"}, {"type": "tool_not_called", "tool": "look"}]
        dataset.write_text(json.dumps(case))
        options = ["--repeat", "2", "--json", str(results), "--publish", admin.cloud.url]
        ran = _run(admin.token, tmp_path, *server, str(dataset), *options)
        assert "passed" in ran.stdout
        record = EvaluationRecord.model_validate_json(results.read_text())
        assert [run.passed for run in record.cases[0].runs] == [True, True]
        published = client.get("/evaluations").raise_for_status().json()["items"]
        assert [(evaluation["passed"], evaluation["runs"], evaluation["publishedBy"]) for evaluation in published] == [
            (1.0, 2, "boss")
        ]
        for status in (204, 204):
            assert client.delete(f"/evaluations/{published[0]['id']}").status_code == status
        assert client.get(f"/evaluations/{published[0]['id']}").status_code == 404


def _run(token: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"BATON_TOKEN": token, "PATH": "/usr/bin:/bin", "HOME": str(folder)}
    done = subprocess.run(
        [*BATON, "eval", *arguments],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done
