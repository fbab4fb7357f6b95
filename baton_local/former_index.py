"""Carries over the search index of earlier releases, which was a folder of files, into the bucket.

The folder is ``search/v1`` in the data folder, with ``<tenant>/<index>[-<hash of the user>].sqlite``.
"""

from __future__ import annotations

import json
import logging
import shutil
import sqlite3
from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from baton.domain.documents.search import IndexDocument, IndexedText, IndexName
from baton.domain.errors import SearchUnavailable
from baton.domain.tenants.identity import Scope
from baton.domain.times import from_millis

if TYPE_CHECKING:
    from baton.adapters.sqlite_index.owner_files import OwnerFiles

logger = logging.getLogger("baton_local")

FORMER = Path("search", "v1")
BATCH = 500
"""Documents that are written in one change."""
_COLUMNS = "number, id, source_id, kind, agent_id, thread_id, required_permission, at, embedder, texts, fields"


def carry_over(data_dir: Path, files: OwnerFiles) -> None:
    """Write the folder's documents into the bucket, and remove the folder. A repetition continues a killed call.

    A file that cannot be read or written stays in the folder, and is logged.
    """
    from baton.adapters.sqlite_index.objects import NoFile

    folder = data_dir / FORMER
    for path in sorted(folder.glob("*/*.sqlite")):
        try:
            for key, documents in _read_documents(path):
                for start in range(0, len(documents), BATCH):
                    batch = documents[start : start + BATCH]
                    files.change(key, lambda file, batch=batch: file.put(batch))  # type: ignore[misc]
        except (sqlite3.Error, ValueError, SearchUnavailable, NoFile) as problem:
            logger.warning(
                "The search index of an earlier release was not carried over from %s: %s "
                "`python -m baton.composition.admin search rebuild` makes it again.",
                path,
                problem,
            )
            continue
        for part in path.parent.glob(f"{path.name}*"):  # its write-ahead log too
            part.unlink()
    if folder.is_dir() and not any(folder.glob("*/*.sqlite")):
        shutil.rmtree(folder)


def _read_documents(path: Path) -> Iterator[tuple[str, Sequence[IndexDocument]]]:
    """Yield the key of each new file, with those documents of an old file that belong there."""
    from baton.adapters.sqlite_index.owners import SUFFIX, make_index_prefix, make_owner_key

    tenant, (name, _, user) = path.parent.name, path.stem.partition("-")
    index = IndexName(name)
    owned = defaultdict[str, list[IndexDocument]](list)
    with closing(sqlite3.connect(path)) as former:
        vectors = {
            view: dict(former.execute(f"SELECT number, vector FROM vectors_{number}").fetchall())  # noqa: S608
            for view, number in former.execute("SELECT name, number FROM views").fetchall()
        }
        for number, *row in former.execute(f"SELECT {_COLUMNS} FROM documents"):  # noqa: S608
            document = _read_document(row, {view: blobs.get(number) for view, blobs in vectors.items()})
            # File names have only hashes of users. The new names have the same hashes.
            own = f"{make_index_prefix(tenant, index)}{user}{SUFFIX}"
            owned[own if user else make_owner_key(Scope(tenant, "operator"), index, document.agent_id)].append(document)
    yield from owned.items()


def _read_document(row: Sequence[Any], vectors: dict[str, bytes | None]) -> IndexDocument:
    id_, source_id, kind, agent_id, thread_id, required_permission, at, embedder, texts, fields = row

    def make_indexed_text(view: str, text: str) -> IndexedText:
        blob = vectors.get(view)
        return IndexedText(text, array("f", blob) if blob is not None else None)

    return IndexDocument(
        id=id_,
        source_id=source_id,
        kind=kind,
        views={view: make_indexed_text(view, text) for view, text in json.loads(texts).items()},
        at=from_millis(at),
        agent_id=agent_id,
        thread_id=thread_id,
        required_permission=required_permission,
        embedder=embedder,
        fields=json.loads(fields),
    )
