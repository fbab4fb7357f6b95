"""Each function starts and answers with the packages, files and variables that the template gives it, and no others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from baton_local import resources
from baton_local.account import ACCESS_KEY_ID, REGION, SECRET_ACCESS_KEY
from baton_local.engines.clients import client
from baton_local.execution import LAYER_FOLDERS
from baton_local.stack import FunctionDefinition, Stack
from tests.engines import TableAt
from tests.infrastructure.stack import PRIVATE_UV, ROOT, read_template, run

pytestmark = pytest.mark.skipped_if_unchanged(
    *("template.yaml", "pyproject.toml", "layers", "functions", "shared", "agents", "statemachines", "events"),
    *("baton_local", "tests/infrastructure/stack.py", "tests/infrastructure/one_event.py"),
)

BUILT = {
    name: item["Properties"]["ContentUri"]
    for name, item in read_template()["Resources"].items()
    if item["Type"] == "AWS::Serverless::LayerVersion"
}
"""Layer -> the folder with its makefile."""

LEFT_OUT = ("charset-normalizer", "cryptography", "typing-extensions", "webencodings")
PRUNED = [part for name in LEFT_OUT for part in ("--prune", name)]
"""Packages that the extraction layer leaves to the dependencies' one."""
OF_PACKAGES = {
    "DependenciesLayer": ("--only-group", "functions"),
    "ExtractionLayer": ("--only-group", "extraction", *PRUNED),
}
"""Layer -> which packages of the lock file it has."""

ANSWERS: dict[str, tuple[str | None, Callable[[Any], bool]]] = {
    "AuthorizerFunction": ("authorizer_request", lambda answer: answer == "Exception: Unauthorized"),
    "SocketsFunction": ("websocket_connect", lambda answer: answer["statusCode"] == 200),
    "TurnsFunction": ("sqs_turns", lambda answer: answer == {"batchItemFailures": []}),
    "DeadTurnsFunction": ("sqs_dead_turns", lambda answer: answer == {"batchItemFailures": []}),
    "NotificationsFunction": ("sqs_notifications", lambda answer: answer == {"batchItemFailures": []}),
    "StreamsFunction": (None, lambda answer: answer == 200),
    "HttpFunction": ("rest_http", lambda answer: answer["statusCode"] == 401),
    "SweeperFunction": ("schedule_sweeper", lambda answer: answer["is_complete"] is True),
    "IngestionFunction": ("states_ingestion", lambda answer: answer == {"next": "clean"}),  # of no such document
    "ForgettingFunction": ("states_forgetting", lambda answer: answer.startswith("NotFound:")),  # of no such request
    "LearningFunction": (
        "states_learning_failed",
        lambda answer: answer == {"status": "failed", "goesOn": False},
    ),
    "ClosingFunction": ("states_closing_failed", lambda answer: answer == {"status": "failed"}),
}
"""Function -> a sample of events/ (none: a web app), and whether an answer to it is right."""


@pytest.fixture(scope="module")
def layers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every layer as its makefile builds it, but with dependencies for this machine."""
    folder = tmp_path_factory.mktemp("layers")
    for layer, source in BUILT.items():
        (folder / layer).mkdir()
        if layer not in OF_PACKAGES:
            made = run("make", f"build-{layer}", f"ARTIFACTS_DIR={folder / layer}", cwd=ROOT / source)
            assert made.returncode == 0, made.stderr
    uv = os.environ.get("UV") or (str(PRIVATE_UV) if PRIVATE_UV.exists() else "uv")
    wanted = folder / "requirements.txt"
    for layer, chosen in OF_PACKAGES.items():
        packages = folder / layer / "python"
        checked = ("--quiet", "--no-deps", "--require-hashes", "--requirements", str(wanted))
        for command in (
            (uv, "export", "--quiet", "--frozen", *chosen, "--output-file", str(wanted)),
            (uv, "pip", "install", *checked, "--python", sys.executable, "--target", str(packages)),
        ):
            done = run(*command)
            assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def endpoints(product_stack: Stack, dynamodb_local_table: TableAt, moto_server: str, queues: str) -> dict[str, str]:
    """The variables by which functions find the services of AWS, as an account sets them."""
    resources.create_bucket(client("s3", moto_server), product_stack.bucket)
    for secret, value in (("baton/embed-keys", "{}"), ("baton/model-key", "sk-none")):
        resources.put_secret(client("secretsmanager", moto_server), secret, value)
    return {
        "AWS_ACCESS_KEY_ID": ACCESS_KEY_ID,
        "AWS_SECRET_ACCESS_KEY": SECRET_ACCESS_KEY,
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ENDPOINT_URL": moto_server,
        "AWS_ENDPOINT_URL_DYNAMODB": dynamodb_local_table.endpoint,
        "AWS_ENDPOINT_URL_SQS": queues,
        "BATON_TABLE": dynamodb_local_table.name,
        "BATON_CONNECTIONS_URL": moto_server,
        "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
    }


def answer_of(
    function: FunctionDefinition, layers: Path, event: str | None, variables: dict[str, str], opt: Path
) -> Any:
    """The function's answer in an interpreter that has its layers alone, in the folder ``opt``."""
    for layer in function.layers:
        for part in (layers / layer).iterdir():
            (opt / part.name).mkdir(exist_ok=True)
            for item in part.iterdir():
                if item.name in (".lock", "bin"):  # of the installation; the makefiles remove them
                    continue
                (opt / part.name / item.name).symlink_to(item)
    module, _, handler = function.handler.rpartition(".")
    wanted = {
        "packages": [str(function.folder), str(opt / "python")],
        "module": "app" if function.handler.endswith(".sh") else module,
        "handler": handler if event else None,
        "event": json.loads((ROOT / f"events/{event}.json").read_text()) if event else None,
    }
    given = {name: value.replace("/opt/", f"{opt}/") for name, value in function.variables.items()}
    done = subprocess.run(
        [sys.executable, "-I", "-S", ROOT / "tests/infrastructure/one_event.py"],
        input=json.dumps(wanted),
        env=given | {name: value for name, value in variables.items() if name.startswith("AWS_") or name in given},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", ANSWERS)
def test_a_function_answers_with_its_own_layers_and_variables(
    name: str, product_stack: Stack, layers: Path, endpoints: dict[str, str], tmp_path: Path
) -> None:
    event, is_right = ANSWERS[name]
    answer = answer_of(product_stack.functions[name], layers, event, endpoints, tmp_path)
    assert is_right(answer), answer


def test_every_function_is_tried(product_stack: Stack) -> None:
    assert set(product_stack.functions) == set(ANSWERS)


def test_the_local_cloud_finds_the_files_of_layers_where_they_are_packed(layers: Path) -> None:
    packaged = {
        (layer, f"/opt/{folder.name}", source)
        for layer, (_, source) in LAYER_FOLDERS.items()
        for folder in (layers / layer).iterdir()
        if folder.name != "python"
    }
    assert packaged == {(layer, folder, source) for layer, (folder, source) in LAYER_FOLDERS.items()}
    for layer, (folder, source) in LAYER_FOLDERS.items():
        packed = {path.name for path in (layers / layer / folder.rpartition("/")[2]).iterdir()}
        assert packed <= {path.name for path in source.iterdir()}
