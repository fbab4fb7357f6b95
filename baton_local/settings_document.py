"""The settings document of the local cloud: a developer's file, put into the local bucket as `make settings` does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from baton.adapters.yaml_document import YamlDocument, YamlFileError
from baton.domain.settings_place import SETTINGS_KEY
from baton.settings.document import InvalidDocument, check_document
from baton_local.errors import LocalCloudError

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client


def put_document(s3: S3Client, bucket: str, file: Path) -> None:
    """Put the file's settings; none if there is no file. Raises ``LocalCloudError`` that names every wrong line."""
    if not file.is_file():
        return
    try:
        text = YamlDocument.read(file)
        check_document(json.loads(json.dumps(text.values)))
    except YamlFileError as problem:
        raise LocalCloudError(str(problem)) from None
    except InvalidDocument as invalid:
        raise LocalCloudError("\n".join(text.problem(each.place, each.what) for each in invalid.problems)) from None
    except (TypeError, ValueError):
        raise LocalCloudError(f"{file}: holds a value that JSON has not, such as a date: put it in quotes.") from None
    s3.put_object(Bucket=bucket, Key=SETTINGS_KEY, Body=json.dumps(text.values).encode())
