"""A cold start waits for every import: the authorizer runs before every connection."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from baton_local.root import TOKENIZER

ROOT = Path(__file__).parents[2]
HEAVY = {
    "fastapi",
    "starlette",
    "openai",
    "opensearchpy",
    "httpx",
    "tiktoken",
    "mangum",
    "ag_ui",
    "boto3",
    "botocore.client",
    "sse_starlette",
}

LOADED = "import json, sys; print(json.dumps(sorted(sys.modules)))"
ADAPTERS = "import baton.adapters.aws.secrets, baton.adapters.tokens.verifier, baton.ports.tenants.identity"
FUNCTION = """
import runpy
import types
import baton.composition
baton.composition.deployed_ports = lambda: types.SimpleNamespace(verifier=None)
runpy.run_path("functions/authorizer/app.py")
"""


@pytest.mark.parametrize("script", [ADAPTERS, FUNCTION], ids=["adapters", "function"])
def test_checking_tokens_loads_no_framework_and_no_sdk(script: str) -> None:
    command = [sys.executable, "-c", f"{script}\n{LOADED}"]
    printed = subprocess.run(command, capture_output=True, check=True, text=True, cwd=ROOT).stdout
    assert HEAVY.isdisjoint(json.loads(printed))


BUILT = """
import operator
import sys
from baton import composition
operator.attrgetter(sys.argv[1])(composition.deployed())
"""
SETTINGS = {
    "BATON_TABLE": "table",
    "BATON_BUCKET": "bucket",
    "BATON_AGENTS_DIR": "agents",
    "BATON_TURNS_QUEUE_URL": "https://queue.test",
    "BATON_CONNECTIONS_URL": "https://sockets.test",
    "BATON_CLOSE_SESSION_ARN": "arn",
    "AWS_DEFAULT_REGION": "us-east-1",
}


MODEL = {"OPENAI_BASE_URL": "https://model.test/v1", "BATON_CHAT_MODEL": "gpt", "TIKTOKEN_CACHE_DIR": "tokenizer"}


@pytest.mark.parametrize(("use_case", "more"), [("actions", {}), ("sweeper", {}), ("memory.session_closing", MODEL)])
def test_what_asks_no_model_at_its_start_needs_no_settings_of_one_and_loads_no_client(
    use_case: str, more: dict[str, str]
) -> None:
    command = [sys.executable, "-c", f"{BUILT}\n{LOADED}", use_case]
    inherited = {name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH")}
    environment = inherited | SETTINGS | more
    printed = subprocess.run(command, capture_output=True, check=True, text=True, cwd=ROOT, env=environment).stdout
    assert (HEAVY - {"ag_ui", "boto3", "botocore.client"}).isdisjoint(json.loads(printed))


UNUSED_BY_MOST_TURNS = {
    "aws_lambda_powertools.utilities.data_classes",
    "boto3",
    "click",
    "httpx",
    "jsonschema",
    "jwt",
    "referencing",
    "s3transfer",
    "tiktoken",
}


def test_a_worker_loads_no_checks_of_tokens_no_transfers_of_files_and_no_client_of_tools_at_its_start() -> None:
    script = f"import baton.composition.queue_records\n{BUILT}\n{LOADED}"
    inherited = {name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH")}
    environment = inherited | SETTINGS | MODEL | {"BATON_STAGE": "dev"}
    command = [sys.executable, "-c", script, "queued_turns"]
    printed = subprocess.run(command, capture_output=True, check=True, text=True, cwd=ROOT, env=environment).stdout
    assert UNUSED_BY_MOST_TURNS.isdisjoint(json.loads(printed))


def test_the_function_for_short_answers_loads_no_protocol_that_only_streams_speak() -> None:
    command = [sys.executable, "-c", f"import baton.api.deployed\n{LOADED}"]
    printed = subprocess.run(command, capture_output=True, check=True, text=True, cwd=ROOT).stdout
    assert {"a2a", "mcp", "mcp_types", "sse_starlette"}.isdisjoint(json.loads(printed))


SHORT_ROUTES = """
from baton.api.http.addresses import load_routes
from baton.api.application import create_app
from baton.api.deployed import SHORT_ROUTES
load_routes(*SHORT_ROUTES)
create_app(lambda: None)
"""
ONLY_FOR_TURNS = {"baton.agents.agent_loop", "baton.turns.turns", "httpx", "jsonschema", "openai", "tiktoken"}


def test_the_function_for_short_answers_loads_few_modules_and_nothing_that_only_turns_need() -> None:
    command = [sys.executable, "-c", f"{SHORT_ROUTES}\n{LOADED}"]
    printed = subprocess.run(command, capture_output=True, check=True, text=True, cwd=ROOT).stdout
    modules = set(json.loads(printed))
    assert {"baton.api.threads.threads", "baton.api.agents.agents"} <= modules
    assert ONLY_FOR_TURNS.isdisjoint(modules)
    assert {"baton.api.runs.runs", "baton.api.memory.procedures", "baton.api.tenants.overview"}.isdisjoint(modules)
    assert len(modules) <= 850


def test_a_turn_loads_no_library_that_reads_documents() -> None:
    """They are for separate processes, which only an attachment starts."""
    script = (
        "from baton.composition.models.provider_models import get_document_reader; get_document_reader()\n"
        "import baton.adapters.models.openai"
    )
    command = [sys.executable, "-c", f"{script}\n{LOADED}"]
    printed = subprocess.run(command, capture_output=True, check=True, text=True, cwd=ROOT).stdout
    loaded = set(json.loads(printed))
    assert "baton.adapters.documents.document_reader" in loaded
    assert loaded.isdisjoint({"charset_normalizer", "lxml", "pdfplumber", "pypdfium2", "selectolax", "tinycss2"})


MOST_TYPES = 100
"""Modules of OpenAI's types that a turn may load. The library has six times as many."""

PREPARED = """
from baton import composition
composition.prepare_turns()
"""


WITHOUT_SETTINGS = """
from baton import composition
from baton.domain.errors import StoreUnavailable

def fail():
    raise StoreUnavailable

composition.deployed_ports().settings._read = fail
composition.prepare_turns()
"""


def test_turns_start_with_an_embedding_model_although_the_settings_cannot_be_read() -> None:
    inherited = {name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH")}
    models = {"BATON_CHAT_MODEL": "gpt", "BATON_EMBEDDING_MODEL": "text-embedding-3-small"}
    environment = inherited | SETTINGS | MODEL | models | {"TIKTOKEN_CACHE_DIR": str(TOKENIZER), "BATON_STAGE": "dev"}
    command = [sys.executable, "-c", WITHOUT_SETTINGS]
    process = subprocess.run(command, capture_output=True, check=False, text=True, cwd=ROOT, env=environment)
    assert process.returncode == 0, process.stderr


@pytest.mark.parametrize(
    ("model", "loaded", "unused"),
    [
        ("gpt", "openai", "baton.adapters.models.bedrock"),
        ("bedrock/us.amazon.nova-pro-v1:0", "baton.adapters.models.bedrock", "openai"),
    ],
)
def test_turns_load_only_the_client_of_the_model_in_use(model: str, loaded: str, unused: str) -> None:
    command = [sys.executable, "-c", f"{PREPARED}\n{LOADED}"]
    inherited = {name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH")}
    vocabulary = {"BATON_CHAT_MODEL": model, "TIKTOKEN_CACHE_DIR": str(TOKENIZER)}
    environment = inherited | SETTINGS | MODEL | vocabulary | {"BATON_STAGE": "dev"}
    del environment["BATON_BUCKET"]  # without it no settings are read from there
    printed = subprocess.run(command, capture_output=True, check=True, text=True, cwd=ROOT, env=environment).stdout
    modules = set(json.loads(printed))
    assert len([name for name in modules if name.startswith("openai.types.")]) <= MOST_TYPES
    assert loaded in modules
    assert unused not in modules
    assert modules.isdisjoint(SENDS_TRACES)


SENDS_TRACES = {"opentelemetry.sdk", "opentelemetry.exporter", "opentelemetry.proto", "requests"}
"""Libraries that send traces. FastAPI and the MCP SDK load OpenTelemetry's API, which sends nothing without them."""


@pytest.mark.parametrize(("endpoint", "is_loaded"), [("", False), ("https://collector.test/v1/traces", True)])
def test_only_a_deployment_with_a_collector_of_traces_loads_what_sends_them(endpoint: str, is_loaded: bool) -> None:
    command = [sys.executable, "-c", f"{BUILT}\n{LOADED}", "ports.tracer"]
    inherited = {name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH")}
    environment = inherited | SETTINGS | {"BATON_STAGE": "dev", "BATON_TRACES_ENDPOINT": endpoint}
    printed = subprocess.run(command, capture_output=True, check=True, text=True, cwd=ROOT, env=environment).stdout
    assert ("opentelemetry.sdk" in json.loads(printed)) is is_loaded
    assert is_loaded or SENDS_TRACES.isdisjoint(json.loads(printed))
