"""Keep of botocore's data what functions read: ``python botocore_data.py FOLDER_OF_DATA SERVICES``.

Every start parses the list of all services' endpoints and the descriptions of the services that it uses, half of which
is documentation. ``SERVICES`` is a file with the names of services, one a line. Descriptions of other services,
examples and documentation are removed, and what is left is not compressed: the archive of the layer is.
"""

from __future__ import annotations

import gzip
import json
import shutil
import sys
from pathlib import Path
from typing import Any

ENDPOINTS = "endpoints.json"


def main(data: Path, services: set[str]) -> None:
    """Shrink the folder ``data`` of botocore to what the clients of ``services`` read."""
    for folder in [entry for entry in data.iterdir() if entry.is_dir() and entry.name not in services]:
        shutil.rmtree(folder)
    prefixes = set()
    for path in sorted(data.rglob("*.json.gz")):
        description = json.loads(gzip.decompress(path.read_bytes()))
        prefixes.add(description.get("metadata", {}).get("endpointPrefix"))
        _write(path.with_suffix(""), _without_documentation(description))
        path.unlink()
    for path in sorted(data.rglob("examples-*.json")):
        path.unlink()
    endpoints = json.loads((data / ENDPOINTS).read_text())
    for partition in endpoints["partitions"]:
        partition["services"] = {name: service for name, service in partition["services"].items() if name in prefixes}
    _write(data / ENDPOINTS, endpoints)


def _without_documentation(value: Any) -> Any:
    """Return a description with empty texts, because botocore reads some. Fields of that name stay."""
    if isinstance(value, list):
        return [_without_documentation(part) for part in value]
    if not isinstance(value, dict):
        return value
    return {
        name: "" if name == "documentation" and isinstance(part, str) else _without_documentation(part)
        for name, part in value.items()
    }


def _write(path: Path, value: Any) -> None:
    path.unlink(missing_ok=True)  # not written over: the file may be a link to the package cache
    path.write_text(json.dumps(value, separators=(",", ":")))


if __name__ == "__main__":
    main(Path(sys.argv[1]), set(Path(sys.argv[2]).read_text().split()))
