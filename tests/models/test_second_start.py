"""A process in which the use cases are made twice, or that asks several providers, has nothing registered twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.models.standins import StandIns
from tests.models.standins.signed import ACCESS_KEY, SECRET_KEY

ROOT = Path(__file__).parents[2]
MODELS = (
    "bedrock/us.anthropic.claude-opus-5-5",
    "elsewhere/eu.amazon.nova-pro-v1:0",
    "chat/gpt-4.1",
    "mantle/gpt-6-sol",
)


@pytest.mark.nightly
def test_a_second_composition_changes_nothing_of_the_process(stand_ins: StandIns, tmp_path: Path) -> None:
    providers = {
        "bedrock": {"kind": "bedrock", "baseUrl": stand_ins.url},
        "elsewhere": {"kind": "bedrock", "baseUrl": stand_ins.url, "region": "eu-west-1"},
        "chat": {"baseUrl": stand_ins.base_url("openai-gpt4")},
        "mantle": {"baseUrl": stand_ins.base_url("openai"), "signed": True, "api": "responses"},
    }
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        "AWS_DEFAULT_REGION": "us-east-1",
        "BATON_STAGE": "prod",
        "BATON_TABLE": "table",
        "BATON_BUCKET": "bucket",
        "BATON_AGENTS_DIR": "agents",
        "BATON_TURNS_QUEUE_URL": "https://queue.test",
        "BATON_PUSH_QUEUE_URL": "https://queue.test",
        "BATON_PUSH_ISSUER": "https://api.test",
        "BATON_CONNECTIONS_URL": "https://sockets.test",
        "BATON_CLOSE_SESSION_ARN": "arn",
        "BATON_CAPTURE_PROCEDURE_ARN": "arn",
        "BATON_INGEST_DOCUMENT_ARN": "arn",
        "BATON_FORGET_USER_ARN": "arn",
        "BATON_CHAT_MODEL": MODELS[0],
        "BATON_MODEL_PROVIDERS": json.dumps(providers),
        "BATON_EMBEDDING_MODEL": "bedrock/amazon.titan-embed-text-v2:0",
        "BATON_EMBEDDING_DIMENSIONS": "1024",
        "BATON_SEARCH_BUCKET": "search",
        "BATON_SEARCH_URL": "https://search-baton.us-east-1.es.amazonaws.com",
        "BATON_TRACES_ENDPOINT": "http://127.0.0.1:9/v1/traces",
        "TIKTOKEN_CACHE_DIR": "tokenizer",
    }
    command = [sys.executable, "-m", "tests.models.second_start", *MODELS]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {}
