"""The settings document as a file: read and checked, and put into the local bucket as `baton settings` does."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from baton.adapters.agents.yaml_document import YamlDocument, YamlFileError
from baton.adapters.aws.s3_settings import SETTINGS_KEY
from baton.adapters.models.profiles.profile import read_profile_overrides
from baton.settings.document import InvalidDocument, SettingsDocument, check_document
from baton_local.errors import LocalCloudError

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client


@dataclass(frozen=True)
class SettingsFile:
    """A settings file whose content is valid."""

    path: Path
    values: Mapping[str, Any]
    document: SettingsDocument


def read_settings_file(
    path: Path, check: Callable[[SettingsDocument], None] = lambda document: None
) -> SettingsFile | None:
    """Return the file, YAML or JSON; None if there is none.

    ``check`` raises ``InvalidDocument`` for further faults. Raises ``LocalCloudError``, which names every wrong line.
    """
    if not path.is_file():
        return None
    try:
        text = YamlDocument.read(path)
    except YamlFileError as problem:
        raise LocalCloudError(str(problem)) from None
    try:
        values = json.loads(json.dumps(text.values, allow_nan=False))
    except (TypeError, ValueError):
        raise LocalCloudError(
            f"{path}: has a value that JSON does not support, such as a date: put it in quotes."
        ) from None
    try:
        document = check_document(values)
        check(document)
        read_profile_overrides(document.model_profiles)
    except InvalidDocument as invalid:
        problems = sorted(invalid.problems, key=lambda problem: text.line(problem.path))
        raise LocalCloudError("\n".join(text.problem(problem.path, problem.message) for problem in problems)) from None
    except ValueError as problem:
        raise LocalCloudError(f"{path}: modelProfiles: {str(problem).partition(': ')[2]}") from None
    return SettingsFile(path, values, document)


def put_document(s3: S3Client, bucket: str, path: Path) -> SettingsDocument:
    """Put the file's settings into the bucket, and return them. Without a file, put nothing and return the defaults.

    Raises ``LocalCloudError``, which names every wrong line.
    """
    settings_file = read_settings_file(path)
    if settings_file is None:
        return SettingsDocument()
    s3.put_object(Bucket=bucket, Key=SETTINGS_KEY, Body=json.dumps(settings_file.values).encode())
    return settings_file.document
