"""The layer of dependencies keeps botocore's descriptions of the services that functions call."""

from __future__ import annotations

import re

from baton_local.root import ROOT

NAMED = re.compile(r"""(?:\b(?:deferred_)?client\(\s*|hasty_client, )"([a-z0-9-]+)"(?!\.)""")
CREDENTIALS = {"sts"}
"""Services that botocore itself calls."""
OTHER_CLIENTS = {"httpx", "httpx2"}


def test_the_layer_keeps_the_services_that_functions_call() -> None:
    kept = set((ROOT / "layers/dependencies/services.txt").read_text().split())
    sources = [*(ROOT / "shared/baton").rglob("*.py"), *(ROOT / "functions").rglob("*.py")]
    called = {name for path in sources for name in NAMED.findall(path.read_text())} - OTHER_CLIENTS
    assert {"dynamodb", "s3", "secretsmanager", "ssm"} <= called
    assert kept == called | CREDENTIALS
