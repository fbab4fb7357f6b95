"""Office files as packages of parts, which refer to each other (ISO/IEC 29500-2)."""

from __future__ import annotations

import io
import posixpath
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import IO, Any
from urllib.parse import unquote

from lxml import etree

from baton_documents.office.xml import parse, qname, to_transitional

TYPES = "[content_types].xml"
_XML_ENDINGS = (".xml", ".rels", ".psmdcp")
"""Endings of the names of XML. The last is that of the properties in files that .NET has written."""
_OFFICE_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
_CORE_PROPERTIES = "http://schemas.openxmlformats.org/package/2006/relationships/metadata/core-properties"


@dataclass(frozen=True, slots=True)
class Relation:
    """A reference from one part to another part."""

    kind: str
    """The last segment of the type, such as ``styles``, for types of Office; otherwise the whole type."""
    target: str
    """The name of the other part, in lower case."""


class OfficePackage:
    """The parts of a file, by their names in lower case without a slash at the beginning.

    A missing part raises ``KeyError``, a damaged one ``XMLSyntaxError``. Parts outside the file are never read.
    """

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._relations: dict[str, dict[str, Relation]] = {}
        self._entries = {normalise_part_name(entry.filename): entry for entry in archive.infolist()}

    @classmethod
    def from_bytes(cls, body: bytes) -> OfficePackage:
        """Return the package of a file that ``archive.check_archive`` has checked."""
        return cls(zipfile.ZipFile(io.BytesIO(body)))

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def open(self, name: str) -> IO[bytes]:
        """Open a part for reading as a stream. Raises ``KeyError`` if it is missing."""
        return self._archive.open(self._entries[name])

    def read_tree(self, name: str) -> Any:
        """Return the root of a part's tree.

        Raises ``KeyError`` if the part is missing, or if its name is not one of XML, since other parts are not checked.
        """
        if not is_xml(name):
            raise KeyError(name)
        with self.open(name) as content:
            return parse(content.read())

    def find_content_type(self, name: str) -> str:
        """Return the content type of a part in lower case; empty if it has none."""
        overrides, defaults = self._types
        return overrides.get(name) or defaults.get(name.rpartition(".")[2], "")

    @cached_property
    def _types(self) -> tuple[dict[str, str], dict[str, str]]:
        overrides: dict[str, str] = {}
        defaults: dict[str, str] = {}
        for element in self.read_tree(TYPES):
            kind = element.get("ContentType", "").strip().lower()
            if element.tag == qname("types:Override"):
                overrides[normalise_part_name(element.get("PartName", ""))] = kind
            elif element.tag == qname("types:Default"):
                defaults[element.get("Extension", "").lower()] = kind
        return overrides, defaults

    def find_relations(self, name: str = "") -> dict[str, Relation]:
        """Return the relations of a part, or of the whole package, to parts inside the file, by their ids."""
        if name not in self._relations:
            self._relations[name] = self._read_relations(name)
        return self._relations[name]

    def _read_relations(self, name: str) -> dict[str, Relation]:
        folder = name.rpartition("/")[0]
        source = make_relations_name(name)
        if source not in self._entries:
            return {}
        relations = {}
        for element in self.read_tree(source):
            if element.tag == qname("rel:Relationship") and element.get("TargetMode", "").lower() != "external":
                target = unquote(element.get("Target", "").partition("#")[0])
                kind = to_transitional(element.get("Type", "")).removeprefix(_OFFICE_RELATIONS)
                relations[element.get("Id", "")] = Relation(
                    kind, normalise_part_name(posixpath.join(f"/{folder}", target))
                )
        return relations

    def find_related(self, name: str, kind: str) -> str | None:
        """Return the first existing part that the part ``name`` refers to with this kind; None without one."""
        targets = (relation.target for relation in self.find_relations(name).values() if relation.kind == kind)
        return next((target for target in targets if target in self._entries), None)

    @cached_property
    def main(self) -> str | None:
        """The name of the document's main part; None unless there is exactly one."""
        targets = {relation.target for relation in self.find_relations().values() if relation.kind == "officeDocument"}
        return targets.pop() if len(targets) == 1 else None

    @property
    def title(self) -> str | None:
        """The title in the document's properties; None without one, and if they cannot be read."""
        try:
            properties = self.read_tree(self.find_related("", _CORE_PROPERTIES) or "")
        except (KeyError, etree.LxmlError):
            return None
        return (properties.findtext(qname("dc:title")) or "").strip() or None


def normalise_part_name(name: str) -> str:
    """Return an entry's name in lower case, with slashes and without dots, in which readers differ."""
    return posixpath.normpath("/" + name.replace("\\", "/").lower()).lstrip("/")


def make_relations_name(name: str) -> str:
    """Return the name of the part that holds the relations of a part."""
    folder, _, last = name.rpartition("/")
    return f"{folder}/_rels/{last}.rels".lstrip("/")


def blank_repeated(names: Iterable[str]) -> list[str]:
    """Return the names, with an empty one in place of each repetition: two pages cannot have the same part."""
    seen: dict[str, int] = {}
    return [name if seen.setdefault(name, index) == index else "" for index, name in enumerate(names)]


def is_xml(name: str) -> bool:
    """Return whether the name of a part is one of XML."""
    return name.lower().endswith(_XML_ENDINGS)
