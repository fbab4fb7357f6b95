"""Secrets and parameters of the local cloud from a developer's file, under the names by which agents refer to them."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from baton.adapters.agents.yaml_document import YamlDocument, YamlFileError
from baton_local.errors import LocalCloudError

STAGE = "{stage}"


def read_secrets(path: Path, reserved: Collection[str] = ()) -> dict[str, str]:
    """Return the values by name; empty if there is no file. Objects are JSON, for references with a ``key``.

    ``{stage}`` in a name becomes ``local``. Names that begin with a slash are those of parameters. ``reserved`` are the
    names of the local cloud's own secrets. Raises ``LocalCloudError``, which names the wrong line but quotes no value.
    """
    if not path.is_file():
        return {}
    try:
        document = YamlDocument.read(path)
    except YamlFileError as problem:
        raise LocalCloudError(str(problem)) from None
    secrets = {}
    for name, value in document.values.items():
        parameter = str(name).replace(STAGE, "local")
        is_text = isinstance(value, str) and value
        if not is_text and not (isinstance(value, dict) and all(isinstance(member, str) for member in value.values())):
            raise LocalCloudError(document.problem((name,), "must be a text in quotes, or an object of texts"))
        if parameter in reserved:
            raise LocalCloudError(document.problem((name,), "is a secret of the local cloud's own"))
        secrets[parameter] = value if is_text else json.dumps(value)
    return secrets


def put_parameters(systems_manager: Any, values: dict[str, str]) -> None:
    """Put the values whose names are those of parameters. ``systems_manager`` is a client of ``ssm``."""
    for name, value in values.items():
        if name.startswith("/"):
            systems_manager.put_parameter(Name=name, Value=value, Type="SecureString", Overwrite=True)
