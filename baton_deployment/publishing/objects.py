"""Objects of a bucket that browsers read."""

from pathlib import Path
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from baton_deployment.errors import DeploymentError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

FOR_EVER = "public, max-age=31536000, immutable"
CONTENT_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".map": "application/json",
    ".json": "application/json",
    ".txt": "text/plain; charset=utf-8",
}


def read_files(folder: Path) -> dict[str, bytes]:
    """Return the files of a build by their paths below ``folder``, sorted, without hidden ones."""
    return {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and not file.name.startswith(".")
    }


def put_once(s3: "S3Client", bucket: str, key: str, content: bytes) -> None:
    """Write an object that never changes, unless it exists. Raises ``DeploymentError`` if it has other bytes."""
    try:
        s3.put_object(
            Bucket=bucket,
            Key=key,
            Body=content,
            ContentType=CONTENT_TYPES[Path(key).suffix],
            CacheControl=FOR_EVER,
            IfNoneMatch="*",
        )
    except ClientError as problem:
        if problem.response["Error"]["Code"] != "PreconditionFailed":
            raise
        if s3.get_object(Bucket=bucket, Key=key)["Body"].read() != content:
            raise DeploymentError(f"{key} is published with other bytes: give the new ones a new version.") from None
