"""The layer of dependencies keeps botocore's descriptions of the services that functions call."""

from __future__ import annotations

import re
import runpy
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import botocore
import botocore.session
import pytest
from botocore.config import Config
from botocore.loaders import Loader

from baton_local.root import ROOT

NAMED = re.compile(r"""(?:\b(?:create_|defer_)?client\(\s*|create_quick_client, |_service = )"([a-z0-9-]+)"(?!\.)""")
CREDENTIALS = {"sts"}
"""Services that botocore itself calls."""
OTHER_CLIENTS = {"httpx", "httpx2"}
SERVICES = ROOT / "layers/dependencies/services.txt"
DATA = Path(botocore.__file__).parent / "data"
UNUSED = "sns"
NAMED_FIELDS = {
    "apigatewaymanagementapi": {"ConnectionId": "c-1"},
    "s3": {"Bucket": "bucket", "Key": "key", "UploadId": "u-1"},
}
"""Fields that are in the address of the first operation."""


def test_the_layer_keeps_the_services_that_functions_call() -> None:
    stored = set(SERVICES.read_text().split())
    sources = [*(ROOT / "shared/baton").rglob("*.py"), *(ROOT / "functions").rglob("*.py")]
    called = {name for path in sources for name in NAMED.findall(path.read_text())} - OTHER_CLIENTS
    assert {"dynamodb", "s3", "secretsmanager", "ssm"} <= called
    assert stored == called | CREDENTIALS


@pytest.fixture(scope="module")
def layer_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data of botocore in the layer, made from that of the used services and of one other."""
    folder = tmp_path_factory.mktemp("layer") / "data"
    folder.mkdir()
    for file in DATA.glob("*.json"):
        shutil.copy(file, folder)
    for service in (*SERVICES.read_text().split(), UNUSED):
        shutil.copytree(DATA / service, folder / service)
    script = runpy.run_path(str(ROOT / "layers/botocore_data.py"))
    script["main"](folder, set(SERVICES.read_text().split()))
    return folder


def test_clients_work_by_the_smaller_data_of_the_layer(layer_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    services = SERVICES.read_text().split()
    expected = [facts(service) for service in services]
    monkeypatch.setattr(Loader, "BUILTIN_DATA_PATH", str(layer_data))
    assert [facts(service) for service in services] == expected


def facts(service: str) -> tuple[Any, ...]:
    """The operations of a service, the fields of one and the host that it is sent to."""
    client = botocore.session.Session().create_client(
        service,
        region_name="eu-central-1",
        aws_access_key_id="key",
        aws_secret_access_key="secret",
        config=Config(parameter_validation=False),
    )
    model = client.meta.service_model
    name = model.operation_names[0]
    method = next(own for own, api in client.meta.method_to_api_mapping.items() if api == name)
    shape = model.operation_model(name).input_shape
    fields = sorted(shape.members) if shape is not None else []
    address = client.generate_presigned_url(method, NAMED_FIELDS.get(service))
    return model.operation_names, fields, urlsplit(address).netloc


def test_files_that_are_links_into_the_package_cache_stay_whole_there(tmp_path: Path) -> None:
    cache, folder = tmp_path / "cache.json", tmp_path / "data"
    folder.mkdir()
    shutil.copy(DATA / "endpoints.json", cache)
    (folder / "endpoints.json").hardlink_to(cache)
    runpy.run_path(str(ROOT / "layers/botocore_data.py"))["main"](folder, set())
    assert (folder / "endpoints.json").stat().st_size < 100_000
    assert cache.read_bytes() == (DATA / "endpoints.json").read_bytes()


def test_other_services_and_documentation_are_not_in_the_layer(layer_data: Path) -> None:
    assert not (layer_data / UNUSED).exists()
    sizes = {name: (layer_data / name).stat().st_size for name in ("endpoints.json", "s3/2006-03-01/service-2.json")}
    assert sizes["endpoints.json"] < 100_000
    assert sizes["s3/2006-03-01/service-2.json"] < 400_000
