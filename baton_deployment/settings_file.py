"""The file with a stage's settings, ``settings.<stage>.yaml`` beside samconfig.toml, and its check."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from baton.settings.document import InvalidDocument, check_deployed, check_document
from baton_deployment.checks import Check, fails, fine, note
from baton_deployment.errors import DeploymentError
from baton_deployment.stages import Stage
from baton_local.errors import LocalCloudError
from baton_local.project import settings_document
from baton_local.project.settings_document import SettingsFile

NAME = "settings file"
MOVED = {
    "TokenIssuers": "tokenIssuers",
    "ModelPrices": "modelPrices",
    "TenantLimits": "tenantLimits",
    "AllowedOrigins": "allowedOrigins",
    "AllowedHosts": "allowedHosts",
    "PushHosts": "pushHosts",
    "ModelProviders": "modelProviders",
    "ModelProfiles": "modelProfiles",
}
"""The fields of the settings by the parameters of earlier releases that they replace."""
LISTS = ("AllowedOrigins", "AllowedHosts", "PushHosts")


def find_settings_file(stage: Stage) -> Path:
    """Return the path of a stage's file, which need not exist."""
    return stage.file.parent / f"settings.{stage.name}.yaml"


def read_settings_file(path: Path) -> SettingsFile | None:
    """Return the file, in YAML or JSON; None if there is none. Raises ``DeploymentError``, which names wrong lines."""
    try:
        return settings_document.read_settings_file(path, check_deployed)
    except LocalCloudError as problem:
        raise DeploymentError(str(problem)) from None


def check_settings_file(stage: Stage) -> Iterator[Check]:
    """Yield whether the stage's settings file is valid."""
    path = find_settings_file(stage)
    try:
        settings_file = read_settings_file(path)
    except DeploymentError as problem:
        for line in str(problem).splitlines():
            yield fails(NAME, line)
        return
    if settings_file is None:
        yield note(NAME, f"there is no {path.name}: what is deployed stays, or the defaults hold, with no issuer")
    else:
        count = len(settings_file.document.token_issuers)
        yield fine(NAME, f"{path.name}: {count} issuer{'s' if count != 1 else ''} of tokens")


def write_from_parameters(stage: Stage) -> Path:
    """Write the stage's file with the settings that earlier releases read from parameters, and return its path.

    Raises ``DeploymentError`` if there is such a file, if no parameter belongs in it, or if it would not be valid.
    """
    path = find_settings_file(stage)
    if not MOVED.keys() & stage.parameters.keys():
        raise DeploymentError(
            f"The parameters of {stage.name} in samconfig.toml have no setting of earlier releases, so nothing was "
            f"written. docs/reference/settings.md lists what {path.name} may have."
        )
    text = convert_parameters(stage.parameters)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise DeploymentError(f"{path} exists, and was not replaced.") from None
    return path


def convert_parameters(parameters: Mapping[str, str]) -> str:
    """Return the text of a settings file with the settings that earlier releases read from parameters.

    Raises ``DeploymentError`` if it would not be valid.
    """
    values: dict[str, Any] = {"version": 1}
    for name, field in MOVED.items():
        if name not in parameters:
            continue
        if name in LISTS:
            values[field] = [part.strip() for part in parameters[name].split(",") if part.strip()]
        else:
            try:
                values[field] = json.loads(parameters[name])
            except ValueError as problem:
                raise DeploymentError(f"{name} is no JSON: {problem}") from None
    try:
        check_document(values)
    except InvalidDocument as invalid:
        raise DeploymentError(str(invalid)) from None
    return yaml.safe_dump(values, sort_keys=False, allow_unicode=True)
