"""The use cases of the package ``knowledge``, built with the ports."""

from __future__ import annotations

from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from baton.composition import parts

if TYPE_CHECKING:
    from baton.composition.limits import LimitUseCases
    from baton.composition.ports import Ports


class KnowledgeUseCases:
    """Use cases that ingest documents, refresh their sources and search them."""

    def __init__(self, ports: Ports, limits: LimitUseCases) -> None:
        self.ports = ports
        self._limits = limits

    @cached_property
    def ingestion_events(self) -> parts.IngestionEvents:
        """The use case that handles stored documents, and the steps of their pipeline."""
        return parts.IngestionEvents(self.ingestion_starts, self.ingestion, self.cleaning, self.ports.admission)

    @cached_property
    def library_commands(self) -> parts.LibraryCommands:
        """The use case that carries out an operator's commands for the project's libraries."""
        return parts.LibraryCommands(self.documents, self.ports.document_files, self._name_engine)

    def _name_engine(self) -> str | None:
        if isinstance(self.ports.search, parts.NoSearch):
            return None
        return "embedded" if self.ports.complete_administration is None else "opensearch"

    @cached_property
    def ingestion_starts(self) -> parts.IngestionStarts:
        """The use case that starts the pipeline that ingests documents."""
        return parts.IngestionStarts(
            self.document_records, self.ports.ingestions, self.ports.clock, self.ports.pipelines_since
        )

    @cached_property
    def ingestion(self) -> parts.Ingestion:
        """The use case that extracts documents, and adds them to agents' search indices."""
        ports = self.ports
        return parts.Ingestion(
            self.document_records, ports.document_files, ports.extractor, ports.search, ports.embedder, ports.clock
        )

    @cached_property
    def cleaning(self) -> parts.Cleaning:
        """The use case that removes the files and index entries of old versions of documents."""
        ports = self.ports
        wait = timedelta(seconds=ports.forget_wait_seconds)
        return parts.Cleaning(self.document_records, ports.document_files, ports.search, ports.clock, wait)

    @cached_property
    def document_records(self) -> parts.DocumentRecords:
        """The use case that changes records of documents."""
        return parts.DocumentRecords(self.ports.documents)

    @cached_property
    def documents(self) -> parts.Documents:
        """The use case that takes in, lists and deletes documents of agents."""
        ports = self.ports
        return parts.Documents(
            ports.documents, ports.document_files, ports.ingestions, ports.audit, ports.clock, self._limits.current
        )

    @cached_property
    def sources(self) -> parts.Sources:
        """The use case that creates, lists and deletes sources of documents."""
        ports = self.ports
        return parts.Sources(ports.sources, lambda: ports.source_rules, ports.audit, ports.clock)

    @cached_property
    def source_refreshes(self) -> parts.SourceRefreshes:
        """The use case that reads due sources."""
        ports = self.ports
        return parts.SourceRefreshes(
            ports.sources,
            parts.PageRefreshes(ports.sources, self.documents, ports.web_pages, ports.source_objects),
            parts.PageListings(ports.web_pages, ports.source_objects, lambda: ports.source_rules, ports.extractor),
            ports.clock,
        )

    @cached_property
    def search(self) -> parts.KnowledgeSearch:
        """The use case that searches the documents of agents."""
        return parts.KnowledgeSearch(self.ports.search, self.ports.documents, self.ports.embedder)
