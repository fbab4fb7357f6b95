"""An account of AWS, as moto serves it."""

from __future__ import annotations

import pytest

from baton_deployment.template import DeployedTemplate
from baton_local.root import ROOT

REGION = "us-east-1"
SOURCE = DeployedTemplate.read(ROOT / "template.yaml", {}, "any", REGION).source


@pytest.fixture
def aws(moto_server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """An account with credentials, at moto."""
    for name in ("AWS_PROFILE", "AWS_DEFAULT_REGION", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_REGION", REGION)
    monkeypatch.setenv("AWS_ENDPOINT_URL", moto_server)
    for service in ("S3", "DYNAMODB", "SECRETSMANAGER"):
        monkeypatch.delenv(f"AWS_ENDPOINT_URL_{service}", raising=False)
    # The template is parsed once: that takes seconds.
    monkeypatch.setattr(DeployedTemplate, "read", lambda path, *values: DeployedTemplate(SOURCE, *values))
    return moto_server
