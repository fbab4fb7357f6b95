"""The authorizer runs before every connection: what it loads is what a cold start waits for."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
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
}

LOADED = "import json, sys; print(json.dumps(sorted(sys.modules)))"
ADAPTERS = "import baton.adapters.secrets, baton.adapters.tokens, baton.ports.token_verifier"
FUNCTION = """
import runpy, sys, types
import baton
baton.composition = sys.modules["baton.composition"] = types.ModuleType("baton.composition")
baton.composition.authorizer = lambda: None
runpy.run_path("functions/authorizer/app.py")
"""


@pytest.mark.parametrize("script", [ADAPTERS, FUNCTION], ids=["adapters", "function"])
def test_checking_tokens_loads_no_framework_and_no_sdk(script: str) -> None:
    command = [sys.executable, "-c", f"{script}\n{LOADED}"]
    printed = subprocess.run(command, capture_output=True, check=True, text=True, cwd=ROOT).stdout
    assert HEAVY.isdisjoint(json.loads(printed))
